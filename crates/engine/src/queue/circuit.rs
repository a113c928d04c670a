//! Host circuits: a destination that keeps failing is left alone for a while, and nothing fails meanwhile.
//!
//! Closed lets everything through. After so many failures in a row it opens: work for the destination is parked. When
//! the rest is over it is half-open: one attempt at a time goes through, and two successes in a row close it.

use std::collections::BTreeMap;

use sprag_core::action::error::kind;
use sprag_core::ids::AttemptId;
use sprag_core::time::Timestamp;

/// When circuits open and for how long.
#[derive(Clone, Copy, Debug)]
pub struct CircuitOptions {
    /// Failures in a row that open one.
    pub failures: u32,
    /// The first rest, in milliseconds; it doubles with each failed try.
    pub rest_millis: u64,
    /// The longest rest.
    pub rest_max_millis: u64,
}

impl Default for CircuitOptions {
    fn default() -> Self {
        Self {
            failures: 10,
            rest_millis: 1_000,
            rest_max_millis: 60_000,
        }
    }
}

const SUCCESSES_TO_CLOSE: u32 = 2;

#[derive(Debug, Default)]
struct Circuit {
    failures: u32,
    /// Set while open or half-open: how many successes are still needed.
    recovering: Option<Recovering>,
}

#[derive(Debug)]
struct Recovering {
    rest: u64,
    until: Timestamp,
    successes: u32,
    trial: Option<AttemptId>,
}

/// The circuits of this node. Not stored: a new process finds out for itself.
#[derive(Debug)]
pub(crate) struct Circuits {
    options: CircuitOptions,
    by_destination: BTreeMap<String, Circuit>,
}

impl Circuits {
    pub(crate) fn new(options: CircuitOptions) -> Self {
        Self {
            options,
            by_destination: BTreeMap::new(),
        }
    }

    /// Until when the destination is left alone; `None` when an attempt may go through.
    pub(crate) fn holds(&self, destination: &str, now: Timestamp) -> Option<Timestamp> {
        let recovering = self.by_destination.get(destination)?.recovering.as_ref()?;
        if now < recovering.until {
            return Some(recovering.until);
        }
        // Half-open: the trial's own end moves things on, this is only when to look again.
        recovering.trial.map(|_| now.plus(self.options.rest_millis))
    }

    /// An attempt goes to the destination.
    pub(crate) fn begin(&mut self, destination: &str, attempt: AttemptId) {
        let circuit = self.by_destination.get_mut(destination);
        if let Some(recovering) = circuit.and_then(|circuit| circuit.recovering.as_mut()) {
            recovering.trial = Some(attempt);
        }
    }

    /// An attempt that was to go to the destination does not: it says nothing about it.
    pub(crate) fn let_go(&mut self, destination: &str, attempt: AttemptId) {
        let circuit = self.by_destination.get_mut(destination);
        if let Some(recovering) = circuit.and_then(|circuit| circuit.recovering.as_mut()) {
            recovering.trial = recovering.trial.filter(|&trial| trial != attempt);
        }
    }

    /// Forgets who tries; whether destinations fail stays known.
    pub(crate) fn forget(&mut self) {
        let circuits = self.by_destination.values_mut();
        for recovering in circuits.filter_map(|circuit| circuit.recovering.as_mut()) {
            recovering.trial = None;
        }
    }

    /// An attempt ended. Says whether work parked for the destination may be looked at again.
    pub(crate) fn end(&mut self, destination: &str, attempt: AttemptId, error: Option<&str>, now: Timestamp) -> bool {
        let options = self.options;
        let circuit = self.by_destination.entry(destination.to_owned()).or_default();
        if error.is_some_and(is_destinations_fault) {
            circuit.fail(options, attempt, now);
            return false;
        }
        circuit.failures = 0;
        let closed = match circuit.recovering.as_mut() {
            None => true,
            Some(recovering) => {
                recovering.trial = recovering.trial.filter(|&trial| trial != attempt);
                recovering.successes += 1;
                recovering.successes >= SUCCESSES_TO_CLOSE
            }
        };
        if closed {
            self.by_destination.remove(destination);
        }
        true
    }
}

impl Circuit {
    fn fail(&mut self, options: CircuitOptions, attempt: AttemptId, now: Timestamp) {
        self.failures += 1;
        match self.recovering.as_mut() {
            Some(recovering) if recovering.trial == Some(attempt) => {
                recovering.rest = recovering.rest.saturating_mul(2).min(options.rest_max_millis);
                recovering.until = now.plus(recovering.rest);
                recovering.trial = None;
                recovering.successes = 0;
            }
            None if self.failures >= options.failures => {
                let rest = options.rest_millis;
                self.recovering = Some(Recovering {
                    rest,
                    until: now.plus(rest),
                    successes: 0,
                    trial: None,
                });
            }
            Some(_) | None => {}
        }
    }
}

/// Errors that say something about the destination and not about what was sent to it.
fn is_destinations_fault(error: &str) -> bool {
    matches!(error, kind::NETWORK_ERROR | kind::TIMEOUT | kind::SERVICE_UNAVAILABLE)
}

#[cfg(test)]
mod tests {
    use sprag_core::ids::Slot;

    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn attempt(number: u64) -> AttemptId {
        AttemptId::compose(at(0), Slot(0), number)
    }

    fn opened() -> Circuits {
        let mut circuits = Circuits::new(CircuitOptions::default());
        for number in 0..10 {
            assert_eq!(
                circuits.holds("crm:443", at(0)),
                None,
                "closed before the tenth failure"
            );
            circuits.end("crm:443", attempt(number), Some("network_error"), at(0));
        }
        circuits
    }

    #[test]
    fn failures_in_a_row_open_it_and_it_says_until_when() {
        assert_eq!(opened().holds("crm:443", at(1)), Some(at(1_000)));
        assert_eq!(opened().holds("other:443", at(1)), None);
    }

    #[test]
    fn half_open_lets_one_through_and_two_successes_close_it() {
        let mut circuits = opened();
        assert_eq!(circuits.holds("crm:443", at(1_000)), None);
        circuits.begin("crm:443", attempt(20));
        assert!(circuits.holds("crm:443", at(1_000)).is_some(), "one at a time");
        assert!(circuits.end("crm:443", attempt(20), None, at(1_010)));
        circuits.begin("crm:443", attempt(21));
        assert!(
            circuits.holds("crm:443", at(1_010)).is_some(),
            "one success is not enough"
        );
        circuits.end("crm:443", attempt(21), None, at(1_020));
        circuits.begin("crm:443", attempt(22));
        assert_eq!(circuits.holds("crm:443", at(1_020)), None, "closed");
    }

    #[test]
    fn a_failed_trial_doubles_the_rest() {
        let mut circuits = opened();
        circuits.begin("crm:443", attempt(20));
        circuits.end("crm:443", attempt(20), Some("timeout"), at(1_000));
        assert_eq!(circuits.holds("crm:443", at(1_001)), Some(at(3_000)));
    }

    #[test]
    fn what_the_request_did_wrong_is_not_the_destinations_fault() {
        let mut circuits = Circuits::new(CircuitOptions::default());
        for number in 0..50 {
            circuits.end("crm:443", attempt(number), Some("malformed_request"), at(0));
        }
        assert_eq!(circuits.holds("crm:443", at(0)), None);
    }
}
