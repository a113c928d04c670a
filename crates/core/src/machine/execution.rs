//! An execution between two steps, what goes into a step, and what comes out.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::model::StateIndex;
use super::state_set::StateSet;
use crate::action::{ActionError, ResultEvent};
use crate::expression::template::Frozen;
use crate::ids::ExecutionId;
use crate::time::Timestamp;
use crate::words;

/// What never changes about an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its id.
    pub id: ExecutionId,
    /// Its business key.
    pub key: Option<String>,
    /// The machine version it is pinned to.
    pub version: u32,
    /// When it started.
    pub created_at: Timestamp,
}

/// Where an execution is, as `step` needs it. Cloning is cheap: what is large is shared until it changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// What never changes.
    pub facts: Arc<Facts>,
    /// The active states, ancestors included.
    pub active: StateSet,
    /// The visits of the active states, in document order.
    pub visits: Vec<Visit>,
    /// The number the next visit gets; numbers are never used twice.
    pub next_visit: u64,
    /// What history states remember.
    pub history: BTreeMap<StateIndex, Vec<StateIndex>>,
    /// How often each action was triggered: an older trigger's end is superseded by a later trigger.
    pub triggered: BTreeMap<String, u64>,
    /// The variables.
    pub variables: Arc<Map<String, Value>>,
    /// The last outcome of each action whose results the machine names.
    pub results: Arc<Map<String, Value>>,
    /// The last message.
    pub message: Option<Arc<Message>>,
}

/// One entry of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visit {
    /// The state entered.
    pub state: StateIndex,
    /// Unique within the execution.
    pub number: u64,
    /// When.
    #[serde(with = "crate::time::millis")]
    pub entered_at: Timestamp,
}

/// Input sent to an execution from outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Unique for the execution's life.
    pub id: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it carries.
    #[serde(default)]
    pub payload: Value,
}

/// How an action ended, as its machine hears of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct End {
    /// Which action.
    pub action_id: String,
    /// Which of its triggers.
    pub ordinal: u64,
    /// How.
    pub how: How,
    /// The runner's own event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<ResultEvent>,
    /// What came back.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub result: Value,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ActionError>,
}

words! {
    /// The word an action's end is announced with.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum How as word {
        /// Succeeded.
        Done => "done",
        /// Dead, rejected, expired, or cancelled by a person.
        Failed => "failed",
        /// Its condition was false, or it is disabled.
        Skipped => "skipped",
    }
}

/// What causes a macrostep.
#[expect(
    clippy::large_enum_variant,
    reason = "one cause at a time, and every one of them is an end or a message"
)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "camelCase")]
pub enum Cause {
    /// The execution begins.
    Start,
    /// A caller sent a message.
    Message(Arc<Message>),
    /// A timer of a visit is due.
    Timer(TimerKey),
    /// An action ended.
    Ended(End),
    /// A schedule of a visit is due.
    Occurrence {
        /// Which action.
        action: String,
        /// Which visit.
        visit: u64,
        /// When it was to be.
        #[serde(with = "crate::time::millis")]
        nominal: Timestamp,
    },
}

/// Which timer of which visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TimerKey {
    /// The visit it belongs to.
    pub visit: u64,
    /// Its position in the state's `after`.
    pub index: u16,
}

/// What goes into a step.
#[derive(Clone, Debug)]
pub struct Input {
    /// The instant of the decision.
    pub now: Timestamp,
    /// What causes it.
    pub cause: Cause,
    /// What bounds it.
    pub limits: Limits,
}

/// The bounds of one macrostep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// More microsteps than this is `runaway`.
    pub microsteps: u32,
    /// Variables and results together, in bytes of JSON.
    pub variables_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            microsteps: 1_000,
            variables_bytes: 256 * 1024,
        }
    }
}

/// What comes out of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Where the execution is now.
    pub execution: Execution,
    /// Whether a transition answered the cause.
    pub handled: bool,
    /// What was left and entered, microstep by microstep.
    pub microsteps: Vec<Microstep>,
    /// What the engine must do about it, in order.
    pub effects: Vec<Effect>,
    /// The names of variables whose value is another one now.
    pub changed: Vec<String>,
    /// The output, if the execution completed.
    pub completed: Option<Value>,
}

/// One microstep: transitions taken together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Microstep {
    /// The event that was answered; none for an automatic transition or the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The states left, innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exited: Vec<StateIndex>,
    /// The states entered, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entered: Vec<StateIndex>,
}

/// Something for the engine to carry out in the transaction of the step.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Create an action.
    Trigger(Box<Trigger>),
    /// Let occurrences of an action fire by the clock while the visit lasts.
    StartSchedule {
        /// The position in the machine's actions.
        action: usize,
        /// The visit it belongs to.
        visit: u64,
        /// The first nominal time.
        next: Timestamp,
    },
    /// Let a timer fire.
    StartTimer {
        /// Which.
        key: TimerKey,
        /// When.
        due_at: Timestamp,
    },
    /// The visit is over: its timers, schedules and actions not yet due go.
    EndVisit(u64),
    /// Cancel the open actions of this definition (the operation `cancel`).
    CancelAction {
        /// The position in the machine's actions.
        action: usize,
    },
    /// Write a line to the log.
    Log(String),
}

/// An action to create.
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    /// The position in the machine's actions.
    pub action: usize,
    /// The how manieth trigger of this action it is.
    pub ordinal: u64,
    /// The visit it belongs to; none when an exit or a transition ran it.
    pub visit: Option<u64>,
    /// When it was to be, for an occurrence of a schedule.
    pub nominal: Option<Timestamp>,
    /// What becomes of it.
    pub fate: Fate,
}

/// What becomes of a triggered action.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// It will run, on facts frozen now.
    Ready {
        /// The configuration, where it is not the definition's own constant.
        frozen: Option<Frozen>,
        /// The rendered limit keys, in the order of the definition's limits.
        limit_keys: Vec<String>,
    },
    /// It is recorded and does nothing.
    Skipped(SkipReason),
    /// Its condition, configuration or limit key errs.
    Dead(ActionError),
}

/// Why an action is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SkipReason {
    /// `enabled: false`.
    Disabled,
    /// Its condition was false.
    Condition,
    /// The last occurrence of its schedule had not ended.
    Overlap,
}

/// Why a macrostep was discarded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StepError {
    /// It did not come to rest.
    #[error("the step did not end within {limit} microsteps (`runaway`)")]
    Runaway {
        /// The bound.
        limit: u32,
    },
    /// An expression erred.
    #[error("{part} of `{state}` failed: {detail}")]
    Expression {
        /// `guard`, `assign`, `raise` or `output`.
        part: &'static str,
        /// The state that owns it.
        state: String,
        /// What the expression said.
        detail: String,
    },
    /// Variables and results grew over their bound.
    #[error(
        "variables and results have {bytes} bytes, and the limit is {limit}; store a reference to the data instead"
    )]
    VariablesTooLarge {
        /// How large they would be.
        bytes: usize,
        /// The bound.
        limit: usize,
    },
    /// The execution's states are not of this machine version.
    #[error("the execution does not belong to this machine version")]
    Foreign,
}

impl StepError {
    /// The stable name of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Runaway { .. } => "runaway",
            Self::Expression { .. } => "expression-failed",
            Self::VariablesTooLarge { .. } => "variables-too-large",
            Self::Foreign => "foreign-state",
        }
    }
}

impl Execution {
    /// An execution that has entered nothing yet.
    pub fn new(facts: Facts, variables: Map<String, Value>) -> Self {
        Self {
            facts: Arc::new(facts),
            active: StateSet::default(),
            visits: Vec::new(),
            next_visit: 1,
            history: BTreeMap::new(),
            triggered: BTreeMap::new(),
            variables: Arc::new(variables),
            results: Arc::default(),
            message: None,
        }
    }

    /// The visit with that number, if its state is still active.
    pub fn visit(&self, number: u64) -> Option<&Visit> {
        self.visits.iter().find(|visit| visit.number == number)
    }

    /// The visit of an active state.
    pub fn visit_of(&self, state: StateIndex) -> Option<&Visit> {
        self.visits.iter().find(|visit| visit.state == state)
    }
}
