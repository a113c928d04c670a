//! The contract between the engine and whatever performs attempts.
//!
//! The engine commits an attempt before it calls [`Runner::run`], and commits the outcome after. A runner may be
//! dropped at any await point (deadline, shutdown); what it started in the world is then `Unknown`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::outcome::{Outcome, Probe};
use crate::ids::{ActionId, AttemptId};

/// A future on the heap, as runners return them.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Code that performs attempts of some action types.
pub trait Runner: Send + Sync {
    /// The action types this runner serves.
    fn types(&self) -> &[&str];

    /// Everything wrong with `config` that can be known before it is rendered: a string that holds `{{` may become
    /// anything.
    fn validate(&self, kind: &str, config: &Value) -> Vec<ConfigProblem>;

    /// Whether a secret may stand at `pointer` of the configuration. A runner that repeats what it is given, as text or
    /// in any other form, takes none there: an outcome is masked, but only in the encodings that masking recognises.
    fn takes_secret(&self, kind: &str, pointer: &str) -> bool {
        let _ = (kind, pointer);
        true
    }

    /// What this process would refuse at every attempt although the definition is right, such as an address that its outbound
    /// guard does not let through.
    fn warnings(&self, kind: &str, config: &Value) -> Vec<ConfigProblem> {
        let _ = (kind, config);
        Vec::new()
    }

    /// What the action will be allowed to reach, for people who lint or approve it.
    fn permissions(&self, kind: &str, config: &Value) -> Vec<Permission> {
        let _ = (kind, config);
        Vec::new()
    }

    /// Where the attempt goes, as `host:port`: attempts to a destination that keeps failing are parked together.
    fn destination(&self, kind: &str, config: &Value) -> Option<String> {
        let _ = (kind, config);
        None
    }

    /// Performs the attempt.
    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Outcome>;

    /// Asks the world whether an attempt of unknown outcome happened. `None` when there is no way to ask.
    fn probe<'a>(&'a self, attempt: Attempt<'a>) -> Option<BoxFuture<'a, Probe>> {
        let _ = attempt;
        None
    }

    /// Ends whatever an attempt of an earlier process left running, before that attempt is settled.
    fn reap<'a>(&'a self, kind: &'a str, checkpoint: &'a Value) -> Option<BoxFuture<'a, ()>> {
        let _ = (kind, checkpoint);
        None
    }
}

/// One try at an action, as its runner sees it.
#[derive(Clone, Copy)]
pub struct Attempt<'a> {
    /// The attempt.
    pub id: AttemptId,
    /// The action it is a try at.
    pub action: ActionId,
    /// The name of the action in the machine.
    pub action_id: &'a str,
    /// The action's type.
    pub kind: &'a str,
    /// 1 for the first attempt.
    pub number: u32,
    /// The configuration with every template rendered, secrets included. Never stored, never logged.
    pub config: &'a Value,
    /// The same for every attempt of the action, until someone edits its configuration.
    pub idempotency_key: &'a str,
    /// How long the attempt may take.
    pub timeout: Duration,
    /// What an earlier attempt of this action checkpointed last.
    pub checkpoint: Option<&'a Value>,
    /// The mail templates of the action's machine, by name.
    pub templates: &'a Map<String, Value>,
    /// Cancellation and checkpoints.
    pub control: &'a dyn Control,
}

/// What a running attempt may ask of the engine.
pub trait Control: Send + Sync {
    /// Returns once `value` is committed with the attempt.
    fn checkpoint(&self, value: Value) -> BoxFuture<'_, Result<(), Superseded>>;

    /// Returns once a caller asked to cancel the attempt.
    fn cancelled(&self) -> BoxFuture<'_, ()>;

    /// The header `traceparent` of what the attempt sends; none when no traces are recorded.
    fn traceparent(&self) -> Option<String> {
        None
    }
}

/// The attempt is no longer the action's current one: stop, have no further effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the attempt was superseded")]
pub struct Superseded;

/// Something wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Where, as a JSON pointer inside `config`.
    pub pointer: String,
    /// What is wrong.
    pub detail: String,
    /// What would fix it.
    pub remedy: String,
    /// Where the fault lies.
    pub fault: Fault,
}

/// Where the fault lies if a configuration cannot be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// In the definition: no server can use it.
    #[default]
    Definition,
    /// In the configuration of this process, which lacks something that the definition names. Another server may have it.
    Unconfigured,
}

/// Something an action may reach.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Permission {
    /// The kind of reach: `network`, `process`, `secret`, `chain`, `runner`.
    pub scope: String,
    /// What is reached: a host, a program, a secret's name, an external runner.
    pub object: String,
}

impl fmt::Display for Permission {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.scope, self.object)
    }
}
