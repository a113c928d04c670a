//! Children: the tree creates declared children; the others leave in two phases.

mod check;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use self::check::Ground;
use super::act::Act;
use super::node::{Derived, Node};
use super::nodes::{Nodes, WorkerKey};
use super::step::{caught, panicked};
use super::visit::Visit;
use super::{derive, leave, recover, restart, watch};
use crate::worker::child::{ChildSpec, Variables};
use crate::worker::snapshot::Identity;

pub use check::ChildError;

/// The children of a worker, as declared.
type Declared = Arc<[Arc<ChildSpec>]>;

/// Whether a worker declares the same children as before.
fn is_same(opinion: &[ChildSpec], declared: &[Arc<ChildSpec>]) -> bool {
    opinion.len() == declared.len() && opinion.iter().zip(declared).all(|(new, old)| *new == **old)
}

/// For each child, the siblings that depend on it.
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

/// Makes the children those that are declared. A worker without an opinion keeps those it has, or those of its spec.
pub(super) fn run(visit: &mut Visit<'_>) {
    let now = visit.now;
    let Some(node) = visit.node_mut().filter(|node| !node.is_leaving()) else {
        return;
    };
    let opinion = match node.asked(now) {
        Some((inner, parts)) => caught(|| inner.children(parts)),
        None => Ok(None),
    };
    let placement = &mut node.placement;
    let opinion = match opinion {
        // No child came, changed or is missing: by far the most visits end here.
        Ok(None) if placement.is_settled && placement.follows_spec() => return,
        Ok(opinion) => opinion,
        Err(panic) => return panicked(visit, "children", panic),
    };
    let has_opinion = opinion.is_some();
    let declared: Declared = match opinion {
        Some(opinion) if is_same(&opinion, &placement.declared) => Arc::clone(&placement.declared),
        Some(opinion) => opinion.into_iter().map(Arc::new).collect(),
        // Those of the root are declared directly. Specs are compared by identity, for there may be very many.
        None if placement.spec.children.is_empty() || placement.follows_spec() => Arc::clone(&placement.declared),
        None => placement.spec.children.iter().cloned().map(Arc::new).collect(),
    };
    if Arc::ptr_eq(&declared, &placement.declared) && placement.is_settled {
        return;
    }
    placement.followed = (!has_opinion).then(|| Arc::clone(&placement.spec));
    redeclare(visit, &declared);
}

fn redeclare(visit: &mut Visit<'_>, declared: &Declared) {
    let (config, depth) = (visit.config, depth(visit.nodes, visit.key));
    let Some(node) = visit.node_mut() else { return };
    let ground = Ground {
        registry: &config.registry,
        states: node.inner.as_ref().map_or(&[][..], |inner| inner.states()),
        depth,
    };
    let (good, errors) = check::validated(declared, &ground);
    let placement = &mut node.placement;
    for error in errors.iter().filter(|error| !placement.child_errors.contains(error)) {
        let (supervisor, child) = (&placement.identity.path, error.child());
        tracing::warn!(%supervisor, child, %error, "child not valid");
    }
    placement.child_errors = errors;
    placement.dependents = dependents(declared);
    placement.declared = Arc::clone(declared);
    placement.is_settled = true;
    placement
        .finished
        .retain(|name, _| declared.iter().any(|spec| *spec.name == **name));
    for spec in good {
        redeclare_child(visit, spec);
    }
    dismiss_omitted(visit, declared);
    watch::refresh(visit);
}

fn redeclare_child(visit: &mut Visit<'_>, spec: &Arc<ChildSpec>) {
    let name = spec.name.as_str();
    let Some(node) = visit.node_mut() else { return };
    let Some(child) = node.placement.children.get(name).copied() else {
        if node.placement.finished.get(name).is_some_and(|old| *old == *spec) {
            return;
        }
        node.placement.finished.remove(name);
        return create(visit, spec);
    };
    let mut child = visit.at(child);
    let Some(existing) = child.node() else { return };
    if *existing.placement.identity.kind != *spec.kind {
        // The old one drains; the new one is created when its name is free.
        leave::begin(&mut child, "it was declared with another type");
        if let Some(node) = visit.node_mut() {
            node.placement.is_settled = false;
        }
        return;
    }
    leave::stay(&mut child);
    respecify(&mut child, spec);
}

/// Gives a worker another declaration, or the same one again.
fn respecify(visit: &mut Visit<'_>, spec: &Arc<ChildSpec>) {
    let Some(node) = visit.node_mut() else { return };
    let placement = &mut node.placement;
    if placement.spec == *spec {
        // Equal specs are held once.
        if placement.follows_spec() {
            placement.followed = Some(Arc::clone(spec));
        }
        placement.spec = Arc::clone(spec);
        return;
    }
    let is_spec_new = placement.spec.spec != spec.spec;
    let are_rules_new = placement.spec.rules != spec.rules;
    placement.spec = Arc::clone(spec);
    placement.is_settled = false;
    let parent = placement.parent;
    if is_spec_new {
        node.observed.derived = Derived::Due;
    }
    if let Some(parent) = parent {
        derive::inherit(&mut visit.at(parent));
    }
    if is_spec_new {
        recover::forgive(visit, "its spec changed");
    }
    if are_rules_new {
        watch::refresh(visit);
    }
    visit.mark();
}

fn create(visit: &mut Visit<'_>, spec: &Arc<ChildSpec>) {
    let (config, parent, now) = (visit.config, visit.key, visit.now);
    let Some(above) = visit.node() else { return };
    let name: Arc<str> = Arc::from(spec.name.as_str());
    let path = match above.path().as_ref() {
        "" => Arc::clone(&name),
        path => Arc::from(format!("{path}/{name}")),
    };
    let kind = config.registry.kind(&spec.kind);
    let identity = Identity {
        path,
        name: Arc::clone(&name),
        kind,
    };
    let mut node = Node::new(identity, Some(parent), Arc::clone(spec), now);
    node.placement.variables = Variables::handed_down(&above.placement.variables, &spec.variables);
    config.memory.restore(&mut node, now);
    let child = visit.nodes.insert(node);
    if let Some(above) = visit.node_mut() {
        above.placement.children.insert(name, child);
        above.placement.view_due = true;
    }
    visit.acts.push(Act::Introduce(child));
    let mut visited = visit.at(child);
    restart::build(&mut visited);
    visited.mark();
    visit.mark();
}

fn dismiss_omitted(visit: &mut Visit<'_>, declared: &[Arc<ChildSpec>]) {
    let names: BTreeSet<&str> = declared.iter().map(|spec| spec.name.as_str()).collect();
    let Some(node) = visit.node() else { return };
    let children = node.placement.children.iter();
    let omitted: Vec<WorkerKey> = children
        .filter(|(name, _)| !names.contains(name.as_ref()))
        .map(|(_, child)| *child)
        .collect();
    for child in omitted {
        leave::begin(&mut visit.at(child), "it is not declared any more");
    }
}

/// How far a worker is below the root.
fn depth(nodes: &Nodes, key: WorkerKey) -> usize {
    let mut at = nodes.get(key);
    let mut depth = 0;
    while let Some(parent) = at.and_then(|node| node.placement.parent) {
        depth += 1;
        at = nodes.get(parent);
    }
    depth
}
