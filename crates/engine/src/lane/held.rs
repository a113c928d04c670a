//! The store of a lane, and the batches that are written to it beside the lane.
//!
//! Batches are written in the order in which they were sent. One that was sent behind another was decided on it: should the
//! first not be written, neither is the second. Nothing can be read while a batch is on its way: whoever must read waits for
//! all of them.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};

use sprag_store::{Commit, Error, Fence, LaneReads, LaneStore, Mutation, Queue};

type Shared = Arc<Mutex<Box<dyn LaneStore>>>;

/// A batch to be written, and the store to write it to.
pub struct Work {
    store: Shared,
    commit: Commit,
    /// Whether it was decided on batches that were not known to be written then.
    follows: bool,
}

/// Where batches come from, and where it goes what became of them.
pub trait Desk {
    /// The next batch. Pending while none waits; none if none will come.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Work>>;

    /// What became of the oldest that was not told of yet.
    fn tell(&mut self, result: Result<(), Error>);
}

/// Hands batches to the store, one after the other: the one place where what is written beside a lane is written.
pub struct Writing<D> {
    /// Where they come from.
    pub desk: D,
    next: Option<Work>,
    /// Of each batch that the store has taken and not told of: whether it follows another.
    taken: VecDeque<bool>,
    /// Set while the newest that the store told of was not written: whether anybody knows that for sure.
    failed: Option<Failed>,
    /// What the store told last. It has let go of everything before the lane hears of it.
    told: Option<Result<(), Error>>,
}

/// How a batch was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failed {
    Surely,
    /// It may have been, and what follows it too.
    Perhaps,
}

impl<D: Desk> Writing<D> {
    /// Writes what comes from `desk`.
    pub fn new(desk: D) -> Self {
        Self {
            desk,
            next: None,
            taken: VecDeque::new(),
            failed: None,
            told: None,
        }
    }

    /// Writes a batch, and those that come meanwhile.
    pub fn perform(&mut self, work: Work) {
        let store = Arc::clone(&work.store);
        self.next = Some(work);
        match locked(&store) {
            Ok(mut store) => store.commit_all(self),
            Err(error) => {
                self.next = None;
                self.told = Some(Err(error));
            }
        }
        self.pass_on();
    }

    fn pass_on(&mut self) {
        if let Some(told) = self.told.take() {
            self.desk.tell(told);
        }
    }
}

impl<D: Desk> Queue for Writing<D> {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Commit>> {
        self.pass_on();
        loop {
            let work = match self.next.take() {
                Some(work) => Some(work),
                None => ready!(self.desk.poll_next(context)),
            };
            let Some(work) = work else { return Poll::Ready(None) };
            let Some(failed) = self.failed.filter(|_| work.follows && self.taken.is_empty()) else {
                self.taken.push_back(work.follows);
                return Poll::Ready(Some(work.commit));
            };
            self.desk.tell(Err(failed.passed_over()));
        }
    }

    fn tell(&mut self, result: Result<(), Error>) {
        self.pass_on();
        let follows = self.taken.pop_front().unwrap_or_default();
        let result = match self.failed.filter(|_| follows) {
            Some(failed) => {
                debug_assert!(result.is_err(), "written although the batch before was not");
                Err(failed.passed_over())
            }
            None => result,
        };
        self.failed = result.as_ref().err().map(Failed::by);
        self.told = Some(result);
    }
}

impl Failed {
    fn by(error: &Error) -> Self {
        match error {
            Error::Away { .. } => Self::Perhaps,
            _ => Self::Surely,
        }
    }

    /// What is said of a batch that rests on one that failed so.
    fn passed_over(self) -> Error {
        match self {
            Self::Surely => Error::Failed {
                detail: "the batch before was not written, so this one was not either".to_owned(),
            },
            Self::Perhaps => Error::Away {
                detail: "nobody knows whether the batch before was written, nor whether this one was".to_owned(),
            },
        }
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

/// The store, to read from: it cannot be written to this way.
pub(crate) struct Reading<'a>(MutexGuard<'a, Box<dyn LaneStore>>);

impl Deref for Reading<'_> {
    type Target = dyn LaneReads;

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

    /// Fails if the store takes nothing more. A batch that is on its way finds out by itself.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.away {
            0 => locked(&self.store)?.check(),
            _ => Ok(()),
        }
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
            commit: Commit { fences, mutations },
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

#[cfg(test)]
mod tests {
    use sprag_store::{CommitStore, Memory, ShardId};

    use super::*;

    /// Batches that all wait from the beginning.
    #[derive(Default)]
    struct Pile {
        batches: VecDeque<Work>,
        told: Vec<Result<(), Error>>,
    }

    impl Desk for Pile {
        fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<Work>> {
            Poll::Ready(self.batches.pop_front())
        }

        fn tell(&mut self, result: Result<(), Error>) {
            self.told.push(result);
        }
    }

    /// What writes these to a store: each with its fence, and whether it follows the one before.
    fn writing(store: &Shared, batches: &[(Fence, bool)]) -> Writing<Pile> {
        let work = |&(fence, follows): &(Fence, bool)| Work {
            store: Arc::clone(store),
            commit: Commit {
                fences: vec![fence],
                mutations: Vec::new(),
            },
            follows,
        };
        Writing::new(Pile {
            batches: batches.iter().map(work).collect(),
            told: Vec::new(),
        })
    }

    fn owned() -> (Shared, Fence) {
        let mut memory = Memory::default();
        let fence = memory.acquire(ShardId(0)).unwrap();
        (Arc::new(Mutex::new(Box::new(memory))), fence)
    }

    #[test]
    fn what_follows_a_batch_that_was_not_written_is_passed_over_and_what_does_not_is_written() {
        let (store, good) = owned();
        let stale = Fence { epoch: 0, ..good };
        let mut writing = writing(
            &store,
            &[(good, false), (stale, true), (good, true), (good, true), (good, false)],
        );
        while let Some(work) = writing.desk.batches.pop_front() {
            writing.perform(work);
        }
        let told = writing.desk.told;
        assert!(
            matches!(
                told.as_slice(),
                [
                    Ok(()),
                    Err(Error::FenceBroken { .. }),
                    Err(Error::Failed { .. }),
                    Err(Error::Failed { .. }),
                    Ok(())
                ]
            ),
            "{told:?}"
        );
    }

    #[test]
    fn nobody_knows_of_what_follows_a_batch_of_which_nobody_knows() {
        let (store, fence) = owned();
        let mut writing = writing(&store, &[(fence, false), (fence, true), (fence, true)]);
        assert!(writing.next().is_some() && writing.next().is_some(), "two at a time");
        writing.tell(Err(Error::Away {
            detail: "no answer".to_owned(),
        }));
        writing.tell(Err(Error::Failed {
            detail: "refused".to_owned(),
        }));
        assert!(writing.next().is_none(), "the third is passed over");
        let told = writing.desk.told;
        let is_away = |result: &Result<(), Error>| matches!(result, Err(Error::Away { .. }));
        assert!(told.len() == 3 && told.iter().all(is_away), "{told:?}");
    }
}
