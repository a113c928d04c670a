//! What can be filtered, and which fields of which type each has.

use super::field::Field;
use crate::action::Status;

/// Something that is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Executions.
    Executions,
    /// Actions.
    Actions,
    /// Actions that are dead, so their status is no question.
    DeadLetters,
    /// Bulk jobs.
    Jobs,
    /// Entries of the audit, which have no status.
    Audit,
}

/// What the values of a field are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    /// Any text, compared byte by byte.
    Text,
    /// One of these words, each with the number that is stored for it.
    Word(&'static [(&'static str, u8)]),
    /// A whole number.
    Number,
    /// An instant.
    Time,
    /// An id that begins so.
    Id(Id),
    /// Any number of texts.
    Texts,
}

/// Whose id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    Execution,
    Action,
    Job,
}

/// The words of an execution's status, with their stored numbers.
const EXECUTION_STATUSES: &[(&str, u8)] = &[
    ("running", 0),
    ("paused", 1),
    ("failed", 2),
    ("completed", 3),
    ("cancelled", 4),
];

/// The words of a job's status, with their stored numbers.
const JOB_STATUSES: &[(&str, u8)] = &[("running", 0), ("paused", 1), ("completed", 2), ("cancelled", 3)];

const ACTION_STATUSES: &[(&str, u8)] = &{
    let mut words = [("", 0); Status::ALL.len()];
    let mut position = 0;
    while position < words.len() {
        let status = Status::ALL[position];
        words[position] = (status.word(), status as u8);
        position += 1;
    }
    words
};

impl Resource {
    /// The fields of the resource.
    pub fn fields(self) -> impl Iterator<Item = Field> {
        self.kinds().iter().map(|(field, _)| *field)
    }

    /// The words that a status may be, with the numbers that are stored for them.
    pub fn statuses(self) -> &'static [(&'static str, u8)] {
        match self {
            Self::Executions => EXECUTION_STATUSES,
            Self::Actions | Self::DeadLetters => ACTION_STATUSES,
            Self::Jobs => JOB_STATUSES,
            Self::Audit => &[],
        }
    }

    /// The resource as a sentence names it.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Executions => "executions",
            Self::Actions => "actions",
            Self::DeadLetters => "dead letters",
            Self::Jobs => "jobs",
            Self::Audit => "entries of the audit",
        }
    }

    pub(super) fn kinds(self) -> &'static [(Field, ValueKind)] {
        match self {
            Self::Executions => EXECUTIONS,
            Self::Actions => ACTIONS,
            Self::DeadLetters => DEAD_LETTERS,
            Self::Jobs => JOBS,
            Self::Audit => AUDIT,
        }
    }
}

const EXECUTIONS: &[(Field, ValueKind)] = &[
    (Field::Id, ValueKind::Id(Id::Execution)),
    (Field::Machine, ValueKind::Text),
    (Field::Version, ValueKind::Number),
    (Field::Status, ValueKind::Word(EXECUTION_STATUSES)),
    (Field::Key, ValueKind::Text),
    (Field::Tag, ValueKind::Texts),
    (Field::State, ValueKind::Texts),
    (Field::CreatedAt, ValueKind::Time),
    (Field::UpdatedAt, ValueKind::Time),
];

/// The status first, so that what follows is all that dead letters have: theirs is always the same.
const ACTIONS: &[(Field, ValueKind)] = &[
    (Field::Status, ValueKind::Word(ACTION_STATUSES)),
    (Field::Id, ValueKind::Id(Id::Action)),
    (Field::ActionId, ValueKind::Text),
    (Field::Type, ValueKind::Text),
    (Field::Machine, ValueKind::Text),
    (Field::ExecutionId, ValueKind::Id(Id::Execution)),
    (Field::ErrorType, ValueKind::Text),
    (Field::Tag, ValueKind::Texts),
    (Field::Priority, ValueKind::Number),
    (Field::CreatedAt, ValueKind::Time),
    (Field::RunAt, ValueKind::Time),
    (Field::Fingerprint, ValueKind::Text),
    (Field::DiedAt, ValueKind::Time),
];

const DEAD_LETTERS: &[(Field, ValueKind)] = ACTIONS.split_at(1).1;

const JOBS: &[(Field, ValueKind)] = &[
    (Field::Id, ValueKind::Id(Id::Job)),
    (Field::Type, ValueKind::Text),
    (Field::Status, ValueKind::Word(JOB_STATUSES)),
    (Field::CreatedAt, ValueKind::Time),
    (Field::UpdatedAt, ValueKind::Time),
];

const AUDIT: &[(Field, ValueKind)] = &[
    (Field::Principal, ValueKind::Text),
    (Field::Verb, ValueKind::Text),
    (Field::Target, ValueKind::Text),
    (Field::At, ValueKind::Time),
    (Field::Shard, ValueKind::Number),
    (Field::Refused, ValueKind::Text),
];
