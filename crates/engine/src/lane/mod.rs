//! The lane: one writer that decides, remembers, and acts. The heart of the engine.
//!
//! One step of its loop is on this page: **receive** commands, **read** what they need, **decide** them into the open
//! batch, **commit** it, and once it is durable **reply and act**. Each verb has a room: [`Loader`](loader::Loader) reads,
//! [`Decider`] decides, [`CommitPipeline`] commits, [`Effects`] act. The lane owns the rooms and passes data between them.
//!
//! Nothing is answered before it is durable, and no effect starts before its attempt is. A decision may rest on a commit
//! in flight, but is itself written after it. If that commit fails, the lane decides everything behind it again from the
//! stored state: commands to decide again wait in `redo`, so that no failure calls back into a decision.

mod act;
mod backlog;
mod jobs;
mod limits;
mod loader;
pub mod member;
mod recovery;
mod search;
mod shards;
mod undo;
mod upkeep;
mod walks;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use sprag_core::clock::Clock;
use sprag_core::ids::{ExecutionId, Mint};
use sprag_core::time::Timestamp;
use sprag_store::home::CONTROL;
use sprag_store::{Commit, Error, LaneStore, Mutation};

use self::backlog::Backlog;
use self::loader::Loader;
use self::search::Search;
use self::upkeep::Upkeep;
use crate::commit::table::{Need, Sending};
use crate::commit::{CommitPipeline, Committer, OpenBatch, Sealed};
use crate::decide::{
    ActionTypes, BatchTime, ClockCheck, Decider, ExecutionCache, Found, Known, Machines, Reads, Rules, Shards, Tenure,
    Timers, raise_alerts,
};
use crate::effects::metrics::Metrics;
use crate::effects::runner::EffectRunner;
use crate::effects::{Board, Closings, Effects, Publish};
use crate::engine::options::{BATCH_MAX, BEGIN_MAX, CACHE_BYTES_MAX, CACHE_MAX, Options, SHORT_RUN_MILLIS};
use crate::jobs::OpenJobs;
use crate::leases::table::Leases;
use crate::queue::Dispatcher;
use crate::queue::control::Control;
use crate::requests::{Command, audit, may_overlap};

pub(crate) use self::loader::damaged_error as damaged;
pub use crate::commit::{Desk, Work, Writing};

/// Rounds of loading at most: a name leads to its execution, that to its machine.
const ROUNDS_MAX: usize = 4;

/// The lane cannot continue: the process must stop and recover by reading.
#[derive(Debug, thiserror::Error)]
#[error("the lane cannot continue")]
pub struct Fatal(#[from] pub Error);

/// What a lane is made of.
pub struct Parts {
    /// What remembers.
    pub store: Box<dyn LaneStore>,
    /// What writes large batches while the lane decides the next one. Without it, the lane writes them all itself.
    pub committer: Option<Box<dyn Committer>>,
    /// What acts.
    pub runner: Box<dyn EffectRunner>,
    /// What the runners say about action types.
    pub types: Arc<dyn ActionTypes>,
    /// What tells the time.
    pub clock: Arc<dyn Clock>,
    /// What no two decisions share.
    pub entropy: Box<dyn FnMut() -> u64 + Send>,
    /// Where changes go once they are durable.
    pub publish: Publish,
    /// Bounds.
    pub options: Options,
    /// Where durable work is counted.
    pub metrics: Arc<Metrics>,
    /// Whether other nodes write to the same store.
    pub tenure: Tenure,
}

/// The clock, and the instant of the present batch.
struct LaneTime {
    clock: Arc<dyn Clock>,
    entropy: Box<dyn FnMut() -> u64 + Send>,
    at: BatchTime,
}

/// Commands to decide next.
#[derive(Debug)]
enum Group {
    /// Decide and write them.
    Decide(Vec<Command>),
    /// The same alone: nothing else starts with them, and their commit has a result before the next group.
    Settle(Vec<Command>),
    /// Start waiting actions apart from all commands, to find the one whose start the store refuses.
    StartApart { most: usize, rounds: usize },
    /// The search for a refused row is over.
    EndSearch,
}

/// Whether a batch is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Landed {
    Durable,
    /// It was not written: what was decided on it waits in `redo`.
    Undone,
}

/// One writer.
pub struct Lane {
    known: Known,
    shards: Shards,
    rules: Rules,
    pipeline: CommitPipeline,
    effects: Effects,
    backlog: Backlog,
    upkeep: Upkeep,
    time: LaneTime,
    search: Search,
    redo: VecDeque<Group>,
}

impl Lane {
    /// Takes ownership of the store, unless other nodes share it, and gathers what an earlier process left: interrupted
    /// attempts, queues, due times.
    pub fn open(parts: Parts) -> Result<Self, Fatal> {
        let Parts {
            mut store,
            committer,
            runner,
            types,
            clock,
            mut entropy,
            publish,
            options,
            metrics,
            tenure,
        } = parts;
        let last_run = store.last_run()?;
        let after_short_run = last_run.is_some_and(|run| run.seen_at.since(run.started_at) < SHORT_RUN_MILLIS);
        let mut shards = Shards::none(tenure);
        shards.is_shared |= store.is_shared();
        if tenure == Tenure::Whole {
            shards.add(store.acquire(CONTROL)?, after_short_run);
        }
        let now = clock.now();
        let marks = store.facts(sprag_store::records::FactKind::Mark)?;
        let clock_check = ClockCheck::of(&marks, last_run)?;
        let upkeep = Upkeep::new(clock_check.latest(), last_run, now);
        let at = BatchTime {
            now,
            micros: clock.micros(),
            mint: Mint::new(now, entropy()),
        };
        let mut lane = Self {
            known: known_at_start(&options, &shards, tenure, clock_check, now),
            rules: Rules {
                limits: options.limits,
                retention: options.retention,
                approval: options.approval.clone(),
                drain: options.drain,
                check_hosts: options.check_hosts.clone(),
                is_traced: options.traces.is_on(),
                types,
                kinds: metrics.kinds.index_of().clone(),
            },
            pipeline: CommitPipeline::new(store, committer),
            effects: Effects {
                runner,
                publish,
                metrics,
                traces: options.traces,
                closings: Closings::default(),
                board: Board::default(),
            },
            backlog: Backlog::new(options.alerts),
            search: Search::default(),
            redo: VecDeque::new(),
            time: LaneTime { clock, entropy, at },
            shards,
            upkeep,
        };
        upkeep::begin_run(&mut lane)?;
        Ok(lane)
    }

    /// One bounded step: decides commands together with what is due. The batch is written at once, unless a commit is in
    /// flight: then it may gather more.
    pub fn tick(&mut self, mut commands: Vec<Command>) -> Result<(), Fatal> {
        self.advance()?;
        if self.known.executions.is_too_large() {
            self.rest()?;
            self.known.executions.shrink_bytes();
        } else if !may_overlap(&commands) {
            self.rest()?;
        }
        if !self.pipeline.is_open() {
            self.begin_batch();
            if let Err(error) = self.gather(&mut commands) {
                return undo::unreachable(self, commands, error);
            }
        }
        self.redo.push_back(Group::Decide(commands));
        self.work()?;
        search::start_suspected(self)
    }

    /// Works off `redo`: every group is decided and, unless more may join it, written.
    fn work(&mut self) -> Result<(), Fatal> {
        while let Some(group) = self.redo.pop_front() {
            match group {
                Group::Decide(commands) => self.decide(commands)?,
                Group::Settle(commands) => {
                    self.decide(commands)?;
                    self.flush(&mut Vec::new())?;
                }
                Group::StartApart { most, rounds } => search::start_apart(self, most, rounds)?,
                Group::EndSearch => self.search.end(),
            }
        }
        Ok(())
    }

    /// Reads what the commands need, decides them into the open batch, and has it written if it is worth it.
    fn decide(&mut self, mut commands: Vec<Command>) -> Result<(), Fatal> {
        if !may_overlap(&commands) && self.flush(&mut commands)? == Landed::Undone {
            return Ok(());
        }
        // Last: a shard may have been lost with a commit in flight.
        let Some(mut commands) = shards::admit(self, commands)? else {
            return Ok(());
        };
        if self.load(&mut commands)? == Landed::Undone {
            return Ok(());
        }
        self.decide_loaded(commands);
        self.send_open(Need::Flow)
    }

    /// Decides commands whose reads are in memory, then starts what may start and raises alerts, in the same batch.
    fn decide_loaded(&mut self, mut commands: Vec<Command>) {
        let start_most = if self.search.is_on() { 0 } else { BEGIN_MAX };
        let open = self.pipeline.open();
        self.time.at.micros = self.time.clock.micros();
        let mut decider = Decider {
            known: &mut self.known,
            batch: &mut open.batch,
            shards: &self.shards,
            at: &mut self.time.at,
            rules: &self.rules,
            is_recovering: self.backlog.is_recovering(),
            caller: None,
            slot: None,
        };
        for command in &mut commands {
            command.call_mut().decide(&mut decider);
        }
        let suspected = &self.search.suspected;
        raise_alerts(&mut decider);
        let mut alone = decider.begin_ready(start_most, |turn| suspected.contains(turn));
        if raise_alerts(&mut decider) {
            alone.extend(decider.begin_ready(start_most, |turn| suspected.contains(turn)));
        }
        audit::note_ended(&mut decider);
        for command in &mut commands {
            let call = command.call_mut();
            call.refresh(decider.known, decider.at.now);
            call.store_answer(&mut decider);
        }
        if !decider.batch.answered.is_empty() {
            for command in &mut commands {
                command.call_mut().take_stored(&decider);
            }
        }
        self.search.alone.extend(alone);
        open.commands.append(&mut commands);
    }

    /// Writes the open batch, if `need` says so and as the table of [`Sending`] says.
    fn send_open(&mut self, need: Need) -> Result<(), Fatal> {
        if !self.pipeline.goes(need) {
            return Ok(());
        }
        let Some(open) = self.pipeline.take_open() else {
            return Ok(());
        };
        let mut sealed = self.seal(open);
        loop {
            match self.pipeline.sending(&sealed) {
                Sending::Durable => {
                    let durable = self.pipeline.without_rows(sealed);
                    act::on_durable(self, durable);
                    break;
                }
                Sending::Inline => {
                    let written = self.pipeline.write(sealed);
                    undo::conclude(self, written, &mut Vec::new())?;
                    break;
                }
                Sending::Beside => {
                    self.pipeline.send(sealed)?;
                    break;
                }
                Sending::WaitForOldest => {
                    if self.land(&mut sealed.commands)? == Landed::Undone {
                        return Ok(());
                    }
                }
            }
        }
        // The writer is busy first; what follows from earlier commits has time until this one is written.
        self.land_ready()
    }

    /// Takes the result of the oldest commit; waits for it. If it was not written, what was decided on it and `later`
    /// wait in `redo`.
    fn land(&mut self, later: &mut Vec<Command>) -> Result<Landed, Fatal> {
        match self.pipeline.land() {
            Some(written) => undo::conclude(self, written, later),
            None => Ok(Landed::Durable),
        }
    }

    /// Takes the results that are there.
    fn land_ready(&mut self) -> Result<(), Fatal> {
        while self.pipeline.in_flight() > 0 && self.pipeline.has_result() {
            self.land(&mut Vec::new())?;
        }
        Ok(())
    }

    /// Writes everything that is decided and waits for it. If something was not written, `later` waits in `redo` behind
    /// it.
    fn flush(&mut self, later: &mut Vec<Command>) -> Result<Landed, Fatal> {
        while self.pipeline.in_flight() > 0 || self.pipeline.is_open() {
            let groups = self.redo.len();
            if self.pipeline.is_open() {
                self.send_open(Need::Rest)?;
            } else if self.land(later)? == Landed::Undone {
                return Ok(Landed::Undone);
            }
            if self.redo.len() > groups {
                self.put_behind(groups, later);
                return Ok(Landed::Undone);
            }
        }
        Ok(Landed::Durable)
    }

    /// Puts commands into `redo` behind the groups that a failed commit put there, before the `groups` that were there.
    fn put_behind(&mut self, groups: usize, later: &mut Vec<Command>) {
        if !later.is_empty() {
            let place = self.redo.len() - groups;
            self.redo.insert(place, Group::Decide(std::mem::take(later)));
        }
    }

    /// Writes everything, decides everything that must be decided again, until nothing is left.
    pub fn rest(&mut self) -> Result<(), Fatal> {
        loop {
            self.work()?;
            if self.flush(&mut Vec::new())? == Landed::Durable && self.redo.is_empty() {
                return Ok(());
            }
        }
    }

    /// Continues with the open batch if a commit before it has a result.
    pub(crate) fn advance(&mut self) -> Result<(), Fatal> {
        if !self.pipeline.has_result() {
            return Ok(());
        }
        if self.pipeline.goes(Need::Flow) {
            self.send_open(Need::Flow)?;
        } else {
            self.land_ready()?;
        }
        self.work()
    }

    /// The instant of a new batch.
    fn begin_batch(&mut self) {
        let LaneTime { clock, entropy, at } = &mut self.time;
        at.now = at.now.max(clock.now());
        at.micros = clock.micros();
        Upkeep::observe_clock(&mut self.known.control, &self.effects.board, at, self.rules.retention);
        at.mint = Mint::new(self.upkeep.order_time(at.now), entropy());
    }

    /// Adds the engine's own commands: what waited, what is due, upkeep.
    fn gather(&mut self, commands: &mut Vec<Command>) -> Result<(), Error> {
        let now = self.now();
        // A caller asks the store too; then the engine's own work, which may concern the same executions, goes along.
        let rests = self.pipeline.rests_until().is_some_and(|until| now < until);
        if commands.is_empty() && rests {
            return Ok(());
        }
        recovery::reach(self)?;
        let walks = if walks::needs_reads(self) {
            self.rest().map_err(|fatal| fatal.0)?;
            recovery::reach(self)?;
            let mut loader = self.loader()?;
            loader.refill()?;
            loader.walks()?
        } else {
            Vec::new()
        };
        self.backlog.drain(commands, BATCH_MAX);
        let due = self.known.timers.take_due(now, BATCH_MAX);
        commands.extend(due.into_iter().filter_map(|due| self.known.due(due, now)));
        commands.extend(walks);
        if let Some(step) = jobs::job_step(self, commands.len())? {
            commands.push(step);
        }
        Ok(())
    }

    /// Loads what the commands read and memory does not hold. If a commit in flight fails meanwhile, `commands` wait in
    /// `redo`.
    fn load(&mut self, commands: &mut Vec<Command>) -> Result<Landed, Fatal> {
        self.known.found = Found::default();
        for _ in 0..ROUNDS_MAX {
            let mut reads = Reads::new(&self.known);
            for command in commands.iter() {
                command.call().reads(&mut reads);
            }
            let missing = reads.missing();
            if missing.is_empty() {
                return Ok(Landed::Durable);
            }
            // Results first: what they bring may be what is missing.
            while self.pipeline.in_flight() > 0 {
                if self.land(commands)? == Landed::Undone {
                    return Ok(Landed::Undone);
                }
            }
            if let Err(error) = self.loader().and_then(|mut loader| loader.load(&missing)) {
                return undo::fail_read(self, std::mem::take(commands), error).map(|()| Landed::Undone);
            }
        }
        debug_assert!(false, "the reads of a batch do not end");
        Ok(Landed::Durable)
    }

    /// What reads the store into memory.
    fn loader(&mut self) -> Result<Loader<'_>, Error> {
        let wall_now = self.time.at.now.max(self.time.clock.now());
        Ok(Loader {
            store: self.pipeline.reader()?,
            known: &mut self.known,
            shards: &self.shards,
            backlog: &mut self.backlog,
            upkeep: &mut self.upkeep,
            board: &self.effects.board,
            retention: self.rules.retention,
            now: self.time.at.now,
            stored_at: wall_now,
        })
    }

    fn now(&self) -> Timestamp {
        self.time.at.now
    }

    /// The open batch with its final rows, and what follows from it as of now.
    fn seal(&mut self, open: OpenBatch) -> Sealed {
        let OpenBatch { commands, mut batch } = open;
        let now = self.now();
        let mut mutations = batch.mutations(|id| self.known.executions.get(id));
        mutations.extend(
            self.known
                .link(std::mem::take(&mut batch.audited), self.shards.shards(), now),
        );
        mutations.extend(self.upkeep.rows(mutations.is_empty(), now));
        if self.shards.owns_control() {
            mutations.extend(self.known.control.clock.due(now).map(Mutation::PutFact));
        }
        let changes = batch.changes(&mutations, |id| self.known.executions.get(id));
        let closed = if self.effects.awaits_no_close(&commands) {
            Vec::new()
        } else {
            self.known.closed_views(&changes)
        };
        let fences = self.shards.fences(&mutations, &batch.fences).into_owned();
        Sealed {
            commands,
            batch,
            changes,
            closed,
            // A batch without rows has no commit to measure.
            began: (!mutations.is_empty()).then(|| self.time.clock.micros()),
            commit: Commit { fences, mutations },
        }
    }
}

/// What a lane knows before it has read anything but its clock.
fn known_at_start(options: &Options, shards: &Shards, tenure: Tenure, clock: ClockCheck, now: Timestamp) -> Known {
    let mut queue = Dispatcher::new(options.caps.clone(), options.circuits, now);
    if let Tenure::Shared {
        shards,
        node: Some(node),
    } = tenure
    {
        queue.permits.shared.share(node, shards);
    }
    Known {
        executions: ExecutionCache::new(CACHE_MAX, CACHE_BYTES_MAX),
        machines: Machines::default(),
        queue,
        timers: Timers::new(shards.shards(), shards.all()),
        control: Control::with_clock(clock),
        jobs: OpenJobs::new(),
        alerts: Vec::new(),
        audit_heads: BTreeMap::new(),
        found: Found::default(),
        catalog: None,
        set_aside: std::collections::BTreeSet::new(),
    }
}

/// What the engine and the simulator ask about a lane.
impl Lane {
    /// When the lane wants to be woken, if no caller asks for anything.
    pub fn next_wake(&self) -> Timestamp {
        if let Some(until) = self.pipeline.rests_until() {
            return until;
        }
        let has_more = !self.backlog.is_empty() || self.search.has_suspects() || !self.redo.is_empty();
        if has_more || self.known.queue.is_hungry() || jobs::jobs_have_work(self) {
            return self.now();
        }
        let wakes = [
            Some(self.known.timers.next_wake()),
            self.known.queue.next_wake(),
            walks::next_walk(self),
            self.upkeep.next_wake(),
            self.shards.leaving().map(|(_, until)| until).min(),
            upkeep::next_clock(self),
        ];
        wakes.into_iter().flatten().min().unwrap_or(Timestamp::MAX)
    }

    /// Ends the lane if its store takes nothing more, though no caller asks for anything.
    pub(crate) fn check_store(&self) -> Result<(), Fatal> {
        Ok(self.pipeline.check()?)
    }

    /// How many attempts run.
    pub fn running(&self) -> usize {
        self.known.queue.running()
    }

    /// How many of them this process runs itself.
    pub fn performing(&self) -> usize {
        self.known.queue.performing()
    }

    /// How many of them external runners hold.
    pub(crate) fn leased(&self) -> usize {
        self.known.queue.leases.len()
    }

    /// What readers see of the attempts that external runners hold.
    pub(crate) fn leases(&self) -> Leases {
        self.known.queue.leases.clone()
    }

    /// What readers see of switches and the clock.
    pub(crate) fn board(&self) -> Board {
        self.effects.board.clone()
    }

    /// Where callers wait for executions to close.
    pub(crate) fn closings(&self) -> Closings {
        self.effects.closings.clone()
    }

    /// Whether a commit is in flight.
    pub(crate) fn is_writing(&self) -> bool {
        self.pipeline.in_flight() > 0
    }

    /// Lets no further attempt start.
    pub fn stop_starting(&mut self) {
        self.known.queue.close();
    }

    /// The executions whose next step the store refused. The engine leaves them alone until the process starts again.
    pub fn left_alone(&self) -> &std::collections::BTreeSet<ExecutionId> {
        &self.known.set_aside
    }
}
