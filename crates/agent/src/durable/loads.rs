//! The loads that this process runs, with their live figures. Nothing here is stored.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sprag_core::ids::ActionId;
use sprag_wire::{LiveAgent, LiveLoad};
use tokio::sync::watch;

use super::directory::Directory;
use crate::controller::{self, Progress};

/// The loads of this process, and the agents that registered. Cheap to clone.
#[derive(Clone, Default)]
pub struct Loads(Arc<Shared>);

#[derive(Default)]
struct Shared {
    directory: Directory,
    running: Mutex<BTreeMap<ActionId, LoadEntry>>,
    /// How many loads have begun.
    begun: watch::Sender<u64>,
}

impl fmt::Debug for Loads {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Loads").finish_non_exhaustive()
    }
}

struct LoadEntry {
    agents: BTreeSet<String>,
    live: watch::Sender<Option<LiveLoad>>,
}

/// The live figures of one load: none before its workload starts. They end with the load.
pub type LiveFigures = watch::Receiver<Option<LiveLoad>>;

/// Another load of this process uses the agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("agent `{address}` is busy: load `{load}` uses it")]
pub(super) struct AgentInUse {
    pub(super) address: String,
    pub(super) load: ActionId,
}

impl Loads {
    /// The agents that registered.
    pub fn directory(&self) -> &Directory {
        &self.0.directory
    }

    /// The live figures of a load, if this process runs it.
    pub fn live(&self, id: ActionId) -> Option<LiveFigures> {
        self.running().get(&id).map(|running| running.live.subscribe())
    }

    /// How many loads this process runs.
    pub fn count(&self) -> usize {
        self.running().len()
    }

    /// Changes whenever a load begins.
    pub fn begun(&self) -> watch::Receiver<u64> {
        self.0.begun.subscribe()
    }

    /// The load that uses the agent of an address.
    pub fn user(&self, address: &str) -> Option<ActionId> {
        let running = self.running();
        let found = running.iter().find(|(_, running)| running.agents.contains(address));
        found.map(|(id, _)| *id)
    }

    /// Reserves agents for a load, for as long as the answer lives.
    pub(super) fn begin(&self, id: ActionId, agents: &[String]) -> Result<Reservation, AgentInUse> {
        let mut running = self.running();
        let user = |address: &String| {
            let found = running.iter().find(|(_, other)| other.agents.contains(address));
            found.map(|(id, _)| (address.clone(), *id))
        };
        if let Some((address, load)) = agents.iter().find_map(user) {
            return Err(AgentInUse { address, load });
        }
        let live = watch::Sender::new(None);
        let entry = LoadEntry {
            agents: agents.iter().cloned().collect(),
            live: live.clone(),
        };
        running.insert(id, entry);
        drop(running);
        self.0.begun.send_modify(|begun| *begun += 1);
        Ok(Reservation {
            loads: self.clone(),
            id,
            live,
        })
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<ActionId, LoadEntry>> {
        self.0.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The agents of a load are reserved, and its figures can be read. Dropping it ends both.
pub(super) struct Reservation {
    loads: Loads,
    id: ActionId,
    live: watch::Sender<Option<LiveLoad>>,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.loads.running().remove(&self.id);
    }
}

impl Progress for Reservation {
    /// Agents' own words may hold what only the masked outcome of the attempt may say.
    fn note(&mut self, _text: &str) {}

    fn live(&mut self, live: &controller::Live<'_>) {
        self.live.send_replace(Some(shown(live)));
    }
}

fn shown(live: &controller::Live<'_>) -> LiveLoad {
    let millis = |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let agent = |agent: &controller::AgentView| LiveAgent {
        name: agent.name.clone(),
        address: agent.address.clone(),
        state: agent.state.name().to_owned(),
        ops: agent.ops,
        errors: agent.errors,
    };
    let ops = live.total.ops();
    LiveLoad {
        elapsed: millis(live.elapsed),
        duration: millis(live.duration),
        ops,
        errors: live.total.errors(),
        rate: live.point.map_or(0.0, |point| point.rate),
        total: live.total.headline().into(),
        agents: live.agents.iter().map(agent).collect(),
        // Before the first operation there is nothing to judge.
        thresholds: if ops > 0 { live.thresholds.to_vec() } else { Vec::new() },
    }
}
