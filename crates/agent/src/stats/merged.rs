//! The counts of all agents as one.

use std::collections::BTreeMap;

use super::tally::Counts;

/// The latest counts of one agent. They are cumulative, so the newest message is the whole truth about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentCounts {
    /// The number of the message they came with.
    pub sequence: u64,
    /// What it counted.
    pub counts: Counts,
}

/// The latest counts of every agent.
#[derive(Clone, Debug, Default)]
pub struct Merged {
    agents: BTreeMap<usize, AgentCounts>,
}

impl Merged {
    /// Takes what an agent reports. An older message than the last one is ignored, so nothing counts twice.
    pub fn take(&mut self, agent: usize, sequence: u64, counts: Counts) {
        let is_newer = self.agents.get(&agent).is_none_or(|known| known.sequence < sequence);
        if is_newer {
            self.agents.insert(agent, AgentCounts { sequence, counts });
        }
    }

    /// What one agent counted.
    pub fn agent(&self, agent: usize) -> Option<&AgentCounts> {
        self.agents.get(&agent)
    }

    /// What all of them counted.
    pub fn total(&self) -> Counts {
        let mut total = Counts::default();
        for agent in self.agents.values() {
            total.add(&agent.counts);
        }
        total
    }
}
