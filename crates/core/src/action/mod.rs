//! Actions: what Sprag does to the world, as definitions, lifecycle, retries and the contract with runners.

pub mod cost;
pub mod definition;
pub mod edit;
pub mod error;
mod fingerprint;
pub mod lease;
pub mod lifecycle;
pub mod outcome;
pub mod progress;
pub mod retry;
pub mod runner;
pub mod secret;
pub mod triage;
pub mod typed;

pub use definition::{Definition, Limit, OnExit, OnUnknown, Rate, Schedule};
pub use edit::{Editable, Overrides};
pub use error::ActionError;
pub use lease::{Lease, Route};
pub use lifecycle::{IllegalMove, Status};
pub use outcome::{Done, Failure, Outcome, Probe, ResultEvent, Verdict};
pub use progress::{Action, AttemptRecord, Body, CancelledBy, LINE_DIGEST, LimitUse, Next, Origin, Remark};
pub use runner::{Attempt, BoxFuture, ConfigProblem, Control, Fault, Permission, Runner, Superseded};
pub use secret::SecretRules;
pub use typed::TypedRunner;
