//! Work of the lane's own that has no hurry: what follows from switches, and letting old executions go.
//!
//! Each batch takes a bounded piece along. Where a walk stands is either derived again after a crash or stored with
//! what it did, so a process that dies costs nothing but a second look.

use sprag_core::action::Status;
use sprag_core::time::Timestamp;
use sprag_store::home::CONTROL;
use sprag_store::{Error, Page, ShardId, Wanted};

use super::tick::Lane;
use crate::command::{Command, Internal, Request};
use crate::control::{Aging, Board, Chore, Control, Rejoining, Sweep};
use crate::options::{AGED_ENTRIES_MAX, AGED_PAGE, AGED_STEP_MILLIS, AGED_WALK_MILLIS, CHORE_PAGE, Retention};

/// The statuses that a switch's walk looks at, in order. What is under way when its turn comes may be waiting again
/// when it ends, so what waits is looked at twice.
const SWEPT: [Status; 6] = [
    Status::Scheduled,
    Status::Retrying,
    Status::Queued,
    Status::Running,
    Status::Retrying,
    Status::Queued,
];

impl Lane {
    /// What readers see of the switches.
    pub(crate) fn board(&self) -> Board {
        self.control.board.clone()
    }

    /// Reads what operators have set, as it is stored.
    pub(super) fn read_control(&mut self) -> Result<(), Error> {
        let mut read = Control::read(&mut *self.store.get()?)?;
        read.inherit(&mut self.control);
        read.is_stored(self.now.max(self.clock.now()));
        read.next_sweep();
        let old = std::mem::replace(&mut self.control, read);
        self.control.aged_at = self.now;
        for key in old.overrides.keys() {
            self.dispatcher.set_override(key, None);
        }
        for (key, overridden) in &self.control.overrides {
            self.dispatcher.set_override(key, Some(overridden.numbers));
        }
        self.control.board.show(&self.control.switches);
        Ok(())
    }

    /// When there is something to do without hurry.
    pub(super) fn next_chore(&self) -> Option<Timestamp> {
        if self.control.rejoining.is_some() || self.control.sweep.is_some() {
            return Some(self.now);
        }
        let aged_at = self.options.retention.map(|_| self.control.aged_at);
        let switched = self.control.switches.next_end().filter(|_| self.owned.owns_control());
        aged_at.into_iter().chain(switched).chain(self.next_job()).min()
    }

    /// Adds the next piece of it to a batch.
    pub(super) fn chores(&mut self, commands: &mut Vec<Command>) -> Result<(), Error> {
        let mut chores = Vec::new();
        if self.owned.owns_control() {
            chores.extend(self.control.switches.ended(self.now).into_iter().map(Chore::Lapse));
        }
        self.rejoin_some(&mut chores)?;
        self.sweep_some(&mut chores)?;
        self.expire_some(&mut chores)?;
        let own = |chore| Command::own(Request::Internal(Internal::Chore(chore)));
        commands.extend(chores.into_iter().map(own));
        Ok(())
    }

    /// Actions that stand in no line: those that no switch holds any more join theirs.
    fn rejoin_some(&mut self, chores: &mut Vec<Chore>) -> Result<(), Error> {
        let Some(Rejoining { shard, after }) = self.control.rejoining else {
            return Ok(());
        };
        let Some(shard) = self.owned.from(shard) else {
            self.control.rejoining = None;
            chores.push(Chore::Rejoined);
            return Ok(());
        };
        let page = self.rested()?.ready(shard, "", &Page::new(after, CHORE_PAGE))?.rows;
        let is_full = page.len() == CHORE_PAGE;
        let after = page.last().map(|last| last.key).filter(|_| is_full);
        chores.extend(
            page.into_iter()
                .map(|ready| Chore::Rejoin(ready.execution, ready.key.action)),
        );
        let shard = if is_full { shard } else { after_shard(shard) };
        self.control.rejoining = Some(Rejoining { shard, after });
        if self.owned.from(shard).is_none() {
            self.control.rejoining = None;
            chores.push(Chore::Rejoined);
        }
        Ok(())
    }

    /// Open actions that a switch cancels, if they are in its scope.
    fn sweep_some(&mut self, chores: &mut Vec<Chore>) -> Result<(), Error> {
        let Some(Sweep {
            switch,
            phase,
            shard,
            after,
        }) = self.control.sweep
        else {
            return Ok(());
        };
        let Some(status) = SWEPT.get(phase) else {
            self.control.sweep = None;
            chores.push(Chore::Swept(switch));
            return Ok(());
        };
        let next = |phase, shard, after| Sweep {
            switch,
            phase,
            shard,
            after,
        };
        let Some(shard) = self.owned.from(shard) else {
            self.control.sweep = Some(next(phase + 1, CONTROL, None));
            return Ok(());
        };
        let page = self
            .rested()?
            .open(shard, status.number(), &Page::new(after, CHORE_PAGE))?
            .rows;
        let last = page.last().copied().filter(|_| page.len() == CHORE_PAGE);
        self.control.sweep = Some(match last {
            Some(last) => next(phase, shard, Some(last)),
            None if self.owned.from(after_shard(shard)).is_some() => next(phase, after_shard(shard), None),
            None => next(phase + 1, CONTROL, None),
        });
        chores.extend(page.into_iter().map(|open| Chore::Cancel(open.action)));
        Ok(())
    }

    /// Closed executions that are old enough, as many as one commit should delete.
    fn expire_some(&mut self, chores: &mut Vec<Chore>) -> Result<(), Error> {
        let Some(Retention { closed_millis }) = self.options.retention else {
            return Ok(());
        };
        if self.now < self.control.aged_at {
            return Ok(());
        }
        if let Some(millis) = self.control.clock.jump(self.now) {
            tracing::warn!(
                code = "retention-waits",
                millis,
                "the clock is more than a day ahead of what was known: nothing is deleted until a person accepts it \
                 (`sprag system --accept-clock`)"
            );
            self.control.aged_at = self.now.plus(AGED_WALK_MILLIS);
            return Ok(());
        }
        let Aging { shard, after } = self.control.aged;
        let Some(shard) = self.owned.from(shard) else {
            self.control.aged = Aging::from_the_start();
            self.control.aged_at = self.now.plus(AGED_WALK_MILLIS);
            return Ok(());
        };
        let before = before(self.now, closed_millis);
        let page = self.rested()?.aged(shard, before, &Page::new(after, AGED_PAGE))?.rows;
        let mut after = after;
        let (mut executions, mut entries, mut seen) = (Vec::new(), 0, 0);
        for aged in &page {
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
        let is_through = seen == page.len() && page.len() < AGED_PAGE;
        let next = is_through.then(|| after_shard(shard));
        let is_last = next.is_some_and(|next| self.owned.from(next).is_none());
        self.control.aged = match next {
            None => Aging { shard, after },
            Some(_) if is_last => Aging::from_the_start(),
            Some(shard) => Aging { shard, after: None },
        };
        let rest = if is_last { AGED_WALK_MILLIS } else { AGED_STEP_MILLIS };
        self.control.aged_at = self.now.plus(rest);
        // A page without anything to delete is not worth a commit.
        if !executions.is_empty() {
            let after = self.control.aged.after;
            chores.push(Chore::Expire { executions, after });
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

/// What a chore needs to be loaded.
pub(super) fn want(chore: &Chore, wanted: &mut Wanted) {
    match chore {
        Chore::Rejoin(execution, _) => wanted.executions.push(*execution),
        Chore::Cancel(action) => wanted.actions.push(*action),
        Chore::Expire { executions, .. } => wanted.executions.extend(executions),
        Chore::Rejoined | Chore::Swept(_) | Chore::Lapse(_) => {}
    }
}
