//! One bounded step of a lane: load, decide, commit, and only then answer and act.
//!
//! Nothing is answered before it is durable, and no effect starts before its attempt is. A decision may be taken on what is
//! being written, but is itself written after it (see `commit.rs`). Time is read once per batch, so a batch is one instant.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use sprag_core::action::Status;
use sprag_core::clock::Clock;
use sprag_core::ids::{AttemptId, ExecutionId, Mint};
use sprag_core::machine::Machine;
use sprag_core::time::Timestamp;
use sprag_store::home::CONTROL;
use sprag_store::traits::{Loaded, LoadedExecution};
use sprag_store::{Error, Fence, LaneStore, Mutation, Wanted};

use super::alerts::Armed;
use super::batch::{Batch, Change, Turn};
use super::cache::Cache;
use super::commit::{Decided, Open, may_overlap};
use super::held::{Committer, Held};
use super::jobs::Jobs;
use super::life::order_from;
use super::machines::Machines;
use super::owned::{Owned, Tenure};
use super::recovery::Recovery;
use super::wants::{receipts_by_key, want};
use crate::aggregate::Aggregate;
use crate::closings::Closings;
use crate::command::{Answer, Code, Command, Internal, Refusal, Reply, Request};
use crate::control::{ClockCheck, Control};
use crate::convert;
use crate::decide::EXPIRY_EVERY_MILLIS;
use crate::dispatch::Dispatcher;
use crate::hands::Hands;
use crate::metrics::Metrics;
use crate::options::{BATCH_MAX, BEGIN_MAX, CACHE_MAX, Options, SHORT_LIFE_MILLIS};
use crate::timers::{Due, Timers};
use crate::view::execution_waiting;

/// How long the engine's own work waits after the store refused to write, in milliseconds.
pub(super) const STORE_REST_MILLIS: u64 = 500;

/// The lane cannot go on: the process must stop and recover by reading.
#[derive(Debug, thiserror::Error)]
#[error("the lane cannot go on")]
pub struct Fatal(#[from] pub Error);

/// What a lane is made of.
pub struct Parts {
    /// What remembers.
    pub store: Box<dyn LaneStore>,
    /// What writes large batches while the lane decides on. Without it, the lane writes them all itself.
    pub committer: Option<Box<dyn Committer>>,
    /// What acts.
    pub hands: Box<dyn Hands>,
    /// What tells the time.
    pub clock: Arc<dyn Clock>,
    /// What no two decisions share.
    pub entropy: Box<dyn FnMut() -> u64 + Send>,
    /// Who hears of changes, once they are durable.
    pub publish: Publish,
    /// Bounds.
    pub options: Options,
    /// Where it is counted what becomes durable.
    pub metrics: Arc<Metrics>,
    /// Whether others write to the same store.
    pub tenure: Tenure,
}

/// Called with the changes of a batch once they are durable.
pub type Publish = Box<dyn FnMut(&[Change]) + Send>;

/// One writer.
pub struct Lane {
    pub(crate) store: Held,
    /// Whether other processes write to the store too.
    pub(crate) is_shared: bool,
    /// The batches that are being written beside the lane, oldest first.
    pub(super) under_way: VecDeque<Decided>,
    pub(super) hands: Box<dyn Hands>,
    pub(super) clock: Arc<dyn Clock>,
    entropy: Box<dyn FnMut() -> u64 + Send>,
    pub(super) publish: Publish,
    pub(crate) options: Options,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) owned: Owned,
    /// Until when its lease surely runs, in microseconds of the clock, where others share the store.
    pub(super) in_touch_until: u64,
    /// Shards that were given and could not be read.
    pub(super) given_up: Vec<Fence>,
    pub(crate) now: Timestamp,
    pub(crate) mint: Mint,
    pub(crate) cache: Cache,
    pub(crate) machines: Machines,
    pub(crate) dispatcher: Dispatcher,
    pub(crate) timers: Timers,
    pub(crate) control: Control,
    pub(crate) jobs: Jobs,
    pub(super) alerts: Vec<Armed>,
    pub(super) closings: Closings,
    pub(crate) batch: Batch,
    /// What was decided and is neither written nor on its way: what `batch` holds.
    pub(super) open: Open,
    /// Executions that the batch asked for and that cannot be read.
    damaged: BTreeMap<ExecutionId, String>,
    /// What the batch's look-ups found that belongs to no execution in memory.
    pub(crate) loaded: Loaded,
    /// The engine's own requests that come next.
    pub(super) pending: Vec<Request>,
    /// What an earlier process left running and nobody has settled yet. Until then nothing begins.
    pub(super) lost: VecDeque<Request>,
    /// Whom to tell once all of that is settled, and how many attempts were interrupted.
    pub(super) recovery: Recovery,
    /// Set while the store refuses writes: when to try again.
    pub(super) store_rests_until: Option<Timestamp>,
    /// Attempts that were to begin with a commit of which nobody knows whether it landed.
    pub(super) unsure: BTreeSet<AttemptId>,
    /// Whether the store went out of reach, so that memory must be derived anew first (see `away.rs`).
    pub(super) is_away: bool,
    /// How many actions a batch begins at most. None while a refused batch is settled (see `refused.rs`).
    pub(super) begin_most: usize,
    /// Executions whose next step the store refuses (see `refused.rs`).
    pub(super) set_aside: BTreeSet<ExecutionId>,
    /// Actions that were to begin in the batch that is being settled now.
    pub(super) searched: BTreeSet<Turn>,
    /// Those of earlier ones that have not begun since: they begin alone.
    pub(super) suspected: BTreeSet<Turn>,
    /// Those of them whose turn came in this tick.
    pub(super) alone: Vec<Command>,
    pub(super) started_at: Timestamp,
    /// The instant from which ids go on.
    pub(super) order_from: Timestamp,
    /// When the process started, as the store has it.
    pub(super) life_started: Timestamp,
    pub(super) life_written_at: Timestamp,
    /// When to look for answers that are kept no longer.
    pub(crate) expiry_due: Timestamp,
}

impl Lane {
    /// Takes ownership of the store, unless others share it, and gathers what an earlier process left: running attempts,
    /// lines, due times.
    pub fn open(parts: Parts) -> Result<Self, Fatal> {
        let Parts {
            mut store,
            committer,
            hands,
            clock,
            mut entropy,
            publish,
            options,
            metrics,
            tenure,
        } = parts;
        let last = store.last_run()?;
        let after_short_life = last.is_some_and(|life| life.seen_at.since(life.started_at) < SHORT_LIFE_MILLIS);
        let mut owned = Owned::none(tenure);
        if tenure == Tenure::Whole {
            owned.add(store.acquire(CONTROL)?, after_short_life);
        }
        let now = clock.now();
        let control = Control::with_clock(ClockCheck::read(&mut *store)?);
        let order_from = order_from(control.clock.latest(), now);
        let mut lane = Self {
            is_shared: store.is_shared() || tenure != Tenure::Whole,
            store: Held::new(store, committer),
            under_way: VecDeque::new(),
            hands,
            mint: Mint::new(now, entropy()),
            clock,
            entropy,
            publish,
            cache: Cache::new(CACHE_MAX),
            machines: Machines::default(),
            dispatcher: Dispatcher::new(options.caps.clone(), options.circuits, now),
            timers: Timers::new(owned.shards(), owned.all()),
            control,
            jobs: Jobs::new(),
            alerts: Vec::new(),
            closings: Closings::default(),
            batch: Batch::default(),
            open: Open::default(),
            damaged: BTreeMap::new(),
            loaded: Loaded::default(),
            pending: Vec::new(),
            lost: VecDeque::new(),
            recovery: Recovery::default(),
            store_rests_until: None,
            unsure: BTreeSet::new(),
            is_away: false,
            begin_most: BEGIN_MAX,
            set_aside: BTreeSet::new(),
            searched: BTreeSet::new(),
            suspected: BTreeSet::new(),
            alone: Vec::new(),
            options,
            metrics,
            owned,
            in_touch_until: 0,
            given_up: Vec::new(),
            now,
            started_at: now,
            order_from,
            life_started: last.map_or(order_from, |life| order_from.max(life.started_at.plus(1))),
            life_written_at: now,
            expiry_due: now.plus(EXPIRY_EVERY_MILLIS),
        };
        lane.share(tenure);
        lane.begin_life()?;
        Ok(lane)
    }

    /// Lets limits per key count over all nodes, where there are several.
    fn share(&mut self, tenure: Tenure) {
        if let Tenure::Shared {
            shards,
            node: Some(node),
        } = tenure
        {
            self.dispatcher.share(node, shards);
        }
    }

    /// Says that a life began, and takes up what the one before it left.
    fn begin_life(&mut self) -> Result<(), Fatal> {
        self.observe_clock();
        self.report_clock();
        let mut life = vec![Mutation::PutRun(self.life())];
        if self.owned.owns_control() {
            life.extend(self.control.clock.due(self.now).map(Mutation::PutFact));
        }
        let fences = self.owned.fences(&life, &[]).into_owned();
        self.store.commit(&fences, &life)?;
        if self.owned.owns_control() {
            self.arm_alerts()?;
        }
        self.gather()?;
        self.wake_schedules()?;
        Ok(())
    }

    /// When the lane wants to be woken, if nobody asks for anything.
    pub fn next_wake(&self) -> Timestamp {
        if let Some(until) = self.store_rests_until {
            return until;
        }
        let has_more = !self.lost.is_empty() || !self.pending.is_empty() || !self.alone.is_empty();
        if has_more || self.dispatcher.is_hungry() || self.jobs_have_work() {
            return self.now;
        }
        let wakes = [
            Some(self.timers.next_wake()),
            self.next_sign_of_life(),
            self.dispatcher.next_wake(),
            self.next_chore(),
            Some(self.expiry_due),
            self.next_let_go(),
            self.next_clock(),
        ];
        wakes.into_iter().flatten().min().unwrap_or(Timestamp::MAX)
    }

    /// Ends the lane if its store takes nothing more, though nobody asks for anything.
    pub(crate) fn check_store(&self) -> Result<(), Fatal> {
        Ok(self.store.check()?)
    }

    /// How many attempts are under way.
    pub fn running(&self) -> usize {
        self.dispatcher.running()
    }

    /// How many of them this process performs itself.
    pub fn performing(&self) -> usize {
        self.dispatcher.performing()
    }

    /// Lets no further attempt start.
    pub fn stop_starting(&mut self) {
        self.dispatcher.close();
    }

    /// Decides on commands, together with what is due. They are written at once, unless a batch is being written still: then
    /// they are the beginning of the next one.
    pub fn tick(&mut self, commands: Vec<Command>) -> Result<(), Fatal> {
        self.decide_with_due(commands)?;
        self.begin_suspected()
    }

    fn decide_with_due(&mut self, mut commands: Vec<Command>) -> Result<(), Fatal> {
        self.advance()?;
        if !may_overlap(&commands) {
            self.come_to_rest()?;
        }
        if self.open.is_begun {
            return self.decide_and_write(commands);
        }
        self.now = self.now.max(self.clock.now());
        self.observe_clock();
        self.mint = Mint::new(self.order_time(), (self.entropy)());
        if let Err(error) = self.gather_batch(&mut commands) {
            return self.away(commands, error);
        }
        if !may_overlap(&commands) {
            self.come_to_rest()?;
        }
        // Last: a shard may have been lost with what was under way.
        let commands = self.turn_away(commands);
        if self.is_away {
            return self.still_away(commands);
        }
        self.decide_and_write(commands)
    }

    /// The commands with the engine's own: what was pending and what is due.
    fn gather_batch(&mut self, commands: &mut Vec<Command>) -> Result<(), Error> {
        // Whoever asks, asks the store too; then the engine's own work, which may concern the same executions, goes along.
        if commands.is_empty() && self.store_rests_until.is_some_and(|until| self.now < until) {
            return Ok(());
        }
        self.reach()?;
        if self.timers.is_hungry(self.now) {
            self.rested()?;
            self.timers.refill(&mut *self.store.get()?, self.now)?;
        }
        self.refill_hungry()?;
        let room = self.pending.len().min(BATCH_MAX);
        commands.extend(self.pending.drain(..room).map(Command::own));
        // What an earlier process left running is settled before anybody asks about it.
        let room = self.lost.len().min(BATCH_MAX);
        commands.splice(..0, self.lost.drain(..room).map(Command::own));
        let due = self.timers.take_due(self.now, BATCH_MAX);
        let due: Vec<Internal> = due.into_iter().filter_map(|due| self.due(due)).collect();
        commands.extend(due.into_iter().map(|due| Command::own(Request::Internal(due))));
        self.chores(commands)?;
        commands.extend(self.job_step(commands.len())?.map(Command::own));
        Ok(())
    }

    /// What is to be done about something that is due.
    fn due(&mut self, due: Due) -> Option<Internal> {
        if self.is_set_aside(due.execution()) {
            return None;
        }
        Some(match due {
            Due::Timer(key) => Internal::Timer(key),
            Due::Action(execution, action) => Internal::Due(execution, action),
            Due::Overdue(attempt) => Internal::Overdue(attempt),
            Due::Lease(attempt) => return self.lease_due(attempt),
        })
    }

    /// Reads what lines hold of which nothing is in memory.
    pub(super) fn refill_hungry(&mut self) -> Result<(), Error> {
        let hungry = self.dispatcher.hungry();
        hungry.iter().try_for_each(|line| self.refill(line))
    }

    /// Reads on in a line until it holds something that may be chosen, or nothing is left.
    fn refill(&mut self, line: &str) -> Result<(), Error> {
        let mut after = None;
        loop {
            let found = self.ready(line, after.as_ref())?;
            after = found.last().map(|last| last.key);
            let set_aside = &self.set_aside;
            if !self
                .dispatcher
                .refill(line, found, |execution| set_aside.contains(&execution))
            {
                return Ok(());
            }
        }
    }

    pub(super) fn decide_all(&mut self, commands: &[Command]) -> Result<Vec<Reply>, Error> {
        self.load(commands)?;
        self.delete_expired()?;
        let mut replies = Vec::with_capacity(commands.len());
        for command in commands {
            let reply = self.decide_once(command, &replies)?;
            replies.push(reply);
        }
        self.begin_and_alert()?;
        self.look_again(&mut replies);
        self.keep_answers(commands, &mut replies);
        Ok(replies)
    }

    /// What was queued when an answer was made may have begun since, in the same batch; and what has not, lacks something
    /// that the dispatcher knows.
    fn look_again(&self, replies: &mut [Reply]) {
        for reply in replies {
            if let Ok(Answer::Execution(view)) = reply
                && let Some(aggregate) = self.cache.get(view.id)
            {
                let waiting = execution_waiting(aggregate);
                let waiting = waiting.under(aggregate.open(), &self.control.switches, self.now);
                let mut queued = aggregate
                    .actions
                    .values()
                    .filter(|action| action.status == Status::Queued);
                view.waiting = match queued.next() {
                    Some(action) if waiting.is_for_permit() => self.dispatcher.explain(action),
                    _ => waiting,
                };
                view.waiting.renew(&self.dispatcher.leases);
            }
        }
    }

    /// Starts what may start, in the same commit: once it is known what became of all that an earlier process left
    /// running, because some of that may have to run alone.
    pub(super) fn begin_ready(&mut self) -> Result<(), Error> {
        if !self.lost.is_empty() {
            return Ok(());
        }
        let is_in_touch = self.is_in_touch();
        self.dispatcher.hold(!is_in_touch);
        for _ in 0..self.begin_most {
            let Some(chosen) = self.dispatcher.choose(&mut self.mint, &self.control.switches, self.now) else {
                break;
            };
            let turn = (chosen.execution, chosen.action);
            if self.suspected.contains(&turn) {
                let begin = Internal::Begin(chosen.execution, chosen.action);
                self.alone.push(Command::own(Request::Internal(begin)));
            } else if self.cache.contains(chosen.execution) {
                self.batch.begun.push(turn);
                self.begin(chosen.execution, chosen.action)?;
            } else {
                self.batch
                    .next
                    .push(Request::Internal(Internal::Begin(chosen.execution, chosen.action)));
            }
        }
        if is_in_touch {
            let statements = self.dispatcher.statements(self.now);
            self.batch.statements.extend(statements);
        }
        Ok(())
    }

    /// Up to so many actions whose turn it is, as requests of the engine's own.
    pub(super) fn choose_waiting(&mut self, most: usize) -> Vec<Request> {
        if !self.lost.is_empty() {
            return Vec::new();
        }
        let is_in_touch = self.is_in_touch();
        self.dispatcher.hold(!is_in_touch);
        let mut choose = || self.dispatcher.choose(&mut self.mint, &self.control.switches, self.now);
        let chosen = (0..most).map_while(|_| choose());
        chosen
            .map(|chosen| Request::Internal(Internal::Begin(chosen.execution, chosen.action)))
            .collect()
    }

    /// Reads what the commands need and memory does not hold.
    fn load(&mut self, commands: &[Command]) -> Result<(), Error> {
        self.damaged.clear();
        let mut wanted = Wanted::default();
        for command in commands {
            want(&command.request, &mut wanted);
            self.want_leased(&command.request, &mut wanted);
            wanted.idempotency.extend(command.idempotency.map(|once| once.scope));
        }
        // A thousand starts of one machine ask once for its newest version, and not at all where it is known: should
        // somebody else have stored a newer one since, the commit says so.
        wanted.newest.sort_unstable();
        wanted.newest.dedup();
        wanted.newest.retain(|machine| self.machines.newest(machine).is_none());
        let first = Wanted {
            keys: std::mem::take(&mut wanted.keys),
            actions: std::mem::take(&mut wanted.actions),
            receipts: std::mem::take(&mut wanted.receipts),
            newest: std::mem::take(&mut wanted.newest),
            idempotency: std::mem::take(&mut wanted.idempotency),
            ..Wanted::default()
        };
        let by_key = if first == Wanted::default() {
            Loaded::default()
        } else {
            self.store.get()?.load(&first)?
        };
        wanted.executions.extend(by_key.keys.iter().map(|(_, id)| *id));
        wanted
            .executions
            .extend(by_key.actions.iter().map(|action| action.execution));
        wanted.executions.sort_unstable();
        wanted.executions.dedup();
        wanted.executions.retain(|&id| !self.cache.contains(id));
        wanted.receipts = receipts_by_key(commands, &by_key);
        self.machines.learn(by_key.newest.iter().cloned());
        self.loaded = by_key;
        if wanted != Wanted::default() {
            let found = self.store.get()?.load(&wanted)?;
            self.loaded.receipts.extend(found.receipts);
            for loaded in found.executions {
                self.take_in(loaded);
            }
        }
        Ok(())
    }

    /// Takes an execution into memory. Whoever asks for one that is damaged is told; others are not concerned.
    fn take_in(&mut self, loaded: LoadedExecution) {
        let id = loaded.execution.id;
        match convert::aggregate_from(loaded) {
            Ok(aggregate) => {
                self.cache.put(aggregate);
            }
            Err(error) => {
                tracing::error!(execution = %id, code = "record-damaged", %error, "an execution is damaged; it is left alone");
                self.damaged.insert(id, error.to_string());
            }
        }
    }

    /// Why an execution is not in memory although it was asked for.
    pub(crate) fn unknown(&self, id: ExecutionId) -> Refusal {
        match self.damaged.get(&id) {
            Some(detail) => Refusal::new(Code::RecordDamaged, detail.clone()),
            None => Refusal::new(Code::ExecutionUnknown, format!("there is no execution `{id}`")),
        }
    }

    pub(crate) fn hands(&self) -> &dyn Hands {
        self.hands.as_ref()
    }

    /// The machine version an execution or action refers to.
    pub(crate) fn machine(&mut self, machine: &str, version: u32) -> Result<Option<Arc<Machine>>, Error> {
        match self.machines.known(machine, version) {
            Some(known) => Ok(Some(known)),
            None => self.machines.read(&mut *self.store.get()?, machine, version),
        }
    }

    /// The machine version an execution is pinned to: stored with it, so it is always there.
    pub(crate) fn machine_of(&mut self, aggregate: &Aggregate) -> Result<Arc<Machine>, Error> {
        let (name, version) = (Arc::clone(&aggregate.head.machine), aggregate.head.version);
        self.machine(&name, version)?.ok_or_else(|| Error::Corrupt {
            detail: format!("machine `{name}` version {version} is not stored"),
        })
    }
}

pub(crate) fn damaged(error: &convert::Unreadable) -> Error {
    Error::Unreadable {
        detail: error.to_string(),
    }
}
