//! The codes of refusals, and how such codes are declared: here for the engine, and by the parts that refuse beside it.

/// Declares an enumeration of codes, each with its name on the wire.
#[macro_export]
macro_rules! codes {
    ($(#[$about:meta])* $codes:ident: $($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $codes { $($(#[$doc])* $name,)* }

        impl $codes {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name on the wire.
            pub fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

codes! {
    /// The stable names of refusals.
    Code:
    /// No machine of that name.
    MachineUnknown = "machine-unknown";
    /// The machine has no such version.
    VersionUnknown = "version-unknown";
    /// No execution with that id or key.
    ExecutionUnknown = "execution-unknown";
    /// No action with that id.
    ActionUnknown = "action-unknown";
    /// No job with that id.
    JobUnknown = "job-unknown";
    /// Too many jobs are open.
    JobsFull = "jobs-full";
    /// The filter does not follow the grammar, or names what is not there.
    FilterInvalid = "filter-invalid";
    /// No attempt can have that id.
    AttemptUnknown = "attempt-unknown";
    /// What a dead letter was to be changed into cannot be used.
    EditInvalid = "edit-invalid";
    /// Another attempt is the action's current one.
    AttemptSuperseded = "attempt-superseded";
    /// The definition has errors.
    DefinitionInvalid = "definition-invalid";
    /// The start variables do not meet the machine's `input`.
    InputInvalid = "input-invalid";
    /// The machine's newest version has no such hook.
    HookUnknown = "hook-unknown";
    /// A secret that is needed to answer cannot be had.
    SecretUnavailable = "secret-unavailable";
    /// An open execution of the machine holds the key.
    KeyInUse = "key-in-use";
    /// The idempotency key was used for something else.
    IdempotencyKeyReused = "idempotency-key-reused";
    /// The execution is closed.
    ExecutionClosed = "execution-closed";
    /// The execution is not in a status that allows it.
    StatusConflict = "status-conflict";
    /// The type is one only the engine sends.
    ReservedType = "reserved-type";
    /// The decision on a start or a message failed; nothing changed.
    DecisionFailed = "decision-failed";
    /// The inbox of the execution is full.
    InboxFull = "inbox-full";
    /// An active state has no counterpart in the other version.
    MigrationImpossible = "migration-impossible";
    /// A message or its payload is too large.
    MessageTooLarge = "message-too-large";
    /// Variables and results are too large.
    VariablesTooLarge = "variables-too-large";
    /// A key, id or tag holds something it must not.
    NameInvalid = "name-invalid";
    /// The audit must say why this is done, and no reason was given.
    ReasonMissing = "reason-missing";
    /// Too much is under way; try again.
    Overloaded = "overloaded";
    /// The engine is going down.
    ShuttingDown = "shutting-down";
    /// Another node decides on it now, or none for a moment.
    ShardMoved = "shard-moved";
    /// The disk is full.
    StoreFull = "store-full";
    /// The store is read-only.
    StoreReadOnly = "store-read-only";
    /// The store is out of reach.
    StoreAway = "store-away";
    /// The store refused a record: a bug.
    StoreRefused = "store-refused";
    /// The store failed.
    StoreFailed = "store-failed";
    /// A stored record is damaged.
    RecordDamaged = "record-damaged";
    /// No switch with that id is on.
    SwitchUnknown = "switch-unknown";
    /// The scope of a switch names no known action type or action.
    ScopeUnknown = "scope-unknown";
    /// As many switches are on as there may be.
    SwitchesFull = "switches-full";
    /// There is no such token.
    TokenUnknown = "token-unknown";
    /// As many tokens are valid as there may be.
    TokensFull = "tokens-full";
    /// The key has no override.
    LimitUnknown = "limit-unknown";
    /// As many limits are overridden as there may be.
    LimitsFull = "limits-full";
    /// What is there is not what `If-Match` says.
    PreconditionFailed = "precondition-failed";
    /// No workflow with that id.
    WorkflowUnknown = "workflow-unknown";
    /// No operation or subject of that name.
    OperationUnknown = "operation-unknown";
    /// The principal has as many plans as it may have that nobody decided about.
    ProposalsFull = "proposals-full";
    /// What was approved is not what the request is about.
    PlanChanged = "plan-changed";
    /// The principal proposed the plan and cannot approve it.
    SelfApproval = "self-approval";
    /// The principal lacks a role.
    RoleMissing = "role-missing";
    /// The scope of the token does not cover what the request is about.
    ScopeMissing = "scope-missing";
    /// The time to approve the plan, or to begin, is over.
    ApprovalExpired = "approval-expired";
    /// The plan has no approval that stands.
    ApprovalMissing = "approval-missing";
    /// A backup is being taken already.
    BackupUnderWay = "backup-under-way";
    /// The store is no file, so its backups are taken by other tools.
    BackupUnsupported = "backup-unsupported";
}

impl Code {
    /// Whether the present state of things is why: once that changes, the same request may be accepted.
    pub(crate) fn is_conflict(self) -> bool {
        matches!(
            self,
            Self::AttemptSuperseded
                | Self::KeyInUse
                | Self::ExecutionClosed
                | Self::StatusConflict
                | Self::MigrationImpossible
                | Self::SwitchesFull
                | Self::LimitsFull
                | Self::PlanChanged
                | Self::SelfApproval
                | Self::ApprovalExpired
                | Self::ApprovalMissing
                | Self::TokensFull
                | Self::BackupUnderWay
                | Self::BackupUnsupported
        )
    }
}
