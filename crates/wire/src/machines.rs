//! Machines: versions, lint, differences, simulations.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sprag_core::machine::RequiredPermissions;
use sprag_core::time::Timestamp;

use crate::{Finding, Time};

/// A machine file as an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MachineDefinition(pub Map<String, Value>);

impl JsonSchema for MachineDefinition {
    fn schema_name() -> Cow<'static, str> {
        "MachineDefinition".into()
    }

    /// Only what every machine has: the whole schema is served beside the document.
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

/// Which machine: either `definition`, or `machine` with or without `version`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineSource {
    /// The machine file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Definition>,
    /// The name of a stored machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Its version; the newest unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    pub version: Option<u32>,
}

/// The body of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiffRequest {
    /// One machine.
    pub before: MachineSource,
    /// The other.
    pub after: MachineSource,
}

/// The body of a simulation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulateRequest {
    /// Which machine.
    #[serde(flatten)]
    pub source: MachineSource,
    /// The first values of variables.
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
        /// Its type.
        #[serde(rename = "type")]
        kind: String,
        /// What it carries.
        #[serde(default)]
        payload: Value,
    },
    /// Time that passes.
    Advance {
        /// How much.
        advance: Time,
    },
    /// The end of an action.
    Outcome {
        /// The action.
        outcome: String,
        /// Whether it succeeded.
        #[serde(default)]
        success: bool,
        /// What came back.
        #[serde(default)]
        result: Value,
        /// Why it failed.
        #[serde(default)]
        error: Value,
    },
}

/// A machine version as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineSummary {
    /// The machine's name.
    pub id: String,
    /// The version.
    #[schemars(range(min = 1))]
    pub version: u32,
    /// The SHA-256 of the definition in canonical form.
    #[schemars(regex(pattern = r"^[0-9a-f]{64}$"))]
    pub digest: String,
    /// What the file says about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// When it was applied.
    pub created_at: Timestamp,
}

/// A machine version with its definition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// The version.
    #[serde(flatten)]
    pub summary: MachineSummary,
    /// What its actions may reach.
    pub permissions: Vec<RequiredPermissions>,
    /// The machine file.
    #[schemars(with = "Map<String, Value>")]
    pub definition: Value,
}

/// The version that new executions use from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    /// The machine's name.
    pub id: String,
    /// Its newest version.
    #[schemars(range(min = 1))]
    pub version: u32,
    /// The latest earlier version with the same content as this new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub same_as_version: Option<u32>,
}

/// What lint found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Linted {
    /// Whether the machine can be applied.
    pub valid: bool,
    /// What its actions may reach, of a machine that is valid.
    pub permissions: Vec<RequiredPermissions>,
    /// Errors and warnings.
    pub findings: Vec<Finding>,
    /// Whether there were more findings than are listed.
    pub truncated: bool,
}
