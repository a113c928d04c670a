//! Due times in memory: the near future only.
//!
//! The store holds every due time; memory holds those up to a horizon, a page at a time, so a million sleepers cost
//! nothing. An entry is a hint: the decision is taken from stored state, so one that no longer stands is ignored.

use std::collections::BTreeSet;

use sprag_core::ids::{ActionId, ExecutionId, Slot, WorkflowId};
use sprag_core::time::Timestamp;
use sprag_store::Page;
use sprag_store::records::{Timer, TimerKey};
use sprag_store::traits::{DueAction, DuePlan, ShardId, shard_of};

use crate::requests::AttemptRef;

/// How far ahead memory looks, in milliseconds.
const HORIZON_MILLIS: u64 = 30_000;
/// How many due times are read from the store at once, of either kind.
const PAGE: usize = 10_000;

/// Something that happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// A timer or schedule.
    Timer(TimerKey),
    /// A scheduled or retrying action.
    Action(ExecutionId, ActionId),
    /// A cancelled attempt has had its time to end.
    Overdue(AttemptRef),
    /// The lease of an attempt may be over.
    Lease(AttemptRef),
    /// A plan about which nobody decided.
    Plan(WorkflowId),
}

impl Due {
    /// Which execution it is of.
    pub(crate) fn execution(&self) -> ExecutionId {
        match self {
            Self::Timer(key) => key.execution,
            Self::Action(execution, _) => *execution,
            Self::Overdue(attempt) | Self::Lease(attempt) => attempt.execution,
            Self::Plan(plan) => plan.execution(),
        }
    }

    /// Which shard it is of.
    fn slot(&self) -> Slot {
        self.execution().slot()
    }
}

/// Where due times beyond the horizon come from.
pub(crate) trait DueSource {
    /// Why they cannot be read.
    type Error;

    /// Timers of a shard that are due up to `until`, earliest first.
    fn due_timers(
        &mut self,
        shard: ShardId,
        until: Timestamp,
        page: &Page<(Timestamp, TimerKey)>,
    ) -> Result<Vec<Timer>, Self::Error>;

    /// Scheduled and retrying actions of a shard that are due up to `until`, earliest first.
    fn due_actions(
        &mut self,
        shard: ShardId,
        until: Timestamp,
        page: &Page<(Timestamp, ActionId)>,
    ) -> Result<Vec<DueAction>, Self::Error>;

    /// Plans of a shard that expire up to `until`, earliest first.
    fn due_plans(
        &mut self,
        shard: ShardId,
        until: Timestamp,
        page: &Page<(Timestamp, WorkflowId)>,
    ) -> Result<Vec<DuePlan>, Self::Error>;
}

/// The due times up to a horizon.
#[derive(Debug)]
pub(crate) struct Timers {
    near: BTreeSet<(Timestamp, Due)>,
    /// How many shards there are on all nodes.
    shards: u32,
    /// How far each shard of this lane has been read. One with the store to itself has one.
    read: Vec<Read>,
}

/// How far a shard has been read.
#[derive(Debug)]
struct Read {
    shard: ShardId,
    visits: Stretch<TimerKey>,
    actions: Stretch<ActionId>,
    plans: Stretch<WorkflowId>,
}

impl Read {
    const fn new(shard: ShardId) -> Self {
        Self {
            shard,
            visits: Stretch::new(),
            actions: Stretch::new(),
            plans: Stretch::new(),
        }
    }
}

/// How far one kind of due time has been read from the store.
#[derive(Debug)]
struct Stretch<K> {
    /// Where the last page ended: reading goes on from there, so what was read is never read again.
    after: Option<(Timestamp, K)>,
    /// Everything due up to here has been read.
    horizon: Timestamp,
}

impl<K: Copy> Stretch<K> {
    const fn new() -> Self {
        Self {
            after: None,
            horizon: Timestamp::from_millis(i64::MIN),
        }
    }

    fn page(&self) -> Page<(Timestamp, K)> {
        Page::new(self.after, PAGE)
    }

    /// A full page moves the horizon only as far as the page goes.
    fn advance(&mut self, until: Timestamp, read: usize, last: Option<(Timestamp, K)>) {
        self.after = last.or(self.after);
        self.horizon = if read == PAGE {
            last.map_or(until, |(at, _)| at)
        } else {
            until
        };
    }
}

impl Timers {
    /// Those of these shards, of so many in all.
    pub(crate) fn new(shards: u32, of: impl Iterator<Item = ShardId>) -> Self {
        Self {
            near: BTreeSet::new(),
            shards,
            read: of.map(Read::new).collect(),
        }
    }

    /// A shard's due times are read from now on.
    pub(crate) fn follow(&mut self, shard: ShardId) {
        self.read.retain(|read| read.shard != shard);
        self.read.push(Read::new(shard));
    }

    /// A shard's due times are another node's.
    pub(crate) fn drop_shard(&mut self, shard: ShardId) {
        let shards = self.shards;
        self.read.retain(|read| read.shard != shard);
        self.near.retain(|(_, due)| shard_of(due.slot(), shards) != shard);
    }

    fn horizon(&self) -> Timestamp {
        let horizons = self.read.iter().map(|read| {
            let near = read.visits.horizon.min(read.actions.horizon);
            near.min(read.plans.horizon)
        });
        horizons.min().unwrap_or(Timestamp::MAX)
    }

    /// How far the shard of something due has been read.
    fn read_of(&self, due: &Due) -> Option<&Read> {
        match self.read.as_slice() {
            [only] if self.shards == 1 => Some(only),
            all => {
                let shard = shard_of(due.slot(), self.shards);
                all.iter().find(|read| read.shard == shard)
            }
        }
    }

    /// Adds a due time that has just been stored. Beyond the horizon it will be read when its time comes near.
    pub(crate) fn add(&mut self, at: Timestamp, due: Due) {
        let Some(read) = self.read_of(&due) else { return };
        let near = match due {
            Due::Timer(_) => at <= read.visits.horizon,
            Due::Action(..) => at <= read.actions.horizon,
            Due::Plan(_) => at <= read.plans.horizon,
            Due::Overdue(_) | Due::Lease(_) => true,
        };
        if near {
            self.near.insert((at, due));
        }
    }

    /// Has a timer looked at now, although it may not be due.
    pub(crate) fn wake(&mut self, key: TimerKey, now: Timestamp) {
        self.near.insert((now, Due::Timer(key)));
    }

    /// When to look next.
    pub(crate) fn next_wake(&self) -> Timestamp {
        let first = self.near.first().map_or(Timestamp::MAX, |(at, _)| *at);
        first.min(self.horizon())
    }

    /// Takes up to `most` of what is due.
    pub(crate) fn take_due(&mut self, now: Timestamp, most: usize) -> Vec<Due> {
        let mut due = Vec::new();
        while due.len() < most && self.near.first().is_some_and(|(at, _)| *at <= now) {
            due.extend(self.near.pop_first().map(|(_, due)| due));
        }
        due
    }

    /// Whether the next stretch of some shard is to be read.
    pub(crate) fn is_hungry(&self, now: Timestamp) -> bool {
        now >= self.horizon()
    }

    /// Reads the next stretch of each shard once its horizon has been reached.
    pub(crate) fn refill<S: DueSource>(&mut self, source: &mut S, now: Timestamp) -> Result<(), S::Error> {
        let until = now.plus(HORIZON_MILLIS);
        for Read {
            shard,
            visits,
            actions,
            plans,
        } in &mut self.read
        {
            if now >= visits.horizon {
                let found = source.due_timers(*shard, until, &visits.page())?;
                let last = found.last().map(|timer| (timer.due_at, timer.key));
                visits.advance(until, found.len(), last);
                self.near
                    .extend(found.into_iter().map(|timer| (timer.due_at, Due::Timer(timer.key))));
            }
            if now >= actions.horizon {
                let found = source.due_actions(*shard, until, &actions.page())?;
                let last = found.last().map(|action| (action.run_at, action.action));
                actions.advance(until, found.len(), last);
                let due = |found: DueAction| (found.run_at, Due::Action(found.execution, found.action));
                self.near.extend(found.into_iter().map(due));
            }
            if now >= plans.horizon {
                let found = source.due_plans(*shard, until, &plans.page())?;
                let last = found.last().map(|due| (due.decide_by, due.plan));
                plans.advance(until, found.len(), last);
                self.near
                    .extend(found.into_iter().map(|due| (due.decide_by, Due::Plan(due.plan))));
            }
        }
        Ok(())
    }
}
