//! One bounded step of a lane: load, decide, commit, and only then answer and act.
//!
//! Nothing is answered before it is durable, and no effect starts before its attempt is. No decision is taken on
//! uncommitted state except inside its own batch. Time is read once per batch, so a batch is one instant.

use std::collections::VecDeque;
use std::sync::Arc;

use sprag_core::action::Status;
use sprag_core::clock::Clock;
use sprag_core::ids::Mint;
use sprag_core::machine::Machine;
use sprag_core::time::Timestamp;
use sprag_store::home::CONTROL;
use sprag_store::records::Life;
use sprag_store::traits::Loaded;
use sprag_store::{Error, Fence, LaneStore, Mutation, Wanted};

use super::alerts::Armed;
use super::batch::{Batch, Change};
use super::cache::Cache;
use super::jobs::Jobs;
use super::machines::Machines;
use super::owned::{Owned, Tenure};
use super::wants::{receipts_by_key, want};
use crate::aggregate::Aggregate;
use crate::closings::Closings;
use crate::command::{Answer, Code, Command, Internal, Refusal, Reply, Request};
use crate::control::Control;
use crate::convert;
use crate::decide::EXPIRY_EVERY_MILLIS;
use crate::dispatch::Dispatcher;
use crate::hands::Hands;
use crate::metrics::Metrics;
use crate::options::{BATCH_MAX, BEGIN_MAX, CACHE_MAX, Options, SHORT_LIFE_MILLIS};
use crate::timers::{Due, Timers};
use crate::view::execution_waiting;

/// How long the engine's own work waits after the store refused to write, in milliseconds.
const STORE_REST_MILLIS: u64 = 500;

/// The lane cannot go on: the process must stop and recover by reading.
#[derive(Debug, thiserror::Error)]
#[error("the lane cannot go on")]
pub struct Fatal(#[from] pub Error);

/// What a lane is made of.
pub struct Parts {
    /// What remembers.
    pub store: Box<dyn LaneStore>,
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
    pub(crate) store: Box<dyn LaneStore>,
    pub(super) hands: Box<dyn Hands>,
    pub(super) clock: Arc<dyn Clock>,
    entropy: Box<dyn FnMut() -> u64 + Send>,
    publish: Publish,
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
    /// What the batch's look-ups found that belongs to no execution in memory.
    pub(crate) loaded: Loaded,
    /// The engine's own requests that come next.
    pub(super) pending: Vec<Request>,
    /// What an earlier process left running and nobody has settled yet. Until then nothing begins.
    pub(super) lost: VecDeque<Request>,
    /// Set while the store refuses writes: when to try again.
    store_rests_until: Option<Timestamp>,
    pub(super) started_at: Timestamp,
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
            hands,
            clock,
            mut entropy,
            publish,
            options,
            metrics,
            tenure,
        } = parts;
        let last = store.last_life()?;
        let after_short_life = last.is_some_and(|life| life.seen_at.since(life.started_at) < SHORT_LIFE_MILLIS);
        let mut owned = Owned::none(tenure);
        if tenure == Tenure::Whole {
            owned.add(store.acquire(CONTROL)?, after_short_life);
        }
        let now = clock.now();
        let mut lane = Self {
            store,
            hands,
            mint: Mint::new(now, entropy()),
            clock,
            entropy,
            publish,
            cache: Cache::new(CACHE_MAX),
            machines: Machines::default(),
            dispatcher: Dispatcher::new(options.caps.clone(), options.circuits, now),
            timers: Timers::new(owned.shards(), owned.all()),
            control: Control::default(),
            jobs: Jobs::new(),
            alerts: Vec::new(),
            closings: Closings::default(),
            batch: Batch::default(),
            loaded: Loaded::default(),
            pending: Vec::new(),
            lost: VecDeque::new(),
            store_rests_until: None,
            options,
            metrics,
            owned,
            in_touch_until: 0,
            given_up: Vec::new(),
            now,
            started_at: now,
            life_written_at: now,
            expiry_due: now.plus(EXPIRY_EVERY_MILLIS),
        };
        let life = [Mutation::PutLife(Life {
            started_at: now,
            seen_at: now,
        })];
        lane.store.commit(&lane.owned.fences(&life), &life)?;
        if lane.owned.owns_control() {
            lane.arm_alerts()?;
        }
        lane.gather()?;
        Ok(lane)
    }

    /// When the lane wants to be woken, if nobody asks for anything.
    pub fn next_wake(&self) -> Timestamp {
        if let Some(until) = self.store_rests_until {
            return until;
        }
        if !self.lost.is_empty() || !self.pending.is_empty() || self.dispatcher.is_hungry() || self.jobs_have_work() {
            return self.now;
        }
        let wakes = [
            Some(self.timers.next_wake()),
            self.next_sign_of_life(),
            self.dispatcher.next_wake(),
            self.next_chore(),
            Some(self.expiry_due),
            self.next_let_go(),
        ];
        wakes.into_iter().flatten().min().unwrap_or(Timestamp::MAX)
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

    /// Decides on a batch of commands, commits it, then answers and acts.
    pub fn tick(&mut self, commands: Vec<Command>) -> Result<(), Fatal> {
        self.now = self.now.max(self.clock.now());
        self.mint = Mint::new(self.now, (self.entropy)());
        let commands = self.gather_batch(commands)?;
        let commands = self.turn_away(commands);
        match self.decide_all(&commands) {
            Ok(replies) => self.commit(commands, replies),
            Err(error) => self.fail(commands, error),
        }
    }

    /// The commands with the engine's own: what was pending and what is due.
    fn gather_batch(&mut self, mut commands: Vec<Command>) -> Result<Vec<Command>, Error> {
        // Whoever asks, asks the store too; then the engine's own work, which may concern the same executions, goes along.
        if commands.is_empty() && self.store_rests_until.is_some_and(|until| self.now < until) {
            return Ok(commands);
        }
        self.timers.refill(self.store.as_mut(), self.now)?;
        for line in self.dispatcher.hungry() {
            self.refill(&line)?;
        }
        let room = self.pending.len().min(BATCH_MAX);
        commands.extend(self.pending.drain(..room).map(Command::own));
        // What an earlier process left running is settled before anybody asks about it.
        let room = self.lost.len().min(BATCH_MAX);
        commands.splice(..0, self.lost.drain(..room).map(Command::own));
        let due = self.timers.take_due(self.now, BATCH_MAX);
        let due: Vec<Internal> = due.into_iter().filter_map(|due| self.due(due)).collect();
        commands.extend(due.into_iter().map(|due| Command::own(Request::Internal(due))));
        self.chores(&mut commands)?;
        commands.extend(self.job_step(commands.len())?.map(Command::own));
        Ok(commands)
    }

    /// What is to be done about something that is due.
    fn due(&mut self, due: Due) -> Option<Internal> {
        Some(match due {
            Due::Timer(key) => Internal::Timer(key),
            Due::Action(execution, action) => Internal::Due(execution, action),
            Due::Overdue(attempt) => Internal::Overdue(attempt),
            Due::Lease(attempt) => return self.lease_due(attempt),
        })
    }

    /// Reads on in a line until it holds something that may be chosen, or nothing is left.
    fn refill(&mut self, line: &str) -> Result<(), Error> {
        let mut after = None;
        loop {
            let found = self.ready(line, after.as_ref())?;
            after = found.last().map(|last| last.key);
            if !self.dispatcher.refill(line, found) {
                return Ok(());
            }
        }
    }

    fn decide_all(&mut self, commands: &[Command]) -> Result<Vec<Reply>, Error> {
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
                let waiting = waiting.under(aggregate.actions.values(), &self.control.switches, self.now);
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
        for _ in 0..BEGIN_MAX {
            let Some(chosen) = self.dispatcher.choose(&mut self.mint, &self.control.switches, self.now) else {
                break;
            };
            if self.cache.contains(chosen.execution) {
                self.begin(chosen.execution, chosen.action)?;
            } else {
                self.batch
                    .next
                    .push(Request::Internal(Internal::Begin(chosen.execution, chosen.action)));
            }
        }
        Ok(())
    }

    /// Reads what the commands need and memory does not hold.
    fn load(&mut self, commands: &[Command]) -> Result<(), Error> {
        let mut wanted = Wanted::default();
        for command in commands {
            want(&command.request, &mut wanted);
            self.want_leased(&command.request, &mut wanted);
            wanted.idempotency.extend(command.idempotency.map(|once| once.scope));
        }
        // A thousand starts of one machine ask once for its newest version.
        wanted.newest.sort_unstable();
        wanted.newest.dedup();
        let first = Wanted {
            keys: std::mem::take(&mut wanted.keys),
            actions: std::mem::take(&mut wanted.actions),
            receipts: std::mem::take(&mut wanted.receipts),
            newest: std::mem::take(&mut wanted.newest),
            idempotency: std::mem::take(&mut wanted.idempotency),
            executions: Vec::new(),
        };
        let by_key = if first == Wanted::default() {
            Loaded::default()
        } else {
            self.store.load(&first)?
        };
        wanted.executions.extend(by_key.keys.iter().map(|(_, id)| *id));
        wanted
            .executions
            .extend(by_key.actions.iter().map(|action| action.execution));
        wanted.executions.sort_unstable();
        wanted.executions.dedup();
        wanted.executions.retain(|&id| !self.cache.contains(id));
        wanted.receipts = receipts_by_key(commands, &by_key);
        self.loaded = by_key;
        if wanted != Wanted::default() {
            let found = self.store.load(&wanted)?;
            self.loaded.receipts.extend(found.receipts);
            for loaded in found.executions {
                self.cache
                    .put(convert::aggregate_from(loaded).map_err(|error| damaged(&error))?);
            }
        }
        Ok(())
    }

    /// Writes the batch; only when it is durable do answers and effects follow.
    fn commit(&mut self, mut commands: Vec<Command>, replies: Vec<Reply>) -> Result<(), Fatal> {
        let mut mutations = self.batch.mutations(|id| self.cache.get(id));
        if self.signs_life(mutations.is_empty()) {
            mutations.push(Mutation::PutLife(Life {
                started_at: self.started_at,
                seen_at: self.now,
            }));
            self.life_written_at = self.now;
        }
        if !mutations.is_empty() {
            let began = self.clock.micros();
            match self.store.commit(&self.owned.fences(&mutations), &mutations) {
                Ok(()) => self
                    .metrics
                    .committed(commands.len(), self.clock.micros().saturating_sub(began)),
                Err(Error::Refused { detail }) if commands.len() > 1 => return self.one_by_one(commands, &detail),
                Err(Error::FenceBroken { shard }) if !self.ends_by_fence() => return self.moved(shard, commands),
                Err(error) => return self.fail(commands, error),
            }
        }
        self.store_rests_until = None;
        self.keep_waits(&mut commands, &replies);
        self.keep_polls(&mut commands, &replies);
        self.act();
        for (command, reply) in commands.into_iter().zip(replies) {
            if let Some(sender) = command.reply {
                // Whoever asked may have gone; what was decided stands.
                let _ = sender.send(reply);
            }
        }
        self.cache.shrink();
        Ok(())
    }

    /// What follows once the batch is durable.
    fn act(&mut self) {
        let mut batch = std::mem::take(&mut self.batch);
        self.count(&mut batch);
        let changes = batch.changes(|id| self.cache.get(id));
        self.tell_closed(&changes);
        for change in &changes {
            if let Change::Execution { id, .. } = change {
                self.cache.forget_over(*id);
            }
        }
        self.jobs.settle(batch.bulk, batch.ended.iter().map(|(id, _)| *id));
        for (at, due) in batch.due {
            self.timers.add(at, due);
        }
        self.pending.extend(batch.next);
        self.control.board.show(&self.control.switches);
        for job in batch.jobs {
            match job.lease {
                None => self.start_job(job),
                Some(_) => self.dispatcher.polls.grant(job),
            }
        }
        self.answer_polls();
        for attempt in batch.cancels {
            self.hands.cancel(attempt);
        }
        for attempt in batch.abandons {
            self.hands.abandon(attempt.attempt);
        }
        if !changes.is_empty() {
            (self.publish)(&changes);
        }
    }

    /// The store refused a record, which is a bug: each command is committed alone, and only the guilty one fails.
    fn one_by_one(&mut self, commands: Vec<Command>, detail: &str) -> Result<(), Fatal> {
        tracing::error!(
            detail,
            "the store refused a batch: committing its commands one at a time"
        );
        self.forget()?;
        let (lost, others): (Vec<_>, Vec<_>) = commands.into_iter().partition(|command| is_lost(&command.request));
        self.lost.extend(lost.into_iter().map(|command| command.request));
        for _ in 0..self.lost.len() {
            if let Some(request) = self.lost.pop_front() {
                self.one(Command::own(request))?;
            }
        }
        others.into_iter().try_for_each(|command| self.one(command))
    }

    pub(super) fn one(&mut self, command: Command) -> Result<(), Fatal> {
        self.again(vec![command])
    }

    /// Decides on commands whose batch was not written, on what is stored.
    pub(super) fn again(&mut self, commands: Vec<Command>) -> Result<(), Fatal> {
        match self.decide_all(&commands) {
            Ok(replies) => self.commit(commands, replies),
            Err(error) => self.fail(commands, error),
        }
    }

    /// Nothing of the batch was written: memory is read anew, whoever asked is told, the engine's own work waits.
    fn fail(&mut self, commands: Vec<Command>, error: Error) -> Result<(), Fatal> {
        let code = match &error {
            Error::Full => Code::StoreFull,
            Error::ReadOnly => Code::StoreReadOnly,
            Error::Refused { .. } => Code::StoreRefused,
            Error::Failed { .. } | Error::FenceBroken { .. } | Error::Disk { .. } | Error::Corrupt { .. } => {
                Code::StoreFailed
            }
        };
        tracing::error!(%error, code = code.text(), "a batch was not written");
        self.metrics.commits_failed.add(1);
        let is_fatal = matches!(
            error,
            Error::FenceBroken { .. } | Error::Disk { .. } | Error::Corrupt { .. }
        );
        let waits = matches!(error, Error::Full | Error::ReadOnly | Error::Failed { .. });
        for Command { request, reply, .. } in commands {
            match reply {
                Some(sender) => {
                    let _ = sender.send(Err(Refusal::new(code, error.to_string())));
                }
                None if waits && is_lost(&request) => self.lost.push_back(request),
                None if waits && is_kept(&request) => self.pending.push(request),
                None => {}
            }
        }
        if is_fatal {
            return Err(Fatal(error));
        }
        self.store_rests_until = Some(self.now.plus(STORE_REST_MILLIS));
        self.forget()?;
        Ok(())
    }

    pub(crate) fn hands(&self) -> &dyn Hands {
        self.hands.as_ref()
    }

    /// The machine version an execution or action refers to.
    pub(crate) fn machine(&mut self, machine: &str, version: u32) -> Result<Option<Arc<Machine>>, Error> {
        self.machines.get(self.store.as_mut(), machine, version)
    }

    /// The machine version an execution is pinned to: stored with it, so it is always there.
    pub(crate) fn machine_of(&mut self, aggregate: &Aggregate) -> Result<Arc<Machine>, Error> {
        let (name, version) = (Arc::clone(&aggregate.head.machine), aggregate.head.version);
        self.machine(&name, version)?.ok_or_else(|| Error::Corrupt {
            detail: format!("machine `{name}` version {version} is not stored"),
        })
    }
}

/// Whether a request is about an attempt that an earlier process left running.
fn is_lost(request: &Request) -> bool {
    matches!(request, Request::Internal(Internal::Lost(..)))
}

/// The engine's own requests that must not be lost while the store rests: everything the store cannot bring back.
pub(super) fn is_kept(request: &Request) -> bool {
    matches!(
        request,
        Request::Internal(Internal::Outcome { .. } | Internal::Overdue(_) | Internal::Continue(_))
    )
}

pub(crate) fn damaged(error: &convert::Unreadable) -> Error {
    Error::Corrupt {
        detail: error.to_string(),
    }
}
