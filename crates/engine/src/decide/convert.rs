//! Between what `core` decides with and what the store keeps.
//!
//! Conversions destructure fully, so a new field breaks the build here and nowhere else.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sprag_core::action::{Action, Body, Origin, Status};
use sprag_core::ids::ExecutionId;
use sprag_core::integrity::checksum::crc32;
use sprag_core::machine::{Cause, Execution, Facts, Message, Microstep, StateIndex, StateSet, Visit};
use sprag_core::text;
use sprag_store::records::{self, ExecutionStatus};
pub use sprag_wire::What;

use crate::decide::state::{ExecutionState, Head, Waiting};

/// A record that this binary cannot read: written by a newer one, or damaged.
#[derive(Debug, thiserror::Error)]
#[error("the stored {what} `{id}` {why}")]
pub struct Unreadable {
    what: &'static str,
    id: String,
    why: &'static str,
    #[source]
    source: Option<serde_json::Error>,
}

/// What is said of a record that does not parse.
const UNPARSED: &str = "cannot be read";
/// What is said of variables whose bytes are not those that were written.
const CHANGED: &str = "do not match their checksum";

/// The body of a stored execution. What is large is lent when it is written, and owned when it is read.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecutionBody<'a> {
    active: Vec<StateIndex>,
    visits: Cow<'a, [Visit]>,
    next_visit: u64,
    #[serde(default, skip_serializing_if = "is_empty")]
    history: Cow<'a, BTreeMap<StateIndex, Vec<StateIndex>>>,
    #[serde(default, skip_serializing_if = "is_empty")]
    triggered: Cow<'a, BTreeMap<String, u64>>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    results: Arc<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<Arc<Message>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<Cow<'a, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    migrated: bool,
    /// Of the variables' bytes. Executions that an earlier version wrote have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checksum: Option<u32>,
}

fn is_empty<K, V>(map: &BTreeMap<K, V>) -> bool {
    map.is_empty()
}

/// What one history entry says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Entry {
    /// A macrostep.
    Step {
        /// What caused it.
        cause: Cause,
        /// Whether a transition answered.
        handled: bool,
        /// What was left and entered.
        microsteps: Vec<Microstep>,
        /// The variables that changed.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        variables: Map<String, Value>,
        /// The variables it started with, in the first entry only.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        given: Map<String, Value>,
    },
    /// A message whose decision failed: refused, nothing changed.
    Refused {
        /// The message.
        cause: Cause,
        /// Why.
        error: String,
    },
    /// An input whose decision failed and that waits in the inbox.
    Stuck {
        /// The input.
        cause: Cause,
        /// Why.
        error: String,
    },
    /// Where it is, so that a long history need not be replayed from its beginning.
    Snapshot(Box<Snapshot>),
    /// Moved to another version.
    Migrated {
        /// From this version.
        from: u32,
        /// To this one.
        to: u32,
        /// Where it is in terms of the other version.
        moved: Moved,
    },
    /// A kind that names no states, and so is stored as the API shows it.
    #[serde(untagged)]
    Plain(What),
}

/// Everything about an execution that a step depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    pub(crate) place: Moved,
    pub(crate) triggered: BTreeMap<String, u64>,
    pub(crate) variables: Map<String, Value>,
    pub(crate) results: Map<String, Value>,
    pub(crate) message: Option<Message>,
}

impl Snapshot {
    /// Of `execution` as it is.
    pub(crate) fn of(execution: &Execution) -> Self {
        Self {
            place: Moved::of(execution),
            triggered: execution.triggered.clone(),
            variables: Map::clone(&execution.variables),
            results: Map::clone(&execution.results),
            message: execution.message.as_deref().cloned(),
        }
    }

    /// Puts `execution` there.
    pub(crate) fn put_into(self, execution: &mut Execution) {
        let Self {
            place,
            triggered,
            variables,
            results,
            message,
        } = self;
        place.put_into(execution);
        execution.triggered = triggered;
        execution.variables = Arc::new(variables);
        execution.results = Arc::new(results);
        execution.message = message.map(Arc::new);
    }

    /// The version that decides from here on.
    pub(crate) fn version(&self) -> u32 {
        self.place.version
    }
}

/// Where an execution is, after a move to another version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Moved {
    active: Vec<StateIndex>,
    visits: Vec<Visit>,
    next_visit: u64,
    /// Pairs, because the keys of a map inside a tagged enum can only be read back as text.
    history: Vec<(StateIndex, Vec<StateIndex>)>,
    version: u32,
}

impl Moved {
    /// Where `execution` is.
    pub(crate) fn of(execution: &Execution) -> Self {
        Self {
            active: execution.active.iter().collect(),
            visits: execution.visits.clone(),
            next_visit: execution.next_visit,
            history: execution.history.clone().into_iter().collect(),
            version: execution.facts.version,
        }
    }

    /// Puts `execution` there.
    pub(crate) fn put_into(self, execution: &mut Execution) {
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
        execution.facts = Arc::new(Facts {
            version,
            ..Facts::clone(&execution.facts)
        });
    }
}

fn bytes(value: &impl Serialize) -> Vec<u8> {
    // Serialising these types to memory cannot fail: no maps with odd keys, no fallible Serialize.
    serde_json::to_vec(value).unwrap_or_default()
}

/// The bytes of a history entry.
pub(crate) fn entry_bytes(entry: &Entry) -> Vec<u8> {
    bytes(entry)
}

/// Reads a history entry back.
pub fn entry_from(row: &records::HistoryEntry) -> Result<Entry, Unreadable> {
    let unreadable = |source| Unreadable {
        what: "history entry",
        id: format!("{}/{}", row.execution, row.sequence),
        why: UNPARSED,
        source,
    };
    match serde_json::from_slice(&row.body).map_err(|error| unreadable(Some(error)))? {
        Entry::Plain(what) if !what.is_plain() => Err(unreadable(None)),
        entry => Ok(entry),
    }
}

/// The record of an execution.
pub(crate) fn execution_row(aggregate: &ExecutionState) -> records::Execution {
    let ExecutionState {
        head,
        execution,
        output,
        failure,
        actions: _,
        timers: _,
        inbox: _,
        next_position: _,
        // A plan is a row of its own.
        plans: _,
    } = aggregate;
    let Head {
        id,
        machine,
        version,
        key,
        status,
        sequence,
        created_at,
        updated_at,
        tags,
        migrated,
    } = head;
    let Execution {
        facts: _,
        active,
        visits,
        next_visit,
        history,
        triggered,
        variables,
        results,
        message,
    } = execution;
    let variables = bytes(variables.as_ref());
    let body = ExecutionBody {
        active: active.iter().collect(),
        visits: Cow::Borrowed(visits),
        next_visit: *next_visit,
        history: Cow::Borrowed(history),
        triggered: Cow::Borrowed(triggered),
        results: Arc::clone(results),
        message: message.clone(),
        output: output.as_ref().map(Cow::Borrowed),
        failure: failure.as_deref().map(Cow::Borrowed),
        migrated: *migrated,
        checksum: Some(crc32(&variables)),
    };
    records::Execution {
        id: *id,
        machine: machine.to_string(),
        version: *version,
        key: key.clone(),
        status: *status,
        sequence: *sequence,
        created_at: *created_at,
        updated_at: *updated_at,
        body: bytes(&body),
        variables,
        tags: tags.clone(),
    }
}

/// Refuses variables that are not those that were written.
fn verify(id: ExecutionId, checksum: Option<u32>, variables: &[u8]) -> Result<(), Unreadable> {
    match checksum {
        Some(checksum) if checksum != crc32(variables) => Err(Unreadable {
            what: "variables of execution",
            id: id.to_string(),
            why: CHANGED,
            source: None,
        }),
        _ => Ok(()),
    }
}

/// An execution without what is open about it: enough to show it.
pub(crate) fn execution_of(row: records::Execution) -> Result<ExecutionState, Unreadable> {
    let records::Execution {
        id,
        machine,
        version,
        key,
        status,
        sequence,
        created_at,
        updated_at,
        body,
        variables,
        tags,
    } = row;
    let unreadable = |source| Unreadable {
        what: "execution",
        id: id.to_string(),
        why: UNPARSED,
        source: Some(source),
    };
    let body: ExecutionBody<'_> = serde_json::from_slice(&body).map_err(unreadable)?;
    verify(id, body.checksum, &variables)?;
    let variables: Map<String, Value> = serde_json::from_slice(&variables).map_err(unreadable)?;
    let ExecutionBody {
        active,
        visits,
        next_visit,
        history,
        triggered,
        results,
        message,
        output,
        failure,
        migrated,
        checksum: _,
    } = body;
    let execution = Execution {
        facts: Arc::new(Facts {
            id,
            key: key.clone(),
            version,
            created_at,
        }),
        active: StateSet::of(active),
        visits: visits.into_owned(),
        next_visit,
        history: history.into_owned(),
        triggered: triggered.into_owned(),
        variables: Arc::new(variables),
        results,
        message,
    };
    let head = Head {
        id,
        machine: machine.into(),
        version,
        key,
        status,
        sequence,
        created_at,
        updated_at,
        tags,
        migrated,
    };
    Ok(ExecutionState {
        output: output.map(Cow::into_owned),
        failure: failure.map(Cow::into_owned),
        ..ExecutionState::new(head, execution)
    })
}

/// An execution whose variables are damaged, without them: for a list that shows others too.
pub(crate) fn without_variables(mut row: records::Execution, failure: String) -> Result<ExecutionState, Unreadable> {
    row.variables = bytes(&Map::new());
    if let Ok(body) = serde_json::from_slice::<ExecutionBody<'_>>(&row.body) {
        row.body = bytes(&ExecutionBody {
            checksum: None,
            failure: Some(Cow::Owned(failure)),
            ..body
        });
    }
    execution_of(row)
}

/// An execution with everything open about it.
pub(crate) fn execution_from(loaded: sprag_store::traits::LoadedExecution) -> Result<ExecutionState, Unreadable> {
    let sprag_store::traits::LoadedExecution {
        execution,
        actions,
        timers,
        inbox,
    } = loaded;
    let mut aggregate = execution_of(execution)?;
    for row in actions {
        let action = action_from(row)?;
        aggregate.actions.insert(action.id, Arc::new(action));
    }
    for timer in timers {
        aggregate.timers.insert((timer.key.visit, timer.key.index), timer);
    }
    for entry in inbox {
        let waiting: Waiting = serde_json::from_slice(&entry.body).map_err(|source| Unreadable {
            what: "inbox entry",
            id: format!("{}/{}", entry.execution, entry.position),
            why: UNPARSED,
            source: Some(source),
        })?;
        aggregate.next_position = aggregate.next_position.max(entry.position + 1);
        aggregate.inbox.push_back((entry.position, waiting));
    }
    Ok(aggregate)
}

/// The record of input that waits.
pub(crate) fn inbox_row(aggregate: &ExecutionState, position: u64, waiting: &Waiting) -> records::InboxEntry {
    records::InboxEntry {
        execution: aggregate.head.id,
        position,
        body: bytes(waiting),
    }
}

/// The record of an action. One that may not be served while its execution is held stands in no line.
pub(crate) fn action_row(action: &Action, execution: ExecutionStatus) -> records::Action {
    let Action {
        id,
        origin,
        action_id,
        kind,
        status,
        priority,
        tags,
        created_at,
        run_at,
        body,
    } = action;
    let Origin {
        execution: owner,
        machine,
        version: _,
    } = origin;
    let held = matches!(execution, ExecutionStatus::Paused) || body.behind;
    let is_dead = *status == Status::Dead;
    records::Action {
        id: *id,
        execution: *owner,
        machine: machine.clone(),
        action_id: action_id.clone(),
        kind: kind.clone(),
        status: status.number(),
        line: if held { String::new() } else { action.line() },
        priority: *priority,
        run_at: *run_at,
        created_at: *created_at,
        error_kind: body
            .last_error
            .as_ref()
            .map(|error| text::error_type(&error.kind).into_owned()),
        fingerprint: Some(action).filter(|_| is_dead).and_then(Action::fingerprint),
        died_at: body.died_at.filter(|_| is_dead),
        body: bytes(body),
        tags: tags.clone(),
    }
}

/// Reads an action back.
pub fn action_from(row: records::Action) -> Result<Action, Unreadable> {
    let records::Action {
        id,
        execution,
        machine,
        action_id,
        kind,
        status,
        line: _,
        priority,
        run_at,
        created_at,
        error_kind: _,
        fingerprint: _,
        died_at: _,
        body,
        tags,
    } = row;
    let unreadable = |source| Unreadable {
        what: "action",
        id: id.to_string(),
        why: UNPARSED,
        source,
    };
    let body: Body = serde_json::from_slice(&body).map_err(|source| unreadable(Some(source)))?;
    let status = Status::from_number(status).ok_or_else(|| unreadable(None))?;
    let origin = Origin {
        execution,
        machine,
        version: body.version,
    };
    Ok(Action {
        id,
        origin,
        action_id,
        kind,
        status,
        priority,
        tags,
        created_at,
        run_at,
        body,
    })
}
