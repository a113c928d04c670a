//! The engine of Sprag: state machines that act on the world and never lose a step.
//!
//! A [`lane`] decides and remembers: commands in, one transaction per batch, answers and effects only once it is
//! durable. The [`dispatch`]er says which queued action starts next. [`hands`] carry attempts out. [`Engine`] wires
//! them to threads and tasks; the simulator wires the same lane to simulated ones.

mod aggregate;
pub mod command;
pub mod control;
pub mod convert;
mod decide;
pub mod dispatch;
mod engine;
mod follow;
mod handle;
pub mod hands;
mod history;
mod hooks;
pub mod idempotency;
mod inbox;
pub mod jobs;
pub mod lane;
mod lists;
pub mod metrics;
mod migration;
mod once;
mod operate;
pub mod options;
mod replay;
mod tasks;
mod timers;
pub mod view;

pub use engine::{Builder, Engine, Requirements};
pub use follow::{Census, Followed};
pub use handle::Handle;
pub use history::HistoryView;
pub use hooks::InboundHook;
pub use migration::{MigrationCheck, MigrationProblem, StateMove, TimerChange, TimerMove};
pub use once::{Asked, Once};
pub use options::{Limits, Options, Retention};
pub use replay::{Replayed, replay_stored as replay};
pub use tasks::SecretSource;
