//! Supervision: observe, compare with what is desired, take one step, observe again.
//!
//! A [`Worker`] says what it sees, what it wants and what its next step is; the supervisor looks when there is
//! something to look at, performs what the worker asks for, and restarts what its rules find broken. Trouble of the
//! infrastructure (a collector that hangs, a child that must be restarted) never shows as a state of business logic.
//! Time is an argument everywhere: only the outermost loop waits.

mod action;
mod child;
pub mod collector;
mod document;
mod erased;
pub mod executor;
mod explain;
mod metrics;
mod options;
pub mod pool;
pub mod process;
mod registry;
mod rule;
mod seldom;
pub mod services;
mod snapshot;
pub mod store;
mod supervisor;
pub mod testing;
mod tree;
mod trouble;
mod worker;

pub use action::{
    Action, ActionCall, ActionContext, ActionError, ActionOptions, ActionStatus, Cancel, Canceller, Outcome, Perform,
    TIMEOUT_DEFAULT_MILLIS,
};
pub use child::{ChildSpec, Dependency, Need, RestartPolicy, Variables};
pub use document::Document;
pub use explain::{Explain, Hold, RuleStatus};
pub use metrics::{Gauges, Metrics};
pub use options::Options;
pub use registry::{BuildError, Registry, WorkerFactory};
pub use rule::{Check, GRACE_DEFAULT_MILLIS, Rule, RuleError, View};
pub use snapshot::{ChildView, Children, Escalation, Identity, Snapshot};
pub use supervisor::{Declaration, Handle, Operation, Setup, Supervisor};
pub use tree::{ChildError, Counts, CutAt, Gate, OperateError, ROOT_PATH, ShutdownOutcome, Status, Ticked};
pub use trouble::{Known, Ledger, OVER_AFTER_MILLIS, TROUBLES_MAX, Trouble, TroubleKind};
pub use worker::{CollectError, Goal, Next, Phase, Reason, SpecError, State, Worker};
