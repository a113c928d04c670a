//! Work of the lane's own that has no hurry: what follows from switches, deleting old executions and expired answers.
//!
//! Each batch takes a bounded piece along. The position of a walk is either derived again after a crash or stored with what
//! it did, so a process that dies costs nothing but a second look.

use sprag_core::ids::SwitchId;
use sprag_core::time::Timestamp;
use sprag_store::home::CONTROL;
use sprag_store::records::{self, ExecutionStatus};
use sprag_store::traits::{LaneReads, SCAN_MAX, Search};
use sprag_store::{Error, Page, ShardId, Wanted};

use super::loader::Loader;
use super::upkeep::EXPIRY_EVERY_MILLIS;
use super::{Lane, jobs};
use crate::engine::options::{AGED_ENTRIES_MAX, AGED_PAGE, AGED_STEP_MILLIS, AGED_WALK_MILLIS, CHORE_PAGE, Retention};
use crate::queue::control::{Aging, Finishing, Rejoining, Sweep};
use crate::read::held::waits_for;
use crate::requests::idempotency::KEPT_MILLIS;
use crate::requests::{CancelSwitched, Command, Drained, Expire, ExpireAnswers, LapseSwitch, Rejoin, Rejoined, Swept};

/// Expired answers that one batch deletes.
const EXPIRED_MAX: usize = 256;

/// How often the store is searched for actions that wait for a release, in milliseconds.
const FINISH_EVERY_MILLIS: u64 = 500;

/// When a walk has something to do.
pub(super) fn next_walk(lane: &Lane) -> Option<Timestamp> {
    let control = &lane.known.control;
    if control.sweep.is_some() {
        return Some(lane.now());
    }
    let rejoining = control.rejoining.map(|rejoining| rejoining.due.max(lane.now()));
    let aged_at = lane.rules.retention.map(|_| control.aged_at);
    let owns_control = lane.shards.owns_control();
    let switched = control.switches.next_end().filter(|_| owns_control);
    let is_finishing = owns_control && control.switches.being_released().next().is_some();
    let finishing = is_finishing.then_some(control.finishing.due);
    let walks = rejoining.into_iter().chain(aged_at).chain(switched).chain(finishing);
    walks.chain(jobs::next_job(lane)).min()
}

/// Whether one of these actions is of an execution that is not paused. What is paused waits for a person, not for a release.
fn is_any_free(store: &mut dyn LaneReads, actions: &[records::Action]) -> Result<bool, Error> {
    let wanted = Wanted {
        executions: actions.iter().map(|action| action.execution).collect(),
        ..Wanted::default()
    };
    let found = store.load(&wanted)?.executions;
    Ok(found
        .iter()
        .any(|loaded| loaded.execution.status != ExecutionStatus::Paused))
}

/// Whether the engine's own work must read the store now.
pub(super) fn needs_reads(lane: &Lane) -> bool {
    let now = lane.now();
    let due = next_walk(lane).into_iter().chain([lane.upkeep.expiry_due]);
    lane.known.timers.is_hungry(now) || lane.known.queue.is_hungry() || due.min().is_some_and(|due| due <= now)
}

impl Loader<'_> {
    /// The next piece of each walk.
    pub(super) fn walks(&mut self) -> Result<Vec<Command>, Error> {
        let mut commands = Vec::new();
        if self.shards.owns_control() {
            let ended = self.known.control.switches.ended(self.now);
            commands.extend(ended.into_iter().map(|switch| Command::own(LapseSwitch(switch))));
            self.finish_some(&mut commands)?;
        }
        self.rejoin_some(&mut commands)?;
        self.sweep_some(&mut commands)?;
        self.expire_some(&mut commands)?;
        self.expire_answers(&mut commands)?;
        Ok(commands)
    }

    /// Actions in no queue: those that no switch holds any more join theirs.
    fn rejoin_some(&mut self, commands: &mut Vec<Command>) -> Result<(), Error> {
        let Some(Rejoining { shard, after, due }) = self.known.control.rejoining else {
            return Ok(());
        };
        if due > self.now {
            return Ok(());
        }
        let Some(shard) = self.shards.from(shard) else {
            self.rejoined(commands);
            return Ok(());
        };
        self.known.control.rejoined = Rejoining { shard, after, due };
        let found = self.store.ready(shard, "", &Page::new(after, CHORE_PAGE))?;
        commands.extend(found.rows.into_iter().map(|ready| {
            Command::own(Rejoin {
                execution: ready.execution,
                action: ready.key.action,
            })
        }));
        let after = found.next;
        let shard = if after.is_some() { shard } else { after_shard(shard) };
        self.known.control.rejoining = Some(Rejoining { shard, after, due });
        if self.shards.from(shard).is_none() {
            self.rejoined(commands);
        }
        Ok(())
    }

    /// The walk over what was set aside has come to its end. While a switch is being released, it begins anew after a rest.
    fn rejoined(&mut self, commands: &mut Vec<Command>) {
        let control = &mut self.known.control;
        let is_released = control.switches.being_released().next().is_some();
        control.rejoining = is_released.then(|| Rejoining {
            due: self.now.plus(FINISH_EVERY_MILLIS),
            ..Rejoining::from_the_start()
        });
        commands.push(Command::own(Rejoined));
    }

    /// Looks for an action that waits for the release of a switch. A switch without one is forgotten.
    fn finish_some(&mut self, commands: &mut Vec<Command>) -> Result<(), Error> {
        let Finishing { switch, before, due } = self.known.control.finishing;
        let rejoining = self.known.control.rejoining;
        if due > self.now || rejoining.is_some_and(|rejoining| rejoining.due <= self.now) {
            return Ok(());
        }
        let switches = &self.known.control.switches;
        let of = |id: SwitchId| switches.being_released().find(|(released, _)| released.id == id);
        let (at, before) = match switch.and_then(of) {
            Some(found) => (Some(found), before),
            None => (switches.being_released().next(), None),
        };
        let Some((switch, release)) = at else {
            return Ok(());
        };
        let (id, condition) = (switch.id, waits_for(&switch.scope, release.at));
        let next = switches.being_released().find(|(released, _)| released.id > id);
        let next = next.map(|(next, _)| next.id);
        let found = self.store.find_actions(&Search {
            condition,
            page: Page::new(before, CHORE_PAGE),
            scan: SCAN_MAX,
        })?;
        self.known.control.finishing = match found.next {
            _ if is_any_free(&mut *self.store, &found.rows)? => Finishing {
                switch: next,
                before: None,
                due: self.now.plus(FINISH_EVERY_MILLIS),
            },
            Some(before) => Finishing {
                switch: Some(id),
                before: Some(before),
                due: self.now,
            },
            None => {
                commands.push(Command::own(Drained(id)));
                Finishing {
                    switch: next,
                    before: None,
                    due: self.now,
                }
            }
        };
        Ok(())
    }

    /// Open actions that a switch cancels, if they are in its scope.
    fn sweep_some(&mut self, commands: &mut Vec<Command>) -> Result<(), Error> {
        let Some(Sweep {
            switch,
            phase,
            shard,
            after,
        }) = self.known.control.sweep
        else {
            return Ok(());
        };
        let swept = self.known.control.switches.get(switch);
        let statuses = swept.map_or(&[][..], |swept| swept.cancelled_statuses(self.now));
        let Some(status) = statuses.get(phase) else {
            self.known.control.sweep = None;
            commands.push(Command::own(Swept(switch)));
            return Ok(());
        };
        let next = |phase, shard, after| Sweep {
            switch,
            phase,
            shard,
            after,
        };
        let Some(shard) = self.shards.from(shard) else {
            self.known.control.sweep = Some(next(phase + 1, CONTROL, None));
            return Ok(());
        };
        let found = self.store.open(shard, status.number(), &Page::new(after, CHORE_PAGE))?;
        self.known.control.sweep = Some(match found.next {
            Some(last) => next(phase, shard, Some(last)),
            None if self.shards.from(after_shard(shard)).is_some() => next(phase, after_shard(shard), None),
            None => next(phase + 1, CONTROL, None),
        });
        commands.extend(
            found
                .rows
                .into_iter()
                .map(|open| Command::own(CancelSwitched(open.action))),
        );
        Ok(())
    }

    /// Closed executions that are old enough, as many as one commit should delete.
    fn expire_some(&mut self, commands: &mut Vec<Command>) -> Result<(), Error> {
        let Some(Retention { closed_millis }) = self.retention else {
            return Ok(());
        };
        if self.now < self.known.control.aged_at || self.clock_jumped() {
            return Ok(());
        }
        let Aging { shard, after } = self.known.control.aged;
        let Some(shard) = self.shards.from(shard) else {
            self.known.control.aged = Aging::from_the_start();
            self.known.control.aged_at = self.now.plus(AGED_WALK_MILLIS);
            return Ok(());
        };
        let before = before(self.now, closed_millis);
        let found = self.store.aged(shard, before, &Page::new(after, AGED_PAGE))?;
        let mut after = after;
        let (mut executions, mut entries, mut seen) = (Vec::new(), 0, 0);
        for aged in &found.rows {
            if aged.goes {
                if !executions.is_empty() && entries + aged.entries > AGED_ENTRIES_MAX {
                    break;
                }
                entries += aged.entries;
                executions.push(aged.execution);
            }
            after = Some(aged.execution);
            seen += 1;
        }
        let is_through = seen == found.rows.len() && found.next.is_none();
        self.continue_aging(shard, after, is_through);
        // A page without anything to delete is not worth a commit.
        if !executions.is_empty() {
            let after = self.known.control.aged.after;
            commands.push(Command::own(Expire { executions, after }));
        }
        Ok(())
    }

    /// Retention waits while the clock is not believed.
    fn clock_jumped(&mut self) -> bool {
        let Some(millis) = self.known.control.clock.jump(self.now) else {
            return false;
        };
        tracing::warn!(
            code = "retention-waits",
            millis,
            "the clock is more than a day ahead of what was known: nothing is deleted until a person accepts it \
             (`sprag system --accept-clock`)"
        );
        self.known.control.aged_at = self.now.plus(AGED_WALK_MILLIS);
        true
    }

    /// Where and when the walk over old executions continues.
    fn continue_aging(&mut self, shard: ShardId, after: Option<sprag_core::ids::ExecutionId>, is_through: bool) {
        let next = is_through.then(|| after_shard(shard));
        let is_last = next.is_some_and(|next| self.shards.from(next).is_none());
        self.known.control.aged = match next {
            None => Aging { shard, after },
            Some(_) if is_last => Aging::from_the_start(),
            Some(shard) => Aging { shard, after: None },
        };
        let rest = if is_last { AGED_WALK_MILLIS } else { AGED_STEP_MILLIS };
        self.known.control.aged_at = self.now.plus(rest);
    }

    /// A few of the answers that expired. A batch that finds more of them leaves the rest to the next.
    fn expire_answers(&mut self, commands: &mut Vec<Command>) -> Result<(), Error> {
        if self.now < self.upkeep.expiry_due {
            return Ok(());
        }
        if self.known.control.clock.jump(self.now).is_some() {
            self.upkeep.expiry_due = self.now.plus(EXPIRY_EVERY_MILLIS);
            return Ok(());
        }
        let mut first = Vec::new();
        for shard in self.shards.all() {
            first.extend(self.store.first_to_expire(shard, EXPIRED_MAX)?);
        }
        let is_full = first.len() >= EXPIRED_MAX;
        let (expired, later): (Vec<_>, Vec<_>) = first.into_iter().partition(|(expiry, _)| *expiry <= self.now);
        let next = later.into_iter().map(|(expiry, _)| expiry).min();
        self.upkeep.expiry_due = match next {
            Some(next) => next.max(self.now.plus(EXPIRY_EVERY_MILLIS)),
            None if is_full => self.now,
            // Other nodes may add answers to webhook calls in the meantime.
            None if self.shards.is_shared => self.now.plus(KEPT_MILLIS),
            None => Timestamp::MAX,
        };
        if !expired.is_empty() {
            let scopes = expired.into_iter().map(|(_, scope)| scope).collect();
            commands.push(Command::own(ExpireAnswers { scopes }));
        }
        Ok(())
    }
}

/// The number after a shard's.
fn after_shard(shard: ShardId) -> ShardId {
    ShardId(shard.0.saturating_add(1))
}

fn before(now: Timestamp, millis: u64) -> Timestamp {
    Timestamp::from_millis(now.as_millis().saturating_sub_unsigned(millis))
}
