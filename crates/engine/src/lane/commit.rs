//! From decided commands to what follows from them: written first, then answered and acted upon.
//!
//! A batch of many everyday commands is written beside the lane, which decides on what arrives meanwhile. That becomes the
//! next batch, which waits behind it: decided on what is not durable yet, it is itself written, answered and acted upon only
//! after it. What follows from a batch is settled when it goes, so that nothing of the next one shows in it. Should one not
//! be written, those behind it are decided again from what is stored.

use sprag_core::ids::ExecutionId;
use sprag_store::{Error, Mutation};

use super::Change;
use super::batch::{Batch, Turn};
use super::closed::Told;
use super::held::Reading;
use super::refused::{Begun, turn_of};
use super::tick::{Fatal, Lane, STORE_REST_MILLIS};
use crate::command::{Code, Command, Internal, Refusal, Reply, Request};
use crate::hands::Task;
use crate::options::BATCH_MAX;

/// Batches that are under way at most: one that is being written, and one that waits behind it.
const UNDER_WAY_MAX: usize = 2;

/// Commands that are decided and not on their way yet.
#[derive(Default)]
pub(super) struct Open {
    /// Even a batch without commands may start what has waited for its time.
    pub(super) is_begun: bool,
    commands: Vec<Command>,
    replies: Vec<Reply>,
}

/// A batch on its way, with what follows once it is durable.
pub(super) struct Decided {
    commands: Vec<Command>,
    replies: Vec<Reply>,
    batch: Batch,
    changes: Vec<Change>,
    /// Closed executions for those who wait for them.
    told: Vec<Told>,
    /// When its commit began, in microseconds.
    began: u64,
}

/// What became of a batch that was written beside the lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Landed {
    /// It is durable, or none was under way.
    Durable,
    /// It is not as it was decided: memory was derived anew, and whatever was decided since must be decided again.
    Undone,
}

impl Lane {
    /// Decides commands, and has them written as soon as that is worth it.
    pub(super) fn decide_and_write(&mut self, mut commands: Vec<Command>) -> Result<(), Fatal> {
        self.open.is_begun = true;
        let decided = self.decide_all(&commands);
        self.open.commands.append(&mut commands);
        match decided {
            Ok(replies) => self.open.replies.extend(replies),
            Err(error) => return self.fail_open(error),
        }
        if self.open_goes() {
            self.send_open()?;
        }
        Ok(())
    }

    /// Whether the open batch is to be written now: if nothing is being written, if it is full, or if it can wait behind the one that is
    /// being written, so that there is no pause between the two.
    fn open_goes(&mut self) -> bool {
        let decided = self.open.commands.len();
        let being_written = self.under_way.len() - usize::from(self.store.has_landed());
        match being_written {
            0 => true,
            1 => decided >= BATCH_MAX || self.store.waits(decided),
            _ => decided >= BATCH_MAX,
        }
    }

    /// What was decided cannot stand: on its own account, or because the batch before was not written, which decides.
    fn fail_open(&mut self, error: Error) -> Result<(), Fatal> {
        // Out of the way first: what becomes of the batch before may have to be decided anew.
        let commands = std::mem::take(&mut self.open).commands;
        let batch = std::mem::take(&mut self.batch);
        self.unlearn(&batch);
        while !self.under_way.is_empty() {
            if self.landing()? == Landed::Undone {
                return self.again(commands);
            }
        }
        self.fail(commands, error)
    }

    /// Has the open batch written, after those that are being written.
    fn send_open(&mut self) -> Result<(), Fatal> {
        let (decided, mutations) = self.conclude();
        let before = if self.goes_beside(&decided, &mutations) {
            UNDER_WAY_MAX - 1
        } else {
            0
        };
        while self.under_way.len() > before {
            if self.landing()? == Landed::Undone {
                return self.again(decided.commands);
            }
        }
        // Whoever writes is kept busy first; what follows from the batch before has time until this one is written.
        self.write(decided, mutations)?;
        self.follow_landed()
    }

    /// Lets follow what follows from batches that are written by now.
    fn follow_landed(&mut self) -> Result<(), Fatal> {
        while !self.under_way.is_empty() && self.store.has_landed() {
            self.landing()?;
        }
        Ok(())
    }

    /// Decides commands once more, from what is stored, if that can be known.
    pub(super) fn again(&mut self, commands: Vec<Command>) -> Result<(), Fatal> {
        if self.is_away {
            return self.still_away(commands);
        }
        // A shard may have been lost with the batch before: what is about it is not decided here any more.
        let commands = self.turn_away(commands);
        self.decide_and_write(commands)
    }

    /// Derives memory anew and decides commands from that.
    pub(super) fn redecide(&mut self, commands: Vec<Command>) -> Result<(), Fatal> {
        match self.forget() {
            Ok(()) => self.again(commands),
            Err(error) => self.away(commands, error),
        }
    }

    /// The open batch as mutations, and what follows from it as of now.
    fn conclude(&mut self) -> (Decided, Vec<Mutation>) {
        let Open {
            is_begun: _,
            commands,
            replies,
        } = std::mem::take(&mut self.open);
        let next = self.batch.next();
        let mut batch = std::mem::replace(&mut self.batch, next);
        let mut mutations = batch.mutations(|id| self.cache.get(id));
        if self.signs_life(mutations.is_empty()) {
            mutations.push(Mutation::PutRun(self.life()));
            self.life_written_at = self.now;
        }
        if self.owned.owns_control() {
            let fact = self.control.clock.due(self.now);
            mutations.extend(fact.map(Mutation::PutFact));
        }
        let changes = batch.changes(|id| self.cache.get(id));
        let told = self.closed_views(&changes, &commands);
        let decided = Decided {
            commands,
            replies,
            batch,
            changes,
            told,
            began: 0,
        };
        (decided, mutations)
    }

    /// Writes the batch; only when it is durable do answers and effects follow.
    fn write(&mut self, mut decided: Decided, mutations: Vec<Mutation>) -> Result<(), Fatal> {
        if mutations.is_empty() {
            self.follow_up(decided);
            return Ok(());
        }
        decided.began = self.clock.micros();
        let fences = self.owned.fences(&mutations, &decided.batch.fences).into_owned();
        if self.goes_beside(&decided, &mutations) {
            self.store.send(fences, mutations)?;
            self.under_way.push_back(decided);
            return Ok(());
        }
        let result = self.store.commit(&fences, &mutations);
        self.end(decided, result).map(|_| ())
    }

    fn goes_beside(&self, decided: &Decided, mutations: &[Mutation]) -> bool {
        !mutations.is_empty() && self.store.goes(decided.commands.len()) && may_overlap(&decided.commands)
    }

    /// Has everything written that was decided, waits for it, and lets follow what follows from it.
    pub fn come_to_rest(&mut self) -> Result<(), Fatal> {
        // One that the store refused is written again in pieces, the last of which may be under way then.
        while !self.under_way.is_empty() || self.open.is_begun {
            if self.open.is_begun {
                self.send_open()?;
            } else {
                self.landing()?;
            }
        }
        Ok(())
    }

    /// Goes on with what was decided if a batch before it is written by now.
    pub(crate) fn advance(&mut self) -> Result<(), Fatal> {
        if !self.store.has_landed() {
            return Ok(());
        }
        if self.open.is_begun && self.open_goes() {
            return self.send_open();
        }
        self.follow_landed()
    }

    /// Whether a batch is being written beside the lane.
    pub(crate) fn is_writing(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// Waits for the oldest batch under way. If it was not written as it was decided, what was decided since is decided again.
    fn landing(&mut self) -> Result<Landed, Fatal> {
        let Some(decided) = self.under_way.pop_front() else {
            return Ok(Landed::Durable);
        };
        let result = self.store.landed();
        let behind = if result.is_ok() { Vec::new() } else { self.recall() };
        let landed = self.end(decided, result)?;
        if !behind.is_empty() {
            self.again(behind)?;
        }
        Ok(landed)
    }

    /// Takes back all that was decided on a batch that was not written: what waited behind it was not either, or, if nobody
    /// knows of the one, nobody knows of the other.
    fn recall(&mut self) -> Vec<Command> {
        let mut commands = Vec::new();
        for decided in std::mem::take(&mut self.under_way) {
            // Whoever wrote may be gone: then the batch before says so.
            if matches!(self.store.landed(), Err(Error::Away { .. })) {
                self.doubt(&decided.batch.jobs);
            }
            self.unlearn(&decided.batch);
            commands.extend(decided.commands);
        }
        let batch = std::mem::take(&mut self.batch);
        self.unlearn(&batch);
        commands.extend(std::mem::take(&mut self.open).commands);
        commands
    }

    fn end(&mut self, decided: Decided, result: Result<(), Error>) -> Result<Landed, Fatal> {
        // What was decided on a batch that was not written must be out of the way: it is decided again after this.
        debug_assert!(result.is_ok() || (self.under_way.is_empty() && !self.open.is_begun));
        match result {
            Ok(()) => {
                let micros = self.clock.micros().saturating_sub(decided.began);
                self.metrics.committed(decided.commands.len(), micros);
                self.follow_up(decided);
                Ok(Landed::Durable)
            }
            Err(Error::Refused { detail }) => {
                self.unlearn(&decided.batch);
                self.refused(decided.commands, decided.batch.begun, &detail)
                    .map(|()| Landed::Undone)
            }
            Err(Error::FenceBroken { shard }) if !self.ends_by_fence() => {
                self.unlearn(&decided.batch);
                self.moved(shard, decided.commands).map(|()| Landed::Undone)
            }
            Err(Error::Outdated { machine }) => {
                self.unlearn(&decided.batch);
                self.machines.forget_newest(&machine);
                self.redecide(decided.commands).map(|()| Landed::Undone)
            }
            // Decided again, the command finds the answer that the other node has stored.
            Err(Error::Answered) => {
                self.unlearn(&decided.batch);
                self.redecide(decided.commands).map(|()| Landed::Undone)
            }
            Err(error) => {
                self.unlearn(&decided.batch);
                if matches!(error, Error::Away { .. }) {
                    self.doubt(&decided.batch.jobs);
                }
                self.fail(decided.commands, error).map(|()| Landed::Undone)
            }
        }
    }

    /// The store, to read from while nothing has been decided: after all that is under way.
    pub(super) fn rested(&mut self) -> Result<Reading<'_>, Error> {
        self.come_to_rest().map_err(|fatal| fatal.0)?;
        self.reach()?;
        self.store.get()
    }

    /// What follows once a batch is durable.
    fn follow_up(&mut self, decided: Decided) {
        let Decided {
            mut commands,
            replies,
            batch,
            changes,
            told,
            began: _,
        } = decided;
        self.store_rests_until = None;
        self.keep_waits(&mut commands, &replies);
        self.keep_polls(&mut commands, &replies);
        self.act(batch, &changes);
        self.tell_closed(&changes, told);
        for (command, reply) in commands.into_iter().zip(replies) {
            if let Some(sender) = command.reply {
                // Whoever asked may have gone; what was decided stands.
                let _ = sender.send(reply);
            }
        }
        self.cache.shrink();
    }

    fn act(&mut self, mut batch: Batch, changes: &[Change]) {
        self.count(&mut batch);
        self.note_recovered(batch.interrupted);
        let over = changes.iter().filter_map(Change::execution);
        over.for_each(|id: ExecutionId| self.cache.forget_over(id));
        self.machines.learn(batch.newest);
        self.jobs.settle(batch.bulk, batch.ended.iter().map(|(id, _)| *id));
        for (at, due) in batch.due {
            self.timers.add(at, due);
        }
        self.pending.extend(batch.next);
        self.control.is_stored(self.now.max(self.clock.now()));
        self.control.board.show(&self.control.switches);
        for job in batch.jobs {
            if job.task == Task::Run {
                self.dispatcher.started.add(&job.kind, self.now);
            }
            match job.lease {
                None => self.start_job(job),
                Some(_) => self.dispatcher.polls.grant(job),
            }
        }
        self.answer_polls();
        for statement in batch.statements {
            self.hands.state(statement);
        }
        for attempt in batch.cancels {
            self.hands.cancel(attempt);
        }
        for attempt in batch.abandons {
            self.hands.abandon(attempt.attempt);
        }
        if !changes.is_empty() {
            (self.publish)(changes);
        }
    }

    /// Writes a batch that begins actions, here and now.
    pub(super) fn write_begins(&mut self, begins: Vec<Command>) -> Result<Begun, Fatal> {
        let mut turns: Vec<Turn> = begins.iter().filter_map(turn_of).collect();
        self.open.is_begun = true;
        let decided = self.decide_all(&begins);
        self.open.commands.extend(begins);
        match decided {
            Ok(replies) => self.open.replies.extend(replies),
            Err(error) => return self.fail_open(error).map(|()| Begun::Nothing),
        }
        let (mut decided, mutations) = self.conclude();
        // One that lacks a permit after all writes nothing, and is not to blame.
        turns.retain(|(_, action)| decided.batch.action(*action).is_some());
        if mutations.is_empty() {
            self.follow_up(decided);
            return Ok(Begun::Written(turns));
        }
        decided.began = self.clock.micros();
        let fences = self.owned.fences(&mutations, &decided.batch.fences).into_owned();
        match self.store.commit(&fences, &mutations) {
            Err(Error::Refused { detail }) => {
                self.unlearn(&decided.batch);
                self.metrics.commits_failed.inc();
                // What is to blame is known, even if the store cannot be read now.
                self.forget().or_else(|error| self.away(Vec::new(), error))?;
                Ok(Begun::Refused(turns, detail))
            }
            result => self.end(decided, result).map(|landed| match landed {
                Landed::Durable => Begun::Written(turns),
                Landed::Undone => Begun::Nothing,
            }),
        }
    }

    /// One command in a batch of its own.
    pub(super) fn alone(&mut self, command: Command) -> Result<(), Fatal> {
        self.decide_and_write(vec![command])?;
        self.come_to_rest()
    }

    /// Nothing of the batch was written: memory is read anew, whoever asked is told, the engine's own work waits.
    fn fail(&mut self, commands: Vec<Command>, error: Error) -> Result<(), Fatal> {
        let code = match &error {
            Error::Away { .. } => return self.away(commands, error),
            Error::Refused { detail } => return self.refused(commands, Vec::new(), &detail.clone()),
            Error::Full => Code::StoreFull,
            Error::ReadOnly => Code::StoreReadOnly,
            Error::Failed { .. }
            | Error::Unsupported { .. }
            | Error::FenceBroken { .. }
            | Error::Outdated { .. }
            | Error::Answered
            | Error::Disk { .. }
            | Error::Gone { .. }
            | Error::Corrupt { .. } => Code::StoreFailed,
            Error::Unreadable { .. } => Code::RecordDamaged,
        };
        tracing::error!(%error, code = code.text(), "a batch was not written");
        self.metrics.commits_failed.inc();
        let is_fatal = matches!(
            error,
            Error::FenceBroken { .. } | Error::Disk { .. } | Error::Gone { .. } | Error::Corrupt { .. }
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
        self.forget().or_else(|error| self.away(Vec::new(), error))
    }
}

/// Whether these commands may be decided and written while a batch like them is under way: everyday ones, which change
/// nothing but executions. What operators ask for is decided on durable state alone.
pub(crate) fn may_overlap(commands: &[Command]) -> bool {
    commands
        .iter()
        .all(|command| command.idempotency.is_none() && is_everyday(&command.request))
}

fn is_everyday(request: &Request) -> bool {
    matches!(
        request,
        Request::Start(_)
            | Request::Send(_)
            | Request::Internal(
                Internal::Outcome { .. } | Internal::Timer(_) | Internal::Due(..) | Internal::Begin(..)
            )
    )
}

/// Whether a request is about an attempt that an earlier process left running.
pub(super) fn is_lost(request: &Request) -> bool {
    matches!(request, Request::Internal(Internal::Lost(..)))
}

/// The engine's own requests that must not be lost while the store rests: everything the store cannot bring back.
pub(super) fn is_kept(request: &Request) -> bool {
    matches!(
        request,
        Request::Internal(Internal::Outcome { .. } | Internal::Overdue(_) | Internal::Continue(_))
    )
}
