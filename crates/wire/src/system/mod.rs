//! The server itself.

mod health;
mod nodes;
mod overview;

pub use health::*;
pub use nodes::*;
pub use overview::*;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sprag_core::ids::{ActionId, ExecutionId, NodeId};
use sprag_core::time::Timestamp;

use crate::ActionStatus;
use crate::values::words::words;

/// The health of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// The status.
    pub status: HealthStatus,
    /// Notes for the operator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

words! {
    /// The health of a server.
    HealthStatus {
        /// The server answers.
        Ok = "ok",
        /// The engine accepts requests, and the server can read the store.
        Ready = "ready",
    }
}

/// A note for the operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// The stable code of the note.
    pub code: Cow<'static, str>,
    /// What happened, and what to do.
    pub text: String,
}

/// The server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct System {
    /// The version of the server.
    pub version: Cow<'static, str>,
    /// The store.
    pub store: String,
    /// The limits of the server.
    pub limits: Bounds,
    /// Notes for the operator.
    pub notes: Vec<Note>,
    /// The nodes that share the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Cluster>,
}

/// The limits of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bounds {
    /// The largest request body, in bytes.
    pub body_bytes: usize,
    /// The largest machine file, in bytes.
    pub definition_bytes: usize,
    /// The largest message, in bytes.
    pub message_bytes: usize,
    /// The largest variables and the largest result, in bytes.
    pub variables_bytes: usize,
    /// The deepest nesting of JSON.
    pub json_depth: usize,
    /// The most microsteps in a macrostep.
    pub microsteps: u32,
    /// The most inputs in the inbox of a paused or failed execution.
    pub inbox: usize,
    /// The most entries in a page of history.
    pub history_page: usize,
    /// The most rows in a page of a list.
    pub list_page: usize,
    /// The longest `?wait`, in milliseconds.
    pub wait: u64,
}

/// The nodes that share the database, as the answering node sees them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cluster {
    /// The id of the answering node.
    pub node: NodeId,
    /// Milliseconds since the answering node's last heartbeat.
    pub lag: u64,
    /// All nodes.
    pub nodes: Vec<Node>,
    /// All shards.
    pub shards: Vec<Shard>,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// The id of the node.
    pub id: NodeId,
    /// The address for other nodes.
    pub advertise: String,
    /// The version of the node.
    pub version: String,
    /// Whether its lease is valid.
    pub alive: bool,
    /// Whether it is stopping and hands its shards over.
    pub leaving: bool,
    /// The time when it joined.
    pub joined_at: Timestamp,
    /// The end of its lease, unless the node renews it.
    pub lease_until: Timestamp,
    /// The number of shards that it owns.
    pub shards: usize,
}

/// A shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shard {
    /// The number of the shard.
    pub id: u32,
    /// The id of the node that owns it.
    pub owner: Option<NodeId>,
    /// The epoch. It grows with every change of owner.
    pub epoch: u64,
}

/// The effects that may repeat after a restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoreReport {
    /// The time of the restore.
    pub restored_at: Timestamp,
    /// The time of the backup, if known.
    pub taken_at: Option<Timestamp>,
    /// The id of the kill switch over everything.
    pub switch: String,
    /// The number of effects that may repeat. `effects` lists only the first.
    pub total: u64,
    /// The effects. Effects that may have begun before the backup come first.
    pub effects: Vec<RestoredEffect>,
}

/// An effect that may have happened, although the restored database has no record of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoredEffect {
    /// The id of the action.
    pub id: ActionId,
    /// The id of the execution.
    pub execution_id: ExecutionId,
    /// The name of the machine.
    pub machine: String,
    /// The `actionId` in the machine.
    pub action_id: String,
    /// The action type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status at the time of the backup.
    pub status: ActionStatus,
    /// The number of attempts that had begun.
    pub attempts: u32,
    /// Why it may repeat.
    pub because: Because,
    /// The idempotency key of a repeat. The receiver can recognise it.
    pub idempotency_key: String,
    /// The time when it was or is due.
    pub run_at: Timestamp,
}

words! {
    /// Why an effect may repeat.
    Because {
        /// An attempt was running.
        Running = "running",
        /// An attempt ended with an unknown outcome.
        InDoubt = "inDoubt",
        /// The action had not started at the time of the backup, and may have started since.
        Open = "open",
    }
}
