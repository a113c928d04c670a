//! What operators control: bulk jobs, dead letters, limits and switches; and the audit of it.

mod audit;
mod dead_letters;
mod jobs;
mod limits;
mod switches;

pub use audit::{AuditEntry, AuditHead, AuditHeads};
pub use dead_letters::{CaseFile, Others, RetryRequest, SentRequest};
pub use jobs::{
    Canary, CanaryState, DryRun, Expected, Job, JobCounts, JobItem, JobResult, JobStatus, JobWaiting, RetryAllRequest,
};
pub use limits::{Limit, LimitNumbers, LimitOverride, LimitRequest, Period, RateRequest};
pub use switches::{
    HeldActions, HeldBySwitch, ReleaseRequest, ReleasedSwitch, Switch, SwitchMode, SwitchRelease, SwitchRequest,
    SwitchStatus, SwitchedAction, SwitchedActions,
};
