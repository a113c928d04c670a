//! Children: those who should exist do, those who should not leave in two phases, and a mistake in one harms no other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use sprag_core::time::Timestamp;

use super::arena::Index;
use super::node::{Derived, Node};
use super::step::caught;
use super::tick::Tree;
use crate::child::{ChildSpec, Variables};
use crate::snapshot::Identity;
use crate::worker::Goal;

/// A worker has no more children.
const CHILDREN_MAX: usize = 200_000;
/// Nobody stands deeper.
const DEPTH_MAX: usize = 32;

/// A child that cannot be as it was declared. Who existed under that name before goes on as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
pub enum ChildError {
    /// It has no name, or one that cannot be part of a path.
    #[error("the name `{name}` of a child is empty or has a `/` in it")]
    Name {
        /// The name.
        name: String,
    },
    /// Nobody knows its type.
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
    /// It depends on somebody who is not declared.
    #[error("child `{name}` depends on `{on}`, which is not declared beside it")]
    Dependency {
        /// The child.
        name: String,
        /// On whom.
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
    #[error("`states` of child `{name}` names `{state}`, which is no state of its parent; known are {known}")]
    State {
        /// The child.
        name: String,
        /// The state.
        state: String,
        /// What is known.
        known: String,
    },
    /// It stands too deep, or there are too many.
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
struct Ground<'a> {
    kinds: &'a dyn Fn(&str) -> bool,
    known: &'a dyn Fn() -> String,
    states: &'a [&'static str],
    depth: usize,
}

/// The children that can be, in their order, and what is wrong with the others.
fn validated<'a>(declared: &'a [Arc<ChildSpec>], ground: &Ground<'_>) -> (Vec<&'a Arc<ChildSpec>>, Vec<ChildError>) {
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
    if !(ground.kinds)(&spec.kind) {
        return Some(ChildError::Kind {
            name,
            kind: spec.kind.clone(),
            known: (ground.known)(),
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

/// Whether an opinion is what was declared already.
fn is_same(opinion: &[ChildSpec], declared: &[Arc<ChildSpec>]) -> bool {
    opinion.len() == declared.len() && opinion.iter().zip(declared).all(|(new, old)| *new == **old)
}

/// Who depends on whom.
fn dependents(declared: &[Arc<ChildSpec>]) -> BTreeMap<Arc<str>, Vec<Arc<str>>> {
    let mut dependents: BTreeMap<Arc<str>, Vec<Arc<str>>> = BTreeMap::new();
    for spec in declared {
        for dependency in &spec.depends_on {
            let on = Arc::from(dependency.on.as_str());
            dependents.entry(on).or_default().push(Arc::from(spec.name.as_str()));
        }
    }
    dependents
}

impl Tree {
    /// Makes the children those that are declared. No opinion leaves what there is, or what the declaration says.
    pub(super) fn reconcile(&mut self, index: Index, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(index).filter(|node| node.leaving.is_none()) else {
            return;
        };
        let opinion = match node.asked(now) {
            Some((inner, facts)) => caught(|| inner.children(facts)),
            None => Ok(None),
        };
        // Nobody came, changed or is missing: by far the most visits end here.
        let follows = node.followed.as_ref().is_some_and(|spec| Arc::ptr_eq(spec, &node.spec));
        if node.is_settled && follows && matches!(opinion, Ok(None)) {
            return;
        }
        let has_opinion = matches!(opinion, Ok(Some(_)));
        let declared: Arc<[Arc<ChildSpec>]> = match opinion {
            Ok(Some(declared)) if !is_same(&declared, &node.declared) => declared.into_iter().map(Arc::new).collect(),
            Ok(Some(_)) => Arc::clone(&node.declared),
            // Of the root it is declared directly.
            Ok(None) if node.spec.children.is_empty() => Arc::clone(&node.declared),
            // The declaration that was followed last: compared by identity, for there may be very many.
            Ok(None) if follows => Arc::clone(&node.declared),
            Ok(None) => node.spec.children.iter().cloned().map(Arc::new).collect(),
            Err(panic) => return self.panicked(index, "children", &panic, now),
        };
        if Arc::ptr_eq(&declared, &node.declared) && node.is_settled {
            return;
        }
        let followed = (!has_opinion).then(|| Arc::clone(&node.spec));
        if let Some(node) = self.nodes.get_mut(index) {
            node.followed = followed;
        }
        self.redeclare(index, &declared, now);
    }

    fn redeclare(&mut self, index: Index, declared: &Arc<[Arc<ChildSpec>]>, now: Timestamp) {
        let depth = self.depth(index);
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        let states = node.inner.as_ref().map_or(&[][..], |inner| inner.states());
        let registry = &self.registry;
        let ground = Ground {
            kinds: &|kind| registry.knows(kind),
            known: &|| registry.kinds().collect::<Vec<_>>().join(", "),
            states,
            depth,
        };
        let (good, errors) = validated(declared, &ground);
        for error in errors.iter().filter(|error| !node.child_errors.contains(error)) {
            tracing::warn!(supervisor = %node.identity.path, child = error.child(), %error, "a child cannot be");
        }
        node.child_errors = errors;
        node.dependents = dependents(declared);
        node.declared = Arc::clone(declared);
        node.is_settled = true;
        node.finished
            .retain(|name, _| declared.iter().any(|spec| *spec.name == **name));
        for spec in good {
            self.redeclare_child(index, spec, now);
        }
        self.dismiss_omitted(index, declared, now);
        self.refresh_watches(index, now);
    }

    fn redeclare_child(&mut self, parent: Index, spec: &Arc<ChildSpec>, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(parent) else {
            return;
        };
        let Some(child) = node.children.get(spec.name.as_str()).copied() else {
            if node.finished.get(spec.name.as_str()).is_some_and(|old| *old == *spec) {
                return;
            }
            node.finished.remove(spec.name.as_str());
            return self.create(parent, spec, now);
        };
        let Some(existing) = self.nodes.get(child) else {
            return;
        };
        if *existing.identity.kind != *spec.kind {
            // The old one drains; the new one is created when its name is free.
            if let Some(node) = self.nodes.get_mut(parent) {
                node.is_settled = false;
            }
            return self.leave(child, "it was declared with another type", now);
        }
        if existing.leaving.is_some() {
            self.stay(child, now);
        }
        self.respecify(child, spec, now);
    }

    /// The same instance with another declaration, or with the same one again.
    fn respecify(&mut self, child: Index, spec: &Arc<ChildSpec>, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(child) else {
            return;
        };
        if node.spec == *spec {
            // Held once, not once as it was and once as it is.
            if node
                .followed
                .as_ref()
                .is_some_and(|followed| Arc::ptr_eq(followed, &node.spec))
            {
                node.followed = Some(Arc::clone(spec));
            }
            node.spec = Arc::clone(spec);
            return;
        }
        let is_new = node.spec.spec != spec.spec;
        let are_rules_new = node.spec.rules != spec.rules;
        let parent = node.parent;
        node.spec = Arc::clone(spec);
        node.is_settled = false;
        if is_new {
            node.derived = Derived::Due;
        }
        if let Some(parent) = parent {
            self.inherit(parent);
        }
        if is_new {
            self.forgive(child, "its spec changed", now);
        }
        if are_rules_new {
            self.refresh_watches(child, now);
        }
        self.mark(child);
    }

    fn create(&mut self, parent: Index, spec: &Arc<ChildSpec>, now: Timestamp) {
        let Some(above) = self.nodes.get(parent) else {
            return;
        };
        let name: Arc<str> = Arc::from(spec.name.as_str());
        let path = match above.identity.path.as_ref() {
            "" => Arc::clone(&name),
            path => Arc::from(format!("{path}/{name}")),
        };
        let identity = Identity {
            path,
            name,
            kind: self.registry.kind(&spec.kind),
        };
        let mut node = Node::new(identity, Some(parent), Arc::clone(spec), now);
        node.variables = Variables::handed_down(&above.variables, &spec.variables);
        let (path, name) = (Arc::clone(node.path()), Arc::clone(&node.identity.name));
        self.keeper.restore(&mut node, now);
        node.action = self.hands.remembered(&path, self.keeper.action(&path));
        let child = self.nodes.insert(node);
        if let Some(above) = self.nodes.get_mut(parent) {
            above.children.insert(name, child);
            above.view_due = true;
        }
        self.by_path.insert(path, child);
        self.build(child, now);
        self.mark(child);
        self.mark(parent);
    }

    fn dismiss_omitted(&mut self, parent: Index, declared: &[Arc<ChildSpec>], now: Timestamp) {
        let names: BTreeSet<&str> = declared.iter().map(|spec| spec.name.as_str()).collect();
        let Some(node) = self.nodes.get(parent) else {
            return;
        };
        let omitted: Vec<Index> = node
            .children
            .iter()
            .filter(|(name, _)| !names.contains(name.as_ref()))
            .map(|(_, child)| *child)
            .collect();
        for child in omitted {
            self.leave(child, "it is not declared any more", now);
        }
    }

    /// How far below the root.
    fn depth(&self, index: Index) -> usize {
        let mut at = self.nodes.get(index);
        let mut depth = 0;
        while let Some(parent) = at.and_then(|node| node.parent) {
            depth += 1;
            at = self.nodes.get(parent);
        }
        depth
    }

    /// Whether somebody of that name is there to stay and meant to run.
    pub(super) fn is_meant_to_run(&self, parent: &Node, name: &str) -> bool {
        let child = parent.children.get(name).and_then(|child| self.nodes.get(*child));
        child.is_some_and(|child| self.wants_lastingly(child) == Goal::Running)
    }
}
