//! Dying on purpose at an exact call to the store, so that recovery can be tested at every place it matters.
//!
//! Only builds with the feature `failpoints` hold this. Calls are counted from 1; reaching the chosen one ends the
//! process without a word to anybody, as a power failure would.

use std::fmt;
use std::str::FromStr;

use crate::hooked::{Answered, ReadCall, StoreHook};
use crate::traits::{Commit, Error};

/// The calls that can be chosen, by name.
const CALLS: [(&str, Call); 5] = [
    ("acquire", Call::Acquire),
    ("commit", Call::Commit),
    ("load", Call::Load),
    ("machine-version", Call::MachineVersion),
    ("ready", Call::Ready),
];

/// Where to die: `before-commit:3` is right before the third commit, `after-commit:3` right after it. With
/// `disk-commit:3` no process dies: the disk is said to have failed instead.
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

/// Dies at its failpoint: a hook of any store.
pub struct Dying {
    failpoint: Failpoint,
    /// How many of the chosen calls were made.
    made: u64,
    /// How many of them were answered.
    answered: u64,
    die: fn(),
}

impl Dying {
    /// Aborts the process at the failpoint.
    pub fn at(failpoint: Failpoint) -> Self {
        Self::with(failpoint, || std::process::abort())
    }

    fn with(failpoint: Failpoint, die: fn()) -> Self {
        Self {
            failpoint,
            made: 0,
            answered: 0,
            die,
        }
    }

    /// A call is about to be made; the chosen one meets what was chosen for it.
    fn call(&mut self, call: Call) -> Result<(), Error> {
        if call != self.failpoint.call {
            return Ok(());
        }
        self.made += 1;
        if self.made != self.failpoint.number {
            return Ok(());
        }
        match self.failpoint.side {
            Side::Before => (self.die)(),
            Side::After => {}
            Side::Disk => {
                return Err(Error::Disk {
                    detail: "a failpoint says so".to_owned(),
                });
            }
        }
        Ok(())
    }

    /// A call was answered. Calls are answered in the order in which they were made.
    fn answer(&mut self, call: Call) {
        if call != self.failpoint.call || self.failpoint.side != Side::After {
            return;
        }
        self.answered += 1;
        if self.answered == self.failpoint.number {
            (self.die)();
        }
    }
}

/// The call that a read counts as.
fn counted_as(read: ReadCall) -> Option<Call> {
    match read {
        ReadCall::Acquire => Some(Call::Acquire),
        ReadCall::Load => Some(Call::Load),
        ReadCall::MachineVersion | ReadCall::VersionWithDigest => Some(Call::MachineVersion),
        ReadCall::Ready => Some(Call::Ready),
        _ => None,
    }
}

impl StoreHook for Dying {
    fn read(&mut self, call: ReadCall) -> Result<(), Error> {
        counted_as(call).map_or(Ok(()), |call| self.call(call))
    }

    fn answered(&mut self, call: ReadCall, _: Answered<'_>) {
        if let Some(call) = counted_as(call) {
            self.answer(call);
        }
    }

    fn before(&mut self, _: &mut Commit) -> Result<(), Error> {
        self.call(Call::Commit)
    }

    fn after(&mut self, result: Result<(), Error>) -> Result<(), Error> {
        self.answer(Call::Commit);
        result
    }
}

impl fmt::Debug for Dying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dying")
            .field("failpoint", &self.failpoint)
            .field("made", &self.made)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use sprag_core::time::Timestamp;

    use super::*;
    use crate::conformance::fixtures::CommitQueue;
    use crate::records::ProcessRun;
    use crate::traits::{CommitStore, LaneReads, Mutation, ShardId};
    use crate::{Hooked, Memory};

    fn life(millis: i64) -> Mutation {
        let at = Timestamp::from_millis(millis);
        Mutation::PutRun(ProcessRun {
            started_at: at,
            seen_at: at,
        })
    }

    /// Death is a panic.
    fn dying(failpoint: &str) -> Dying {
        Dying::with(failpoint.parse().unwrap(), || std::panic::panic_any("dead"))
    }

    /// How many commits answered, and the newest life afterwards, when death is a panic.
    fn commits_until_death(failpoint: &str) -> (usize, Option<i64>) {
        let memory = Memory::default();
        let mut store = Hooked::new(memory, dying(failpoint));
        let fence = store.acquire(ShardId(0)).unwrap();
        let answered = (1..=5)
            .take_while(|&number| {
                catch_unwind(AssertUnwindSafe(|| store.commit(&[fence], &[life(number)]).unwrap())).is_ok()
            })
            .count();
        let newest = store.last_run().unwrap();
        (answered, newest.map(|life| life.seen_at.as_millis()))
    }

    #[test]
    fn death_before_a_commit_leaves_it_undone_and_after_it_done() {
        assert_eq!(commits_until_death("before-commit:3"), (2, Some(2)));
        assert_eq!(commits_until_death("after-commit:3"), (2, Some(3)));
    }

    #[test]
    fn a_disk_that_fails_writes_nothing_and_nobody_dies() {
        let mut store = Hooked::new(Memory::default(), dying("disk-commit:2"));
        let fence = store.acquire(ShardId(0)).unwrap();
        let answers: Vec<bool> = (1..=3)
            .map(|number| store.commit(&[fence], &[life(number)]).is_ok())
            .collect();
        assert_eq!(answers, [true, false, true]);
    }

    /// How many of five commits that wait were answered, and the newest life afterwards.
    fn queued_until_death(failpoint: &str) -> (usize, Option<i64>) {
        let mut store = Hooked::new(Memory::default(), dying(failpoint));
        let fence = store.acquire(ShardId(0)).unwrap();
        let commit = |number| Commit {
            fences: vec![fence],
            mutations: vec![life(number)],
        };
        let mut line = CommitQueue::new((1..=5).map(commit));
        let died = catch_unwind(AssertUnwindSafe(|| store.commit_all(&mut line))).is_err();
        assert!(died, "{failpoint}");
        let newest = store.last_run().unwrap();
        (line.told.len(), newest.map(|life| life.seen_at.as_millis()))
    }

    #[test]
    fn commits_that_wait_in_a_queue_count_one_by_one() {
        assert_eq!(queued_until_death("before-commit:3"), (2, Some(2)));
        assert_eq!(queued_until_death("after-commit:3"), (2, Some(3)));
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
