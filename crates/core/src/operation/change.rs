//! What makes a new version of an operation weaker than the one before: such a version itself needs approval.

use schemars::JsonSchema;
use serde::Serialize;

use super::definition::Operation;
use super::risk::Risk;

/// Why a new version of an operation needs approval by another principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "change", rename_all = "camelCase")]
pub enum Weakening {
    /// Its risk is lower.
    RiskLowered {
        /// What it was.
        from: Risk,
        /// What it is.
        to: Risk,
    },
    /// It no longer declares that it needs approval.
    ApprovalDropped,
    /// It does something else, and was of high risk or more.
    ActionChanged,
}

impl Weakening {
    /// What happened, for people.
    pub fn text(self) -> String {
        match self {
            Self::RiskLowered { from, to } => format!("its risk falls from `{from}` to `{to}`"),
            Self::ApprovalDropped => "it no longer requires approval".to_owned(),
            Self::ActionChanged => "its action changes, and its risk is `high` or more".to_owned(),
        }
    }
}

/// Everything that makes `new` weaker than `old`. What an operation of high risk does is its action, its steps, its
/// compensation, its subject and the secrets that it may name.
pub fn weakenings(old: &Operation, new: &Operation) -> Vec<Weakening> {
    let mut found = Vec::new();
    if new.risk < old.risk {
        found.push(Weakening::RiskLowered {
            from: old.risk,
            to: new.risk,
        });
    }
    if old.requires_approval && !new.requires_approval {
        found.push(Weakening::ApprovalDropped);
    }
    let does = |operation: &Operation| {
        let of = |key: &str| operation.definition.get(key).cloned().unwrap_or_default();
        ["action", "steps", "onFailure", "compensate", "subject", "secrets"].map(of)
    };
    if old.risk >= Risk::High && does(old) != does(new) {
        found.push(Weakening::ActionChanged);
    }
    found
}
