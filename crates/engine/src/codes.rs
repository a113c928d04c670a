//! The codes of refusals, and how such codes are declared: here for the engine, and by whoever refuses beside it.

/// Declares an enumeration of codes, each with its name on the wire and the HTTP status it is answered with.
#[macro_export]
macro_rules! codes {
    ($(#[$about:meta])* $codes:ident: $($(#[$doc:meta])* $name:ident = $text:literal, $status:literal;)*) => {
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

            /// The HTTP status.
            pub fn status(self) -> u16 {
                match self { $(Self::$name => $status,)* }
            }
        }
    };
}

codes! {
    /// The stable names of refusals, with the HTTP status each is answered with.
    Code:
    /// No machine of that name.
    MachineUnknown = "machine-unknown", 404;
    /// The machine has no such version.
    VersionUnknown = "version-unknown", 404;
    /// No execution with that id or key.
    ExecutionUnknown = "execution-unknown", 404;
    /// No action with that id.
    ActionUnknown = "action-unknown", 404;
    /// No job with that id.
    JobUnknown = "job-unknown", 404;
    /// Too many jobs are open.
    JobsFull = "jobs-full", 429;
    /// The filter does not follow the grammar, or names what is not there.
    FilterInvalid = "filter-invalid", 400;
    /// No attempt can have that id.
    AttemptUnknown = "attempt-unknown", 404;
    /// What a dead letter was to be changed into cannot be used.
    EditInvalid = "edit-invalid", 422;
    /// Another attempt is the action's current one.
    AttemptSuperseded = "attempt-superseded", 409;
    /// The definition has errors.
    DefinitionInvalid = "definition-invalid", 422;
    /// The start variables do not meet the machine's `input`.
    InputInvalid = "input-invalid", 422;
    /// The machine's newest version has no such hook.
    HookUnknown = "hook-unknown", 404;
    /// A secret that is needed to answer cannot be had.
    SecretUnavailable = "secret-unavailable", 503;
    /// An open execution of the machine holds the key.
    KeyInUse = "key-in-use", 409;
    /// The idempotency key was used for something else.
    IdempotencyKeyReused = "idempotency-key-reused", 422;
    /// The execution is closed.
    ExecutionClosed = "execution-closed", 409;
    /// The execution is not in a status that allows it.
    StatusConflict = "status-conflict", 409;
    /// The type is one only the engine sends.
    ReservedType = "reserved-type", 422;
    /// The decision on a start or a message failed; nothing changed.
    DecisionFailed = "decision-failed", 422;
    /// The inbox of the execution is full.
    InboxFull = "inbox-full", 429;
    /// An active state has no counterpart in the other version.
    MigrationImpossible = "migration-impossible", 409;
    /// A message or its payload is too large.
    MessageTooLarge = "message-too-large", 413;
    /// Variables and results are too large.
    VariablesTooLarge = "variables-too-large", 422;
    /// A key, id or tag holds something it must not.
    NameInvalid = "name-invalid", 422;
    /// Too much is under way; try again.
    Overloaded = "overloaded", 503;
    /// The engine is going down.
    ShuttingDown = "shutting-down", 503;
    /// Another node decides on it now, or none for a moment.
    ShardMoved = "shard-moved", 503;
    /// The disk is full.
    StoreFull = "store-full", 503;
    /// The store is read-only.
    StoreReadOnly = "store-read-only", 503;
    /// The store is out of reach.
    StoreAway = "store-away", 503;
    /// The store refused a record: a bug.
    StoreRefused = "store-refused", 500;
    /// The store failed.
    StoreFailed = "store-failed", 500;
    /// A stored record is damaged.
    RecordDamaged = "record-damaged", 500;
    /// No switch with that id is on.
    SwitchUnknown = "switch-unknown", 404;
    /// The scope of a switch names no known action type or action.
    ScopeUnknown = "scope-unknown", 422;
    /// As many switches are on as there may be.
    SwitchesFull = "switches-full", 409;
    /// The key has no override.
    LimitUnknown = "limit-unknown", 404;
    /// As many limits are overridden as there may be.
    LimitsFull = "limits-full", 409;
    /// What is there is not what `If-Match` says.
    PreconditionFailed = "precondition-failed", 412;
    /// A backup is being taken already.
    BackupUnderWay = "backup-under-way", 409;
    /// The store is no file, so its backups are taken by other tools.
    BackupUnsupported = "backup-unsupported", 409;
}
