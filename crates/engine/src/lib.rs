//! The engine of Sprag: state machines that act on the world and never lose a step.
//!
//! A [`lane`] decides and remembers: [`requests`] in, one transaction per batch, answers and effects only once it is
//! durable. The [`queue`] says which ready action starts next, an [`EffectRunner`](runner::EffectRunner) runs attempts.
//! [`Engine`] wires them to threads and tasks; the simulator wires the same lane to simulated ones.
//!
//! As a library: a store, a runner of your own and a machine. `examples/embedding` is a longer example.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use serde::{Deserialize, Serialize};
//! use sprag_core::action::typed::{Error, TypedRunner};
//! use sprag_core::action::Attempt;
//! use sprag_core::document::source::Format;
//! use sprag_engine::requests::Start;
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

mod commit;
mod decide;
mod effects;
mod engine;
pub mod jobs;
pub mod lane;
pub mod leases;
pub mod limits;
pub mod queue;
pub mod read;
pub mod requests;

pub use commit::{Committer, Desk, Work, Writing};
pub use decide::input::check_input;
pub use decide::{
    ActionTypes, AttemptJob, BEHIND_MILLIS, Change, Decider, Edited, ExecutionChange, JUMP_MILLIS, Known, Reads,
    RecordKind, Task, Tenure, alerts, convert,
};
pub use effects::closings::Closing;
pub use effects::tasks::SecretSource;
pub use effects::{Publish, action_test, metrics, runner, traces};
pub use engine::options::{self, Limits, Options, Retention};
pub use engine::{
    Asker, Builder, Engine, Handle, InboundHook, LeaseHandle, OperationsHandle, OperatorHandle, Requirements,
};
pub use read::case::Diagnosis;
pub use read::follow::{Census, Followed};
pub use read::handle::ReadHandle;
pub use read::lookup::LookupHandle;
pub use read::replay::replay_stored as replay;
pub use read::scopes::ScopeNames;
