//! The types of the HTTP API: requests and answers, and the messages between nodes. Their doc comments are the API
//! description.
//!
//! The engine builds these types, the server writes them, the command line reads them, and the OpenAPI document is derived
//! from them. So the four always agree. The engine also stores some of them, as answers under idempotency keys, so their
//! members keep their names and order. Two rules keep old clients working: a reader skips unknown fields, and it keeps an
//! unknown word of an enumeration as text (`Other`). The server writes only words that the document lists.

mod control;
mod executions;
mod machines;
mod operations;
mod page;
mod problem;
mod runners;
mod system;
mod tokens;
mod values;
mod workers;

pub use control::{
    AuditEntry, AuditHead, AuditHeads, Canary, CanaryState, CaseFile, DryRun, Expected, HeldActions, HeldBySwitch, Job,
    JobCounts, JobItem, JobResult, JobStatus, JobWaiting, Limit, LimitNumbers, LimitOverride, LimitRequest, Others,
    Period, RateRequest, ReleaseRequest, ReleasedSwitch, RetryAllRequest, RetryRequest, SentRequest, Switch,
    SwitchMode, SwitchRelease, SwitchRequest, SwitchStatus, SwitchedAction, SwitchedActions,
};
pub use executions::{
    Action, ActionStatus, AddressedMessage, Attempt, Cause, Divergence, Ended, Execution, ExecutionStatus,
    ExplainedAction, Explanation, HistoryEntry, Lease, Message, Microstep, MigrateRequest, Migrated, MigrationCheck,
    MigrationProblem, Nothing, Outcome, Queue, QueueDepth, QueueLine, QueuedType, Remark, Replayed, ResultEvent, Sent,
    SkipReason, Start, StateMove, TimerChange, TimerMove, Waiting, WaitingFor, What,
};
pub use machines::{
    Applied, Definition, DiffRequest, Linted, Machine, MachineDefinition, MachineSource, MachineSummary,
    SimulateRequest, SimulatedInput,
};
pub use operations::{
    AppliedDocument, Approval, ApproveRequest, CatalogEntry, CatalogKind, CommentRequest, Compensation, Decision,
    GivenApproval, PlanDifference, Proposal, ReasonRequest, RiskLevel, Urgency, Workflow, WorkflowPlan, WorkflowStatus,
    WorkflowStep,
};
pub use page::Page;
pub use problem::{FieldError, Finding, Problem, Severity};
pub use runners::{
    CompleteRequest, FailRequest, FailedOutcome, Finished, Heartbeat, HeartbeatRequest, LeaseRequest, Leased,
    LeasedAttempt, ReportedError,
};
pub use system::{
    Basis, Because, Bounds, Cluster, FailureReason, Figures, Health, HealthReport, HealthStatus, Latency, LetterFate,
    LettersToRetry, LimitDemand, LimitGrant, Node, Note, OfAction, OfType, Recommendation, RestoreReport,
    RestoredEffect, SettledLetter, Shard, System, Window,
};
pub use tokens::{Me, NewToken, ScopesRequest, Token, TokenRequest};
pub use values::{Duration, Time};
pub use workers::{
    DeltaKind, Goal, LastAction, LastOutcome, NotStartable, Part, PartChange, Reloaded, Worker, WorkerCounts,
    WorkerDelta, WorkerDeltas, WorkerEscalation, WorkerExplanation, WorkerHold, WorkerLog, WorkerRemembered,
    WorkerRule,
};
