//! The attempts that programs outside this process hold, and until when.
//!
//! The lane alone writes here; readers look. What stands here is derived from stored attempts and from heartbeats, which
//! are not stored: a new process grants one full lease anew, so no program loses an attempt to a restart.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sprag_core::action::Lease;
use sprag_core::ids::AttemptId;
use sprag_core::time::Timestamp;

use crate::requests::AttemptRef;

/// An attempt that a program holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeasedAttempt {
    /// Where it is to be found.
    pub(crate) at: AttemptRef,
    /// Whose, until when.
    pub(crate) lease: Lease,
    /// A caller asked it to stop.
    pub(crate) cancel_requested: bool,
}

/// All of them. Cheap to clone: the lane and its readers share one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leases(Arc<Mutex<BTreeMap<AttemptId, LeasedAttempt>>>);

impl Leases {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<AttemptId, LeasedAttempt>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A program holds an attempt from now on.
    pub(crate) fn hold(&self, leased: LeasedAttempt) {
        self.lock().insert(leased.at.attempt, leased);
    }

    /// The attempt, if a program holds it.
    pub(crate) fn get(&self, attempt: AttemptId) -> Option<LeasedAttempt> {
        self.lock().get(&attempt).cloned()
    }

    /// Until when a program holds the attempt.
    pub(crate) fn until(&self, attempt: AttemptId) -> Option<Timestamp> {
        self.lock().get(&attempt).map(|held| held.lease.until)
    }

    /// The program that holds the attempt sends a heartbeat: one full lease from now.
    pub(crate) fn renew(&self, attempt: AttemptId, now: Timestamp) -> Option<LeasedAttempt> {
        let mut leases = self.lock();
        let held = leases.get_mut(&attempt)?;
        held.lease = held.lease.renewed(now);
        Some(held.clone())
    }

    /// The program that holds the attempt is to hear that it should stop.
    pub(crate) fn ask_to_stop(&self, attempt: AttemptId) {
        if let Some(held) = self.lock().get_mut(&attempt) {
            held.cancel_requested = true;
        }
    }

    /// The attempt is over. Says whether a program held it.
    pub(crate) fn end(&self, attempt: AttemptId) -> bool {
        self.lock().remove(&attempt).is_some()
    }

    /// Takes all of them out, to derive them anew.
    pub(crate) fn take(&self) -> BTreeMap<AttemptId, LeasedAttempt> {
        std::mem::take(&mut *self.lock())
    }

    /// Those that another node watches now.
    pub(crate) fn drop_where(&self, goes: impl Fn(AttemptId) -> bool) {
        self.lock().retain(|attempt, _| !goes(*attempt));
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }
}
