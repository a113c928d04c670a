//! A worker's slot: its one action, and the status of the last one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sprag_core::ids::ActionId;
use sprag_core::time::Timestamp;

use super::event::Event;
use super::options::{ABANDON_FACTOR, WARN_FACTOR};
use super::service::CancelReason;
use crate::runtime::pool::PooledTask;
use crate::worker::action::{ActionCall, ActionStatus, Canceller};

/// All slots, and when each is to be looked at.
#[derive(Default)]
pub(super) struct Slots {
    pub(super) workers: BTreeMap<Arc<str>, Slot>,
    pub(super) due: BTreeSet<(Timestamp, Arc<str>)>,
    pub(super) generation: u64,
    /// The status of every worker that never had an action.
    pub(super) nothing: Arc<ActionStatus>,
    /// Until when actions may take to end, once the executor stops.
    pub(super) stop_at: Option<Timestamp>,
    /// Actions given up because of the stop.
    pub(super) stop_leaked: u64,
    /// How many slots are taken.
    pub(super) taken: usize,
    /// What happened since the last scan.
    pub(super) events: Vec<Event>,
    /// Actions that are over: dropped once the lock is open again, for dropping them may be a worker's code.
    pub(super) over: Vec<CurrentAction>,
}

/// One worker's.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) status: Arc<ActionStatus>,
    pub(super) action: Option<Box<CurrentAction>>,
    pub(super) due: Option<Timestamp>,
}

/// The action that holds a slot.
pub(super) struct CurrentAction {
    pub(super) call: ActionCall,
    /// For the jitter of its retries.
    pub(super) jitter: ActionId,
    pub(super) turn: Turn,
}

/// Whether an attempt is under way.
pub(super) enum Turn {
    /// An attempt is in the pool.
    InPool(CurrentAttempt),
    /// Between two attempts.
    Waiting(Timestamp),
}

/// An attempt in the pool.
pub(super) struct CurrentAttempt {
    pub(super) task: PooledTask,
    pub(super) canceller: Canceller,
    pub(super) attempt: u32,
    pub(super) timeout_millis: Option<u64>,
    pub(super) times: AttemptTimes,
}

/// When what happens to an attempt. Nothing does before it began: waiting for room or for its mark does not count.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AttemptTimes {
    pub(super) began: Option<Timestamp>,
    pub(super) cancel_at: Option<Timestamp>,
    pub(super) warn_at: Option<Timestamp>,
    pub(super) abandon_at: Option<Timestamp>,
    pub(super) cancelled: Option<CancelCause>,
}

/// Why an attempt was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CancelCause {
    Timeout,
    Asked(CancelReason),
}

impl AttemptTimes {
    pub(super) fn begin(&mut self, at: Timestamp, timeout: Option<u64>) {
        let after = |factor: u64| timeout.map(|millis| at.plus(millis.saturating_mul(factor)));
        self.began = Some(at);
        self.cancel_at = after(1);
        self.warn_at = after(WARN_FACTOR);
        self.abandon_by(after(ABANDON_FACTOR));
    }

    /// Given up then, unless it is earlier.
    pub(super) fn abandon_by(&mut self, at: Option<Timestamp>) {
        self.abandon_at = [self.abandon_at, at].into_iter().flatten().min();
    }

    /// The next moment at which something happens by itself.
    fn next(&self) -> Option<Timestamp> {
        let cancel = self.cancel_at.filter(|_| self.cancelled.is_none());
        [cancel, self.warn_at, self.abandon_at].into_iter().flatten().min()
    }
}

impl Slot {
    fn next_due(&self) -> Option<Timestamp> {
        match &self.action.as_ref()?.turn {
            Turn::InPool(current) => current.times.next(),
            Turn::Waiting(until) => Some(*until),
        }
    }

    /// Changes the status, of which a reader may hold the old one.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut ActionStatus)) {
        change(Arc::make_mut(&mut self.status));
    }
}

impl Slots {
    /// The action that holds the worker's slot.
    pub(super) fn action(&self, worker: &str) -> Option<&CurrentAction> {
        self.workers.get(worker)?.action.as_deref()
    }

    /// Puts the slot where the next look at it is due.
    pub(super) fn reschedule(&mut self, worker: &Arc<str>) {
        let Some(slot) = self.workers.get_mut(worker) else {
            return;
        };
        let next = slot.next_due();
        if slot.due == next {
            return;
        }
        if let Some(old) = std::mem::replace(&mut slot.due, next) {
            self.due.remove(&(old, Arc::clone(worker)));
        }
        if let Some(new) = next {
            self.due.insert((new, Arc::clone(worker)));
        }
    }

    /// A worker whose moment has come, by time and name.
    pub(super) fn take_due(&mut self, now: Timestamp) -> Option<Arc<str>> {
        if self.due.first().is_none_or(|(at, _)| *at > now) {
            return None;
        }
        let (_, worker) = self.due.pop_first()?;
        if let Some(slot) = self.workers.get_mut(&worker) {
            slot.due = None;
        }
        Some(worker)
    }
}
