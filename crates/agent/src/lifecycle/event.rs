//! What happens to an agent, and what it does about it.

use std::time::Duration;

use super::run::RunId;
use super::state::{IllegalTransition, State, Transition};

/// What an agent does when its controller is gone while the workload runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ControllerLoss {
    /// It aborts the run.
    #[default]
    Abort,
    /// It aborts the run, unless the controller attaches again within this time.
    Grace(Duration),
    /// It finishes the run, and keeps the result.
    FinishAndKeep,
}

/// When a run starts, as seen by the agent when it learns the start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At once.
    Now,
    /// After this time.
    In(Duration),
    /// The start time passed this long ago.
    Past(Duration),
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The plan of the run is valid.
    Accepted {
        /// The run.
        run: RunId,
        /// What its plan says about a lost controller.
        on_loss: ControllerLoss,
    },
    /// The plan of the run is not valid.
    Refused {
        /// The run.
        run: RunId,
        /// What is wrong with the plan.
        message: String,
    },
    /// The controller sent the start time.
    StartGiven {
        /// The run.
        run: RunId,
        /// When.
        start: Start,
    },
    /// The controller's stream is gone.
    ControllerLost {
        /// The run.
        run: RunId,
    },
    /// A controller attached to the run.
    ControllerAttached {
        /// The run.
        run: RunId,
    },
    /// The task of a run ended, and was joined.
    TaskEnded {
        /// The run, which may be an earlier one.
        run: RunId,
        /// How.
        end: TaskEnd,
    },
    /// The process shall end.
    ShutDown,
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEnd {
    /// The workload is complete.
    Completed,
    /// The workload could not be performed.
    Failed(String),
    /// It was cancelled.
    Cancelled,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// The workload is complete.
    Completed,
    /// The plan was refused, or the workload failed.
    Failed(String),
    /// It was aborted.
    Aborted(String),
    /// Its start time was refused.
    StartRefused(String),
}

/// Something the agent does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Check the plan of the run.
    Validate(RunId),
    /// Tell the controller that the agent is READY.
    Announce(RunId),
    /// Start the task of the run, this long after its start time.
    Spawn {
        /// The run.
        run: RunId,
        /// How late.
        late: Duration,
    },
    /// Ask the task to end.
    Cancel(RunId),
    /// End the task at its next await point.
    Kill(RunId),
    /// Count the task as leaked: it did not end.
    Leak(RunId),
    /// Tell the controller how the run ended.
    End {
        /// The run.
        run: RunId,
        /// How.
        terminal: Terminal,
    },
    /// Log a change of state.
    Log(Transition),
    /// Log a transition that was refused.
    LogRefused(IllegalTransition),
    /// Log that the task of an aborted run is still at work.
    LogStuck(RunId),
    /// The agent is IDLE, and the process may end.
    Exit,
}

/// Why an agent takes no run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Busy {
    /// Another run is in hand.
    #[error("agent busy: it is `{state}` with run `{run}`")]
    Run {
        /// The state.
        state: State,
        /// The run in hand.
        run: RunId,
    },
    /// The process is about to end.
    #[error("agent busy: it is shutting down")]
    ShuttingDown,
}

/// There is no such run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the agent has no run `{0}`")]
pub struct UnknownRun(pub RunId);
