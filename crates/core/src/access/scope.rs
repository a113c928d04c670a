//! What a token is narrowed to: names of operations, subjects, machines, action types and runners.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most names that one list of a scope holds.
pub const NAMES_MAX: usize = 100;

/// The kinds of names that a scope lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeKind {
    /// Operations.
    Operation,
    /// Subjects.
    Subject,
    /// Machines.
    Machine,
    /// Action types.
    Type,
    /// Names of runners.
    Runner,
}

impl ScopeKind {
    /// The member of a scope that lists such names.
    pub fn member(self) -> &'static str {
        match self {
            Self::Operation => "operations",
            Self::Subject => "subjects",
            Self::Machine => "machines",
            Self::Type => "types",
            Self::Runner => "runners",
        }
    }
}

/// What a token may be used for. A list that is left out narrows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scopes {
    /// The operations that it may propose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<Vec<String>>,
    /// The subjects of these operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subjects: Option<Vec<String>>,
    /// The machines that it may apply, start and send messages to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machines: Option<Vec<String>>,
    /// The action types that a runner may lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub types: Option<Vec<String>>,
    /// The names under which a runner may lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runners: Option<Vec<String>>,
}

impl Scopes {
    /// The names of one kind; none if it narrows nothing.
    pub fn names(&self, kind: ScopeKind) -> Option<&[String]> {
        let names = match kind {
            ScopeKind::Operation => &self.operations,
            ScopeKind::Subject => &self.subjects,
            ScopeKind::Machine => &self.machines,
            ScopeKind::Type => &self.types,
            ScopeKind::Runner => &self.runners,
        };
        names.as_deref()
    }

    /// Whether something of this kind and name is within.
    pub fn covers(&self, kind: ScopeKind, name: &str) -> bool {
        let names = self.names(kind);
        names.is_none_or(|names| names.iter().any(|known| known == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [ScopeKind; 5] = [
        ScopeKind::Operation,
        ScopeKind::Subject,
        ScopeKind::Machine,
        ScopeKind::Type,
        ScopeKind::Runner,
    ];

    #[test]
    fn a_list_narrows_its_own_kind_and_an_empty_list_covers_nothing() {
        for kind in KINDS {
            let only = |names: &[&str]| {
                let scopes = serde_json::json!({ kind.member(): names });
                serde_json::from_value::<Scopes>(scopes).unwrap()
            };
            let scopes = only(&["a", "b"]);
            for other in KINDS {
                assert_eq!(scopes.covers(other, "c"), other != kind, "{kind:?} {other:?}");
                assert!(scopes.covers(other, "b"));
            }
            assert!(!only(&[]).covers(kind, "a"), "{kind:?}");
            assert!(
                !scopes.covers(kind, "A") && !scopes.covers(kind, "a "),
                "names are exact"
            );
        }
    }
}
