//! The five states, the ten legal transitions, and the one function that makes them.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use super::run::RunId;
use sprag_core::words;

/// How many transitions an agent remembers.
pub const HISTORY_MAX: usize = 64;

words! {
    /// The state of an agent.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum State as name {
        /// It takes a run. The task of the previous run has ended, or is counted as leaked.
        #[default]
        Idle => "IDLE",
        /// It accepted a plan and waits for the start time.
        Ready => "READY",
        /// It performs a workload.
        Running => "RUNNING",
        /// A run failed. The agent leaves this state at once.
        Failed => "FAILED",
        /// It waits for the task of an aborted run to end.
        Aborting => "ABORTING",
    }
}

impl State {
    /// Whether an agent may go from this state to `to`.
    pub fn leads_to(self, to: Self) -> bool {
        matches!(
            (self, to),
            (Self::Idle, Self::Ready | Self::Failed)
                | (Self::Ready, Self::Running | Self::Idle | Self::Aborting)
                | (Self::Running, Self::Idle | Self::Failed | Self::Aborting)
                | (Self::Aborting | Self::Failed, Self::Idle)
        )
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A change of state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The run that caused it.
    pub run: RunId,
    /// The state before.
    pub from: State,
    /// The state after.
    pub to: State,
    /// Why.
    pub reason: String,
    /// When, on the agent's monotonic clock.
    pub at: Duration,
    /// How long the agent was in the state before.
    pub after: Duration,
}

/// A transition that the table does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an agent does not go from `{from}` to `{to}` ({reason})")]
pub struct IllegalTransition {
    /// The state, which stays.
    pub from: State,
    /// The state that was wanted.
    pub to: State,
    /// Why it was wanted.
    pub reason: String,
}

/// The state of an agent, and how it came there.
#[derive(Debug, Default)]
pub struct StateLog {
    state: State,
    since: Duration,
    history: VecDeque<Transition>,
}

impl StateLog {
    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// The last transitions, the oldest first.
    pub fn history(&self) -> impl Iterator<Item = &Transition> {
        self.history.iter()
    }

    /// Changes the state, the only way to do so. A transition to the same state does nothing.
    pub fn transition(
        &mut self,
        run: RunId,
        to: State,
        reason: &str,
        now: Duration,
    ) -> Result<Option<&Transition>, IllegalTransition> {
        let from = self.state;
        if from == to {
            return Ok(None);
        }
        if !from.leads_to(to) {
            let reason = reason.to_owned();
            return Err(IllegalTransition { from, to, reason });
        }
        if self.history.len() == HISTORY_MAX {
            self.history.pop_front();
        }
        self.history.push_back(Transition {
            run,
            from,
            to,
            reason: reason.to_owned(),
            at: now,
            after: now.saturating_sub(self.since),
        });
        self.state = to;
        self.since = now;
        Ok(self.history.back())
    }
}
