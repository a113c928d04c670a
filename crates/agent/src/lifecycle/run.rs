//! The run in hand, with every deadline that belongs to it.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;
use std::time::Duration;

use super::event::ControllerLoss;

/// A run of an agent. Each has a fresh id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub u64);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for RunId {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u64::from_str_radix(text, 16).map(Self)
    }
}

/// How long an agent waits for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// READY without a start time.
    pub ready: Duration,
    /// The furthest start time.
    pub ahead: Duration,
    /// The oldest start time.
    pub past: Duration,
    /// From an abort until the task is ended at its next await point.
    pub kill: Duration,
    /// From an abort until the agent counts the task as leaked.
    pub leak: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            ready: Duration::from_mins(1),
            ahead: Duration::from_mins(1),
            past: Duration::from_secs(2),
            kill: Duration::from_secs(5),
            leak: Duration::from_secs(15),
        }
    }
}

/// The run in hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) id: RunId,
    pub(super) on_loss: ControllerLoss,
    pub(super) phase: Phase,
}

/// How far it is. Deadlines are instants of the agent's monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The plan is being checked. The agent is IDLE, and takes no other run.
    Validating,
    /// Waiting for the start time.
    Waiting { expires: Duration },
    /// Waiting for the start.
    Starting { at: Duration },
    /// The task is at work. `lost` is when a lost controller ends it.
    Running { lost: Option<Duration> },
    /// The task was asked to end.
    Aborting {
        kill: Option<Duration>,
        leak: Duration,
        reason: AbortReason,
    },
}

/// Why a run was aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AbortReason {
    Asked,
    ControllerLost,
    ShutDown,
    NoStart,
}

impl AbortReason {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Asked => "aborted by request",
            Self::ControllerLost => "controller lost",
            Self::ShutDown => "the agent is shutting down",
            Self::NoStart => "no start time arrived",
        }
    }
}

impl Run {
    /// When something is due by itself.
    pub(super) fn deadline(&self) -> Option<Duration> {
        match self.phase {
            Phase::Validating => None,
            Phase::Waiting { expires } => Some(expires),
            Phase::Starting { at } => Some(at),
            Phase::Running { lost } => lost,
            Phase::Aborting { kill, leak, .. } => Some(kill.unwrap_or(leak)),
        }
    }
}
