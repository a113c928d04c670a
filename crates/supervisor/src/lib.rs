//! Supervision: observe, compare with the desired state, take one step, observe again.
//!
//! A [`Worker`] reports what it observes, what it wants and its next step. The supervisor visits workers when something
//! changed, runs their actions, and restarts workers that its rules find broken. A failure of the infrastructure (a
//! collector that hangs, a child that must be restarted) never appears as a state of business logic. Time is an
//! argument everywhere: only the outermost loop waits.

pub mod process;
mod report;
mod rule;
mod runtime;
pub mod services;
pub mod store;
mod supervisor;
pub mod testing;
mod tree;
mod worker;

pub use report::explain::Explain;
pub use report::metrics::{Gauges, Metrics};
pub use report::trouble::{Known, Ledger, OVER_AFTER_MILLIS, TROUBLES_MAX, Trouble, TroubleKind};
pub use rule::{Check, GRACE_DEFAULT_MILLIS, Rule, RuleError, View};
pub use runtime::{collector, executor, pool};
pub use supervisor::options::Options;
pub use supervisor::{Declaration, Handle, Operation, Setup, Supervisor};
pub use tree::{ChildError, Counts, CutAt, Gate, OperateError, ROOT_PATH, ShutdownOutcome, Status, Ticked};
pub use worker::action::{
    Action, ActionCall, ActionContext, ActionError, ActionOptions, ActionStatus, Cancel, Canceller, Outcome, Perform,
    TIMEOUT_DEFAULT_MILLIS,
};
pub use worker::child::{ChildSpec, Dependency, Need, RestartPolicy, Variables};
pub use worker::document::Document;
pub use worker::registry::{BuildError, Registry, WorkerFactory};
pub use worker::snapshot::{ChildView, Children, Escalation, Identity, Snapshot};
pub use worker::{CollectError, Goal, Next, Phase, Reason, SpecError, State, Worker};
