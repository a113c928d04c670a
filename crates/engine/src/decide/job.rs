//! An attempt that a decision starts, and what decisions ask about action types.

use std::sync::Arc;

use serde_json::{Map, Value};
use sprag_core::action::secret::Owner;
use sprag_core::action::{ConfigProblem, Lease, Permission};
use sprag_core::expression::template::Frozen;
use sprag_core::machine::ConfigCheck;

use crate::requests::AttemptRef;

/// What the runners of this process say about action types: the same answer for the same arguments.
pub trait ActionTypes: Send + Sync {
    /// The destination of an action with this configuration, where it can be known.
    fn destination(&self, kind: &str, config: &Value) -> Option<String>;

    /// Everything wrong with an edited configuration that can be known before an attempt.
    fn problems(&self, edited: Edited<'_>) -> Vec<ConfigProblem>;

    /// Whether the runner can find out what became of an interrupted attempt.
    fn can_settle(&self, kind: &str) -> bool;

    /// Who judges the configurations of a plan.
    fn configs(&self) -> &dyn ConfigCheck;

    /// What an action of a type may reach with a configuration.
    fn permissions(&self, kind: &str, config: &Value) -> Vec<Permission>;
}

/// A configuration that a person gave a dead letter.
#[derive(Clone, Copy, Debug)]
pub struct Edited<'a> {
    /// Whose it is.
    pub owner: Owner<'a>,
    /// The program outside this process that performs the action, if one does.
    pub runner: Option<&'a str>,
    /// The configuration, secrets still to be bound.
    pub config: &'a Frozen,
}

/// One attempt to carry out.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptJob {
    /// Which.
    pub attempt: AttemptRef,
    /// Run it, or find out what became of it.
    pub task: Task,
    /// The machine it belongs to.
    pub machine: String,
    /// Whose secrets it may name, where that is not its machine.
    pub owner: Option<String>,
    /// The name of the action in the machine.
    pub action_id: String,
    /// Its type.
    pub kind: String,
    /// From 1.
    pub number: u32,
    /// The configuration, secrets still to be bound.
    pub config: Frozen,
    /// The same for every attempt.
    pub idempotency_key: String,
    /// Milliseconds it may take.
    pub timeout_millis: u64,
    /// What an attempt checkpointed last.
    pub checkpoint: Option<Value>,
    /// The mail templates of its machine.
    pub templates: Arc<Map<String, Value>>,
    /// Whose it is, where a program outside this process performs it.
    pub lease: Option<Lease>,
}

/// What to do about an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Perform it.
    Run,
    /// An earlier process left it running: end its survivors, ask whether it happened.
    Settle,
}
