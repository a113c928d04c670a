//! The fields that filters may name, over all resources.

use crate::words;

words! {
    /// A field. What it is called is the same in every resource that has it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Field as name {
        /// `id`
        Id => "id",
        /// `machine`
        Machine => "machine",
        /// `version`
        Version => "version",
        /// `status`
        Status => "status",
        /// `key`: may be absent.
        Key => "key",
        /// `tag`: any of the tags.
        Tag => "tag",
        /// `state`: any of the active states.
        State => "state",
        /// `createdAt`
        CreatedAt => "createdAt",
        /// `updatedAt`
        UpdatedAt => "updatedAt",
        /// `actionId`
        ActionId => "actionId",
        /// `type`
        Type => "type",
        /// `executionId`
        ExecutionId => "executionId",
        /// `errorType`: may be absent.
        ErrorType => "errorType",
        /// `priority`
        Priority => "priority",
        /// `runAt`
        RunAt => "runAt",
        /// `fingerprint`: of dead letters only.
        Fingerprint => "fingerprint",
        /// `diedAt`: of dead letters only.
        DiedAt => "diedAt",
        /// `principal`: of the audit only, like all that follow.
        Principal => "principal",
        /// `verb`
        Verb => "verb",
        /// `target`
        Target => "target",
        /// `at`
        At => "at",
        /// `shard`
        Shard => "shard",
        /// `refused`: may be absent.
        Refused => "refused",
    }
}
