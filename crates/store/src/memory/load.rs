//! Reads what a batch needs, by key.

use sprag_core::ids::ExecutionId;

use super::plans;
use super::state::{State, numbers_of, timers_of};
use crate::records::MachineVersion;
use crate::traits::{Loaded, LoadedExecution, Wanted};

/// Everything wanted that is stored.
pub(super) fn load(state: &State, wanted: &Wanted) -> Loaded {
    let Wanted {
        executions,
        keys,
        actions,
        receipts,
        newest: machines,
        versions,
        version_by_digest,
        idempotency,
        plans,
        proposers,
    } = wanted;
    Loaded {
        executions: executions.iter().filter_map(|id| load_execution(state, *id)).collect(),
        keys: keys
            .iter()
            .filter_map(|key| Some((key.clone(), *state.holders.get(key)?)))
            .collect(),
        actions: actions.iter().filter_map(|id| state.actions.get(id).cloned()).collect(),
        receipts: receipts
            .iter()
            .filter_map(|key| state.receipts.get(key).cloned())
            .collect(),
        newest: machines
            .iter()
            .filter_map(|machine| Some((machine.clone(), newest(state, machine)?.version)))
            .collect(),
        versions: versions
            .iter()
            .filter_map(|key| state.machines.get(key).cloned())
            .collect(),
        version_by_digest: version_by_digest
            .iter()
            .filter_map(|key| Some((key.clone(), with_digest(state, &key.0, &key.1)?)))
            .collect(),
        idempotency: idempotency
            .iter()
            .filter_map(|scope| state.idempotency.get(scope).cloned())
            .collect(),
        plans: plans.iter().filter_map(|id| state.plans.get(id).cloned()).collect(),
        proposals: proposers
            .iter()
            .map(|proposer| plans::proposals(state, proposer))
            .collect(),
    }
}

fn load_execution(state: &State, id: ExecutionId) -> Option<LoadedExecution> {
    Some(LoadedExecution {
        execution: state.executions.get(&id)?.clone(),
        actions: state.open_of(id).cloned().collect(),
        timers: state
            .timers
            .range(timers_of(id))
            .map(|(_, timer)| timer.clone())
            .collect(),
        inbox: state
            .inbox
            .range(numbers_of(id))
            .map(|(_, entry)| entry.clone())
            .collect(),
    })
}

/// The newest version of a machine.
pub(super) fn newest<'a>(state: &'a State, machine: &str) -> Option<&'a MachineVersion> {
    versions_of(state, machine).next_back()
}

/// The highest version of a machine that has a digest.
pub(super) fn with_digest(state: &State, machine: &str, digest: &[u8; 32]) -> Option<u32> {
    let mut highest_first = versions_of(state, machine).rev();
    highest_first
        .find(|version| version.digest == *digest)
        .map(|version| version.version)
}

fn versions_of<'a>(state: &'a State, machine: &str) -> impl DoubleEndedIterator<Item = &'a MachineVersion> + use<'a> {
    let versions = (machine.to_owned(), 0)..=(machine.to_owned(), u32::MAX);
    state.machines.range(versions).map(|(_, version)| version)
}
