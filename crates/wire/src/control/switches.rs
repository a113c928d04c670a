//! Kill switches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sprag_core::action::Rate;
use sprag_core::ids::{ActionId, ExecutionId, SwitchId};
use sprag_core::time::Timestamp;

use super::limits::RateRequest;
use crate::Duration;
use crate::values::words::words;

/// The body of a new kill switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SwitchRequest {
    /// The scope: `all`, `machine:NAME`, `type:TYPE`, `actionId:MACHINE/ACTION`, `operation:NAME`, `subject:NAME` or `tag:TAG`.
    #[schemars(regex(pattern = r"^(all|machine:.+|type:.+|actionId:[^/]+/.+|operation:.+|subject:.+|tag:.+)$"))]
    pub scope: String,
    /// The mode. Default: `hold`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<SwitchMode>,
    /// The reason.
    #[schemars(length(min = 1, max = 1_000))]
    pub reason: String,
    /// The time after which Sprag releases the switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<Duration>,
    /// With `true`, Sprag accepts a scope that matches nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_unknown: Option<bool>,
}

words! {
    /// The mode of a kill switch.
    SwitchMode {
        /// No attempt in scope starts; running attempts continue.
        Hold = "hold",
        /// No attempt in scope starts. Sprag cancels open actions and asks running attempts to stop.
        Cancel = "cancel",
    }
}

words! {
    /// The status of a kill switch.
    SwitchStatus {
        /// Another node may not know the switch yet.
        Arming = "arming",
        /// No attempt in scope starts on any node.
        Effective = "effective",
        /// The scope matches nothing.
        Unmatched = "unmatched",
        /// The switch is off, and actions that it held have not started yet.
        Releasing = "releasing",
        /// The switch is off.
        Released = "released",
    }
}

/// A kill switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Switch {
    /// The id of the switch.
    pub id: SwitchId,
    /// The scope.
    #[schemars(regex(pattern = r"^(all|machine:.+|type:.+|actionId:[^/]+/.+|operation:.+|subject:.+|tag:.+)$"))]
    pub scope: String,
    /// The mode.
    pub mode: SwitchMode,
    /// The status.
    pub status: SwitchStatus,
    /// The reason.
    pub reason: String,
    /// The operator who set it.
    pub by: String,
    /// The time when it was set.
    pub since: Timestamp,
    /// The time when Sprag releases it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// For the mode `cancel`: whether Sprag has cancelled all open actions in scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swept: Option<bool>,
    /// How it was released, while actions that it held have not started yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<SwitchRelease>,
    /// The revision, for `If-Match`.
    #[schemars(range(min = 1))]
    pub revision: u64,
}

/// The body of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseRequest {
    /// What becomes of the actions that were due when you release the switch. Default: `run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldActions>,
    /// The rate at which they start. Default: the rate in the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateRequest>,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1_000))]
    pub reason: Option<String>,
}

words! {
    /// What becomes of the actions that a kill switch held.
    HeldActions {
        /// They start, at a rate.
        Run = "run",
        /// Sprag cancels them.
        Skip = "skip",
    }
}

/// The release of a kill switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchRelease {
    /// The time of the release. Actions that are due later start as usual.
    pub at: Timestamp,
    /// What becomes of the actions that were due.
    pub held: HeldActions,
    /// The rate at which they start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

/// What a kill switch holds: the actions that wait for it, and the attempts that run in its scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldBySwitch {
    /// The actions that are due and wait.
    pub queued: SwitchedActions,
    /// The actions whose attempt runs.
    pub running: SwitchedActions,
}

/// Actions in the scope of a kill switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchedActions {
    /// How many there are; Sprag counts up to 10,000.
    pub total: u64,
    /// Whether there are more.
    pub more: bool,
    /// The newest ones.
    pub first: Vec<SwitchedAction>,
}

/// An action in the scope of a kill switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SwitchedAction {
    /// The id of the action.
    pub id: ActionId,
    /// Its execution.
    pub execution_id: ExecutionId,
    /// The machine.
    pub machine: String,
    /// The name of the action in the machine.
    pub action_id: String,
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The time when it was due, or its attempt began.
    pub run_at: Timestamp,
}

/// A released kill switch, with what it held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReleasedSwitch {
    /// The switch.
    #[serde(flatten)]
    pub switch: Switch,
    /// What it held when it was released.
    pub held: HeldBySwitch,
}
