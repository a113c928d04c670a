//! The simulated disk: a store in memory behind a wrapper that fails as disks and processes do.
//!
//! A commit is applied whole or not at all. It may fail cleanly (full, read-only, refused), or the process may die
//! right before or right after it; then the wrapper answers nothing but errors until it is dropped. Whatever was
//! applied is in the journal, for the checks to follow.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sprag_core::ids::{ActionId, ExecutionId};
use sprag_core::time::Timestamp;
use sprag_store::records::{Action, Fact, FactKind, Job, Life, MachineVersion, Scope, Timer, TimerKey};
use sprag_store::traits::{Aged, AgedPage, DueAction, Found, Loaded, OpenAction, ReadyKey, ReadyRef, Search, Window};
use sprag_store::{Commit, Error, Fence, LaneStore, Memory, Mutation, Queue, ShardId, Wanted};

use crate::describe;
use crate::mutant::Mutant;
use crate::picky::{Refused, Tried};
use crate::violation::Checked;

/// How the next commit or read goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The process dies before the commit.
    DieBefore,
    /// The process dies after the commit: nobody is told.
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
    /// The database is out of reach after the commit: it was written, and nobody was told.
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
    /// How many commits of somebody who had lost a shard were refused.
    pub fenced: u64,
    /// How many commits were written although whoever wrote was told that the database is out of reach.
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
        FaultyStore {
            disk: self.clone(),
            memory: self.memory(),
            life,
            is_dead: false,
            is_cut: Arc::default(),
        }
    }

    /// A wrapper for one node of several, which may be cut off from the database.
    pub(crate) fn open_cut(&self, life: u64, is_cut: Arc<AtomicBool>) -> FaultyStore {
        FaultyStore {
            is_cut,
            ..self.open(life)
        }
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
#[derive(Debug)]
pub(crate) struct FaultyStore {
    disk: SharedDisk,
    memory: Memory,
    /// The number of the process.
    life: u64,
    is_dead: bool,
    /// Nothing reaches the database.
    is_cut: Arc<AtomicBool>,
}

/// What whoever is cut off from the database hears.
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

impl FaultyStore {
    fn read<T>(&mut self, ask: impl FnOnce(&mut Memory) -> Result<T, Error>) -> Result<T, Error> {
        if self.is_dead {
            return Err(dead());
        }
        if self.is_cut.load(Ordering::SeqCst) {
            return Err(cut_off());
        }
        let is_planned = self.disk.lock().read_fault();
        if is_planned {
            self.disk.lock().failures += 1;
            return Err(Error::Failed {
                detail: "planned".to_owned(),
            });
        }
        ask(&mut self.memory)
    }

    fn apply(&mut self, fences: &[Fence], mutations: &[Mutation]) -> Result<(), Error> {
        let mut disk = self.disk.lock();
        let carried = fences.to_vec();
        let is_stale = |fence: &Fence| !self.memory.holds(*fence);
        let stale: Vec<Fence> = carried.iter().copied().filter(is_stale).collect();
        let (fences, mutations) = match disk.mutant {
            Some(mutant) => (mutant.fences(fences, &stale), mutant.written(mutations)),
            None => (carried.clone(), mutations.to_vec()),
        };
        let applied = self.memory.commit(&fences, &mutations);
        match &applied {
            Ok(()) => {
                if disk.mutant == Some(Mutant::AnswerBeforeCommit) {
                    disk.log.push(mutations.clone());
                }
                disk.journal.push(Applied {
                    fences: carried,
                    stale,
                    mutations,
                });
            }
            Err(Error::FenceBroken { .. }) => disk.fenced += 1,
            Err(Error::Refused { detail }) => {
                let mutations: Vec<String> = mutations.iter().map(describe::mutation).collect();
                disk.refused.push(format!("{detail}: {mutations:#?}"));
            }
            Err(_) => {}
        }
        applied
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

    /// A crash in the middle of a commit leaves nothing of it, unless a bug is planted.
    fn die_before(&mut self, fences: &[Fence], mutations: &[Mutation]) -> Result<(), Error> {
        let is_halved = self.disk.lock().mutant == Some(Mutant::HalfCommit);
        if is_halved && let Some(half) = mutations.get(..mutations.len() / 2) {
            self.apply(fences, half)?;
        }
        self.is_dead = true;
        self.fail(dead())
    }
}

impl LaneStore for FaultyStore {
    fn load(&mut self, wanted: &Wanted) -> Result<Loaded, Error> {
        let mut loaded = self.read(|memory| memory.load(wanted))?;
        if let Some(mutant) = self.disk.lock().mutant {
            mutant.read(&mut loaded);
        }
        Ok(loaded)
    }

    fn machine_version(&mut self, machine: &str, version: u32) -> Result<Option<MachineVersion>, Error> {
        self.read(|memory| memory.machine_version(machine, version))
    }

    fn version_with_digest(&mut self, machine: &str, digest: &[u8; 32]) -> Result<Option<u32>, Error> {
        self.read(|memory| memory.version_with_digest(machine, digest))
    }

    fn commit(&mut self, fences: &[Fence], mutations: &[Mutation]) -> Result<(), Error> {
        if self.is_dead {
            return Err(dead());
        }
        if self.is_cut.load(Ordering::SeqCst) {
            return Err(cut_off());
        }
        // A process that lost its shard meets its fence, not the faults planned for the owner.
        let is_owner = fences.iter().all(|fence| self.memory.holds(*fence));
        let fault = if is_owner { self.disk.lock().fault() } else { None };
        match fault {
            // What is refused always is not written, also where another fault is planned.
            None | Some(Fault::DieAfter | Fault::ToldAway) if is_owner && self.is_picked(mutations) => {
                self.fail(Error::Refused {
                    detail: "a chosen row".to_owned(),
                })
            }
            None => self.apply(fences, mutations),
            Some(Fault::DieBefore) => self.die_before(fences, mutations),
            Some(Fault::DieAfter) => {
                self.apply(fences, mutations)?;
                self.is_dead = true;
                self.fail(dead())
            }
            Some(Fault::Full) => self.fail(Error::Full),
            Some(Fault::ReadOnly) => self.fail(Error::ReadOnly),
            Some(Fault::Refused) => {
                self.disk.lock().has_refused = true;
                self.fail(Error::Refused {
                    detail: "planned".to_owned(),
                })
            }
            Some(Fault::Failed) => self.fail(Error::Failed {
                detail: "planned".to_owned(),
            }),
            Some(Fault::Away) => self.fail(cut_off()),
            Some(Fault::ToldAway) => {
                self.apply(fences, mutations)?;
                self.disk.lock().told_away += 1;
                self.fail(cut_off())
            }
        }
    }

    /// What was sent behind a commit of which nobody heard is not heard of either, and landed if that did.
    fn commit_all(&mut self, queue: &mut dyn Queue) {
        while let Some(Commit { fences, mutations }) = queue.next() {
            let landed_before = self.disk.lock().told_away;
            let result = self.commit(&fences, &mutations);
            let has_landed = self.disk.lock().told_away > landed_before;
            let is_away = matches!(result, Err(Error::Away { .. }));
            let behind = if is_away { queue.next() } else { None };
            queue.tell(result);
            if let Some(Commit { fences, mutations }) = behind {
                if has_landed && self.apply(&fences, &mutations).is_ok() {
                    self.disk.lock().told_away_behind += 1;
                }
                queue.tell(self.fail(cut_off()));
            }
        }
    }

    fn acquire(&mut self, shard: ShardId) -> Result<Fence, Error> {
        let fence = self.read(|memory| memory.acquire(shard))?;
        self.disk.lock().epoch = fence.epoch;
        Ok(fence)
    }

    fn last_life(&mut self) -> Result<Option<Life>, Error> {
        self.read(LaneStore::last_life)
    }

    fn ready(
        &mut self,
        shard: ShardId,
        line: &str,
        after: Option<&ReadyKey>,
        limit: usize,
    ) -> Result<Vec<ReadyRef>, Error> {
        let mut found = self.read(|memory| memory.ready(shard, line, after, limit))?;
        if let Some(mutant) = self.disk.lock().mutant {
            mutant.read_line(&mut found);
        }
        Ok(found)
    }

    fn lines(&mut self, shard: ShardId) -> Result<Vec<String>, Error> {
        self.read(|memory| memory.lines(shard))
    }

    fn due_timers(&mut self, shard: ShardId, window: &Window<TimerKey>) -> Result<Vec<Timer>, Error> {
        self.read(|memory| memory.due_timers(shard, window))
    }

    fn due_actions(&mut self, shard: ShardId, window: &Window<ActionId>) -> Result<Vec<DueAction>, Error> {
        let is_early = self.disk.lock().mutant == Some(Mutant::RetryEarly);
        if is_early {
            let all = Window {
                until: Timestamp::MAX,
                after: None,
                limit: window.limit,
            };
            let mut found = self.read(|memory| memory.due_actions(shard, &all))?;
            for due in &mut found {
                due.run_at = Timestamp::from_millis(0);
            }
            return Ok(found);
        }
        self.read(|memory| memory.due_actions(shard, window))
    }

    fn running(&mut self, shard: ShardId, after: Option<ActionId>, limit: usize) -> Result<Vec<DueAction>, Error> {
        self.read(|memory| memory.running(shard, after, limit))
    }

    fn deferred(
        &mut self,
        shard: ShardId,
        after: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<ExecutionId>, Error> {
        self.read(|memory| memory.deferred(shard, after, limit))
    }

    fn facts(&mut self, kind: FactKind) -> Result<Vec<Fact>, Error> {
        // Read where a lane begins, when a planned fault would only mean that it begins again.
        if self.is_dead {
            return Err(dead());
        }
        if self.is_cut.load(Ordering::SeqCst) {
            return Err(cut_off());
        }
        self.memory.facts(kind)
    }

    fn open(
        &mut self,
        shard: ShardId,
        status: u8,
        after: Option<OpenAction>,
        limit: usize,
    ) -> Result<Vec<OpenAction>, Error> {
        self.read(|memory| memory.open(shard, status, after, limit))
    }

    fn aged(&mut self, shard: ShardId, page: &AgedPage) -> Result<Vec<Aged>, Error> {
        self.read(|memory| memory.aged(shard, page))
    }

    fn find_actions(&mut self, search: &Search<ActionId>) -> Result<Found<Action, ActionId>, Error> {
        self.read(|memory| LaneStore::find_actions(memory, search))
    }

    fn open_jobs(&mut self, shard: ShardId) -> Result<Vec<Job>, Error> {
        self.read(|memory| memory.open_jobs(shard))
    }

    fn job_beyond(&mut self, shard: ShardId, kept: usize) -> Result<Option<Job>, Error> {
        self.read(|memory| memory.job_beyond(shard, kept))
    }

    fn first_to_expire(&mut self, shard: ShardId, limit: usize) -> Result<Vec<(Timestamp, Scope)>, Error> {
        self.read(|memory| memory.first_to_expire(shard, limit))
    }
}
