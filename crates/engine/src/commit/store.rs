//! The store of a lane, and the commits in flight to it.
//!
//! The lane cannot read while a commit is in flight: what it read would be older than what it decided on.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard};

use sprag_store::{Commit, Error, Fence, LaneReads, LaneStore, Mutation};

use super::table::Thresholds;
use super::writing::{Committer, SharedStore, Work, gone, locked};

/// The store, to read from: it cannot be written to this way.
pub(crate) struct ReadStore<'a>(MutexGuard<'a, Box<dyn LaneStore>>);

impl Deref for ReadStore<'_> {
    type Target = dyn LaneReads;

    fn deref(&self) -> &Self::Target {
        self.0.as_ref()
    }
}

impl DerefMut for ReadStore<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.0.as_mut()
    }
}

/// The store and what is in flight to it.
pub(super) struct StoreAccess {
    store: SharedStore,
    committer: Option<Box<dyn Committer>>,
    /// Commits without a result.
    in_flight: usize,
    /// Results that the lane has not taken yet, oldest first.
    results: VecDeque<Result<(), Error>>,
}

impl StoreAccess {
    pub(super) fn new(store: Box<dyn LaneStore>, committer: Option<Box<dyn Committer>>) -> Self {
        Self {
            store: Arc::new(Mutex::new(store)),
            committer,
            in_flight: 0,
            results: VecDeque::new(),
        }
    }

    /// The store, to read from. Nothing may be in flight.
    pub(super) fn reader(&mut self) -> Result<ReadStore<'_>, Error> {
        debug_assert!(
            self.in_flight == 0 && self.results.is_empty(),
            "a read while a commit is in flight"
        );
        locked(&self.store).map(ReadStore)
    }

    /// Fails if the store takes nothing more. A commit in flight finds out by itself.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.in_flight {
            0 => locked(&self.store)?.check(),
            _ => Ok(()),
        }
    }

    /// From how many commands on a batch is worth another thread; none without one.
    pub(super) fn thresholds(&self) -> Option<Thresholds> {
        self.committer.as_ref().map(|committer| Thresholds {
            beside: committer.worthwhile(),
            behind: committer.worth_waiting(),
        })
    }

    /// Writes a commit here and now. Nothing may be in flight.
    pub(super) fn commit(&mut self, fences: &[Fence], mutations: &[Mutation]) -> Result<(), Error> {
        locked(&self.store)?.commit(fences, mutations)
    }

    /// Has another thread write a commit.
    pub(super) fn send(&mut self, commit: Commit) -> Result<(), Error> {
        let follows = self.in_flight > 0 || !self.results.is_empty();
        let committer = self.committer.as_mut().ok_or_else(gone)?;
        committer.begin(Work {
            store: Arc::clone(&self.store),
            commit,
            follows,
        });
        self.in_flight += 1;
        Ok(())
    }

    /// Whether the oldest commit has a result.
    pub(super) fn has_result(&mut self) -> bool {
        let is_done = |committer: &mut Box<dyn Committer>| committer.is_done();
        !self.results.is_empty() || (self.in_flight > 0 && self.committer.as_mut().is_some_and(is_done))
    }

    /// The result of the oldest commit; waits for it.
    pub(super) fn result(&mut self) -> Result<(), Error> {
        if self.results.is_empty() && self.in_flight > 0 {
            let done = self.committer.as_mut().and_then(|committer| committer.wait());
            self.in_flight -= 1;
            self.results.push_back(done.unwrap_or_else(|| Err(gone())));
        }
        self.results.pop_front().unwrap_or_else(|| Err(gone()))
    }
}
