//! Kill switches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sprag_core::ids::SwitchId;
use sprag_core::time::Timestamp;

use crate::Duration;
use crate::words::words;

/// The body of a new switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SwitchRequest {
    /// What it holds: `all`, `machine:NAME`, `type:TYPE` or `actionId:MACHINE/ACTION`.
    #[schemars(regex(pattern = r"^(all|machine:.+|type:.+|actionId:[^/]+/.+)$"))]
    pub scope: String,
    /// What it does; `hold` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<SwitchMode>,
    /// Why.
    #[schemars(length(min = 1, max = 1_000))]
    pub reason: String,
    /// After which time it releases itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<Duration>,
    /// Accept a scope that names nothing that exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_unknown: Option<bool>,
}

words! {
    /// What a switch does to what it holds.
    SwitchMode {
        /// Nothing new begins; attempts under way continue.
        Hold = "hold",
        /// Nothing new begins, what waits is cancelled, and attempts under way are asked to stop.
        Cancel = "cancel",
    }
}

words! {
    /// How a switch stands.
    SwitchStatus {
        /// Another node may not know of it yet.
        Arming = "arming",
        /// Nothing in its scope begins anywhere.
        Effective = "effective",
        /// Its scope names nothing that exists.
        Unmatched = "unmatched",
        /// It holds nothing any more.
        Released = "released",
    }
}

/// A kill switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Switch {
    /// Its id.
    pub id: SwitchId,
    /// What it holds.
    #[schemars(regex(pattern = r"^(all|machine:.+|type:.+|actionId:[^/]+/.+)$"))]
    pub scope: String,
    /// What it does to it.
    pub mode: SwitchMode,
    /// How it stands.
    pub status: SwitchStatus,
    /// Why.
    pub reason: String,
    /// Who put it on.
    pub by: String,
    /// Since when.
    pub since: Timestamp,
    /// When it releases itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Whether everything that it cancels has been cancelled; only where it cancels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swept: Option<bool>,
    /// For `If-Match`.
    #[schemars(range(min = 1))]
    pub revision: u64,
}
