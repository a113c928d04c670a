//! Shards that come and go: what a lane gathers when it is given one, and what it drops when it must let one go.
//!
//! What a former owner left is ordinary work, as after a start. A shard that is handed over rests first: nothing of it
//! starts, what runs may end, then it is dropped whole. One that was lost is dropped at once: the commit that found out
//! wrote nothing, its commands are refused, and the rest is decided again.

use sprag_core::ids::Slot;
use sprag_core::time::Timestamp;
use sprag_store::home::CONTROL;
use sprag_store::nodes::Claimed;
use sprag_store::traits::shard_of;
use sprag_store::{Error, Fence, ShardId};

use super::loader::Loader;
use super::member::Orders;
use super::{Fatal, Lane, recovery, undo};
use crate::engine::options::SHORT_RUN_MILLIS;
use crate::jobs::OpenJobs;
use crate::limits::demand;
use crate::queue::control::Rejoining;
use crate::requests::{Code, Command, Refusal, Route};

impl Lane {
    /// Follows the orders of the member. In this order: lost shards are dropped before anything is answered or started in
    /// the belief that the lease runs.
    pub fn obey(&mut self, orders: &Orders) -> Result<(), Fatal> {
        // What was decided under the shards as they were is written, or refused by its fences, before any of them goes.
        self.rest()?;
        self.time.at.now = self.time.at.now.max(self.time.clock.now());
        lose(self, &orders.lost);
        hand_over(self, &orders.hand_over, orders.grace_millis);
        if let Err(error) = follow_orders(self, orders) {
            return give_up_given(self, orders, error);
        }
        self.shards.lease_until = orders.in_touch_until;
        Ok(())
    }

    /// Lets go of shards that were to be handed over and are ready: no other node may learn that they are free before.
    pub fn let_go(&mut self) -> Result<Vec<Fence>, Fatal> {
        if self.shards.leaving().next().is_none() {
            return Ok(std::mem::take(&mut self.shards.unreadable));
        }
        self.rest()?;
        let mut gone = std::mem::take(&mut self.shards.unreadable);
        let now = self.now().max(self.time.clock.now());
        let is_ready = |(shard, until): &(ShardId, Timestamp)| *until <= now || !performs_in(self, *shard);
        let ready: Vec<ShardId> = self.shards.leaving().filter(is_ready).map(|(shard, _)| shard).collect();
        gone.extend(ready.into_iter().filter_map(|shard| drop_shard(self, shard)));
        Ok(gone)
    }

    /// The shards that this lane may write to, with their epochs.
    pub fn fences(&self) -> impl Iterator<Item = Fence> {
        self.shards.all().filter_map(|shard| self.shards.fence(shard))
    }
}

fn follow_orders(lane: &mut Lane, orders: &Orders) -> Result<(), Error> {
    acquire(lane, &orders.acquired)?;
    for &shard in &orders.keep {
        if lane.shards.stay(shard) {
            lane.known.queue.resting.rouse(shard);
            lane.loader()?.know_queues(shard)?;
        }
    }
    lane.loader()?.refresh_control()?;
    recovery::arm_missing(lane)?;
    lane.loader()?.refresh_limits(&orders.owners, orders.looked)
}

/// Shards that were given could not be read. All of them go, also those that were not reached: the member believes that
/// they are served here.
fn give_up_given(lane: &mut Lane, orders: &Orders, error: Error) -> Result<(), Fatal> {
    let is_passing = matches!(
        error,
        Error::Failed { .. } | Error::Full | Error::ReadOnly | Error::Away { .. }
    );
    tracing::error!(%error, "shards given to this node cannot be read");
    for Claimed { fence, .. } in &orders.acquired {
        drop_shard(lane, fence.shard);
        lane.shards.unreadable.push(*fence);
    }
    for &shard in &orders.keep {
        let dropped = drop_shard(lane, shard);
        lane.shards.unreadable.extend(dropped);
    }
    // The node does not count as in touch any longer than it was: what operators set may be among what it could not
    // read.
    if is_passing { Ok(()) } else { Err(Fatal(error)) }
}

/// Shards are this lane's from now on; what a former owner left of them is gathered.
fn acquire(lane: &mut Lane, claimed: &[Claimed]) -> Result<(), Error> {
    if claimed.is_empty() {
        return Ok(());
    }
    for Claimed { fence, former } in claimed {
        // What was known under an older epoch is not known any more.
        lane.shards.remove(fence.shard);
        purge(lane, fence.shard);
        let ran = former.as_ref().map(|former| former.lease_until.since(former.joined_at));
        let after_short_run = ran.is_some_and(|millis| millis < SHORT_RUN_MILLIS);
        lane.shards.add(*fence, after_short_run);
        lane.known.timers.follow(fence.shard);
        demand::own_shards(&mut lane.known.queue, lane.shards.all());
        lane.known.queue.permits.shared.go_blind();
        tracing::debug!(shard = fence.shard.0, epoch = fence.epoch, "shard acquired");
        lane.loader()?.gather_shard(fence.shard)?;
    }
    if claimed.iter().any(|claimed| claimed.fence.shard == CONTROL) {
        lane.loader()?.gather_jobs()?;
    }
    let interrupted_attempts = lane.backlog.interrupted();
    tracing::info!(shards = claimed.len(), interrupted_attempts, "shards acquired");
    lane.upkeep.expiry_due = lane.now();
    lane.known.control.swept.clear();
    lane.loader()?.read_control()?;
    lane.loader()?.read_audit_heads()?;
    // A former owner may have taken actions out of their queues and gone before they joined them again.
    lane.known.control.rejoining = Some(Rejoining::from_the_start());
    recovery::arm_missing(lane)
}

/// Shards are to be handed over: nothing of them starts any more. They are let go once what runs has ended, or after so
/// many milliseconds.
fn hand_over(lane: &mut Lane, shards: &[ShardId], grace_millis: u64) {
    let until = lane.now().plus(grace_millis);
    for &shard in shards {
        if lane.shards.leave(shard, until) {
            lane.known.queue.rest(shard, lane.shards.shards());
        }
    }
}

/// Shards that are this lane's no longer.
pub(super) fn lose(lane: &mut Lane, shards: &[ShardId]) {
    for &shard in shards {
        if drop_shard(lane, shard).is_some() {
            tracing::warn!(shard = shard.0, "shard lost to another node");
        }
    }
}

fn performs_in(lane: &Lane, shard: ShardId) -> bool {
    let shards = lane.shards.shards();
    lane.known.queue.performs(|slot| shard_of(slot, shards) == shard)
}

/// Drops everything of a shard. Attempts of it that run are stopped: the next owner finds out what became of them.
fn drop_shard(lane: &mut Lane, shard: ShardId) -> Option<Fence> {
    if shard == CONTROL {
        // Whoever decides on the catalog now may change it.
        lane.known.catalog = None;
    }
    let fence = lane.shards.remove(shard)?;
    purge(lane, shard);
    tracing::debug!(shard = shard.0, epoch = fence.epoch, "shard dropped");
    Some(fence)
}

/// Forgets everything of a shard, whether it was owned or only read.
fn purge(lane: &mut Lane, shard: ShardId) {
    let shards = lane.shards.shards();
    let is_there = |slot: Slot| shard_of(slot, shards) == shard;
    lane.known.executions.drop_where(|id| is_there(id.slot()));
    demand::own_shards(&mut lane.known.queue, lane.shards.all());
    lane.known.timers.drop_shard(shard);
    lane.known.queue.resting.rouse(shard);
    for attempt in lane.known.queue.drop_where(is_there) {
        lane.effects.abandon(attempt);
    }
    lane.backlog.drop_where(is_there);
    lane.effects.drop_closings(|id| is_there(id.slot()));
    if shard == CONTROL {
        lane.known.jobs = OpenJobs::new();
    }
}

/// Refuses what this lane may not decide: commands of other shards, and everything while the lane may have lost its own
/// or cannot reach its store. None if nothing can be decided.
pub(super) fn admit(lane: &mut Lane, commands: Vec<Command>) -> Result<Option<Vec<Command>>, Fatal> {
    let admitted = if lane.shards.is_whole() {
        commands
    } else {
        turn_away(lane, commands)
    };
    if !lane.pipeline.is_unreachable() {
        return Ok(Some(admitted));
    }
    if !admitted.is_empty() {
        let detail = "the previous batch could not reach the database".to_owned();
        undo::unreachable(lane, admitted, Error::Away { detail })?;
    }
    Ok(None)
}

fn turn_away(lane: &Lane, commands: Vec<Command>) -> Vec<Command> {
    let is_in_touch = lane.shards.is_in_touch(lane.time.clock.micros());
    let owns_something = lane.shards.all().next().is_some();
    let mut admitted = Vec::with_capacity(commands.len());
    for mut command in commands {
        let slot = command.slot();
        let is_ours = match slot {
            Some(slot) => lane.shards.owns(slot),
            None => command.call().route() != Route::NewExecution || owns_something,
        };
        let call = command.call_mut();
        match call.has_caller() {
            true if !is_ours => {
                let shard = slot.map(|slot| shard_of(slot, lane.shards.shards()));
                call.refuse(shard.map_or_else(owns_nothing, Refusal::elsewhere));
            }
            true if !is_in_touch => call.refuse(out_of_touch()),
            false if !is_ours => {}
            _ => admitted.push(command),
        }
    }
    admitted
}

impl Loader<'_> {
    /// Reads again what operators set: only the owner of the control shard decides it, all others read it.
    pub(super) fn refresh_control(&mut self) -> Result<(), Error> {
        if self.shards.owns_control() {
            return Ok(());
        }
        let control = &self.known.control;
        let before = control.switches.clone();
        let (rejoining, rejoined, aged) = (control.rejoining, control.rejoined, control.aged);
        self.read_control()?;
        let control = &mut self.known.control;
        (control.aged, control.rejoined) = (aged, rejoined);
        let released_now = |id| control.switches.get(id).map(|switch| switch.release);
        let released = before
            .all()
            .any(|switch| released_now(switch.id) != Some(switch.release));
        control.rejoining = if released {
            Some(Rejoining::from_the_start())
        } else {
            rejoining
        };
        if before != control.switches {
            self.known.queue.switches_changed();
        }
        Ok(())
    }
}

/// The refusal of a start that could be anywhere, by a node that has no shard.
fn owns_nothing() -> Refusal {
    Refusal::new(
        Code::ShardMoved,
        "this node owns no shard at the moment; try again in a moment",
    )
}

fn out_of_touch() -> Refusal {
    let detail = "this node lost contact with its database and may have lost its shards; try again in a moment";
    Refusal::new(Code::ShardMoved, detail)
}
