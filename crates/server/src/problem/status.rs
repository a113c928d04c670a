//! The HTTP status that each code is answered with.

use sprag_engine::requests;

use super::Code;

/// Something that is answered with an HTTP status.
pub(crate) trait HttpStatus {
    /// The status.
    fn status(self) -> u16;
}

impl HttpStatus for requests::Code {
    fn status(self) -> u16 {
        match self {
            Self::FilterInvalid | Self::ReasonMissing => 400,
            Self::MachineUnknown
            | Self::VersionUnknown
            | Self::ExecutionUnknown
            | Self::ActionUnknown
            | Self::JobUnknown
            | Self::AttemptUnknown
            | Self::HookUnknown
            | Self::SwitchUnknown
            | Self::TokenUnknown
            | Self::LimitUnknown
            | Self::WorkflowUnknown
            | Self::OperationUnknown => 404,
            Self::SelfApproval | Self::RoleMissing | Self::ScopeMissing => 403,
            Self::AttemptSuperseded
            | Self::KeyInUse
            | Self::ExecutionClosed
            | Self::StatusConflict
            | Self::MigrationImpossible
            | Self::SwitchesFull
            | Self::LimitsFull
            | Self::TokensFull
            | Self::PlanChanged
            | Self::ApprovalExpired
            | Self::ApprovalMissing
            | Self::BackupUnderWay
            | Self::BackupUnsupported => 409,
            Self::PreconditionFailed => 412,
            Self::MessageTooLarge => 413,
            Self::EditInvalid
            | Self::DefinitionInvalid
            | Self::InputInvalid
            | Self::IdempotencyKeyReused
            | Self::ReservedType
            | Self::DecisionFailed
            | Self::VariablesTooLarge
            | Self::NameInvalid
            | Self::ScopeUnknown => 422,
            Self::JobsFull | Self::InboxFull | Self::ProposalsFull => 429,
            Self::StoreRefused | Self::StoreFailed | Self::RecordDamaged => 500,
            Self::SecretUnavailable
            | Self::Overloaded
            | Self::ShuttingDown
            | Self::ShardMoved
            | Self::StoreFull
            | Self::StoreReadOnly
            | Self::StoreAway => 503,
        }
    }
}

impl HttpStatus for Code {
    fn status(self) -> u16 {
        match self {
            Self::BodyIncomplete
            | Self::BodyTooDeep
            | Self::BodyUnreadable
            | Self::CursorInvalid
            | Self::IdempotencyKeyInvalid
            | Self::LastEventIdInvalid
            | Self::PathInvalid
            | Self::QueryInvalid
            | Self::ReasonInvalid => 400,
            Self::SignatureInvalid | Self::TokenInvalid | Self::TokenMissing => 401,
            Self::HookUnverified | Self::OriginRefused => 403,
            Self::DeadLetterUnknown | Self::RouteUnknown | Self::SupervisionOff | Self::WorkerUnknown => 404,
            Self::MethodNotAllowed => 405,
            Self::BodyTimeout => 408,
            Self::OperationRefused | Self::WorkerLeaving => 409,
            Self::BodyTooLarge => 413,
            Self::MediaTypeUnsupported => 415,
            Self::HostRefused => 421,
            Self::BodyInvalid
            | Self::HookUnmapped
            | Self::LoadPlanInvalid
            | Self::ServicesInvalid
            | Self::SimulationTooLarge => 422,
            Self::AgentsFull | Self::RateLimited => 429,
            Self::InternalError => 500,
            Self::IssuerUnreachable | Self::NotReady | Self::SupervisorStopped | Self::TooManyStreams => 503,
        }
    }
}
