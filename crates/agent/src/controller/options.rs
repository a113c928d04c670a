//! How a controller runs, and what it shows meanwhile.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sprag_core::clock::Clock;
use sprag_wire::ThresholdResult;

use super::collect::AgentView;
use super::connect::Connect;
use crate::stats::{Counts, Point};

/// The options of a run.
#[derive(Clone)]
pub struct Options {
    /// The addresses of the agents, `host:port`.
    pub agents: Vec<String>,
    /// How agents are reached.
    pub connect: Connect,
    /// From now until the workload starts.
    pub start_in: Duration,
    /// How long before the start every agent must be READY.
    pub ready_before: Duration,
    /// Whether start times are corrected by the offset of each agent's clock.
    pub compensates: bool,
    /// How long an agent may be silent.
    pub silence: Silence,
    /// How long agents may take to end once the run is aborted.
    pub abort_within: Duration,
    /// Where the time series, the result and the report are written.
    pub output: Option<PathBuf>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}

/// How long an agent may be silent before what happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// It is reported.
    pub late: Duration,
    /// It is suspected.
    pub suspect: Duration,
    /// It is lost.
    pub lost: Duration,
}

impl Options {
    /// The options of the design.
    pub fn new(agents: Vec<String>, clock: Arc<dyn Clock>) -> Self {
        Self {
            agents,
            connect: Connect::default(),
            start_in: Duration::from_secs(5),
            ready_before: Duration::from_secs(1),
            compensates: true,
            silence: Silence {
                late: Duration::from_secs(3),
                suspect: Duration::from_secs(10),
                lost: Duration::from_secs(30),
            },
            abort_within: Duration::from_secs(20),
            output: None,
            clock,
        }
    }
}

/// Why a caller ends a run early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// SIGINT.
    Interrupted,
    /// SIGTERM.
    Terminated,
    /// A caller cancelled the action that the run is.
    Cancelled,
    /// The attempt at the action has no time left.
    OutOfTime,
}

impl Stop {
    /// Why, as results say it.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Interrupted | Self::Terminated => "stopped by a signal",
            Self::Cancelled => "aborted by a caller or a kill switch",
            Self::OutOfTime => "the timeout of the action passed",
        }
    }
}

/// What a run looks like now.
#[derive(Clone, Copy, Debug)]
pub struct Live<'a> {
    /// Of the workload; zero before it starts.
    pub elapsed: Duration,
    /// How long it will run.
    pub duration: Duration,
    /// The latest point of the time series.
    pub point: Option<Point>,
    /// What all agents counted.
    pub total: &'a Counts,
    /// Each agent.
    pub agents: &'a [AgentView],
    /// Each threshold.
    pub thresholds: &'a [ThresholdResult],
}

/// Shows a run while it is under way.
pub trait Progress: Send {
    /// Something worth a line: a warning, an agent that is lost.
    fn note(&mut self, text: &str);

    /// How the run stands, each second.
    fn live(&mut self, live: &Live<'_>);
}
