//! Commits written by another thread, in the order in which the lane sent them.
//!
//! A commit that was sent behind another was decided on it: if the first is not written, neither is the second. If the
//! result of a commit is unknown, so is the result of every commit pipelined behind it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};

use sprag_store::{Commit, Error, LaneStore, Queue};

pub(super) type SharedStore = Arc<Mutex<Box<dyn LaneStore>>>;

/// A commit to write, and the store to write it to.
pub struct Work {
    pub(super) store: SharedStore,
    pub(super) commit: Commit,
    /// Whether it was decided on commits without a result.
    pub(super) follows: bool,
}

/// Where commits come from, and where their results go.
pub trait Desk {
    /// The next commit. Pending while none waits; none if none will come.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Work>>;

    /// The result of the oldest commit without one.
    fn tell(&mut self, result: Result<(), Error>);
}

/// Hands commits to the store, one after the other.
pub struct Writing<D> {
    /// Where they come from.
    pub desk: D,
    next: Option<Work>,
    /// Of each commit that the store has taken and not finished: whether it follows another.
    taken: VecDeque<bool>,
    /// Set while the newest result is a failure: whether it is certain that nothing was written.
    failed: Option<Failed>,
    /// The newest result. The store has let go of everything before the lane gets it.
    told: Option<Result<(), Error>>,
}

/// How a commit failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failed {
    Surely,
    /// It may have been, and what follows it too.
    Perhaps,
}

impl<D: Desk> Writing<D> {
    /// Writes the commits of `desk`.
    pub fn new(desk: D) -> Self {
        Self {
            desk,
            next: None,
            taken: VecDeque::new(),
            failed: None,
            told: None,
        }
    }

    /// Writes a commit, and those that come meanwhile.
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

    /// The result of a commit behind one that failed so.
    fn passed_over(self) -> Error {
        match self {
            Self::Surely => Error::Failed {
                detail: "the previous commit was not written, so this one was not either".to_owned(),
            },
            Self::Perhaps => Error::Away {
                detail: "the result of the previous commit is unknown, and so is the result of this one".to_owned(),
            },
        }
    }
}

/// The lane's side of the thread that writes.
pub trait Committer: Send {
    /// Commands that a batch has at least when another thread writes it: for fewer, waking the thread takes longer than it
    /// saves.
    fn worthwhile(&self) -> usize;

    /// Commands that a batch has at least when it is sent behind a commit in flight: smaller ones gather more first, because
    /// each commit has its price.
    fn worth_waiting(&self) -> usize;

    /// Starts to write, after what was started before.
    fn begin(&mut self, work: Work);

    /// Whether waiting would take no time.
    fn is_done(&mut self) -> bool;

    /// Waits for the oldest result. None if the thread is gone.
    fn wait(&mut self) -> Option<Result<(), Error>>;
}

pub(super) fn locked(store: &SharedStore) -> Result<MutexGuard<'_, Box<dyn LaneStore>>, Error> {
    store.lock().map_err(|_| gone())
}

/// The thread that writes ended without a result: what is on disk is unknown, as after a failed flush.
pub(super) fn gone() -> Error {
    Error::Disk {
        detail: "the thread that writes is gone".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use sprag_store::{CommitStore, Fence, Memory, ShardId};

    use super::*;

    /// Commits that all wait from the beginning.
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

    /// Writes these to a store: each with its fence, and whether it follows the one before.
    fn writing(store: &SharedStore, batches: &[(Fence, bool)]) -> Writing<Pile> {
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

    fn owned() -> (SharedStore, Fence) {
        let mut memory = Memory::default();
        let fence = memory.acquire(ShardId(0)).unwrap();
        (Arc::new(Mutex::new(Box::new(memory))), fence)
    }

    #[test]
    fn a_commit_behind_one_that_failed_is_skipped_and_any_other_is_written() {
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
    fn the_result_of_a_commit_behind_an_unknown_one_is_unknown() {
        let (store, fence) = owned();
        let mut writing = writing(&store, &[(fence, false), (fence, true), (fence, true)]);
        assert!(writing.next().is_some() && writing.next().is_some(), "two at a time");
        writing.tell(Err(Error::Away {
            detail: "no answer".to_owned(),
        }));
        writing.tell(Err(Error::Failed {
            detail: "refused".to_owned(),
        }));
        assert!(writing.next().is_none(), "the third is skipped");
        let told = writing.desk.told;
        let is_away = |result: &Result<(), Error>| matches!(result, Err(Error::Away { .. }));
        assert!(told.len() == 3 && told.iter().all(is_away), "{told:?}");
    }
}
