//! What the controller knows about each agent, and what it decides from that. Pure: messages and time in, verdicts out.

use std::time::Duration;

use super::options::Silence;
use crate::plan::AgentLoss;
use crate::stats::{Counts, Merged, Offset};
use sprag_core::words;

words! {
    /// How an agent stands, as the controller sees it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum AgentState as name {
        /// It is READY.
        Ready => "READY",
        /// It performs the workload.
        Running => "RUNNING",
        /// It is ending an aborted run.
        Aborting => "ABORTING",
        /// It completed its part.
        Completed => "COMPLETED",
        /// Its part failed.
        Failed => "FAILED",
        /// Its part was aborted.
        Aborted => "ABORTED",
        /// It is gone.
        Lost => "LOST",
    }
}

impl AgentState {
    /// Whether nothing more comes from it.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Aborted | Self::Lost)
    }
}

/// One agent.
#[derive(Clone, Debug)]
pub struct AgentView {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: String,
    /// How it stands.
    pub state: AgentState,
    /// Why, if it failed or is lost.
    pub message: String,
    /// Its clock.
    pub offset: Offset,
    /// How long after the start of the workload the plan starts its first operation, in microseconds.
    pub planned: u64,
    /// When it started, in microseconds of the controller's clock: the instant of its first operation, less what was planned.
    pub first_start: Option<u64>,
    /// Operations so far.
    pub ops: u64,
    /// Failed operations so far.
    pub errors: u64,
    /// When it last said something, since the controller started.
    pub heard: Duration,
    /// How silent it is.
    pub quiet: Quiet,
}

/// How silent an agent is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quiet {
    /// Its messages arrive.
    #[default]
    No,
    /// They are late.
    Late,
    /// They have been missing for long.
    Suspect,
}

/// Something that a task saw of its agent.
#[derive(Clone, Debug)]
pub(super) enum Seen {
    /// Numbers.
    Numbers {
        state: AgentState,
        sequence: u64,
        counts: Box<Counts>,
        message: String,
    },
    /// The stream ended without a terminal message, or its content cannot be used.
    Over { state: AgentState, message: String },
}

/// What the controller does about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Continue.
    Continue,
    /// Abort every agent.
    Abort(String),
}

/// All agents.
pub(super) struct Collector {
    pub(super) agents: Vec<AgentView>,
    pub(super) merged: Merged,
    policy: AgentLoss,
    silence: Silence,
}

impl Collector {
    pub(super) fn new(agents: Vec<AgentView>, policy: AgentLoss, silence: Silence) -> Self {
        Self {
            agents,
            merged: Merged::default(),
            policy,
            silence,
        }
    }

    /// Whether nothing more comes from any agent.
    pub(super) fn is_over(&self) -> bool {
        self.agents.iter().all(|agent| agent.state.is_over())
    }

    /// Takes what a task saw.
    pub(super) fn take(&mut self, index: usize, seen: Seen, now: Duration) -> Verdict {
        let Some(agent) = self.agents.get_mut(index) else {
            return Verdict::Continue;
        };
        if agent.state.is_over() {
            return Verdict::Continue;
        }
        agent.heard = now;
        agent.quiet = Quiet::No;
        match seen {
            Seen::Numbers {
                state,
                sequence,
                counts,
                message,
            } => {
                agent.state = state;
                agent.message = message;
                agent.ops = counts.ops();
                agent.errors = counts.errors();
                let offset = agent.offset;
                let counts = counts.with_instants(|micros| offset.to_controller(micros));
                agent.first_start = counts.first_start().map(|first| first.saturating_sub(agent.planned));
                self.merged.take(index, sequence, counts);
            }
            Seen::Over { state, message } => {
                agent.state = state;
                agent.message = message;
            }
        }
        self.judge(index)
    }

    /// What is due by time: the agents whose silence changed, each with what to say, and a verdict.
    pub(super) fn tick(&mut self, now: Duration) -> (Vec<String>, Verdict) {
        let mut notes = Vec::new();
        let mut verdict = Verdict::Continue;
        for index in 0..self.agents.len() {
            let agent = &mut self.agents[index];
            if agent.state.is_over() {
                continue;
            }
            let silent = now.saturating_sub(agent.heard);
            let Silence { late, suspect, lost } = self.silence;
            if silent >= lost {
                agent.state = AgentState::Lost;
                agent.message = format!("silent for {} s", silent.as_secs());
                notes.push(format!("agent {} is lost: {}", agent.name, agent.message));
                let judged = self.judge(index);
                if judged != Verdict::Continue {
                    verdict = judged;
                }
                continue;
            }
            let quiet = match silent {
                silent if silent >= suspect => Quiet::Suspect,
                silent if silent >= late => Quiet::Late,
                _ => Quiet::No,
            };
            if quiet > agent.quiet {
                notes.push(format!("agent {} is silent for {} s", agent.name, silent.as_secs()));
            }
            agent.quiet = quiet;
        }
        (notes, verdict)
    }

    /// What follows from the state of one agent.
    fn judge(&self, index: usize) -> Verdict {
        let agent = &self.agents[index];
        match agent.state {
            AgentState::Failed => Verdict::Abort(format!("agent {} failed: {}", agent.name, agent.message)),
            AgentState::Aborted => Verdict::Abort(format!("agent {} was aborted", agent.name)),
            AgentState::Lost => self.lost(agent),
            _ => Verdict::Continue,
        }
    }

    fn lost(&self, agent: &AgentView) -> Verdict {
        let left = self
            .agents
            .iter()
            .filter(|agent| agent.state != AgentState::Lost)
            .count();
        let needed = match self.policy {
            AgentLoss::FailFast => self.agents.len(),
            AgentLoss::Quorum(quorum) => usize::try_from(quorum).unwrap_or(usize::MAX),
            AgentLoss::BestEffort => 1,
        };
        if left >= needed {
            return Verdict::Continue;
        }
        Verdict::Abort(format!(
            "agent {} is lost, {left} are left and {needed} are needed",
            agent.name
        ))
    }
}
