//! The server itself.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sprag_core::ids::{ActionId, ExecutionId, NodeId};
use sprag_core::time::Timestamp;

use crate::ActionStatus;
use crate::words::words;

/// Whether a server is well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// How it stands.
    pub status: HealthStatus,
    /// What an operator should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

words! {
    /// Whether a server is well.
    HealthStatus {
        /// The process answers.
        Ok = "ok",
        /// The engine answers and the store can be read.
        Ready = "ready",
    }
}

/// One thing that an operator should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// A stable name for it.
    pub code: Cow<'static, str>,
    /// What it is, and what to do.
    pub text: String,
}

/// The server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct System {
    /// Its version.
    pub version: Cow<'static, str>,
    /// Its store.
    pub store: String,
    /// Its bounds.
    pub limits: Bounds,
    /// What an operator should know.
    pub notes: Vec<Note>,
    /// The nodes that share the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Cluster>,
}

/// The bounds of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bounds {
    /// Bytes of a request body.
    pub body_bytes: usize,
    /// Bytes of a machine file.
    pub definition_bytes: usize,
    /// Bytes of a message.
    pub message_bytes: usize,
    /// Bytes of variables and results together.
    pub variables_bytes: usize,
    /// Nesting of JSON.
    pub json_depth: usize,
    /// Microsteps of a macrostep.
    pub microsteps: u32,
    /// Inputs that wait for a paused or failed execution.
    pub inbox: usize,
    /// Entries of a page of history.
    pub history_page: usize,
    /// Rows of a page.
    pub list_page: usize,
    /// The longest `?wait`, in milliseconds.
    pub wait: u64,
}

/// The nodes that share the database, as this one sees them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cluster {
    /// This node.
    pub node: NodeId,
    /// Milliseconds since its last heartbeat.
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
    /// Its id.
    pub id: NodeId,
    /// Where other nodes reach it.
    pub advertise: String,
    /// Its version.
    pub version: String,
    /// Whether its lease holds.
    pub alive: bool,
    /// Whether it is leaving: it hands its shards over.
    pub leaving: bool,
    /// When it joined.
    pub joined_at: Timestamp,
    /// When its lease ends unless it is renewed.
    pub lease_until: Timestamp,
    /// How many shards it owns.
    pub shards: usize,
}

/// A shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shard {
    /// Its number.
    pub id: u32,
    /// The node that owns it.
    pub owner: Option<NodeId>,
    /// One more with every owner.
    pub epoch: u64,
}

/// What may repeat after a restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoreReport {
    /// When the database was restored.
    pub restored_at: Timestamp,
    /// The instant of the backup, where that is known.
    pub taken_at: Option<Timestamp>,
    /// The switch that holds everything.
    pub switch: String,
    /// How many effects may repeat; only the first are listed.
    pub total: u64,
    /// The effects. Those that may have begun before the backup come first.
    pub effects: Vec<RestoredEffect>,
}

/// An effect that may have happened without the restored database knowing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoredEffect {
    /// The action.
    pub id: ActionId,
    /// Its execution.
    pub execution_id: ExecutionId,
    /// The machine's name.
    pub machine: String,
    /// What the machine calls the action.
    pub action_id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// How it stood.
    pub status: ActionStatus,
    /// How many attempts had begun.
    pub attempts: u32,
    /// Why it may repeat.
    pub because: Because,
    /// The key that a repeat is sent with: the receiver can tell.
    pub idempotency_key: String,
    /// When it was or is due.
    pub run_at: Timestamp,
}

words! {
    /// Why an effect may repeat.
    Because {
        /// An attempt was under way.
        Running = "running",
        /// An attempt ended, and it is unknown how.
        InDoubt = "inDoubt",
        /// It was still to come, and may have come since.
        Open = "open",
    }
}
