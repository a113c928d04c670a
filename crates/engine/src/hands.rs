//! What a lane hands work to: tasks in production, a script in the simulator.

use std::sync::Arc;

use serde_json::{Map, Value};
use sprag_core::action::secret::Owner;
use sprag_core::action::{ConfigProblem, Lease};
use sprag_core::expression::template::Frozen;
use sprag_core::ids::AttemptId;
use tokio::sync::oneshot;

use crate::command::{AttemptRef, Reply};
use crate::homes::Statement;
use crate::letters::Letters;

/// Carries out attempts. Called after the attempt is durable, never before.
pub trait Hands: Send {
    /// Starts a job; its outcome comes back as a command.
    fn start(&mut self, job: Job);

    /// Gives attempts to a program that asked for work, or tells it that there is none. What cannot be given comes back
    /// as an outcome.
    fn grant(&mut self, grant: Grant);

    /// Asks the attempt to stop.
    fn cancel(&mut self, attempt: AttemptRef);

    /// The attempt's outcome no longer matters: stop it.
    fn abandon(&mut self, attempt: AttemptId);

    /// The destination of an action with this configuration, where it can be known.
    fn destination(&self, kind: &str, config: &Value) -> Option<String>;

    /// Everything wrong with an edited configuration that can be known before an attempt.
    fn problems(&self, edited: Edited<'_>) -> Vec<ConfigProblem>;

    /// Says to the home of a limit, on another node, what this one has and wants. The answer comes back as a command; it
    /// may be lost.
    fn state(&mut self, statement: Statement);

    /// Has whoever serves these letters deal with them, for a job. What became of them comes back as a command; it may be
    /// lost.
    fn deal(&mut self, letters: Letters);

    /// Whether an attempt that an earlier process left running can be asked about or must be reaped.
    fn can_settle(&self, kind: &str) -> bool;
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
pub struct Job {
    /// Which.
    pub attempt: AttemptRef,
    /// Run it, or find out what became of it.
    pub task: Task,
    /// The machine it belongs to.
    pub machine: String,
    /// What the machine calls the action.
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

/// Attempts for a program that asked for work: perhaps none.
#[derive(Debug)]
pub struct Grant {
    /// What is durable and the program's from now on.
    pub jobs: Vec<Job>,
    /// Where the answer goes.
    pub reply: oneshot::Sender<Reply>,
}

/// What to do about an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Perform it.
    Run,
    /// An earlier process left it running: end its survivors, ask whether it happened.
    Settle,
}
