//! Effects of a visit outside the nodes. Only the tick runs an act, after the visit that requested it.

use std::sync::Arc;

use sprag_core::supervision::RestartEvent;

use super::keep::KeptStatus;
use super::leave::CutAt;
use super::node::Node;
use super::nodes::WorkerKey;
use crate::report::metrics::RestartCause;
use crate::rule::Rule;
use crate::runtime::executor::CancelReason;
use crate::worker::action::ActionCall;

/// One thing to do.
pub(crate) enum Act {
    /// Visit the worker: in this tick if it was not yet visited, else in the next.
    Mark(WorkerKey),
    /// The worker is new: find it by its path, store its identity, restore its last action.
    Introduce(WorkerKey),
    /// Write the state of a worker and what is counted about it.
    KeepStatus(Box<KeptStatus>),
    /// Write what is desired of it, and observe it for that from now on.
    Observe(WorkerKey),
    /// Observe it one last time.
    ObserveLast(Arc<str>),
    /// Stop observing it.
    StopObserving(Arc<str>),
    /// Ignore everything the worker's current instance still does or sees.
    FenceOff(Arc<str>),
    /// Start its action.
    Start(WorkerKey, Box<ActionCall>),
    /// End its action.
    Cancel(Arc<str>, CancelReason),
    /// The worker is gone: forget it.
    Forget(WorkerKey, Box<Node>),
    /// The worker was cut off.
    Cut(CutAt),
    /// Count something.
    Count(Count),
    /// Log the error of a worker, at most once a minute while it repeats.
    Report(Arc<str>, Report),
}

/// What is counted.
pub(crate) enum Count {
    /// A worker changed its state.
    Transition,
    /// A worker did not stop in time and was replaced.
    Replaced(Arc<str>),
    /// An operator restarted a worker, or a start by hand did.
    Restarted(Arc<str>, RestartCause),
    /// A circuit of this supervisor moved.
    Circuit(Arc<str>, Box<(Rule, RestartEvent)>),
    /// An open circuit of this supervisor ended without a recovery.
    Abandoned(Arc<str>, Box<Rule>),
}

/// An error of a worker that may come with every tick.
pub(crate) enum Report {
    /// Its spec cannot be used.
    Spec { error: String },
    /// Its code panicked.
    Panic { place: &'static str, panic: String },
}
