//! What became of a tested action.

use serde::Serialize;

use crate::action::definition::OnUnknown;
use crate::action::progress::Rules;
use crate::action::retry::{Judgement, Reason, Trial};
use crate::action::{Action, ActionError, Done, Verdict};
use crate::time::Timestamp;

/// What became of a tested action.
#[derive(Clone, Debug)]
pub struct Course {
    /// The action as it ended.
    pub action: Action,
    /// Its attempts, oldest first.
    pub tried: Vec<Tried>,
    /// What it gave, if it succeeded.
    pub done: Option<Done>,
    /// When it was triggered.
    pub triggered_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// Whether it was cut off because it had made more attempts than a test waits for.
    pub is_cut_off: bool,
}

/// One attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tried {
    /// From 1.
    pub number: u32,
    /// When it began.
    pub start_time: Timestamp,
    /// How long it took, in milliseconds.
    pub duration: u64,
    /// How it ended.
    pub outcome: Verdict,
    /// Why it did not succeed, with the verdict whether another attempt follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ActionError>,
    /// How long until the next attempt, in milliseconds; none after the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<u64>,
    /// How long the other side asked to be left alone, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// Why no attempt follows one that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stop>,
}

/// Why no attempt follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Stop {
    /// All attempts were used.
    AttemptsUsed,
    /// The deadline would have passed before the next one.
    DeadlinePassed,
    /// The runner says that no retry can help.
    Hopeless,
    /// Errors of this type are not retried.
    NotRetryable,
    /// Nobody knows what happened, and `onUnknown` leaves that to a person.
    Review,
}

impl Stop {
    /// Why nothing would follow this failure; none if something would.
    pub fn of(rules: Rules<'_>, trial: Trial<'_>, verdict: Verdict) -> Option<Self> {
        if verdict == Verdict::Unknown && rules.on_unknown == OnUnknown::Review {
            return Some(Self::Review);
        }
        match rules.policy.judge(trial) {
            Judgement::Again(_) => None,
            Judgement::Stop(Reason::AttemptsUsed) => Some(Self::AttemptsUsed),
            Judgement::Stop(Reason::DeadlinePassed) => Some(Self::DeadlinePassed),
            Judgement::Stop(Reason::Hopeless) => Some(Self::Hopeless),
            Judgement::Stop(Reason::NotRetryable) => Some(Self::NotRetryable),
        }
    }
}
