//! The restart budget: how often the supervisor restarts a service that ends by itself, and when it gives up.
//!
//! The schedule is the same as for rules. The delay grows with every failure, and a minute of health resets it. After
//! the fifth failure inside a sliding window, the supervisor gives up until a person or a changed configuration clears
//! it.

use serde::{Deserialize, Serialize};
use sprag_core::supervision::RestartBudget;
use sprag_core::supervision::rest::STABLE_AFTER_MILLIS;
use sprag_core::time::Timestamp;
use sprag_core::time::duration::Millis;

use super::record::{Ended, ServiceRecord};
use crate::services::{Restart, Service};

/// What the file says about a process that ends by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Policy {
    /// Whether it is started again.
    pub restart: Restart,
    /// How often.
    pub budget: RestartBudget,
    /// Changes with everything that is written about the service.
    pub written: u64,
}

/// Why no more starts are tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GaveUp {
    /// In words.
    pub cause: String,
    /// Since when.
    pub at: Timestamp,
    /// What was written about the service then; another configuration may do better.
    pub digest: u64,
}

impl Policy {
    pub(super) fn of(service: &Service, written: u64) -> Self {
        Self {
            restart: service.restart,
            budget: service.budget(),
            written,
        }
    }
}

/// Notes the end of a process that was not asked to end.
pub(super) fn note_end(record: &mut ServiceRecord, ended: Ended, policy: &Policy) {
    let started = record.process.take();
    let ran = started.map_or(0, |started| ended.at.since(started.at));
    let is_done = ended.exit.is_success() && policy.restart != Restart::Always;
    let (at, how) = (ended.at, ended.exit.describe());
    record.ended = Some(ended);
    if is_done {
        record.streak = 0;
    } else if policy.restart == Restart::Never {
        record.gave_up = Some(GaveUp {
            cause: format!("it {how} and is never restarted"),
            at,
            digest: policy.written,
        });
    } else {
        note_failure(record, (at, ran), policy, &format!("it {how}"));
    }
}

/// Notes a failure of any kind, after the process ran for so long.
pub(super) fn note_failure(
    record: &mut ServiceRecord,
    (at, ran_millis): (Timestamp, u64),
    policy: &Policy,
    cause: &str,
) {
    let RestartBudget {
        failures,
        window_millis,
        ..
    } = policy.budget;
    record.failures.retain(|failure| at.since(*failure) < window_millis);
    record.failures.push(at);
    record.streak = if ran_millis >= STABLE_AFTER_MILLIS {
        1
    } else {
        record.streak.saturating_add(1)
    };
    let window = window(window_millis);
    if record.failures.len() + 1 == failures {
        let service = record.path.as_str();
        tracing::warn!(
            service,
            cause,
            "one more failure within {window} exhausts the restart budget"
        );
    }
    if record.failures.len() >= failures {
        let times = if failures == 1 { "time" } else { "times" };
        record.gave_up = Some(GaveUp {
            cause: format!("it failed {failures} {times} within {window}; the last time {cause}"),
            at,
            digest: policy.written,
        });
    }
}

/// `5 minutes`, or as files write it.
fn window(millis: u64) -> String {
    if millis >= 120_000 && millis.is_multiple_of(60_000) {
        return format!("{} minutes", millis / 60_000);
    }
    Millis::from_value(&millis.into()).map_or_else(|_| format!("{millis} ms"), |window| window.to_string())
}

/// When the next start is due.
pub(super) fn due(failures: &[Timestamp], streak: u32, budget: &RestartBudget) -> Option<Timestamp> {
    failures.last().map(|last| last.plus(budget.schedule().rest(streak)))
}

#[cfg(test)]
mod tests {
    use super::super::watch::Exit;
    use super::*;

    fn seconds(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    fn ended(at: i64, exit: Exit) -> Ended {
        Ended {
            exit,
            at: seconds(at),
            digest: 1,
        }
    }

    fn policy(restart: Restart) -> Policy {
        Policy {
            restart,
            ..Policy::default()
        }
    }

    #[test]
    fn a_budget_of_its_own_ends_earlier_and_pauses_as_written() {
        let mut record = ServiceRecord::default();
        let budget = RestartBudget {
            failures: 2,
            window_millis: 30_000,
            base_millis: 3_000,
            cap_millis: 4_000,
        };
        let policy = Policy {
            budget,
            ..Policy::default()
        };
        note_end(&mut record, ended(0, Exit::Code(1)), &policy);
        assert_eq!(due(&record.failures, record.streak, &budget), Some(seconds(3)));
        assert_eq!(
            due(&record.failures, 2, &budget),
            Some(seconds(4)),
            "no pause beyond the cap"
        );
        note_end(&mut record, ended(31, Exit::Code(1)), &policy);
        assert_eq!(record.gave_up, None, "the first one left the window");
        note_end(&mut record, ended(60, Exit::Code(1)), &policy);
        let gave_up = record.gave_up.unwrap();
        assert!(gave_up.cause.contains("2 times within 30s"), "{gave_up:?}");
    }

    #[test]
    fn the_fifth_failure_inside_the_window_is_the_last() {
        let mut record = ServiceRecord::default();
        for at in [0, 10, 20, 30] {
            note_end(&mut record, ended(at, Exit::Code(1)), &policy(Restart::OnFailure));
            assert_eq!(record.gave_up, None, "at {at}");
        }
        note_end(&mut record, ended(299, Exit::Code(7)), &policy(Restart::OnFailure));
        let gave_up = record.gave_up.unwrap();
        assert!(
            gave_up.cause.contains("5 times") && gave_up.cause.contains("code 7"),
            "{gave_up:?}"
        );
    }

    #[test]
    fn failures_older_than_the_window_do_not_count() {
        let mut record = ServiceRecord::default();
        for at in [0, 10, 20, 30, 300] {
            note_end(&mut record, ended(at, Exit::Code(1)), &policy(Restart::OnFailure));
        }
        assert_eq!((record.gave_up, record.failures.len()), (None, 4));
    }

    #[test]
    fn an_end_that_is_no_failure_depends_on_the_policy() {
        let end = |exit, restart| {
            let mut record = ServiceRecord::default();
            note_end(&mut record, ended(0, exit), &policy(restart));
            (record.failures.len(), record.gave_up.is_some())
        };
        assert_eq!(end(Exit::Code(0), Restart::OnFailure), (0, false));
        assert_eq!(end(Exit::Code(0), Restart::Never), (0, false));
        assert_eq!(end(Exit::Code(0), Restart::Always), (1, false));
        assert_eq!(
            end(Exit::Unknown, Restart::OnFailure),
            (1, false),
            "an adopted one's end is a failure"
        );
        assert_eq!(end(Exit::Code(3), Restart::Never), (0, true));
    }
}
