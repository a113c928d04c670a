//! A visit: everything that follows for one worker from the current state. Bounded, without I/O.
//!
//! A visit changes nodes and calls workers' pure functions. An effect outside the tree becomes an [`Act`], which the
//! tick runs after the visit.

use std::sync::Arc;

use sprag_core::time::Timestamp;

use super::act::Act;
use super::keep::{KeptStatus, Memory};
use super::node::Node;
use super::nodes::{Nodes, WorkerKey};
use super::{aim, derive, judge, leave, reconcile, restart, step};
use crate::supervisor::options::Options;
use crate::worker::registry::Registry;
use crate::worker::snapshot::{ChildView, Children};

/// How often windows are written while there is something in them, in milliseconds.
const KEEP_EVERY_MILLIS: u64 = 15_000;
/// How often a leaving worker is asked, in milliseconds.
pub(super) const LEAVING_ASKED_EVERY_MILLIS: u64 = 1_000;

/// What a visit reads besides the nodes; it never changes.
pub(crate) struct Config {
    pub(crate) options: Options,
    pub(crate) registry: Registry,
    /// What the store remembers from earlier processes.
    pub(crate) memory: Memory,
}

/// One worker at one instant, with the tree around it.
pub(crate) struct Visit<'a> {
    pub(super) nodes: &'a mut Nodes,
    pub(super) config: &'a Config,
    pub(super) key: WorkerKey,
    pub(super) now: Timestamp,
    pub(super) acts: &'a mut Vec<Act>,
}

impl Visit<'_> {
    /// Another worker at the same instant.
    pub(super) fn at(&mut self, key: WorkerKey) -> Visit<'_> {
        Visit {
            nodes: self.nodes,
            config: self.config,
            key,
            now: self.now,
            acts: self.acts,
        }
    }

    pub(super) fn node(&self) -> Option<&Node> {
        self.nodes.get(self.key)
    }

    pub(super) fn node_mut(&mut self) -> Option<&mut Node> {
        self.nodes.get_mut(self.key)
    }

    /// The keys of the worker's children, by name.
    pub(super) fn children(&self) -> Vec<WorkerKey> {
        let children = self.node().map(|node| node.placement.children.values().copied());
        children.map(Iterator::collect).unwrap_or_default()
    }

    /// Has the worker visited: in this tick if it was not yet, else in the next.
    pub(super) fn mark(&mut self) {
        self.acts.push(Act::Mark(self.key));
    }

    /// Has its state and counters written, as they are now.
    pub(super) fn keep(&mut self) {
        if self.config.memory.remembers()
            && let Some(node) = self.nodes.get(self.key)
        {
            let status = Box::new(KeptStatus::of(node, self.now));
            self.acts.push(Act::KeepStatus(status));
        }
    }

    /// Marks the workers that a change of its state, goal or existence concerns: its parent, siblings that depend on
    /// it, siblings it depends on, and children whose goal follows its state.
    pub(super) fn mark_neighbours(&mut self) {
        let Some(node) = self.nodes.get(self.key) else {
            return;
        };
        let acts = &mut *self.acts;
        if let Some(parent) = self.nodes.parent(node) {
            let sibling = |name: &str| parent.placement.children.get(name).copied();
            let dependents = parent.placement.dependents.get(node.name()).into_iter().flatten();
            acts.extend(dependents.filter_map(|name| sibling(name)).map(Act::Mark));
            let needed = node.placement.spec.depends_on.iter();
            acts.extend(needed.filter_map(|needed| sibling(&needed.on)).map(Act::Mark));
        }
        let is_mapped = |child: &&WorkerKey| {
            let child = self.nodes.get(**child);
            child.is_some_and(|child| !child.placement.spec.states.is_empty())
        };
        let mapped = node.placement.children.values().filter(is_mapped);
        acts.extend(mapped.copied().map(Act::Mark));
        if let Some(parent) = node.placement.parent {
            if let Some(node) = self.nodes.get_mut(parent) {
                node.placement.view_due = true;
            }
            acts.push(Act::Mark(parent));
        }
    }
}

/// Visits the worker.
pub(super) fn run(visit: &mut Visit<'_>) {
    refresh_view(visit);
    keep_windows(visit);
    restart::build_due(visit);
    derive::run(visit);
    reconcile::run(visit);
    restart::advance(visit);
    judge::run(visit);
    aim::run(visit);
    step::run(visit);
    leave::cut_overdue(visit);
}

/// Writes windows again while there is something in them, so that what a new process reads has grown old.
fn keep_windows(visit: &mut Visit<'_>) {
    let now = visit.now;
    let Some(node) = visit.node_mut() else { return };
    let again = node.schedule.keep_again;
    if again.is_some_and(|at| at > now) {
        return;
    }
    node.schedule.keep_again = node.counts_ages(now).then(|| now.plus(KEEP_EVERY_MILLIS));
    if again.is_some() {
        visit.keep();
    }
}

/// Shows the worker's business logic its children.
fn refresh_view(visit: &mut Visit<'_>) {
    let Some(node) = visit.node().filter(|node| node.placement.view_due) else {
        return;
    };
    let view: Children = visit
        .nodes
        .children(node)
        .map(|child| ChildView {
            name: Arc::clone(child.name()),
            state: child.progress.shown.state,
            phase: child.phase(),
        })
        .collect();
    if let Some(node) = visit.node_mut() {
        node.placement.view = view;
        node.placement.view_due = false;
    }
}

/// When the worker must be visited even if nothing marks it.
pub(super) fn next_due(node: &Node, options: &Options, now: Timestamp) -> Option<Timestamp> {
    let intent = &node.intent;
    let leaving = intent.leaving.as_ref().and_then(|leaving| {
        let again = now.plus(LEAVING_ASKED_EVERY_MILLIS);
        let deadline = leaving.plan.deadline(leaving.height)?;
        Some(again.min(deadline).max(now.plus(1)))
    });
    let rules = node.rules.watches.iter();
    let due = [
        leaving,
        derive::again(node, options, now),
        intent.rebuild.due(),
        intent.procedure.as_ref().map(|procedure| procedure.force_at),
        node.progress.breaker.open_until(now),
        intent.retry_at,
        node.schedule.keep_again,
        rules.filter_map(|watch| watch.machine.due(now)).min(),
    ];
    due.into_iter().flatten().filter(|at| *at > now).min()
}
