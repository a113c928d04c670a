//! A visit: everything that may follow for one worker from what is known now. Bounded, without I/O.

use std::sync::Arc;

use sprag_core::time::Timestamp;

use super::arena::Index;
use super::node::Node;
use super::tick::Tree;
use crate::snapshot::{ChildView, Children};

/// Windows are written down so often while there is something in them, in milliseconds.
const KEEP_EVERY_MILLIS: u64 = 15_000;
/// How long a worker that was told to leave is left alone between two questions, in milliseconds.
pub(super) const LEAVING_ASKED_EVERY_MILLIS: u64 = 1_000;

impl Tree {
    pub(super) fn visit(&mut self, index: Index, now: Timestamp) {
        self.refresh_view(index);
        self.keep_due(index, now);
        self.build_due(index, now);
        self.derive_due(index, now);
        self.reconcile(index, now);
        self.advance_restart(index, now);
        self.judge_rules(index, now);
        self.aim_anew(index, now);
        self.decide(index, now);
        self.cut_overdue(index, now);
    }

    /// Writes windows down again while there is something in them, so that what a new process reads has grown old.
    fn keep_due(&mut self, index: Index, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        if node.keep_again.is_none_or(|at| at <= now) {
            if node.keep_again.is_some() {
                self.keeper.status(node, now);
            }
            node.keep_again = node.counts_ages(now).then(|| now.plus(KEEP_EVERY_MILLIS));
        }
    }

    /// The goal, and what it waits for. A new goal is news for siblings that wait in turn.
    fn aim_anew(&mut self, index: Index, now: Timestamp) {
        let aim = self.aim(index, now);
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        node.waiting = aim.waiting;
        if node.goal != aim.goal {
            node.goal = aim.goal;
            self.mark_neighbours(index);
        }
    }

    /// The children as the worker's business logic sees them.
    fn refresh_view(&mut self, index: Index) {
        let Some(node) = self.nodes.get(index).filter(|node| node.view_due) else {
            return;
        };
        let view: Children = node
            .children
            .values()
            .filter_map(|child| self.nodes.get(*child))
            .map(|child| ChildView {
                name: Arc::clone(&child.identity.name),
                state: child.shown.state,
                phase: child.shown.phase,
            })
            .collect();
        if let Some(node) = self.nodes.get_mut(index) {
            node.view = view;
            node.view_due = false;
        }
    }

    /// Who must hear of it when a worker's state, goal or existence changed: its parent, those who depend on it, those
    /// it depends on, and children whose goal hangs on its state.
    pub(super) fn mark_neighbours(&mut self, index: Index) {
        let Some(node) = self.nodes.get(index) else {
            return;
        };
        let mut told: Vec<Index> = Vec::new();
        if let Some(parent) = node.parent.and_then(|parent| self.nodes.get(parent)) {
            let sibling = |name: &str| parent.children.get(name).copied();
            let dependents = parent.dependents.get(&node.identity.name).into_iter().flatten();
            told.extend(dependents.filter_map(|name| sibling(name)));
            told.extend(
                node.spec
                    .depends_on
                    .iter()
                    .filter_map(|dependency| sibling(&dependency.on)),
            );
        }
        let mapped = node.children.values().filter(|child| {
            self.nodes
                .get(**child)
                .is_some_and(|child| !child.spec.states.is_empty())
        });
        told.extend(mapped);
        let parent = node.parent;
        for neighbour in told {
            self.mark(neighbour);
        }
        if let Some(parent) = parent {
            if let Some(node) = self.nodes.get_mut(parent) {
                node.view_due = true;
            }
            self.mark(parent);
        }
    }

    /// When the worker must be looked at even if nobody marks it.
    pub(super) fn next_due(&self, node: &Node, now: Timestamp) -> Option<Timestamp> {
        let leaving = node.leaving.as_ref().and_then(|leaving| {
            let again = now.plus(LEAVING_ASKED_EVERY_MILLIS);
            let deadline = leaving.plan.deadline(leaving.height)?;
            Some(again.min(deadline).max(now.plus(1)))
        });
        let rules = node.watches.iter().filter_map(|watch| watch.machine.due(now)).min();
        let due = [
            leaving,
            self.derive_again(node, now),
            node.rebuild.due(),
            node.procedure.as_ref().map(|procedure| procedure.force_at),
            node.breaker.open_until(now),
            node.retry_at,
            node.keep_again,
            rules,
        ];
        due.into_iter().flatten().filter(|at| *at > now).min()
    }
}
