//! The statuses of an action and the arrows between them. Every move is checked; an illegal one is a typed error.

use serde::{Deserialize, Serialize};

use crate::words;

words! {
    /// Where an action stands. The numbers are stored: never renumber.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    #[repr(u8)]
    pub enum Status as word {
        /// Not yet due.
        Scheduled = 0 => "scheduled",
        /// Due; waits for a permit.
        Queued = 1 => "queued",
        /// An attempt is under way.
        Running = 2 => "running",
        /// An attempt failed; the next one has a due time.
        Retrying = 3 => "retrying",
        /// Done.
        Succeeded = 4 => "succeeded",
        /// A dead letter, waiting for a person.
        Dead = 5 => "dead",
        /// Ended before it succeeded.
        Cancelled = 6 => "cancelled",
        /// Its condition was false, or it is disabled.
        Skipped = 7 => "skipped",
        /// A dead letter that a person put away.
        Archived = 8 => "archived",
    }
}

/// An arrow that the lifecycle does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an action that is {} cannot become {}", from.word(), to.word())]
pub struct IllegalMove {
    /// Where it stands.
    pub from: Status,
    /// Where it was to go.
    pub to: Status,
}

impl Status {
    /// The number that is stored.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The status with that number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Whether something is still to happen by itself.
    pub fn is_open(self) -> bool {
        self <= Self::Retrying
    }

    /// Whether the lifecycle has an arrow from here to there.
    pub fn may_become(self, to: Self) -> bool {
        use Status::{Archived, Cancelled, Dead, Queued, Retrying, Running, Scheduled, Succeeded};
        matches!(
            (self, to),
            (Scheduled | Retrying | Dead, Queued)
                | (Queued, Running)
                | (Running, Succeeded | Retrying | Dead)
                | (Scheduled | Queued | Running | Retrying, Cancelled)
                // A suspect whose process died too often, and a deadline that passed while it waited.
                | (Queued | Retrying | Scheduled, Dead)
                | (Dead, Archived)
        )
    }

    /// The status after the move, if there is such an arrow.
    pub fn become_checked(self, to: Self) -> Result<Self, IllegalMove> {
        if self.may_become(to) {
            Ok(to)
        } else {
            Err(IllegalMove { from: self, to })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_back_to_the_status() {
        for status in Status::ALL {
            assert_eq!(Status::from_number(status.number()), Some(status));
        }
        assert_eq!(Status::from_number(9), None);
    }

    #[test]
    fn what_has_ended_moves_no_more_except_a_dead_letter() {
        for from in [Status::Succeeded, Status::Cancelled, Status::Skipped, Status::Archived] {
            for to in Status::ALL {
                assert!(!from.may_become(to), "{from:?} to {to:?}");
            }
        }
        assert!(Status::Dead.may_become(Status::Queued) && Status::Dead.may_become(Status::Archived));
        assert!(
            !Status::Dead.may_become(Status::Running),
            "a retried dead letter waits in its line like any other"
        );
    }

    #[test]
    fn an_illegal_move_names_both_ends() {
        let error = Status::Succeeded.become_checked(Status::Running).unwrap_err();
        assert_eq!(error.to_string(), "an action that is succeeded cannot become running");
    }
}
