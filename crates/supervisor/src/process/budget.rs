//! How often a service that ends by itself is started again, and when that is given up.
//!
//! The same schedule as for rules: the pause grows with every failure, a minute of health makes it short again, and the
//! fifth failure inside a sliding window ends it until a person or a changed configuration says otherwise.

use serde::{Deserialize, Serialize};
use sprag_core::supervision::rest::{STABLE_AFTER_MILLIS, Schedule};
use sprag_core::supervision::restart::{DETECTION_WINDOW_MILLIS, DETECTIONS_MAX};
use sprag_core::time::Timestamp;

use super::record::{Ended, Record};
use crate::services::Restart;

/// Why no more starts are tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GaveUp {
    /// In words.
    pub cause: String,
    /// Since when.
    pub at: Timestamp,
    /// What it was started from; another configuration may do better.
    pub digest: u64,
}

/// Notes the end of a process that nobody asked to end.
pub(super) fn note_end(record: &mut Record, ended: Ended, restart: Restart) {
    let started = record.process.take();
    let ran = started.map_or(0, |started| ended.at.since(started.at));
    let is_done = ended.exit.is_success() && restart != Restart::Always;
    let (at, digest, how) = (ended.at, ended.digest, ended.exit.describe());
    record.ended = Some(ended);
    if is_done {
        record.streak = 0;
    } else if restart == Restart::Never {
        record.gave_up = Some(GaveUp {
            cause: format!("it {how} and is never restarted"),
            at,
            digest,
        });
    } else {
        note_failure(record, at, ran, digest, &format!("it {how}"));
    }
}

/// Notes a failure of whatever kind.
pub(super) fn note_failure(record: &mut Record, at: Timestamp, ran_millis: u64, digest: u64, cause: &str) {
    record
        .failures
        .retain(|failure| at.since(*failure) < DETECTION_WINDOW_MILLIS);
    record.failures.push(at);
    record.streak = if ran_millis >= STABLE_AFTER_MILLIS {
        1
    } else {
        record.streak.saturating_add(1)
    };
    let minutes = DETECTION_WINDOW_MILLIS / 60_000;
    if record.failures.len() + 1 == DETECTIONS_MAX {
        let service = record.path.as_str();
        tracing::warn!(
            service,
            cause,
            "one more failure within {minutes} minutes and it is given up"
        );
    }
    if record.failures.len() >= DETECTIONS_MAX {
        record.gave_up = Some(GaveUp {
            cause: format!("it failed {DETECTIONS_MAX} times within {minutes} minutes; the last time {cause}"),
            at,
            digest,
        });
    }
}

/// When the next start is due.
pub(super) fn due(failures: &[Timestamp], streak: u32) -> Option<Timestamp> {
    failures.last().map(|last| last.plus(Schedule::default().rest(streak)))
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

    #[test]
    fn the_fifth_failure_inside_the_window_is_the_last() {
        let mut record = Record::default();
        for at in [0, 10, 20, 30] {
            note_end(&mut record, ended(at, Exit::Code(1)), Restart::OnFailure);
            assert_eq!(record.gave_up, None, "at {at}");
        }
        note_end(&mut record, ended(299, Exit::Code(7)), Restart::OnFailure);
        let gave_up = record.gave_up.unwrap();
        assert!(
            gave_up.cause.contains("5 times") && gave_up.cause.contains("code 7"),
            "{gave_up:?}"
        );
    }

    #[test]
    fn failures_older_than_the_window_do_not_count() {
        let mut record = Record::default();
        for at in [0, 10, 20, 30, 300] {
            note_end(&mut record, ended(at, Exit::Code(1)), Restart::OnFailure);
        }
        assert_eq!((record.gave_up, record.failures.len()), (None, 4));
    }

    #[test]
    fn an_end_that_is_no_failure_depends_on_the_policy() {
        let end = |exit, restart| {
            let mut record = Record::default();
            note_end(&mut record, ended(0, exit), restart);
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
