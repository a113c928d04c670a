//! Checks declared children: an error in one does not affect others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

use crate::worker::child::ChildSpec;
use crate::worker::registry::Registry;

/// The most children of one worker.
const CHILDREN_MAX: usize = 200_000;
/// The most levels below the root.
const DEPTH_MAX: usize = 32;

/// A child that cannot exist as it was declared. A worker that had the name before continues unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
pub enum ChildError {
    /// It has no name, or one that cannot be part of a path.
    #[error("the name `{name}` of a child is empty or has a `/` in it")]
    Name {
        /// The name.
        name: String,
    },
    /// Its type is unknown.
    #[error("child `{name}` is of type `{kind}`, which is not known; known are {known}")]
    Kind {
        /// The child.
        name: String,
        /// Its type.
        kind: String,
        /// What is known.
        known: String,
    },
    /// Two have one name.
    #[error("child `{name}` is declared twice; only the first counts")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// It depends on a child that is not declared.
    #[error("child `{name}` depends on `{on}`, which is not declared beside it")]
    Dependency {
        /// The child.
        name: String,
        /// The dependency.
        on: String,
    },
    /// It depends on itself, through others or not.
    #[error("child `{name}` depends on itself, by way of {by}")]
    Cycle {
        /// The child.
        name: String,
        /// The way.
        by: String,
    },
    /// It names a state that its parent does not have.
    #[error("`states` of child `{name}` names `{state}`, which is not a state of its parent; known are {known}")]
    State {
        /// The child.
        name: String,
        /// The state.
        state: String,
        /// What is known.
        known: String,
    },
    /// It is too deep in the tree, or there are too many.
    #[error("child `{name}` is too many: at most {CHILDREN_MAX} beside each other, {DEPTH_MAX} below each other")]
    TooMany {
        /// The child.
        name: String,
    },
}

impl ChildError {
    /// Which child.
    pub fn child(&self) -> &str {
        match self {
            Self::Name { name }
            | Self::Kind { name, .. }
            | Self::Duplicate { name }
            | Self::Dependency { name, .. }
            | Self::Cycle { name, .. }
            | Self::State { name, .. }
            | Self::TooMany { name } => name,
        }
    }
}

/// What a declaration is checked against.
pub(super) struct Ground<'a> {
    pub(super) registry: &'a Registry,
    /// The states of the parent.
    pub(super) states: &'a [&'static str],
    pub(super) depth: usize,
}

/// The children that can exist, in their order, and what is wrong with the others.
pub(super) fn validated<'a>(
    declared: &'a [Arc<ChildSpec>],
    ground: &Ground<'_>,
) -> (Vec<&'a Arc<ChildSpec>>, Vec<ChildError>) {
    let names: BTreeMap<&str, &ChildSpec> = declared
        .iter()
        .map(|spec| (spec.name.as_str(), spec.as_ref()))
        .collect();
    let (mut good, mut errors, mut met) = (Vec::new(), Vec::new(), BTreeSet::new());
    for spec in declared {
        let problem = if !met.insert(spec.name.as_str()) {
            Some(ChildError::Duplicate {
                name: spec.name.clone(),
            })
        } else if good.len() >= CHILDREN_MAX || ground.depth >= DEPTH_MAX {
            Some(ChildError::TooMany {
                name: spec.name.clone(),
            })
        } else {
            problem(spec, &names, ground).or_else(|| cycle(spec, &names))
        };
        match problem {
            Some(problem) => errors.push(problem),
            None => good.push(spec),
        }
    }
    (good, errors)
}

fn problem(spec: &ChildSpec, names: &BTreeMap<&str, &ChildSpec>, ground: &Ground<'_>) -> Option<ChildError> {
    let name = spec.name.clone();
    if name.is_empty() || name.contains('/') {
        return Some(ChildError::Name { name });
    }
    if !ground.registry.knows(&spec.kind) {
        return Some(ChildError::Kind {
            name,
            kind: spec.kind.clone(),
            known: ground.registry.kinds().collect::<Vec<_>>().join(", "),
        });
    }
    let stranger = spec
        .depends_on
        .iter()
        .find(|dependency| !names.contains_key(dependency.on.as_str()));
    if let Some(stranger) = stranger {
        let on = stranger.on.clone();
        return Some(ChildError::Dependency { name, on });
    }
    let stranger = spec
        .states
        .keys()
        .find(|state| !ground.states.contains(&state.as_str()));
    stranger.map(|state| ChildError::State {
        name,
        state: state.clone(),
        known: match ground.states {
            [] => "none: the root has no states".to_owned(),
            states => states.join(", "),
        },
    })
}

/// Whether the child depends on itself.
fn cycle(spec: &ChildSpec, names: &BTreeMap<&str, &ChildSpec>) -> Option<ChildError> {
    if spec.depends_on.is_empty() {
        return None;
    }
    let (mut met, mut open) = (BTreeSet::new(), vec![spec]);
    while let Some(at) = open.pop() {
        for dependency in &at.depends_on {
            if dependency.on == spec.name {
                return Some(ChildError::Cycle {
                    name: spec.name.clone(),
                    by: format!("`{}`", at.name),
                });
            }
            if met.insert(dependency.on.as_str()) {
                open.extend(names.get(dependency.on.as_str()));
            }
        }
    }
    None
}
