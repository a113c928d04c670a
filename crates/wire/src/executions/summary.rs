//! Executions in short, and as they were.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sprag_core::ids::ExecutionId;
use sprag_core::time::Timestamp;

use super::actions::shortened;
use super::{Execution, ExecutionStatus, HistoryEntry, Waiting};

/// An execution of a list: whole, or its summary with `view=summary`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum ListedExecution {
    /// The execution.
    Whole(Box<Execution>),
    /// The summary.
    Summary(Box<ExecutionSummary>),
}

/// An execution without variables and output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionSummary {
    /// The id of the execution.
    pub id: ExecutionId,
    /// The key.
    pub key: Option<String>,
    /// The name of the machine.
    pub machine: String,
    /// The version of the machine.
    #[schemars(range(min = 1))]
    pub version: u32,
    /// The status.
    pub status: ExecutionStatus,
    /// The paths of the active atomic and final states, sorted: the first ten.
    #[schemars(length(max = 10))]
    pub configuration: Vec<String>,
    /// Tags for filters: the first ten.
    #[schemars(length(max = 10))]
    pub tags: Vec<String>,
    /// What the execution waits for.
    pub waiting: Waiting,
    /// The sequence of the newest history entry.
    pub sequence: u64,
    /// The time of the start.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
    /// Why the last decision failed, if the status is `failed`, cut after 300 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// The most states and tags of a summary.
const SHOWN_MAX: usize = 10;

impl From<Execution> for ExecutionSummary {
    fn from(execution: Execution) -> Self {
        let Execution {
            id,
            key,
            machine,
            version,
            status,
            mut configuration,
            variables: _,
            mut tags,
            waiting,
            sequence,
            created_at,
            updated_at,
            output: _,
            failure,
        } = execution;
        configuration.truncate(SHOWN_MAX);
        tags.truncate(SHOWN_MAX);
        Self {
            id,
            key,
            machine,
            version,
            status,
            configuration,
            tags,
            waiting,
            sequence,
            created_at,
            updated_at,
            failure: failure.as_deref().map(shortened),
        }
    }
}

/// An execution as it was after one of its history entries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionAt {
    /// The id of the execution.
    pub id: ExecutionId,
    /// The name of the machine.
    pub machine: String,
    /// The version that decided right after the entry.
    #[schemars(range(min = 1))]
    pub version: u32,
    /// The sequence of the newest history entry.
    pub newest: u64,
    /// The entry.
    pub entry: HistoryEntry,
    /// The paths of the active atomic and final states after the entry, sorted.
    pub configuration: Vec<String>,
    /// The paths of all active states after the entry, parents included, sorted.
    pub active: Vec<String>,
    /// The variables after the entry.
    pub variables: Map<String, Value>,
    /// The variables that the entry changed, by name.
    pub changes: Vec<VariableChange>,
}

/// A variable that a step changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariableChange {
    /// The name.
    pub name: String,
    /// The value before, if there was one.
    #[serde(default, deserialize_with = "super::given", skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The value after, if there is one.
    #[serde(default, deserialize_with = "super::given", skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}
