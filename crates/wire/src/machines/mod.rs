//! Machines: versions, lint, differences, simulations.

mod diagram;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sprag_core::machine::RequiredPermissions;
use sprag_core::time::Timestamp;

pub use self::diagram::*;
use crate::{Count, Finding, Time};

/// A machine file as an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MachineDefinition(pub Map<String, Value>);

impl JsonSchema for MachineDefinition {
    fn schema_name() -> Cow<'static, str> {
        "MachineDefinition".into()
    }

    /// Only the fields that every machine has. `GET /v1/schemas/machine` serves the whole schema.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "A machine file: `GET /v1/schemas/machine` is its JSON Schema.",
            "required": ["id", "states"],
            "properties": {
                "id": { "type": "string" },
                "initial": { "type": "string" },
                "states": { "type": "object", "minProperties": 1 },
                "actions": { "type": "array", "items": { "type": "object" } },
            },
            "additionalProperties": true,
        })
    }
}

/// A machine file as an object, or as its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Definition {
    /// The object.
    Object(MachineDefinition),
    /// The text.
    Text(String),
}

/// A machine: either `definition`, or `machine` with an optional `version`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineSource {
    /// The machine file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Definition>,
    /// The name of a stored machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The version. Default: the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    pub version: Option<u32>,
}

/// The body of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiffRequest {
    /// The first machine.
    pub before: MachineSource,
    /// The second machine.
    pub after: MachineSource,
}

/// The body of a simulation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulateRequest {
    /// The machine.
    #[serde(flatten)]
    pub source: MachineSource,
    /// The start values of variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<Map<String, Value>>,
    /// The key of the execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The inputs, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<SimulatedInput>>,
}

/// One input of a simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SimulatedInput {
    /// A message.
    Message {
        /// The type of the message.
        #[serde(rename = "type")]
        kind: String,
        /// The payload of the message.
        #[serde(default)]
        payload: Value,
    },
    /// The clock advances.
    Advance {
        /// By how much.
        advance: Time,
    },
    /// The end of an action.
    Outcome {
        /// The `actionId`.
        outcome: String,
        /// Whether it succeeded.
        #[serde(default)]
        success: bool,
        /// The result.
        #[serde(default)]
        result: Value,
        /// The error.
        #[serde(default)]
        error: Value,
    },
}

/// A machine version in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineSummary {
    /// The name of the machine.
    pub id: String,
    /// The version.
    #[schemars(range(min = 1))]
    pub version: u32,
    /// The SHA-256 of the definition in canonical form.
    #[schemars(regex(pattern = r"^[0-9a-f]{64}$"))]
    pub digest: String,
    /// The description in the machine file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The time when the version was applied.
    pub created_at: Timestamp,
}

/// A machine version with its definition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// The version.
    #[serde(flatten)]
    pub summary: MachineSummary,
    /// The permissions that its actions need.
    pub permissions: Vec<RequiredPermissions>,
    /// The machine file.
    #[schemars(with = "Map<String, Value>")]
    pub definition: Value,
}

/// How the open executions of a machine stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineCounts {
    /// The name of the machine.
    pub id: String,
    /// The open executions that Sprag counted, newest first.
    pub open: Count,
    /// The open executions by version.
    pub versions: Vec<VersionCount>,
    /// The open executions by active state and version. An execution counts for each of its active states, parents included.
    pub states: Vec<StateCount>,
}

/// The open executions of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VersionCount {
    /// The version.
    #[schemars(range(min = 1))]
    pub version: u32,
    /// The number of running executions.
    pub running: u64,
    /// The number of paused executions.
    pub paused: u64,
    /// The number of executions whose last decision failed.
    pub failed: u64,
}

/// The open executions in one state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateCount {
    /// The path of the state.
    pub state: String,
    /// The version.
    #[schemars(range(min = 1))]
    pub version: u32,
    /// The number of executions.
    pub count: u64,
}

/// The version that new executions use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    /// The name of the machine.
    pub id: String,
    /// The newest version.
    #[schemars(range(min = 1))]
    pub version: u32,
    /// The newest earlier version with the same content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub same_as_version: Option<u32>,
}

/// The result of lint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Linted {
    /// Whether `apply` would accept the machine.
    pub valid: bool,
    /// The permissions that the actions of a valid machine need.
    pub permissions: Vec<RequiredPermissions>,
    /// Errors and warnings.
    pub findings: Vec<Finding>,
    /// Whether there are more findings than listed.
    pub truncated: bool,
}
