//! The simulated disk: a store in memory behind a wrapper that fails as disks and processes do.
//!
//! A commit is applied whole or not at all. It may fail cleanly (full, read-only, refused), or the process may die
//! right before or right after it; then the wrapper answers nothing but errors until it is dropped. Whatever was
//! applied is in the journal, for the checks to follow.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sprag_core::ids::ExecutionId;
use sprag_core::time::Timestamp;
use sprag_store::hooked::{Answered, ReadCall};
use sprag_store::{Commit, CommitStore, Error, Fence, Hooked, LaneReads, Memory, Mutation, Page, ShardId, StoreHook};

use crate::describe;
use crate::mutant::Mutant;
use crate::picky::{Refused, Tried};
use crate::violation::Checked;

/// How the next commit or read goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The process dies before the commit.
    DieBefore,
    /// The process dies after the commit: no answer is sent.
    DieAfter,
    /// No room.
    Full,
    /// Cannot be written.
    ReadOnly,
    /// A record is refused, though nothing is wrong with it.
    Refused,
    /// Something else.
    Failed,
    /// The database is out of reach; nothing was written.
    Away,
    /// The database is out of reach after the commit: it was written, and no answer was sent.
    ToldAway,
}

/// A commit that was applied.
#[derive(Clone, Debug)]
pub(crate) struct Applied {
    /// The fences it carried.
    pub fences: Vec<Fence>,
    /// Those of them that were not the present ones.
    pub stale: Vec<Fence>,
    /// What was written.
    pub mutations: Vec<Mutation>,
}

/// What all wrappers share.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    /// What is stored.
    pub memory: Memory,
    /// The latest epoch anybody took.
    pub epoch: u64,
    /// How the commit after so many others goes wrong.
    pub next: Option<(u32, Fault)>,
    /// How many reads from now one fails.
    pub next_read: Option<u32>,
    /// Commits fail this way for a while.
    pub outage: Option<Fault>,
    /// Applied, not yet looked at.
    pub journal: Vec<Applied>,
    /// What the store refused although no fault was planned.
    pub refused: Vec<String>,
    /// A record was refused by plan: what it was about may be set aside until another process starts.
    pub has_refused: bool,
    /// Rows are refused that are chosen by what is in them (see `picky.rs`).
    pub is_picky: bool,
    /// How many commits held such a row.
    pub picked: u64,
    /// The rows of those.
    pub rows_refused: Refused,
    /// How many ticks there were.
    pub ticks: u64,
    /// The commit before was refused, and a planted bug refuses the next with it.
    spreads: bool,
    /// How many commits failed, by plan or not.
    pub failures: u64,
    /// How many commits of nodes that had lost a shard were refused.
    pub fenced: u64,
    /// How many commits were written although the writer was told that the database is unreachable.
    pub told_away: u64,
    /// How many were that had been sent behind such a one.
    pub told_away_behind: u64,
    /// A planted bug.
    pub mutant: Option<Mutant>,
    /// All that was ever applied, where a planted bug needs it.
    log: Vec<Vec<Mutation>>,
}

/// A handle to the disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedDisk(Arc<Mutex<Disk>>);

impl SharedDisk {
    /// The disk with a planted bug, or none, and so many shards.
    pub(crate) fn new(mutant: Option<Mutant>, shards: u32) -> Self {
        Self(Arc::new(Mutex::new(Disk {
            memory: Memory::with_shards(shards),
            mutant,
            ..Disk::default()
        })))
    }

    /// The disk itself.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is stored.
    pub(crate) fn memory(&self) -> Memory {
        self.lock().memory.clone()
    }

    /// A wrapper for one process.
    pub(crate) fn open(&self, life: u64) -> FaultyStore {
        self.open_cut(life, Arc::default())
    }

    /// A wrapper for one node of several, which may be cut off from the database.
    pub(crate) fn open_cut(&self, life: u64, is_cut: Arc<AtomicBool>) -> FaultyStore {
        let faults = Faults {
            disk: self.clone(),
            memory: self.memory(),
            life,
            is_dead: false,
            is_cut,
            taken: VecDeque::new(),
            has_landed: false,
        };
        Hooked::new(self.memory(), faults)
    }

    /// The process died. With a planted bug, that may cost the last commit.
    pub(crate) fn crash(&self) {
        let mut disk = self.lock();
        disk.next = None;
        disk.next_read = None;
        if disk.mutant == Some(Mutant::AnswerBeforeCommit) {
            disk.log.pop();
            disk.rebuild();
        }
    }
}

impl Disk {
    /// The records anew, from everything that was ever applied.
    fn rebuild(&mut self) {
        let mut memory = Memory::default();
        let mut fence = Fence {
            shard: ShardId(0),
            epoch: 0,
        };
        for _ in 0..self.epoch {
            // A store in memory cannot fail to count.
            let Ok(acquired) = memory.acquire(ShardId(0)) else {
                continue;
            };
            fence = acquired;
        }
        for mutations in &self.log {
            if memory.commit(&[fence], mutations).is_err() {
                self.refused
                    .push("the log of a planted bug cannot be applied again".to_owned());
            }
        }
        self.memory = memory;
    }

    /// A process leaves these executions alone: those alone whose rows were refused, where it is known which rows are.
    pub(crate) fn check_refused(&self, left_alone: &BTreeSet<ExecutionId>) -> Checked {
        if self.is_picky {
            self.rows_refused.check(left_alone)?;
        }
        Ok(())
    }

    /// How many commits and reads failed but for rows that the store refuses always.
    pub(crate) fn mishaps(&self) -> u64 {
        self.failures - self.picked
    }

    fn fault(&mut self) -> Option<Fault> {
        match &mut self.next {
            Some((0, fault)) => {
                let fault = *fault;
                self.next = None;
                Some(fault)
            }
            Some((left, _)) => {
                *left -= 1;
                self.outage
            }
            None => self.outage,
        }
    }

    fn read_fault(&mut self) -> bool {
        match &mut self.next_read {
            Some(0) => {
                self.next_read = None;
                true
            }
            Some(left) => {
                *left -= 1;
                false
            }
            None => false,
        }
    }
}

/// A store as one process has it.
pub(crate) type FaultyStore = Hooked<Memory, Faults>;

/// What goes wrong between a process and its store.
#[derive(Debug)]
pub(crate) struct Faults {
    disk: SharedDisk,
    memory: Memory,
    /// The number of the process.
    life: u64,
    is_dead: bool,
    /// Nothing reaches the database.
    is_cut: Arc<AtomicBool>,
    /// The commits that the store has taken, oldest first.
    taken: VecDeque<Taken>,
    /// The last commit whose answer was lost had landed.
    has_landed: bool,
}

/// A commit that the store has taken.
#[derive(Debug)]
struct Taken {
    applied: Applied,
    /// The fault that strikes once it is written.
    then: Option<Fault>,
}

/// What a process hears that is cut off from the database.
pub(crate) fn cut_off() -> Error {
    Error::Away {
        detail: "the database cannot be reached".to_owned(),
    }
}

fn dead() -> Error {
    Error::Disk {
        detail: "the process is dead".to_owned(),
    }
}

fn planned() -> Error {
    Error::Failed {
        detail: "planned".to_owned(),
    }
}

impl Faults {
    /// Fails unless the process lives and has a way to its store.
    fn reaches(&self) -> Result<(), Error> {
        if self.is_dead {
            return Err(dead());
        }
        if self.is_cut.load(Ordering::SeqCst) {
            return Err(cut_off());
        }
        Ok(())
    }

    fn fail(&mut self, error: Error) -> Result<(), Error> {
        self.disk.lock().failures += 1;
        Err(error)
    }

    /// Whether a row of the commit is one that the store refuses always.
    fn is_picked(&self, mutations: &[Mutation]) -> bool {
        let mut disk = self.disk.lock();
        if !disk.is_picky {
            return false;
        }
        let (tick, mishaps) = (disk.ticks, disk.mishaps());
        let is_picked = disk.rows_refused.meets(mutations, self.life, Tried::now(tick, mishaps));
        let spreads = disk.spreads;
        disk.spreads = is_picked && disk.mutant == Some(Mutant::RefusalSpreads);
        if is_picked {
            disk.has_refused = true;
            disk.picked += 1;
        }
        is_picked || spreads
    }

    /// Lets a commit through, changed by a planted bug. `then` strikes afterwards.
    fn take(&mut self, commit: &mut Commit, then: Option<Fault>) {
        let carried = commit.fences.clone();
        let stale: Vec<Fence> = carried
            .iter()
            .copied()
            .filter(|fence| !self.memory.holds(*fence))
            .collect();
        if let Some(mutant) = self.disk.lock().mutant {
            commit.fences = mutant.fences(&carried, &stale);
            commit.mutations = mutant.written(&commit.mutations);
        }
        let applied = Applied {
            fences: carried,
            stale,
            mutations: commit.mutations.clone(),
        };
        self.taken.push_back(Taken { applied, then });
    }

    /// Notes what became of a commit.
    fn note(&self, applied: Applied, result: &Result<(), Error>) {
        let mut disk = self.disk.lock();
        match result {
            Ok(()) => {
                if disk.mutant == Some(Mutant::AnswerBeforeCommit) {
                    disk.log.push(applied.mutations.clone());
                }
                disk.journal.push(applied);
            }
            Err(Error::FenceBroken { .. }) => disk.fenced += 1,
            Err(Error::Refused { detail }) => {
                let mutations: Vec<String> = applied.mutations.iter().map(describe::mutation).collect();
                disk.refused.push(format!("{detail}: {mutations:#?}"));
            }
            Err(_) => {}
        }
    }

    /// A crash in the middle of a commit leaves nothing of it, unless a bug is planted: then the first half.
    fn die_before(&mut self, commit: &mut Commit) -> Result<(), Error> {
        let is_halved = self.disk.lock().mutant == Some(Mutant::HalfCommit);
        if !is_halved {
            self.is_dead = true;
            return self.fail(dead());
        }
        commit.mutations.truncate(commit.mutations.len() / 2);
        self.take(commit, Some(Fault::DieBefore));
        Ok(())
    }
}

impl StoreHook for Faults {
    fn read(&mut self, call: ReadCall) -> Result<(), Error> {
        self.reaches()?;
        // Facts are read where a lane begins, when a planned fault would only mean that it begins again.
        let is_planned = call != ReadCall::Facts && self.disk.lock().read_fault();
        if is_planned {
            return self.fail(planned());
        }
        Ok(())
    }

    fn answered(&mut self, _: ReadCall, answered: Answered<'_>) {
        let mut disk = self.disk.lock();
        match (answered, disk.mutant) {
            (Answered::Acquired(fence), _) => disk.epoch = fence.epoch,
            (Answered::Loaded(loaded), Some(mutant)) => mutant.read(loaded),
            (Answered::Ready(found), Some(mutant)) => mutant.read_line(found),
            (Answered::DueActions(shard, found), Some(Mutant::RetryEarly)) => {
                let all = self.memory.due_actions(shard, Timestamp::MAX, &Page::default());
                // A store in memory cannot fail to be read.
                *found = all.unwrap_or_default().rows;
                for due in found {
                    due.run_at = Timestamp::from_millis(0);
                }
            }
            _ => {}
        }
    }

    fn before(&mut self, commit: &mut Commit) -> Result<(), Error> {
        self.has_landed = false;
        self.reaches()?;
        // A process that lost its shard meets its fence, not the faults planned for the owner.
        let is_owner = commit.fences.iter().all(|fence| self.memory.holds(*fence));
        let fault = if is_owner { self.disk.lock().fault() } else { None };
        match fault {
            // What is refused always is not written, also where another fault is planned.
            None | Some(Fault::DieAfter | Fault::ToldAway) if is_owner && self.is_picked(&commit.mutations) => self
                .fail(Error::Refused {
                    detail: "a chosen row".to_owned(),
                }),
            None | Some(Fault::DieAfter | Fault::ToldAway) => {
                self.take(commit, fault);
                Ok(())
            }
            Some(Fault::DieBefore) => self.die_before(commit),
            Some(Fault::Full) => self.fail(Error::Full),
            Some(Fault::ReadOnly) => self.fail(Error::ReadOnly),
            Some(Fault::Refused) => {
                self.disk.lock().has_refused = true;
                self.fail(Error::Refused {
                    detail: "planned".to_owned(),
                })
            }
            Some(Fault::Failed) => self.fail(planned()),
            Some(Fault::Away) => self.fail(cut_off()),
        }
    }

    fn after(&mut self, result: Result<(), Error>) -> Result<(), Error> {
        let Some(Taken { applied, then }) = self.taken.pop_front() else {
            return result;
        };
        self.note(applied, &result);
        result?;
        match then {
            Some(Fault::DieBefore | Fault::DieAfter) => {
                self.is_dead = true;
                self.fail(dead())
            }
            Some(Fault::ToldAway) => {
                self.has_landed = true;
                self.disk.lock().told_away += 1;
                self.fail(cut_off())
            }
            _ => Ok(()),
        }
    }

    /// What was sent behind a commit whose answer was lost landed if that did.
    fn behind(&mut self, mut commit: Commit) {
        self.disk.lock().failures += 1;
        if !self.has_landed {
            return;
        }
        self.take(&mut commit, None);
        let result = self.memory.commit(&commit.fences, &commit.mutations);
        if self.after(result).is_ok() {
            self.disk.lock().told_away_behind += 1;
        }
    }
}
