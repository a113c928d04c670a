//! What is counted about actions, by their type.
//!
//! The types are fixed when the engine starts, so finding one takes no lock and the number of them is bounded.

use sprag_core::action::{Status, Verdict};

use super::{Counter, Errors, Histogram};

/// What actions are counted as whose type has no runner here.
pub const OTHER: &str = "other";
/// Bounds of attempts and queue delays in microseconds: from a millisecond to an hour.
const SLOW_MICROS: &[u64] = &[
    1_000,
    5_000,
    25_000,
    100_000,
    250_000,
    1_000_000,
    2_500_000,
    10_000_000,
    30_000_000,
    120_000_000,
    600_000_000,
    3_600_000_000,
];

/// Where a type stands among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KindIndex(usize);

/// The types with what is counted about each.
#[derive(Debug)]
pub struct Kinds {
    /// By name.
    known: Box<[KindMetrics]>,
    other: KindMetrics,
}

/// What is counted about the actions of one type.
#[derive(Debug)]
pub struct KindMetrics {
    /// The type.
    pub name: String,
    /// Attempts that began.
    pub begun: Counter,
    /// Attempts that ended done.
    pub done: Counter,
    /// Attempts that ended not done.
    pub not_done: Counter,
    /// Attempts of which nobody knows how they ended.
    pub unknown: Counter,
    /// Attempts after which another one follows.
    pub retried: Counter,
    /// Actions that succeeded.
    pub succeeded: Counter,
    /// Actions that became dead letters.
    pub dead: Counter,
    /// Actions that were cancelled.
    pub cancelled: Counter,
    /// Actions that were skipped.
    pub skipped: Counter,
    /// What attempts cost, in millionths of whatever their authors count in.
    pub cost_micros: Counter,
    /// Attempts that failed, by the type of their error.
    pub errors: Errors,
    /// How long attempts took, in microseconds.
    pub took_micros: Histogram,
    /// How long actions that were ready waited for their attempt to begin, in microseconds.
    pub waited_micros: Histogram,
}

impl Kinds {
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        names.dedup();
        Self {
            known: names.into_iter().map(KindMetrics::new).collect(),
            other: KindMetrics::new(OTHER),
        }
    }

    /// All of them, `other` last.
    pub fn iter(&self) -> impl Iterator<Item = &KindMetrics> {
        self.known.iter().chain([&self.other])
    }

    /// Where a type stands; beyond the last, if it is not among them.
    pub(crate) fn index(&self, name: &str) -> KindIndex {
        let found = self.known.binary_search_by(|kind| kind.name.as_str().cmp(name));
        KindIndex(found.unwrap_or(self.known.len()))
    }

    /// The type that stands there.
    pub(super) fn of(&self, index: KindIndex) -> &KindMetrics {
        self.known.get(index.0).unwrap_or(&self.other)
    }

    /// The name that a type is counted under.
    pub fn name<'a>(&'a self, kind: &str) -> &'a str {
        &self.of(self.index(kind)).name
    }
}

impl KindMetrics {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            begun: Counter::default(),
            done: Counter::default(),
            not_done: Counter::default(),
            unknown: Counter::default(),
            retried: Counter::default(),
            succeeded: Counter::default(),
            dead: Counter::default(),
            cancelled: Counter::default(),
            skipped: Counter::default(),
            cost_micros: Counter::default(),
            errors: Errors::default(),
            took_micros: Histogram::new(SLOW_MICROS),
            waited_micros: Histogram::new(SLOW_MICROS),
        }
    }

    pub(super) fn begin(&self, waited_micros: u64) {
        self.begun.add(1);
        self.waited_micros.record(waited_micros);
    }

    pub(super) fn settle(&self, outcome: Verdict, took_micros: u64) {
        self.took_micros.record(took_micros);
        match outcome {
            Verdict::Done => self.done.add(1),
            Verdict::NotDone => self.not_done.add(1),
            Verdict::Unknown => self.unknown.add(1),
        }
    }

    pub(super) fn end(&self, status: Status) {
        match status {
            Status::Succeeded => self.succeeded.add(1),
            Status::Dead => self.dead.add(1),
            Status::Cancelled => self.cancelled.add(1),
            Status::Skipped => self.skipped.add(1),
            // Open ones have not ended, and what is archived ended before.
            Status::Scheduled | Status::Queued | Status::Running | Status::Retrying | Status::Archived => {}
        }
    }
}
