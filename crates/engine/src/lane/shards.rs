//! Shards that come and go: what a lane gathers when it is given one, and what it drops when it must let one go.
//!
//! What a former owner left is ordinary work, as after a start. A shard that is handed over rests first: nothing of it
//! begins, what is under way may end, then it is dropped whole. One that was lost is dropped at once: the commit that
//! found out wrote nothing, its commands are refused, and the rest is decided again.

use sprag_core::action::Outcome;
use sprag_core::action::error::kind;
use sprag_core::ids::Slot;
use sprag_core::time::Timestamp;
use sprag_store::home::CONTROL;
use sprag_store::nodes::Claimed;
use sprag_store::traits::shard_of;
use sprag_store::{Error, Fence, ShardId};

use super::tick::{Fatal, Lane};
use crate::command::{Code, Command, Internal, Refusal, Request};
use crate::control::Rejoining;
use crate::hands::{Job, Task};
use crate::homes::home_of;
use crate::member::Orders;
use crate::options::SHORT_LIFE_MILLIS;

impl Lane {
    /// Does what the member says. In this order: what was lost is dropped before anything is answered or begun in the
    /// belief that the lease runs.
    pub fn obey(&mut self, orders: &Orders) -> Result<(), Fatal> {
        let Orders {
            lost,
            acquired,
            hand_over,
            keep,
            grace_millis,
            in_touch_until,
            owners,
            looked,
        } = orders;
        // What was decided under the shards as they were is written, or refused by its fences, before any of them goes.
        self.come_to_rest()?;
        self.now = self.now.max(self.clock.now());
        self.lose(lost);
        self.hand_over(hand_over, *grace_millis);
        let followed = self.acquire(acquired).and_then(|()| self.keep(keep));
        let followed = followed.and_then(|()| self.look_at_control());
        let followed = followed.and_then(|()| self.look_at_homes(owners, *looked));
        if let Err(error) = followed {
            let is_passing = matches!(
                error,
                Error::Failed { .. } | Error::Full | Error::ReadOnly | Error::Away { .. }
            );
            tracing::error!(%error, "shards that were given could not be read");
            // All of them, those too that it did not come to: whoever gave them believes that they are served here.
            for Claimed { fence, .. } in acquired {
                self.drop_shard(fence.shard);
                self.given_up.push(*fence);
            }
            let kept: Vec<Fence> = keep.iter().filter_map(|shard| self.drop_shard(*shard)).collect();
            self.given_up.extend(kept);
            // Nor does it count as in touch any longer than it was: what operators set may be among what it could not read.
            return if is_passing { Ok(()) } else { Err(Fatal(error)) };
        }
        self.in_touch_until = *in_touch_until;
        Ok(())
    }

    /// Shards are this lane's from now on; what a former owner left of them is gathered.
    fn acquire(&mut self, claimed: &[Claimed]) -> Result<(), Error> {
        for Claimed { fence, former } in claimed {
            // What was known under an older epoch is not known any more.
            self.owned.remove(fence.shard);
            self.purge(fence.shard);
            let after_short_life = former
                .as_ref()
                .is_some_and(|former| former.lease_until.since(former.joined_at) < SHORT_LIFE_MILLIS);
            self.owned.add(*fence, after_short_life);
            self.timers.follow(fence.shard);
            self.dispatcher.is_home(self.owned.all());
            self.dispatcher.go_blind();
            tracing::debug!(shard = fence.shard.0, epoch = fence.epoch, "a shard is served here");
            self.gather_shard(fence.shard)?;
        }
        if claimed.iter().any(|claimed| claimed.fence.shard == CONTROL) {
            self.gather_jobs()?;
        }
        if !claimed.is_empty() {
            tracing::info!(
                shards = claimed.len(),
                interrupted_attempts = self.lost.len(),
                "shards are served here from now on"
            );
            self.expiry_due = self.now;
            self.control.swept.clear();
            self.read_control()?;
            // Somebody may have set actions aside and gone before they joined their lines again.
            self.control.rejoining = Some(Rejoining::from_the_start());
            self.arm_missing()?;
        }
        Ok(())
    }

    /// Reads again what operators set: only the owner of the control shard is told, all others look.
    pub(crate) fn look_at_control(&mut self) -> Result<(), Error> {
        if self.owned.owns_control() {
            return Ok(());
        }
        let before = self.control.switches.clone();
        let (rejoining, aged) = (self.control.rejoining, self.control.aged);
        self.read_control()?;
        self.control.aged = aged;
        let is_gone = |id| self.control.switches.get(id).is_none();
        let released = before.all().any(|switch| is_gone(switch.id));
        self.control.rejoining = if released {
            Some(Rejoining::from_the_start())
        } else {
            rejoining
        };
        if before != self.control.switches {
            self.dispatcher.switches_changed();
        }
        self.arm_missing()
    }

    /// Shards are to be handed over: nothing of them begins any more. They are let go of once what is under way has
    /// ended, or after so many milliseconds.
    fn hand_over(&mut self, shards: &[ShardId], grace_millis: u64) {
        let until = self.now.plus(grace_millis);
        for &shard in shards {
            if self.owned.leave(shard, until) {
                self.dispatcher.rest(shard, self.owned.shards());
            }
        }
    }

    /// Shards that were to be handed over stay after all.
    fn keep(&mut self, shards: &[ShardId]) -> Result<(), Error> {
        for &shard in shards {
            if self.owned.stay(shard) {
                self.dispatcher.rouse(shard);
                self.know_lines(shard)?;
            }
        }
        Ok(())
    }

    /// Lets go of what was to be handed over and is ready: nobody may be told that it is free before.
    pub fn let_go(&mut self) -> Result<Vec<Fence>, Fatal> {
        if self.owned.leaving().next().is_none() {
            return Ok(std::mem::take(&mut self.given_up));
        }
        self.come_to_rest()?;
        let mut gone = std::mem::take(&mut self.given_up);
        let now = self.now.max(self.clock.now());
        let is_ready = |(shard, until): &(ShardId, Timestamp)| *until <= now || !self.performs_in(*shard);
        let ready: Vec<ShardId> = self.owned.leaving().filter(is_ready).map(|(shard, _)| shard).collect();
        gone.extend(ready.into_iter().filter_map(|shard| self.drop_shard(shard)));
        Ok(gone)
    }

    /// Shards that are this lane's no longer, as somebody found out elsewhere.
    fn lose(&mut self, shards: &[ShardId]) {
        for &shard in shards {
            if self.drop_shard(shard).is_some() {
                tracing::warn!(shard = shard.0, "a shard has another owner now");
            }
        }
    }

    /// The shards that this lane may write to, with their epochs.
    pub fn fences(&self) -> impl Iterator<Item = Fence> {
        self.owned.all().filter_map(|shard| self.owned.fence(shard))
    }

    /// When a shard that is to be handed over must be let go at the latest.
    pub(super) fn next_let_go(&self) -> Option<Timestamp> {
        self.owned.leaving().map(|(_, until)| until).min()
    }

    fn performs_in(&self, shard: ShardId) -> bool {
        let shards = self.owned.shards();
        self.dispatcher.performs(|slot| shard_of(slot, shards) == shard)
    }

    /// Drops everything of a shard. What is under way of it is stopped: its outcome is for the next owner to find out.
    fn drop_shard(&mut self, shard: ShardId) -> Option<Fence> {
        let fence = self.owned.remove(shard)?;
        self.purge(shard);
        tracing::debug!(
            shard = shard.0,
            epoch = fence.epoch,
            "a shard is not served here any more"
        );
        Some(fence)
    }

    /// Forgets everything of a shard, whether it was owned or only looked at.
    fn purge(&mut self, shard: ShardId) {
        let shards = self.owned.shards();
        let is_there = |slot: Slot| shard_of(slot, shards) == shard;
        self.cache.drop_where(|id| is_there(id.slot()));
        self.dispatcher.is_home(self.owned.all());
        self.timers.drop_shard(shard);
        self.dispatcher.rouse(shard);
        for attempt in self.dispatcher.drop_where(is_there) {
            self.hands.abandon(attempt);
        }
        let stays = |request: &Request| !slot_of(request, None).is_some_and(is_there);
        self.pending.retain(stays);
        self.lost.retain(stays);
        self.closings.drop_where(|id| is_there(id.slot()));
        if shard == CONTROL {
            self.jobs = super::jobs::Jobs::new();
        }
    }

    /// A commit found that a shard has another owner. Its commands are refused; the others are decided again on what is
    /// stored. Whoever has a store to itself has lost everything with it.
    pub(super) fn moved(&mut self, shard: ShardId, commands: Vec<Command>) -> Result<(), Fatal> {
        self.metrics.commits_failed.inc();
        self.metrics.fenced.inc();
        let shards = self.owned.shards();
        let is_there = |command: &Command| {
            let slot = slot_of(&command.request, command.idempotency.map(|once| once.scope.slot()));
            slot.is_some_and(|slot| shard_of(slot, shards) == shard)
        };
        let was_owned = self.owned.has(shard);
        if !was_owned && self.dispatcher.void(shard) {
            // It is the home of a limit and has another owner: what the one before allowed does not count any more.
            return self.redecide(commands);
        }
        self.lose(&[shard]);
        let (theirs, rest): (Vec<_>, Vec<_>) = commands.into_iter().partition(is_there);
        refuse_all(theirs, shard);
        if let Err(error) = self.forget() {
            return self.away(rest, error);
        }
        if was_owned {
            return self.again(rest);
        }
        // Something that was decided here belongs elsewhere, and is not known by its request: only that one is refused.
        if rest.len() > 1 {
            return rest.into_iter().try_for_each(|command| self.alone(command));
        }
        refuse_all(rest, shard);
        Ok(())
    }

    /// Refuses what this lane may not decide on: what is of other shards, and everything while it may have lost its own.
    pub(super) fn turn_away(&mut self, commands: Vec<Command>) -> Vec<Command> {
        if self.owned.is_whole() {
            return commands;
        }
        let is_open = self.is_in_touch();
        let mut kept = Vec::with_capacity(commands.len());
        for command in commands {
            let slot = slot_of(&command.request, command.idempotency.map(|once| once.scope.slot()));
            let is_ours = match slot {
                Some(slot) => self.owned.owns(slot),
                None => !matches!(command.request, Request::Start(_)) || self.owned.all().next().is_some(),
            };
            match command.reply {
                Some(reply) if !is_ours => {
                    let shard = slot.map(|slot| shard_of(slot, self.owned.shards()));
                    let _ = reply.send(Err(shard.map_or_else(owns_nothing, elsewhere)));
                }
                Some(reply) if !is_open => {
                    let _ = reply.send(Err(out_of_touch()));
                }
                None if !is_ours => {}
                _ => kept.push(command),
            }
        }
        kept
    }

    /// Whether this node can be sure that its lease runs.
    pub(super) fn is_in_touch(&self) -> bool {
        self.owned.is_whole() || self.clock.micros() < self.in_touch_until
    }

    /// Starts an attempt that is durable, unless this node may have lost its shard meanwhile. To find out what became of an
    /// earlier one is no effect; and that one may have had its own, so "not done" could not be said of it.
    pub(super) fn start_job(&mut self, job: Job) {
        if job.task == Task::Settle || self.is_in_touch() {
            self.hands.start(job);
            return;
        }
        tracing::warn!(attempt = %job.attempt.attempt, "an attempt did not start: this node is out of touch with its database");
        let message = "the node was out of touch with its database; the attempt did not start";
        self.pending.push(Request::Internal(Internal::Outcome {
            attempt: job.attempt,
            outcome: Outcome::not_done(kind::TEMPORARY_FAILURE, message),
        }));
    }

    /// Whether a broken fence is the end of this lane.
    pub(super) fn ends_by_fence(&self) -> bool {
        self.owned.is_whole()
    }
}

/// The slot whose shard decides on a request; none where any lane may. `once` is that of an idempotency key, where a
/// start without a key of its own belongs.
pub fn slot_of(request: &Request, once: Option<Slot>) -> Option<Slot> {
    use crate::command::Target;
    use crate::control;
    Some(match request {
        Request::Control(control::Request::Switches | control::Request::Limits)
        | Request::Queue
        | Request::Lease(_) => return None,
        Request::Apply(_)
        | Request::Control(_)
        | Request::RetryAll(_)
        | Request::PauseJob(_)
        | Request::ResumeJob(_)
        | Request::CancelJob(_) => Slot::default(),
        Request::Start(start) => match &start.key {
            Some(key) => Slot::of_key(&start.machine, key),
            None => return once,
        },
        Request::Send(send) => match &send.to {
            Target::Id(id) => id.slot(),
            Target::Key { machine, key } => Slot::of_key(machine, key),
        },
        Request::Pause(id) | Request::Resume(id) | Request::Cancel(id) => id.slot(),
        Request::Migrate(migrate) => migrate.execution.slot(),
        Request::RetryNow(id) | Request::CancelAction(id) | Request::Archive(id) | Request::Explain(id) => id.slot(),
        Request::RetryDead(retry) => retry.action.slot(),
        Request::RetryLetter(letter) => letter.retry.action.slot(),
        Request::State(said) => home_of(&said.limit.key),
        Request::Heartbeat(attempt, _) | Request::Finish(attempt, _) | Request::LeasedConfig(attempt) => attempt.slot(),
        Request::Internal(internal) => return slot_of_own(internal),
    })
}

fn slot_of_own(internal: &Internal) -> Option<Slot> {
    use crate::control::Chore;
    Some(match internal {
        Internal::Outcome { attempt, .. }
        | Internal::Checkpoint { attempt, .. }
        | Internal::Overdue(attempt)
        | Internal::LeaseOver(attempt) => attempt.execution.slot(),
        Internal::Timer(key) => key.execution.slot(),
        Internal::Due(execution, _)
        | Internal::Begin(execution, _)
        | Internal::Lost(execution, _)
        | Internal::Continue(execution)
        | Internal::Chore(Chore::Rejoin(execution, _)) => execution.slot(),
        Internal::Chore(Chore::Cancel(action)) => action.slot(),
        Internal::Chore(Chore::Expire { executions, .. }) => executions.first()?.slot(),
        Internal::Chore(Chore::Rejoined | Chore::Swept(_)) | Internal::Heard(_) => return None,
        Internal::Chore(Chore::Lapse(_))
        | Internal::JobStep(_)
        | Internal::Dealt { .. }
        | Internal::ForgetJob { .. } => Slot::default(),
    })
}

fn refuse_all(commands: Vec<Command>, shard: ShardId) {
    for reply in commands.into_iter().filter_map(|command| command.reply) {
        let _ = reply.send(Err(elsewhere(shard)));
    }
}

/// The refusal of what another node decides on.
pub(crate) fn elsewhere(shard: ShardId) -> Refusal {
    let detail = format!(
        "shard {} is served by another node, or by none just now; try again in a moment",
        shard.0
    );
    Refusal {
        elsewhere: Some(shard),
        ..Refusal::new(Code::ShardMoved, detail)
    }
}

/// The refusal of a start that could be anywhere, by a node that has no shard.
fn owns_nothing() -> Refusal {
    Refusal::new(
        Code::ShardMoved,
        "this node serves no shard just now; try again in a moment",
    )
}

fn out_of_touch() -> Refusal {
    let detail = "this node is out of touch with its database and may have lost its shards; try again in a moment";
    Refusal::new(Code::ShardMoved, detail)
}
