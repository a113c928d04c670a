//! The tree of workers: which exist, what each does next, and which the tick visits.
//!
//! One owner ticks it. A tick visits only marked workers (a new observation, a changed desired state, the end of an
//! action, a due time) and never waits. A full sweep at intervals finds a worker whose mark was lost. A visit changes
//! nodes and returns acts; the tick runs them. A worker that panics or fails does not stop others.

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
