//! The fields that filters may name, over all resources.

/// A field. What it is called is the same in every resource that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// `id`
    Id,
    /// `machine`
    Machine,
    /// `version`
    Version,
    /// `status`
    Status,
    /// `key`: may be absent.
    Key,
    /// `tag`: any of the tags.
    Tag,
    /// `state`: any of the active states.
    State,
    /// `createdAt`
    CreatedAt,
    /// `updatedAt`
    UpdatedAt,
    /// `actionId`
    ActionId,
    /// `type`
    Type,
    /// `executionId`
    ExecutionId,
    /// `errorType`: may be absent.
    ErrorType,
    /// `priority`
    Priority,
    /// `runAt`
    RunAt,
    /// `fingerprint`: of dead letters only.
    Fingerprint,
    /// `diedAt`: of dead letters only.
    DiedAt,
    /// `principal`: of the audit only, like all that follow.
    Principal,
    /// `verb`
    Verb,
    /// `target`
    Target,
    /// `at`
    At,
    /// `shard`
    Shard,
    /// `refused`: may be absent.
    Refused,
}

impl Field {
    /// As filters write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Machine => "machine",
            Self::Version => "version",
            Self::Status => "status",
            Self::Key => "key",
            Self::Tag => "tag",
            Self::State => "state",
            Self::CreatedAt => "createdAt",
            Self::UpdatedAt => "updatedAt",
            Self::ActionId => "actionId",
            Self::Type => "type",
            Self::ExecutionId => "executionId",
            Self::ErrorType => "errorType",
            Self::Priority => "priority",
            Self::RunAt => "runAt",
            Self::Fingerprint => "fingerprint",
            Self::DiedAt => "diedAt",
            Self::Principal => "principal",
            Self::Verb => "verb",
            Self::Target => "target",
            Self::At => "at",
            Self::Shard => "shard",
            Self::Refused => "refused",
        }
    }
}
