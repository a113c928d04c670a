//! The tree of workers: which exist, what each does next, and which are visited.
//!
//! One owner ticks it. A tick visits only workers that are marked (a new observation, a changed desired state, an
//! action's end, a due time) and never waits; a full sweep now and then guards against a lost mark. A visit changes nodes
//! and returns acts; the tick runs them. A worker that panics or fails stops no other.

mod act;
mod aim;
mod derive;
mod effects;
mod judge;
mod keep;
mod leave;
mod node;
mod nodes;
mod operate;
mod queue;
mod reconcile;
mod recover;
mod restart;
mod status;
mod step;
mod tick;
mod visit;
mod watch;

pub(crate) use effects::Effects;
pub(crate) use keep::Keeper;
pub(crate) use node::{Derived, Node};
pub(crate) use nodes::WorkerKey;
pub(crate) use operate::shown_path;
pub(crate) use restart::RestartStage;
pub(crate) use tick::Tree;
pub(crate) use visit::Config;
pub(crate) use watch::Watch;

pub use leave::{CutAt, ShutdownOutcome};
pub use operate::{OperateError, ROOT_PATH};
pub use reconcile::ChildError;
pub use status::{Counts, Status};
pub use step::Gate;
pub use tick::Ticked;
