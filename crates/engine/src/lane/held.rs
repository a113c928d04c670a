//! The store of a lane, and the batches that are written to it beside the lane.
//!
//! Batches are written in the order in which they were sent. One that was sent behind another was decided on it: should the
//! first not be written, neither is the second. Nothing can be read while a batch is on its way: whoever must read waits for
//! all of them.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard};

use sprag_store::{Error, Fence, LaneStore, Mutation};

type Shared = Arc<Mutex<Box<dyn LaneStore>>>;

/// A batch to be written, and the store to write it to.
pub struct Work {
    store: Shared,
    fences: Vec<Fence>,
    mutations: Vec<Mutation>,
    /// Whether it was decided on batches that were not known to be written then.
    follows: bool,
}

/// Writes one batch after the other: the one place where a lane commits.
#[derive(Default)]
pub struct Writing {
    has_failed: bool,
}

impl Writing {
    /// Writes a batch, unless it rests on one that was not written.
    pub fn perform(&mut self, work: &Work) -> Result<(), Error> {
        if work.follows && self.has_failed {
            return Err(passed_over());
        }
        let result = locked(&work.store).and_then(|mut store| store.commit(&work.fences, &work.mutations));
        self.has_failed = result.is_err();
        result
    }
}

/// Writes batches while the lane decides on.
pub trait Committer: Send {
    /// Commands that a batch has at least when it is written beside the lane: for fewer, to wake another thread takes longer
    /// than it saves.
    fn worthwhile(&self) -> usize;

    /// Commands that a batch has at least when it is to wait behind one that is being written: smaller ones gather more first, because
    /// each has its price.
    fn worth_waiting(&self) -> usize;

    /// Begins to write, after what was begun before.
    fn begin(&mut self, work: Work);

    /// Whether waiting would take no time.
    fn is_done(&mut self) -> bool;

    /// Waits for the oldest that was begun, and says what became of it. None if whoever wrote is gone.
    fn wait(&mut self) -> Option<Result<(), Error>>;
}

/// The store, to read from.
pub(crate) struct Reading<'a>(MutexGuard<'a, Box<dyn LaneStore>>);

impl Deref for Reading<'_> {
    type Target = dyn LaneStore;

    fn deref(&self) -> &Self::Target {
        self.0.as_ref()
    }
}

impl DerefMut for Reading<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.0.as_mut()
    }
}

/// The store and what is on its way to it.
pub(crate) struct Held {
    store: Shared,
    committer: Option<Box<dyn Committer>>,
    /// Batches on their way.
    away: usize,
    /// What became of those before them, oldest first, until somebody asks.
    landed: VecDeque<Result<(), Error>>,
}

impl Held {
    pub(crate) fn new(store: Box<dyn LaneStore>, committer: Option<Box<dyn Committer>>) -> Self {
        Self {
            store: Arc::new(Mutex::new(store)),
            committer,
            away: 0,
            landed: VecDeque::new(),
        }
    }

    /// The store, to read from: after all that is under way has been written, and only if it was.
    pub(crate) fn get(&mut self) -> Result<Reading<'_>, Error> {
        while self.away > 0 {
            self.bring_back();
        }
        if let Some(error) = self.landed.iter().find_map(|landed| landed.as_ref().err()) {
            return Err(Error::Failed {
                detail: format!("the batch before was not written: {error}"),
            });
        }
        locked(&self.store).map(Reading)
    }

    /// Whether a batch of so many commands is to be written beside the lane.
    pub(crate) fn goes(&self, commands: usize) -> bool {
        let least = self.committer.as_ref().map(|committer| committer.worthwhile());
        least.is_some_and(|least| commands >= least)
    }

    /// Whether a batch of so many commands is to wait behind one that is being written.
    pub(crate) fn waits(&self, commands: usize) -> bool {
        let least = self.committer.as_ref().map(|committer| committer.worth_waiting());
        least.is_some_and(|least| commands >= least)
    }

    /// Writes a batch here and now. None may be under way.
    pub(crate) fn commit(&mut self, fences: &[Fence], mutations: &[Mutation]) -> Result<(), Error> {
        locked(&self.store)?.commit(fences, mutations)
    }

    /// Has a batch written beside the lane; [`Held::landed`] says what became of it.
    pub(crate) fn send(&mut self, fences: Vec<Fence>, mutations: Vec<Mutation>) -> Result<(), Error> {
        let follows = self.away > 0 || !self.landed.is_empty();
        let committer = self.committer.as_mut().ok_or_else(gone)?;
        committer.begin(Work {
            store: Arc::clone(&self.store),
            fences,
            mutations,
            follows,
        });
        self.away += 1;
        Ok(())
    }

    /// Whether the oldest that was sent is written, so that [`Held::landed`] does not wait.
    pub(crate) fn has_landed(&mut self) -> bool {
        let is_done = |committer: &mut Box<dyn Committer>| committer.is_done();
        !self.landed.is_empty() || (self.away > 0 && self.committer.as_mut().is_some_and(is_done))
    }

    /// What became of the oldest that was sent; waits for it.
    pub(crate) fn landed(&mut self) -> Result<(), Error> {
        if self.landed.is_empty() && self.away > 0 {
            self.bring_back();
        }
        self.landed.pop_front().unwrap_or_else(|| Err(gone()))
    }

    fn bring_back(&mut self) {
        let done = self.committer.as_mut().and_then(|committer| committer.wait());
        self.away -= 1;
        self.landed.push_back(done.unwrap_or_else(|| Err(gone())));
    }
}

fn locked(store: &Shared) -> Result<MutexGuard<'_, Box<dyn LaneStore>>, Error> {
    store.lock().map_err(|_| gone())
}

/// Whoever wrote ended without a word: nobody knows what is on disk, as after a failed flush.
fn gone() -> Error {
    Error::Disk {
        detail: "the thread that writes is gone".to_owned(),
    }
}

fn passed_over() -> Error {
    Error::Failed {
        detail: "the batch before was not written, so this one was not either".to_owned(),
    }
}
