//! What to do when a schedule is due, on time or late.
//!
//! Flow: a schedule keeps its next nominal time. Once that has come, [`due`] says which occurrences fire and what the
//! next nominal time is. Guarantees: the next nominal time is after `now`, so no occurrence is given twice; every
//! occurrence from the nominal time to `now` is either fired or counted as skipped; the work does not grow with the
//! number of occurrences missed.

use serde::{Deserialize, Serialize};

use super::cron::Cron;

/// How late an occurrence may be and still count as on time, in milliseconds.
pub const ON_TIME_MS: i64 = 60_000;

/// How many missed occurrences [`CatchUp::All`] makes up for at once.
pub const CATCH_UP_MAX: usize = 100;

/// What becomes of an occurrence that is due while an earlier one is still open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Overlap {
    /// It is recorded as skipped.
    #[default]
    Skip,
    /// It waits until the earlier one has ended.
    Queue,
    /// It runs beside the earlier one.
    Allow,
}

/// What becomes of occurrences that were missed, which is to say more than [`ON_TIME_MS`] late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CatchUp {
    /// None of them fires.
    Skip,
    /// The latest of them fires.
    #[default]
    One,
    /// They all fire, but no more than the latest [`CATCH_UP_MAX`].
    All,
}

impl CatchUp {
    fn keep(self) -> usize {
        match self {
            Self::Skip => 0,
            Self::One => 1,
            Self::All => CATCH_UP_MAX,
        }
    }
}

/// What a schedule does now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// The nominal times of the occurrences that fire, oldest first: those caught up with, then those on time. At most
    /// [`CATCH_UP_MAX`] of the first, and at most one a second of [`ON_TIME_MS`] of the others.
    pub fire: Vec<i64>,
    /// How many missed occurrences never fire.
    pub skipped: u64,
    /// The next nominal time, always after `now`; `None` if the schedule has no more.
    pub next: Option<i64>,
}

/// What a schedule whose next nominal time is `nominal` does at `now`, all in milliseconds since 1970 UTC.
///
/// An occurrence no more than [`ON_TIME_MS`] late fires whatever `catch_up` says, which decides about older ones. Where
/// more were missed than it lets through, the latest are kept: they are the likeliest to be still of use. `nominal`
/// counts as an occurrence even if the expression no longer gives it, because it was promised under the expression of
/// its day.
pub fn due(cron: &Cron, nominal: i64, now: i64, catch_up: CatchUp) -> Due {
    if nominal > now {
        return Due {
            fire: Vec::new(),
            skipped: 0,
            next: Some(nominal),
        };
    }
    let on_time_from = now.saturating_sub(ON_TIME_MS);
    if nominal >= on_time_from {
        return Due {
            fire: occurrences(cron, nominal, now),
            skipped: 0,
            next: cron.next_after(now),
        };
    }
    let (mut fire, skipped) = missed(cron, nominal, on_time_from, catch_up.keep());
    let on_time = cron
        .next_after(on_time_from.saturating_sub(1))
        .filter(|first| *first <= now);
    fire.extend(on_time.into_iter().flat_map(|first| occurrences(cron, first, now)));
    Due {
        fire,
        skipped,
        next: cron.next_after(now),
    }
}

/// `first` and the occurrences after it, up to and including `last`.
fn occurrences(cron: &Cron, first: i64, last: i64) -> Vec<i64> {
    std::iter::successors(Some(first), |at| cron.next_after(*at))
        .take_while(|at| *at <= last)
        .collect()
}

/// The latest `keep` of `nominal` and the occurrences after it that are before `before`, and how many older ones there
/// are.
fn missed(cron: &Cron, nominal: i64, before: i64, keep: usize) -> (Vec<i64>, u64) {
    let room = keep as u64;
    let total = cron.count_between(nominal, before).saturating_add(1);
    let last = before.saturating_sub(1);
    if total <= room {
        return (occurrences(cron, nominal, last), 0);
    }
    // Counting is cheap and stepping through years of occurrences is not, so the point after which few enough are left
    // is found by halving.
    let (mut low, mut high) = (nominal, before);
    while low < high {
        let middle = i64::midpoint(low, high);
        if cron.count_between(middle, before) > room {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let first = cron.next_after(low).filter(|first| *first <= last);
    let kept: Vec<i64> = first
        .into_iter()
        .flat_map(|first| occurrences(cron, first, last))
        .collect();
    let skipped = total.saturating_sub(kept.len() as u64);
    (kept, skipped)
}
