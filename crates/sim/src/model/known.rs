//! Executions and actions as far as the model knows them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use sprag_core::action::{Action, LimitUse};
use sprag_core::machine::{Cause, Execution, Message, StateIndex, StateSet, Visit};
use sprag_core::time::Timestamp;
use sprag_store::records::{self, ExecutionStatus, Timer};

/// A timer's place within an execution: visit and index.
pub(super) type Place = (u64, u16);

/// An execution with all that follows from its history.
#[derive(Debug)]
pub(crate) struct KnownExecution {
    /// As it was last written.
    pub row: records::Execution,
    /// Its status, by its history.
    pub status: ExecutionStatus,
    /// Where it is, by its history; nowhere before its first entry.
    pub at: Option<Execution>,
    /// The version that decides now, by its history.
    pub version: u32,
    /// Entries of its history.
    pub length: u64,
    /// When the last entry was written.
    pub last_at: Timestamp,
    /// When its `after`s are due, by its history.
    pub afters: BTreeMap<Place, Timestamp>,
    /// The schedules that continue, by its history.
    pub schedules: BTreeSet<Place>,
    /// Its timers as they are stored.
    pub timers: BTreeMap<Place, Timer>,
    /// Input that waits, by position.
    pub inbox: BTreeMap<u64, Cause>,
    /// Input that was taken from the inbox and not yet decided on.
    pub(super) popped: Option<Cause>,
    /// The sequence at which each message was taken, by its number.
    pub taken: BTreeMap<u64, u64>,
    /// Ends of actions that were due to be fed, less those that were: by action id and ordinal.
    pub(super) owed: BTreeMap<(String, u64), i64>,
    /// The last nominal time of each schedule.
    pub(super) nominals: BTreeMap<(String, u64), Timestamp>,
    /// The ids that were answered.
    pub receipts: BTreeSet<String>,
}

/// An action with what the model holds against it.
#[derive(Debug)]
pub(crate) struct KnownAction {
    /// As it was last written.
    pub(super) row: records::Action,
    /// The same, read.
    pub action: Action,
    /// Its limits, by the definition that triggered it.
    pub limits: Vec<LimitUse>,
    /// When its total time began.
    pub(super) deadline_from: Timestamp,
    /// Attempts made before a person gave it a fresh budget.
    pub(super) spent: u32,
    /// No attempt begins before.
    pub(super) due_at: Timestamp,
    /// The tick in which it joined its line.
    pub(super) queued_in: u64,
    /// The tick in which one that stands behind it began first.
    pub(super) passed_in: Option<u64>,
    /// The process that began its present attempt.
    pub(super) begun_in: u64,
    /// The process that last counted it among what was running at its start.
    pub(super) counted_in: u64,
    /// At how many starts in a row it was found running, each after a short life.
    pub(super) crashes: u32,
    /// Whether its present attempt was to run alone.
    pub(super) runs_alone: bool,
    /// A person gave it a fresh budget at least once.
    pub(super) is_revived: bool,
}

impl KnownExecution {
    pub(super) fn new(row: records::Execution) -> Self {
        Self {
            status: ExecutionStatus::Running,
            at: None,
            version: row.version,
            length: 0,
            last_at: row.created_at,
            afters: BTreeMap::new(),
            schedules: BTreeSet::new(),
            timers: BTreeMap::new(),
            inbox: BTreeMap::new(),
            popped: None,
            taken: BTreeMap::new(),
            owed: BTreeMap::new(),
            nominals: BTreeMap::new(),
            receipts: BTreeSet::new(),
            row,
        }
    }

    /// Whether a later trigger of the action exists, by its history.
    pub(super) fn is_superseded(&self, action_id: &str, ordinal: u64) -> bool {
        let latest = self.at.as_ref().and_then(|at| at.triggered.get(action_id));
        latest.is_some_and(|&latest| latest > ordinal)
    }
}

/// The body of a stored execution, read without the engine.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredBody {
    active: Vec<StateIndex>,
    visits: Vec<Visit>,
    next_visit: u64,
    #[serde(default)]
    history: BTreeMap<StateIndex, Vec<StateIndex>>,
    #[serde(default)]
    triggered: BTreeMap<String, u64>,
    #[serde(default)]
    results: Map<String, Value>,
    #[serde(default)]
    message: Option<Message>,
}

/// The first thing about which the stored row and the replayed state disagree.
pub(super) fn difference(row: &records::Execution, replayed: &Execution) -> Option<&'static str> {
    let Ok(body) = serde_json::from_slice::<StoredBody>(&row.body) else {
        return Some("body");
    };
    let Ok(variables) = serde_json::from_slice::<Map<String, Value>>(&row.variables) else {
        return Some("variables");
    };
    let checks = [
        ("states", StateSet::of(body.active) == replayed.active),
        (
            "visits",
            body.visits == replayed.visits && body.next_visit == replayed.next_visit,
        ),
        ("history states", body.history == replayed.history),
        ("triggers", body.triggered == replayed.triggered),
        ("results", body.results == *replayed.results),
        ("message", body.message.as_ref() == replayed.message.as_deref()),
        ("variables", variables == *replayed.variables),
    ];
    checks.into_iter().find(|(_, same)| !same).map(|(what, _)| what)
}

/// A move to another version, as its history entry has it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredMove {
    active: Vec<StateIndex>,
    visits: Vec<Visit>,
    next_visit: u64,
    history: Vec<(StateIndex, Vec<StateIndex>)>,
    version: u32,
}

impl StoredMove {
    /// The execution where the move put it.
    pub(super) fn put_into(self, execution: &mut Execution) {
        let Self {
            active,
            visits,
            next_visit,
            history,
            version,
        } = self;
        execution.active = StateSet::of(active);
        execution.visits = visits;
        execution.next_visit = next_visit;
        execution.history = history.into_iter().collect();
        let facts = sprag_core::machine::Facts {
            version,
            ..sprag_core::machine::Facts::clone(&execution.facts)
        };
        execution.facts = Arc::new(facts);
    }
}

/// The number that a client put into a message: what makes it recognisable without an id.
pub(super) fn message_number(payload: &Value) -> u64 {
    payload.get("n").and_then(Value::as_u64).unwrap_or(0)
}
