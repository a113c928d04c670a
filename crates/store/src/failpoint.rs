//! Dying on purpose at an exact call to the store, so that recovery can be tested at every place it matters.
//!
//! Only builds with the feature `failpoints` hold this. Calls are counted from 1; reaching the chosen one ends the
//! process without a word to anybody, as a power failure would.

use std::fmt;
use std::str::FromStr;

use sprag_core::ids::{ActionId, ExecutionId};
use sprag_core::time::Timestamp;

use crate::records::{Action, Fact, FactKind, Job, Life, MachineVersion, Scope, Timer, TimerKey};
use crate::traits::{
    Aged, AgedPage, DueAction, Error, Fence, Found, LaneStore, Loaded, Mutation, OpenAction, ReadyKey, ReadyRef,
    Search, ShardId, Wanted, Window,
};

/// The calls that can be chosen, by name.
const CALLS: [(&str, Call); 5] = [
    ("acquire", Call::Acquire),
    ("commit", Call::Commit),
    ("load", Call::Load),
    ("machine-version", Call::MachineVersion),
    ("ready", Call::Ready),
];

/// Where to die: `before-commit:3` is right before the third commit, `after-commit:3` right after it. With
/// `disk-commit:3` nobody dies: the disk is said to have failed instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failpoint {
    side: Side,
    call: Call,
    number: u64,
}

/// Before the call does anything, after it has done everything, or an error in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Before,
    After,
    Disk,
}

/// A call to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Acquire,
    Commit,
    Load,
    MachineVersion,
    Ready,
}

/// A text that names no failpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no failpoint: write `before-CALL:N`, `after-CALL:N` or `disk-CALL:N`, N from 1, CALL one of acquire, \
     commit, load, machine-version, ready"
)]
pub struct ParseFailpointError {
    text: String,
}

impl FromStr for Failpoint {
    type Err = ParseFailpointError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| ParseFailpointError { text: text.to_owned() })
    }
}

fn parse(text: &str) -> Option<Failpoint> {
    let (place, number) = text.split_once(':')?;
    let (side, name) = place.split_once('-')?;
    let side = match side {
        "before" => Side::Before,
        "after" => Side::After,
        "disk" => Side::Disk,
        _ => return None,
    };
    let (_, call) = CALLS.into_iter().find(|(known, _)| *known == name)?;
    let number = number.parse().ok().filter(|&number| number > 0)?;
    Some(Failpoint { side, call, number })
}

/// A store that dies at its failpoint and is otherwise the store it wraps.
pub struct Failing<S> {
    store: S,
    failpoint: Failpoint,
    calls: u64,
    die: fn(),
}

impl<S> Failing<S> {
    /// Aborts the process at the failpoint.
    pub fn new(store: S, failpoint: Failpoint) -> Self {
        Self::with(store, failpoint, || std::process::abort())
    }

    fn with(store: S, failpoint: Failpoint, die: fn()) -> Self {
        Self {
            store,
            failpoint,
            calls: 0,
            die,
        }
    }

    /// Makes a call, counted; the chosen one meets what was chosen for it.
    fn call<T>(&mut self, call: Call, make: impl FnOnce(&mut S) -> Result<T, Error>) -> Result<T, Error> {
        if call != self.failpoint.call {
            return make(&mut self.store);
        }
        self.calls += 1;
        if self.calls != self.failpoint.number {
            return make(&mut self.store);
        }
        match self.failpoint.side {
            Side::Before => {
                (self.die)();
                make(&mut self.store)
            }
            Side::After => {
                let answer = make(&mut self.store);
                (self.die)();
                answer
            }
            Side::Disk => Err(Error::Disk {
                detail: "a failpoint says so".to_owned(),
            }),
        }
    }
}

impl<S> fmt::Debug for Failing<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failing")
            .field("failpoint", &self.failpoint)
            .field("calls", &self.calls)
            .finish_non_exhaustive()
    }
}

impl<S: LaneStore> LaneStore for Failing<S> {
    fn is_shared(&self) -> bool {
        self.store.is_shared()
    }

    fn check(&mut self) -> Result<(), Error> {
        self.store.check()
    }

    fn load(&mut self, wanted: &Wanted) -> Result<Loaded, Error> {
        self.call(Call::Load, |store| store.load(wanted))
    }

    fn machine_version(&mut self, machine: &str, version: u32) -> Result<Option<MachineVersion>, Error> {
        self.call(Call::MachineVersion, |store| store.machine_version(machine, version))
    }

    fn version_with_digest(&mut self, machine: &str, digest: &[u8; 32]) -> Result<Option<u32>, Error> {
        self.call(Call::MachineVersion, |store| store.version_with_digest(machine, digest))
    }

    fn commit(&mut self, fences: &[Fence], mutations: &[Mutation]) -> Result<(), Error> {
        self.call(Call::Commit, |store| store.commit(fences, mutations))
    }

    fn acquire(&mut self, shard: ShardId) -> Result<Fence, Error> {
        self.call(Call::Acquire, |store| store.acquire(shard))
    }

    fn last_life(&mut self) -> Result<Option<Life>, Error> {
        self.store.last_life()
    }

    fn ready(
        &mut self,
        shard: ShardId,
        line: &str,
        after: Option<&ReadyKey>,
        limit: usize,
    ) -> Result<Vec<ReadyRef>, Error> {
        self.call(Call::Ready, |store| store.ready(shard, line, after, limit))
    }

    fn lines(&mut self, shard: ShardId) -> Result<Vec<String>, Error> {
        self.store.lines(shard)
    }

    fn due_timers(&mut self, shard: ShardId, window: &Window<TimerKey>) -> Result<Vec<Timer>, Error> {
        self.store.due_timers(shard, window)
    }

    fn due_actions(&mut self, shard: ShardId, window: &Window<ActionId>) -> Result<Vec<DueAction>, Error> {
        self.store.due_actions(shard, window)
    }

    fn running(&mut self, shard: ShardId, after: Option<ActionId>, limit: usize) -> Result<Vec<DueAction>, Error> {
        self.store.running(shard, after, limit)
    }

    fn deferred(
        &mut self,
        shard: ShardId,
        after: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<ExecutionId>, Error> {
        self.store.deferred(shard, after, limit)
    }

    fn facts(&mut self, kind: FactKind) -> Result<Vec<Fact>, Error> {
        self.store.facts(kind)
    }

    fn open(
        &mut self,
        shard: ShardId,
        status: u8,
        after: Option<OpenAction>,
        limit: usize,
    ) -> Result<Vec<OpenAction>, Error> {
        self.store.open(shard, status, after, limit)
    }

    fn aged(&mut self, shard: ShardId, page: &AgedPage) -> Result<Vec<Aged>, Error> {
        self.store.aged(shard, page)
    }

    fn find_actions(&mut self, search: &Search<ActionId>) -> Result<Found<Action, ActionId>, Error> {
        self.store.find_actions(search)
    }

    fn open_jobs(&mut self, shard: ShardId) -> Result<Vec<Job>, Error> {
        self.store.open_jobs(shard)
    }

    fn job_beyond(&mut self, shard: ShardId, kept: usize) -> Result<Option<Job>, Error> {
        self.store.job_beyond(shard, kept)
    }

    fn first_to_expire(&mut self, shard: ShardId, limit: usize) -> Result<Vec<(Timestamp, Scope)>, Error> {
        self.store.first_to_expire(shard, limit)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::Memory;

    fn life(millis: i64) -> Mutation {
        let at = Timestamp::from_millis(millis);
        Mutation::PutLife(Life {
            started_at: at,
            seen_at: at,
        })
    }

    /// How many commits answered, and the newest life afterwards, when death is a panic.
    fn commits_until_death(failpoint: &str) -> (usize, Option<i64>) {
        let memory = Memory::default();
        let mut store = Failing::with(memory, failpoint.parse().unwrap(), || std::panic::panic_any("dead"));
        let fence = store.acquire(ShardId(0)).unwrap();
        let answered = (1..=5)
            .take_while(|&number| {
                catch_unwind(AssertUnwindSafe(|| store.commit(&[fence], &[life(number)]).unwrap())).is_ok()
            })
            .count();
        let newest = store.last_life().unwrap();
        (answered, newest.map(|life| life.seen_at.as_millis()))
    }

    #[test]
    fn death_before_a_commit_leaves_it_undone_and_after_it_done() {
        assert_eq!(commits_until_death("before-commit:3"), (2, Some(2)));
        assert_eq!(commits_until_death("after-commit:3"), (2, Some(3)));
    }

    #[test]
    fn a_disk_that_fails_writes_nothing_and_nobody_dies() {
        let mut store = Failing::new(Memory::default(), "disk-commit:2".parse().unwrap());
        let fence = store.acquire(ShardId(0)).unwrap();
        let answers: Vec<bool> = (1..=3)
            .map(|number| store.commit(&[fence], &[life(number)]).is_ok())
            .collect();
        assert_eq!(answers, [true, false, true]);
    }

    #[test]
    fn other_calls_do_not_count() {
        assert_eq!(commits_until_death("before-load:1"), (5, Some(5)));
    }

    #[test]
    fn only_known_calls_and_numbers_from_one_are_failpoints() {
        for text in [
            "",
            "commit:1",
            "before-commit",
            "before-commit:0",
            "before-commit:x",
            "beside-commit:1",
            "after-lod:1",
        ] {
            assert!(text.parse::<Failpoint>().is_err(), "{text}");
        }
        assert!("after-machine-version:12".parse::<Failpoint>().is_ok());
    }
}
