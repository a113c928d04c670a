//! The engine of Sprag: state machines that act on the world and never lose a step.
//!
//! A [`lane`] decides and remembers: commands in, one transaction per batch, answers and effects only once it is
//! durable. The [`dispatch`]er says which queued action starts next. [`hands`] carry attempts out. [`Engine`] wires
//! them to threads and tasks; the simulator wires the same lane to simulated ones.
//!
//! As a library: a store, a runner of your own, a machine, and off it goes. `examples/embedding` is the same at length.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use serde::{Deserialize, Serialize};
//! use sprag_core::action::typed::{Error, TypedRunner};
//! use sprag_core::action::Attempt;
//! use sprag_core::source::Format;
//! use sprag_engine::command::Start;
//! use sprag_engine::{Engine, Requirements};
//! use sprag_store::sqlite::{self, Store};
//!
//! #[derive(Deserialize)]
//! struct Name { name: String }
//!
//! #[derive(Serialize)]
//! struct Greeting { text: String }
//!
//! struct Greeter;
//!
//! impl TypedRunner for Greeter {
//!     const KIND: &'static str = "greet";
//!     type Input = Name;
//!     type Output = Greeting;
//!
//!     async fn perform(&self, input: Name, _attempt: Attempt<'_>) -> Result<Greeting, Error> {
//!         Ok(Greeting { text: format!("hello, {}", input.name) })
//!     }
//! }
//!
//! const MACHINE: &str = r#"
//! id: greeting
//! initial: greeting
//! states:
//!   greeting: { on: { done.greet: { target: greeted, assign: { text: "{{event.result.text}}" } } } }
//!   greeted: { type: final, output: "{{variables.text}}" }
//! actions:
//!   - { actionId: greet, type: greet, triggerState: greeting, config: { name: world } }
//! "#;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("sprag.db");
//! let Store { writer, readers } = sqlite::open(&sqlite::Options { path })?;
//! let engine = Engine::builder(Requirements::new(writer, readers)).runner(Arc::new(Greeter)).start()?;
//! let handle = engine.handle();
//! let loaded = handle.lint(MACHINE, Format::Yaml);
//! handle.apply(loaded.machine.ok_or("the machine has errors")?).await?;
//! let started = handle.start(Start { machine: "greeting".to_owned(), ..Start::default() }).await?;
//! let closed = handle.wait_closed(started.id, Duration::from_secs(30)).await?;
//! assert_eq!(closed.output, Some("hello, world".into()));
//! engine.shutdown(Duration::from_secs(5)).await;
//! # Ok(())
//! # }
//! ```

mod aggregate;
pub mod alerts;
mod case;
mod closings;
mod codes;
pub mod command;
mod committer;
pub mod control;
pub mod convert;
mod decide;
pub mod dispatch;
mod divergence;
mod dry_run;
mod engine;
mod follow;
mod grants;
mod handle;
pub mod hands;
pub mod health;
mod history;
pub mod homes;
mod hooks;
pub mod idempotency;
mod inbox;
mod input;
pub mod jobs;
pub mod lane;
mod leases;
pub mod leasing;
pub mod letters;
mod lists;
mod machines;
pub mod member;
pub mod metrics;
mod migration;
mod near;
mod notes;
mod once;
mod operate;
pub mod options;
pub mod queue;
mod reads;
pub mod rehearsal;
mod replay;
mod scopes;
mod secret_hosts;
mod secret_rules;
mod states;
mod tasks;
mod timers;
pub mod traces;
pub mod view;

pub use case::Diagnosis;
pub use closings::{Closed, Closing};
pub use engine::{Builder, Engine, Requirements};
pub use follow::{Census, Followed};
pub use handle::Handle;
pub use hooks::InboundHook;
pub use input::check_input;
pub use once::{Asked, Once};
pub use options::{Limits, Options, Retention};
pub use replay::replay_stored as replay;
pub use scopes::ScopeNames;
pub use tasks::SecretSource;
