//! The commit pipeline: the open batch, the commits in flight, and the health of the store.
//!
//! A batch is open while commands are decided into it, sealed when its rows are final, in flight while another thread
//! writes it, and [`Durable`] once it is written. Only this module makes a [`Durable`], and only a [`Durable`] is answered
//! and acted on. The pipeline calls no other room: the lane asks [`table`] what comes next, and does it.

mod store;
pub(crate) mod table;
pub(crate) mod writer;
mod writing;

use std::collections::{BTreeSet, VecDeque};

use sprag_core::action::Outcome;
use sprag_core::action::error::kind;
use sprag_core::ids::AttemptId;
use sprag_core::time::Timestamp;
use sprag_store::{Commit, Error, Fence, LaneStore, Mutation};

pub(crate) use self::store::ReadStore;
use self::store::StoreAccess;
use self::table::{BatchFacts, Need, Sending};
pub use self::writing::{Committer, Desk, Work, Writing};
use crate::decide::{AttemptJob, Batch, Change, Task};
use crate::read::view::ExecutionView;
use crate::requests::{AttemptRef, Command, ReportOutcome, may_overlap};

/// Commands that are decided and not on their way yet.
#[derive(Debug, Default)]
pub(crate) struct OpenBatch {
    pub(crate) commands: Vec<Command>,
    pub(crate) batch: Batch,
}

/// A batch whose rows are final, with what follows once it is durable.
#[derive(Debug)]
pub(crate) struct Sealed {
    pub(crate) commands: Vec<Command>,
    pub(crate) batch: Batch,
    pub(crate) changes: Vec<Change>,
    /// Closed executions for callers that wait for them.
    pub(crate) closed: Vec<ExecutionView>,
    pub(crate) commit: Commit,
    /// When its commit began, in microseconds; none without rows.
    pub(crate) began: Option<u64>,
}

impl Sealed {
    fn facts(&self) -> BatchFacts {
        BatchFacts {
            has_rows: !self.commit.mutations.is_empty(),
            commands: self.commands.len(),
            is_everyday: may_overlap(&self.commands),
        }
    }
}

/// A batch that is written. The proof that it may be answered and acted on.
#[derive(Debug)]
pub(crate) struct Durable(Sealed);

impl Durable {
    pub(crate) fn into_inner(self) -> Sealed {
        self.0
    }
}

/// A batch that was not written, or may not have been, with why.
pub(crate) type Unwritten = Box<(Sealed, Error)>;

/// Whether the store takes commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    Flowing,
    /// It failed: the engine's own work waits until then, or until a caller asks.
    Resting {
        until: Timestamp,
    },
    /// It cannot be reached: what the lane knows must be derived from it again first.
    Unreachable {
        until: Timestamp,
    },
}

/// The way from decided commands to durable ones.
pub(crate) struct CommitPipeline {
    open: Option<OpenBatch>,
    /// How large the batch before was: batches resemble each other.
    last: (usize, usize),
    in_flight: VecDeque<Sealed>,
    store: StoreAccess,
    health: Health,
    /// Attempts whose start is in a commit with an unknown result. They did not start and never will.
    doubtful: BTreeSet<AttemptId>,
}

impl CommitPipeline {
    pub(crate) fn new(store: Box<dyn LaneStore>, committer: Option<Box<dyn Committer>>) -> Self {
        Self {
            open: None,
            last: (0, 0),
            in_flight: VecDeque::new(),
            store: StoreAccess::new(store, committer),
            health: Health::Flowing,
            doubtful: BTreeSet::new(),
        }
    }

    /// The store, to read from. The lane waits for commits in flight first.
    pub(crate) fn reader(&mut self) -> Result<ReadStore<'_>, Error> {
        self.store.reader()
    }

    /// Fails if the store takes nothing more.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.store.check()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Commits without a result that the lane has taken.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// The open batch. Even a batch without commands may start attempts that waited for their time.
    pub(crate) fn open(&mut self) -> &mut OpenBatch {
        let (rows, jobs) = self.last;
        self.open.get_or_insert_with(|| OpenBatch {
            commands: Vec::new(),
            batch: Batch::with_capacity(rows, jobs),
        })
    }

    /// Takes the open batch, to seal it or to decide it again.
    pub(crate) fn take_open(&mut self) -> Option<OpenBatch> {
        let open = self.open.take()?;
        self.last = (open.batch.log.len(), open.batch.jobs.len());
        Some(open)
    }

    /// Whether the open batch goes on its way.
    pub(crate) fn goes(&mut self, need: Need) -> bool {
        let Some(open) = &self.open else { return false };
        let waiting = self.in_flight.len() - usize::from(self.store.has_result());
        table::goes(need, waiting, open.commands.len(), self.store.thresholds())
    }

    /// How to write a sealed batch now.
    pub(crate) fn sending(&self, sealed: &Sealed) -> Sending {
        table::sending(self.in_flight.len(), sealed.facts(), self.store.thresholds())
    }

    /// Has another thread write a batch.
    pub(crate) fn send(&mut self, mut sealed: Sealed) -> Result<(), Error> {
        let commit = Commit {
            fences: std::mem::take(&mut sealed.commit.fences),
            mutations: std::mem::take(&mut sealed.commit.mutations),
        };
        self.store.send(commit)?;
        self.in_flight.push_back(sealed);
        Ok(())
    }

    /// Writes a batch here and now.
    pub(crate) fn write(&mut self, sealed: Sealed) -> Result<Durable, Unwritten> {
        let Commit { fences, mutations } = &sealed.commit;
        match self.store.commit(fences, mutations) {
            Ok(()) => Ok(self.durable(sealed)),
            Err(error) => Err(Box::new((sealed, error))),
        }
    }

    /// A batch without rows is durable once everything before it is.
    pub(crate) fn without_rows(&mut self, sealed: Sealed) -> Durable {
        debug_assert!(sealed.commit.mutations.is_empty() && self.in_flight.is_empty());
        self.durable(sealed)
    }

    fn durable(&mut self, sealed: Sealed) -> Durable {
        self.health = Health::Flowing;
        Durable(sealed)
    }

    /// Whether the oldest commit has a result.
    pub(crate) fn has_result(&mut self) -> bool {
        self.store.has_result()
    }

    /// The oldest batch in flight with the result of its commit; waits for it.
    pub(crate) fn land(&mut self) -> Option<Result<Durable, Unwritten>> {
        let sealed = self.in_flight.pop_front()?;
        Some(match self.store.result() {
            Ok(()) => Ok(self.durable(sealed)),
            Err(error) => Err(Box::new((sealed, error))),
        })
    }

    /// Takes back everything that was decided on a batch that was not written. If its result is unknown, so are theirs.
    pub(crate) fn recall(&mut self) -> Vec<OpenBatch> {
        let mut recalled = Vec::new();
        for Sealed { commands, batch, .. } in std::mem::take(&mut self.in_flight) {
            if matches!(self.store.result(), Err(Error::Away { .. })) {
                self.doubt(&batch.jobs);
            }
            recalled.push(OpenBatch { commands, batch });
        }
        recalled.extend(self.take_open());
        recalled
    }

    /// The first commit of a process, before anything is decided.
    pub(crate) fn begin(&mut self, fences: &[Fence], mutations: &[Mutation]) -> Result<(), Error> {
        self.store.commit(fences, mutations)
    }

    /// The store failed: the engine's own work waits.
    pub(crate) fn rest_until(&mut self, until: Timestamp) {
        if !self.is_unreachable() {
            self.health = Health::Resting { until };
        }
    }

    /// The store cannot be reached.
    pub(crate) fn unreachable_until(&mut self, until: Timestamp) {
        self.health = Health::Unreachable { until };
    }

    pub(crate) fn is_unreachable(&self) -> bool {
        matches!(self.health, Health::Unreachable { .. })
    }

    /// Until when the engine's own work waits.
    pub(crate) fn rests_until(&self) -> Option<Timestamp> {
        match self.health {
            Health::Flowing => None,
            Health::Resting { until } | Health::Unreachable { until } => Some(until),
        }
    }

    /// The store answers again, and everything was derived from it.
    pub(crate) fn reached(&mut self) {
        self.doubtful.clear();
        self.health = Health::Flowing;
    }

    /// The start of these attempts may have been written. They did not start, and never will.
    pub(crate) fn doubt(&mut self, jobs: &[AttemptJob]) {
        let own = jobs.iter().filter(|job| job.task == Task::Run && job.lease.is_none());
        self.doubtful.extend(own.map(|job| job.attempt.attempt));
    }

    /// The outcome of an attempt that is found running and never started.
    pub(crate) fn settle_doubtful(&self, at: AttemptRef) -> Option<Command> {
        self.doubtful.contains(&at.attempt).then(|| {
            let message = "the commit of this attempt had no known result; the attempt did not start";
            Command::own(ReportOutcome {
                attempt: at,
                outcome: Outcome::not_done(kind::TEMPORARY_FAILURE, message),
            })
        })
    }
}
