//! The statuses of a workflow and the arrows between them. Every move is checked; an illegal one is a typed error.

use serde::{Deserialize, Serialize};

use crate::words;

words! {
    /// Where a workflow stands. The numbers are stored: never renumber.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[repr(u8)]
    pub enum WorkflowStatus as word {
        /// Proposed; nothing was decided about it yet, or it needs no approval and has not started.
        Pending = 0 => "pending",
        /// Waits for a person.
        AwaitingApproval = 1 => "awaiting_approval",
        /// Started: steps run, or wait for each other or for their time.
        InProgress = 2 => "in_progress",
        /// Every step ended well, or was allowed to fail.
        Completed = 3 => "completed",
        /// A step failed, and what depends on it waits.
        Failed = 4 => "failed",
        /// A person ended it.
        Cancelled = 5 => "cancelled",
        /// A person refused it.
        Rejected = 6 => "rejected",
        /// The time to decide, or to begin, is over.
        Expired = 7 => "expired",
    }
}

/// An arrow that the lifecycle does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a workflow that is `{}` cannot become `{}`", from.word(), to.word())]
pub struct IllegalWorkflowMove {
    /// Where it stands.
    pub from: WorkflowStatus,
    /// Where it was to go.
    pub to: WorkflowStatus,
}

impl WorkflowStatus {
    /// The number that is stored.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The status with that number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The status of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.word() == word)
    }

    /// Whether something may still happen: it counts towards a proposer's open plans.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::AwaitingApproval | Self::InProgress)
    }

    /// Whether the lifecycle has an arrow from here to there.
    pub fn may_become(self, to: Self) -> bool {
        use WorkflowStatus::{AwaitingApproval, Cancelled, Completed, Expired, Failed, InProgress, Pending, Rejected};
        matches!(
            (self, to),
            (Pending, AwaitingApproval | InProgress | Cancelled | Expired)
                // An approval back to pending: the plan is approved and waits for its start. It ends from here if its
                // approval was revoked while the last attempt ran.
                | (AwaitingApproval, Pending | InProgress | Completed | Failed | Cancelled | Rejected | Expired)
                // A revoked approval and a restored database: what has not begun needs a decision again.
                | (InProgress, AwaitingApproval | Completed | Failed | Cancelled | Expired)
                // `resume`, or a retried dead letter; a step beside the failed one that came too late. It completes from here if
                // the retry ended while the execution was paused: its end is decided when the execution resumes.
                | (Failed, InProgress | Completed | Cancelled | Expired)
        )
    }

    /// The status after the move, if there is such an arrow.
    pub fn become_checked(self, to: Self) -> Result<Self, IllegalWorkflowMove> {
        if self.may_become(to) {
            Ok(to)
        } else {
            Err(IllegalWorkflowMove { from: self, to })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pair, by number: `x` where there is an arrow.
    const TABLE: [(&str, &str); 8] = [
        // to:               p a i c f x r e
        ("pending", ". x x . . x . x"),
        ("awaiting_approval", "x . x x x x x x"),
        ("in_progress", ". x . x x x . x"),
        ("completed", ". . . . . . . ."),
        ("failed", ". . x x . x . x"),
        ("cancelled", ". . . . . . . ."),
        ("rejected", ". . . . . . . ."),
        ("expired", ". . . . . . . ."),
    ];

    #[test]
    fn every_pair_is_an_arrow_or_a_typed_error() {
        for (from, (word, row)) in WorkflowStatus::ALL.into_iter().zip(TABLE) {
            assert_eq!(from.word(), word);
            for (to, cell) in WorkflowStatus::ALL.into_iter().zip(row.split(' ')) {
                let expected = if cell == "x" {
                    Ok(to)
                } else {
                    Err(IllegalWorkflowMove { from, to })
                };
                assert_eq!(from.become_checked(to), expected, "{word} to {}", to.word());
            }
        }
    }

    #[test]
    fn numbers_and_words_lead_back_to_the_status() {
        for status in WorkflowStatus::ALL {
            assert_eq!(WorkflowStatus::from_number(status.number()), Some(status));
            assert_eq!(WorkflowStatus::from_word(status.word()), Some(status));
        }
        assert_eq!(WorkflowStatus::from_number(8), None);
        let error = WorkflowStatus::Rejected
            .become_checked(WorkflowStatus::InProgress)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "a workflow that is `rejected` cannot become `in_progress`"
        );
    }

    #[test]
    fn what_has_ended_moves_no_more_except_a_failed_workflow() {
        for from in WorkflowStatus::ALL.into_iter().filter(|status| !status.is_open()) {
            let moves = WorkflowStatus::ALL.into_iter().any(|to| from.may_become(to));
            assert_eq!(moves, from == WorkflowStatus::Failed, "{}", from.word());
        }
    }
}
