//! Callers that wait for an execution to close.
//!
//! The lane hands the closed execution to each of them itself, once it is durable: no caller reads it again, and a
//! change wakes only those whom it concerns. A caller whose lane went away meanwhile is told, and reads for itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sprag_core::ids::ExecutionId;
use tokio::sync::oneshot;

use crate::read::view::ExecutionView;
use crate::requests::Closed;

/// How many waits are kept before the abandoned ones are removed.
const SWEEP_MIN: usize = 1_024;

/// Where it arrives.
pub type Closing = oneshot::Receiver<ExecutionView>;

/// Those who wait, by execution. Cheap to clone: the lane and its callers share one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Closings(Arc<Mutex<Waits>>);

#[derive(Debug, Default)]
struct Waits {
    by_execution: BTreeMap<ExecutionId, Vec<Closed>>,
    /// Senders in it.
    count: usize,
    /// How many there may be before a sweep. Twice what the last one left, so that sweeping costs each wait little.
    sweep_at: usize,
}

impl Closings {
    /// Waits for an execution. The caller looks afterwards whether it is closed already.
    pub(crate) fn wait(&self, id: ExecutionId) -> Closing {
        let (closed, closing) = oneshot::channel();
        self.add(id, closed);
        closing
    }

    /// A caller waits for an execution.
    pub(crate) fn add(&self, id: ExecutionId, closed: Closed) {
        let mut waits = self.lock();
        waits.by_execution.entry(id).or_default().push(closed);
        waits.count += 1;
        if waits.count > waits.sweep_at.max(SWEEP_MIN) {
            waits.sweep();
        }
    }

    /// Those who wait for an execution, to be told.
    pub(crate) fn take(&self, id: ExecutionId) -> Vec<Closed> {
        let mut waits = self.lock();
        let found = waits.by_execution.remove(&id).unwrap_or_default();
        waits.count = waits.count.saturating_sub(found.len());
        found
    }

    /// Callers that wait for what another node decides now are told, and read for themselves.
    pub(crate) fn drop_where(&self, goes: impl Fn(ExecutionId) -> bool) {
        let mut waits = self.lock();
        waits.by_execution.retain(|id, _| !goes(*id));
        waits.count = waits.by_execution.values().map(Vec::len).sum();
    }

    /// Whether no caller waits for anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().count == 0
    }

    fn lock(&self) -> MutexGuard<'_, Waits> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waits {
    /// Forgets those who gave up.
    fn sweep(&mut self) {
        self.by_execution.retain(|_, waits| {
            waits.retain(|wait| !wait.is_closed());
            !waits.is_empty()
        });
        self.count = self.by_execution.values().map(Vec::len).sum();
        self.sweep_at = self.count.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> ExecutionId {
        ExecutionId::from_bytes(u128::from(number).to_be_bytes())
    }

    #[test]
    fn those_who_wait_for_one_execution_are_taken_together_and_once() {
        let closings = Closings::default();
        let (_one, _two, _other) = (closings.wait(id(1)), closings.wait(id(1)), closings.wait(id(2)));
        assert_eq!(closings.take(id(1)).len(), 2);
        assert!(closings.take(id(1)).is_empty());
        assert!(!closings.is_empty());
        assert_eq!(closings.take(id(2)).len(), 1);
        assert!(closings.is_empty());
    }

    #[test]
    fn those_who_gave_up_cost_no_memory() {
        let closings = Closings::default();
        let held = closings.wait(id(0));
        for number in 1..100_000 {
            drop(closings.wait(id(number)));
        }
        let waits = closings.lock();
        assert!(waits.count <= SWEEP_MIN + 1, "{}", waits.count);
        assert_eq!(waits.by_execution.len(), waits.count);
        assert!(waits.by_execution.contains_key(&id(0)), "whoever still waits is kept");
        drop(held);
    }
}
