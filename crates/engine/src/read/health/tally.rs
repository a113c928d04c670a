//! Counting actions one by one.

use std::collections::BTreeMap;

use sprag_core::action::error::kind;
use sprag_core::action::{Action, Definition, Status};

use crate::decide::timeout_of;
use crate::read::view::cost;

/// Error types that are told apart; the rest is `other`.
const ERRORS_MAX: usize = 100;
/// What errors beyond that are counted as.
const OTHER: &str = "other";

/// What was counted.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) triggered: u64,
    pub(super) succeeded: u64,
    pub(super) dead: u64,
    pub(super) cancelled: u64,
    pub(super) skipped: u64,
    pub(super) open: u64,
    /// Actions with an attempt, and with more than one.
    pub(super) tried: u64,
    pub(super) tried_again: u64,
    pub(super) attempts: u64,
    /// Milliseconds of every attempt that ended.
    pub(super) took: Vec<u64>,
    /// Milliseconds that actions were ready before their last attempt began.
    pub(super) waited: Vec<u64>,
    pub(super) cost: f64,
    /// Attempts by the type of their error.
    pub(super) errors: BTreeMap<String, Failed>,
    /// Attempts that took all the time they had.
    pub(super) timed_out: u64,
    /// Attempts after the first, by the second they began in.
    retries_by_second: BTreeMap<i64, u64>,
    /// The newest version that was seen.
    pub(super) version: u32,
}

/// What failed with one type of error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) attempts: u64,
    pub(super) dead: u64,
    pub(super) example: String,
    pub(super) action: Option<sprag_core::ids::ActionId>,
}

impl Tally {
    /// Counts one action.
    pub(super) fn count(&mut self, action: &Action, definition: Option<&Definition>) {
        self.triggered += 1;
        self.version = self.version.max(action.origin.version);
        match action.status {
            Status::Succeeded => self.succeeded += 1,
            Status::Dead | Status::Archived => self.dead += 1,
            Status::Cancelled => self.cancelled += 1,
            Status::Skipped => self.skipped += 1,
            Status::Scheduled | Status::Queued | Status::Running | Status::Retrying => self.open += 1,
        }
        self.cost += cost(action).unwrap_or(0.0);
        self.count_attempts(action, timeout_of(action, definition));
        if matches!(action.status, Status::Dead | Status::Archived)
            && let Some(error) = &action.body.last_error
        {
            let failed = self.failed(&error.kind);
            failed.dead += 1;
            failed.example.clone_from(&error.message);
            failed.action = Some(action.id);
        }
    }

    fn count_attempts(&mut self, action: &Action, timeout: u64) {
        let attempts = &action.body.attempts;
        let Some(last) = attempts.last() else { return };
        self.tried += 1;
        self.tried_again += u64::from(last.number > 1);
        self.attempts += u64::from(last.number);
        if last.start_time >= action.run_at {
            self.waited.push(last.start_time.since(action.run_at));
        }
        for attempt in attempts {
            if attempt.number > 1 {
                let second = attempt.start_time.as_millis().div_euclid(1_000);
                *self.retries_by_second.entry(second).or_default() += 1;
            }
            let Some(end) = attempt.end_time else { continue };
            let took = end.since(attempt.start_time);
            self.took.push(took);
            let Some(error) = &attempt.error else { continue };
            let failed = self.failed(&error.kind);
            failed.attempts += 1;
            if failed.example.is_empty() {
                failed.example.clone_from(&error.message);
            }
            self.timed_out += u64::from(error.kind == kind::TIMEOUT && took >= timeout / 10 * 9);
        }
    }

    fn failed(&mut self, kind: &str) -> &mut Failed {
        let is_known = self.errors.contains_key(kind) || self.errors.len() < ERRORS_MAX;
        self.errors
            .entry(if is_known { kind } else { OTHER }.to_owned())
            .or_default()
    }

    /// The most attempts after the first that began in one second.
    pub(super) fn retries_at_once(&self) -> u64 {
        self.retries_by_second.values().copied().max().unwrap_or(0)
    }
}
