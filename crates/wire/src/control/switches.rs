//! Kill switches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sprag_core::ids::SwitchId;
use sprag_core::time::Timestamp;

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
    /// The revision, for `If-Match`.
    #[schemars(range(min = 1))]
    pub revision: u64,
}
