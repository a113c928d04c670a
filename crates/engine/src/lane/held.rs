//! The store of a lane: here, or away with a batch that is being written.
//!
//! The store itself goes to whoever writes and comes back with the result, so nothing can be read while a commit is under
//! way: whoever must read waits for it. One commit is under way at a time.

use sprag_store::{Error, Fence, LaneStore, Mutation};

/// A batch to be written, and the store to write it to.
pub struct Work {
    /// Where.
    pub store: Box<dyn LaneStore>,
    /// What must hold.
    pub fences: Vec<Fence>,
    /// What is written.
    pub mutations: Vec<Mutation>,
}

/// What became of it.
pub struct Done {
    /// The store, for the next one.
    pub store: Box<dyn LaneStore>,
    /// Whether it is durable.
    pub result: Result<(), Error>,
}

impl Work {
    /// Writes the batch: the one place where a lane commits.
    pub fn perform(self) -> Done {
        let Self {
            mut store,
            fences,
            mutations,
        } = self;
        let result = store.commit(&fences, &mutations);
        Done { store, result }
    }
}

/// Writes batches while the lane decides on.
pub trait Committer: Send {
    /// Commands that a batch has at least when it is written beside the lane: for fewer, to wake another thread takes longer
    /// than it saves.
    fn worthwhile(&self) -> usize;

    /// Begins to write. Nothing else begins before [`Committer::wait`] has returned.
    fn begin(&mut self, work: Work);

    /// Whether waiting would take no time.
    fn is_done(&mut self) -> bool;

    /// Waits for what was begun. None if whoever wrote is gone, and the store with it.
    fn wait(&mut self) -> Option<Done>;
}

/// Where the store is.
pub(crate) struct Held {
    /// None while it is away, or gone.
    here: Option<Box<dyn LaneStore>>,
    committer: Option<Box<dyn Committer>>,
    is_away: bool,
    /// What became of the batch it was away with, until somebody asks.
    landed: Option<Result<(), Error>>,
}

impl Held {
    pub(crate) fn new(store: Box<dyn LaneStore>, committer: Option<Box<dyn Committer>>) -> Self {
        Self {
            here: Some(store),
            committer,
            is_away: false,
            landed: None,
        }
    }

    /// The store, to read from: after what is under way has been written, and only if it was.
    pub(crate) fn get(&mut self) -> Result<&mut dyn LaneStore, Error> {
        self.bring_back();
        if let Some(Err(error)) = &self.landed {
            return Err(Error::Failed {
                detail: format!("the batch before was not written: {error}"),
            });
        }
        match &mut self.here {
            Some(store) => Ok(store.as_mut()),
            None => Err(gone()),
        }
    }

    /// Whether a batch of so many commands is to be written beside the lane.
    pub(crate) fn goes(&self, commands: usize) -> bool {
        let least = self.committer.as_ref().map(|committer| committer.worthwhile());
        least.is_some_and(|least| commands >= least)
    }

    /// Writes a batch here and now.
    pub(crate) fn commit(&mut self, fences: Vec<Fence>, mutations: Vec<Mutation>) -> Result<(), Error> {
        let store = self.here.take().ok_or_else(gone)?;
        let work = Work {
            store,
            fences,
            mutations,
        };
        let Done { store, result } = work.perform();
        self.here = Some(store);
        result
    }

    /// Has a batch written beside the lane; [`Held::landed`] says what became of it.
    pub(crate) fn send(&mut self, fences: Vec<Fence>, mutations: Vec<Mutation>) -> Result<(), Error> {
        let (Some(store), Some(committer)) = (self.here.take(), &mut self.committer) else {
            return Err(gone());
        };
        committer.begin(Work {
            store,
            fences,
            mutations,
        });
        self.is_away = true;
        Ok(())
    }

    /// Whether what was sent is written, so that [`Held::landed`] does not wait.
    pub(crate) fn has_landed(&mut self) -> bool {
        self.landed.is_some() || (self.is_away && self.committer.as_mut().is_some_and(|committer| committer.is_done()))
    }

    /// What became of what was sent; waits for it.
    pub(crate) fn landed(&mut self) -> Result<(), Error> {
        self.bring_back();
        self.landed.take().unwrap_or_else(|| Err(gone()))
    }

    fn bring_back(&mut self) {
        if !std::mem::take(&mut self.is_away) {
            return;
        }
        let done = self.committer.as_mut().and_then(|committer| committer.wait());
        let result = match done {
            Some(Done { store, result }) => {
                self.here = Some(store);
                result
            }
            None => Err(gone()),
        };
        self.landed = Some(result);
    }
}

/// Whoever wrote ended without a word: nobody knows what is on disk, as after a failed flush.
fn gone() -> Error {
    Error::Disk {
        detail: "the thread that writes is gone".to_owned(),
    }
}
