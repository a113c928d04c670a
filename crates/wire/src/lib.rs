//! The types of the HTTP API: requests and answers, and the messages between nodes. Their doc comments are the API
//! description.
//!
//! The engine builds these types, the server writes them, the command line reads them, and the OpenAPI document is derived
//! from them. So the four always agree. The engine also stores some of them, as answers under idempotency keys, so their
//! members keep their names and order. Two rules keep old clients working: a reader skips unknown fields, and it keeps an
//! unknown word of an enumeration as text (`Other`). The server writes only words that the document lists.

mod actions;
mod dead_letters;
mod executions;
mod health;
mod history;
mod jobs;
mod limits;
mod machines;
mod nodes;
mod page;
mod problem;
mod runners;
mod switches;
mod system;
mod time;
mod tokens;
mod waiting;
mod words;
mod workers;

pub use actions::{
    Action, ActionStatus, Attempt, Outcome, Queue, QueueDepth, QueueLine, QueuedType, Remark, ResultEvent, SkipReason,
};
pub use dead_letters::{CaseFile, Others, RetryRequest, SentRequest};
pub use executions::{
    AddressedMessage, Divergence, Execution, ExecutionStatus, ExplainedAction, Explanation, Message, MigrateRequest,
    Migrated, MigrationCheck, MigrationProblem, Nothing, Replayed, Sent, Start, StateMove, TimerChange, TimerMove,
};
pub use health::{Basis, FailureReason, Figures, HealthReport, Latency, OfAction, OfType, Recommendation, Window};
pub use history::{Cause, Ended, HistoryEntry, Microstep, What};
pub use jobs::{
    Canary, CanaryState, DryRun, Expected, Job, JobCounts, JobItem, JobResult, JobStatus, JobWaiting, RetryAllRequest,
};
pub use limits::{Limit, LimitNumbers, LimitOverride, LimitRequest, Period, RateRequest};
pub use machines::{
    Applied, Definition, DiffRequest, Linted, Machine, MachineDefinition, MachineSource, MachineSummary,
    SimulateRequest, SimulatedInput,
};
pub use nodes::{LetterFate, LettersToRetry, LimitDemand, LimitGrant, SettledLetter};
pub use page::Page;
pub use problem::{FieldError, Finding, Problem, Severity};
pub use runners::{
    CompleteRequest, FailRequest, FailedOutcome, Finished, Heartbeat, HeartbeatRequest, LeaseRequest, Leased,
    LeasedAttempt, ReportedError,
};
pub use switches::{Switch, SwitchMode, SwitchRequest, SwitchStatus};
pub use system::{
    Because, Bounds, Cluster, Health, HealthStatus, Node, Note, RestoreReport, RestoredEffect, Shard, System,
};
pub use time::{Duration, Time};
pub use tokens::{Me, NewToken, Token, TokenRequest};
pub use waiting::{Lease, Waiting, WaitingFor};
pub use workers::{
    DeltaKind, Goal, LastAction, LastOutcome, NotStartable, Part, PartChange, Reloaded, Worker, WorkerCounts,
    WorkerDelta, WorkerDeltas, WorkerEscalation, WorkerExplanation, WorkerHold, WorkerLog, WorkerRemembered,
    WorkerRule,
};
