//! Leaving: told to go, ticked on, reaped. Children before parents, each level within its budget, one deadline for all.
//!
//! A shutdown is the root leaving. Who does not go is cut: its action and its observations are fenced off and what it
//! does later has no effect on the tree.

use std::sync::Arc;

use serde::Serialize;
use sprag_core::supervision::{Cut, Plan};
use sprag_core::time::Timestamp;

use super::arena::Index;
use super::node::Derived;
use super::tick::Tree;
use crate::worker::{Goal, Reason};

/// A look at a worker that is about to go may take so long, in milliseconds: it is worth a moment, no more.
const LAST_LOOK_MILLIS: u64 = 1_000;

/// A worker on its way out.
#[derive(Clone, Debug)]
pub(crate) struct Leaving {
    pub(crate) since: Timestamp,
    pub(crate) plan: Arc<Plan>,
    /// How many levels are below it.
    pub(crate) height: usize,
    /// Until when it waits for siblings that must stop before it.
    pub(crate) order_until: Timestamp,
    /// Since when nobody is left below it.
    pub(crate) free_since: Option<Timestamp>,
    /// It said that it is done.
    pub(crate) is_done: bool,
    /// How far the last look at it is.
    pub(crate) last_look: LastLook,
}

/// The look at a worker that is down and about to go: what is remembered of it is how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastLook {
    /// It is not down yet.
    NotYet,
    /// Under way; nobody waits for it longer.
    Until(Timestamp),
    /// Nothing more is looked for.
    Over,
}

/// A worker that had to be cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CutAt {
    /// Who; empty for the root, when those below it used all the time there was.
    pub path: String,
    /// Why.
    pub why: Cut,
}

/// How a shutdown ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ShutdownOutcome {
    /// Everybody left by itself.
    Clean,
    /// Some had to be cut.
    Unclean {
        /// They, and why.
        cuts: Vec<CutAt>,
    },
}

impl Tree {
    /// Has the worker and everybody below it leave. A second time does nothing.
    pub(super) fn leave(&mut self, index: Index, why: &'static str, now: Timestamp) {
        let Some(node) = self.nodes.get(index).filter(|node| node.leaving.is_none()) else {
            return;
        };
        let path = Arc::clone(node.path());
        let mut graces = Vec::new();
        self.measure(index, &mut graces);
        let level = self.options.level_millis;
        let mut plan = Plan::new(now, level, &graces);
        if let Some(limit) = self.options.shutdown_limit_millis {
            plan = plan.within(now.plus(limit));
        }
        self.leave_below(index, &Arc::new(plan), now);
        tracing::info!(worker = %path, why, "leaving");
    }

    /// The longest stop grace of each height below, the worker's own height as the answer.
    fn measure(&self, index: Index, graces: &mut Vec<Option<u64>>) -> usize {
        let Some(node) = self.nodes.get(index) else {
            return 0;
        };
        let below = node
            .children
            .values()
            .map(|child| self.measure(*child, graces) + 1)
            .max();
        // The root is nobody: it needs no time of its own.
        let height = match below {
            Some(below) if node.is_root() => return below,
            below => below.unwrap_or(0),
        };
        if graces.len() <= height {
            graces.resize(height + 1, None);
        }
        if let Some(longest) = graces.get_mut(height) {
            *longest = (*longest).max(node.spec.stop_grace_millis);
        }
        height
    }

    fn leave_below(&mut self, index: Index, plan: &Arc<Plan>, now: Timestamp) -> usize {
        let Some(node) = self.nodes.get(index) else {
            return 0;
        };
        let children: Vec<Index> = node.children.values().copied().collect();
        let mut height = 0;
        for child in children {
            height = height.max(self.leave_below(child, plan, now) + 1);
        }
        let order_until = now.plus(self.options.level_millis / 2);
        let Some(node) = self.nodes.get_mut(index) else {
            return height;
        };
        if node.leaving.is_none() {
            node.leaving = Some(Leaving {
                since: now,
                plan: Arc::clone(plan),
                height,
                order_until,
                free_since: None,
                is_done: false,
                last_look: LastLook::NotYet,
            });
            // A restart that was pending becomes the removal.
            node.procedure = None;
            node.rebuild.withdraw();
            let path = Arc::clone(node.path());
            for watch in node.watches.iter_mut().filter(|watch| watch.machine.holds()) {
                watch.machine.abandon();
                self.metrics.abandoned(&path, &watch.rule);
            }
            if node.action.in_progress() {
                self.hands.cancel_leaving(&path, now);
            }
            self.mark(index);
        }
        height
    }

    /// A worker that was leaving is wanted again: levels, not edges, so it simply goes on.
    pub(super) fn stay(&mut self, index: Index, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        if node.leaving.as_ref().is_none_or(|leaving| leaving.is_done) {
            return;
        }
        let looks_on = node
            .leaving
            .take()
            .is_some_and(|leaving| leaving.last_look == LastLook::NotYet);
        if !looks_on {
            // It was looked at for the last time already.
            self.hands.blind(node.path());
            node.derived = Derived::Due;
        }
        node.is_settled = false;
        node.since = now;
        tracing::info!(worker = %node.identity.path, "declared again while leaving: it stays");
        self.mark(index);
    }

    /// Whether it is the worker's turn: nobody is left below it.
    pub(super) fn is_free(&mut self, index: Index, now: Timestamp) -> bool {
        let Some(node) = self.nodes.get_mut(index) else {
            return false;
        };
        if !node.children.is_empty() {
            return false;
        }
        if let Some(leaving) = node.leaving.as_mut() {
            leaving.free_since.get_or_insert(now);
        }
        true
    }

    /// The worker is down. It goes once it was looked at for the last time, where somebody remembers what was seen.
    pub(super) fn gone_down(&mut self, index: Index, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        let path = Arc::clone(node.path());
        let Some(leaving) = node.leaving.as_mut() else {
            return;
        };
        match leaving.last_look {
            LastLook::NotYet if self.keeper.remembers() && node.desired.is_some() => {
                leaving.last_look = LastLook::Until(now.plus(LAST_LOOK_MILLIS));
                self.hands.finish(&path, now);
            }
            LastLook::Until(at) if now < at => {}
            LastLook::NotYet | LastLook::Until(_) | LastLook::Over => self.reap(index, now),
        }
    }

    /// The last look at a worker is over, whatever it brought.
    pub(super) fn last_looked(&mut self, index: Index) {
        if let Some(leaving) = self.nodes.get_mut(index).and_then(|node| node.leaving.as_mut()) {
            leaving.last_look = LastLook::Over;
        }
    }

    /// Nobody is there who could be asked to stop. One that never did anything has nothing to be undone; but what an
    /// earlier life of it left up stays up, and that is no clean end.
    pub(super) fn leave_unasked(&mut self, index: Index, now: Timestamp) {
        if let Some(node) = self.nodes.get(index).filter(|node| node.left_up) {
            let path = node.path().as_ref().to_owned();
            tracing::warn!(worker = %path, "what it left up cannot be stopped: it is cut off");
            self.metrics.cut();
            let why = Cut::Unasked;
            self.cuts.push(CutAt { path, why });
        }
        self.reap(index, now);
    }

    /// Cuts a worker whose time is over, and whoever is left below it.
    pub(super) fn cut_overdue(&mut self, index: Index, now: Timestamp) {
        let Some(node) = self.nodes.get(index).filter(|node| !node.is_root()) else {
            return;
        };
        let Some(leaving) = &node.leaving else {
            return;
        };
        if let Some(why) = leaving.plan.cut(now, leaving.height, leaving.free_since) {
            let path = node.path().as_ref().to_owned();
            let children: Vec<Index> = node.children.values().copied().collect();
            for child in children {
                self.cut_overdue(child, now);
            }
            tracing::warn!(worker = %path, ?why, "it did not leave in time and is cut off");
            self.metrics.cut();
            self.cuts.push(CutAt { path, why });
            self.reap(index, now);
        }
    }

    /// The worker is gone.
    pub(super) fn reap(&mut self, index: Index, now: Timestamp) {
        self.mark_neighbours(index);
        let with_supervisor = self.is_shutting_down();
        let Some(node) = self.nodes.remove(index) else {
            return;
        };
        if let Some(due) = node.due {
            self.due.remove(&(due, index));
        }
        let path = node.path();
        self.hands.forget(path);
        self.keeper.gone(&node, with_supervisor, now);
        self.seldom.forget(path);
        self.by_path.remove(path);
        for child in node.children.values() {
            self.reap(*child, now);
        }
        if let Some(parent) = node.parent.and_then(|parent| self.nodes.get_mut(parent)) {
            parent.children.remove(&node.identity.name);
            parent.view_due = true;
            parent.is_settled = false;
        }
        tracing::info!(worker = %path, "gone");
    }

    /// Everybody leaves. A second time, or at the same time, does nothing more.
    pub(crate) fn shut_down(&mut self, now: Timestamp) {
        if self.is_shutting_down() {
            return;
        }
        self.cuts.clear();
        self.leave(self.root, "the supervisor stops", now);
        if let Some(root) = self.nodes.get_mut(self.root) {
            root.goal = Goal::Removed;
            root.reason = Reason::from("the supervisor stops");
        }
    }

    /// Whoever is left is cut in the next tick.
    pub(crate) fn force_exit(&mut self, now: Timestamp) {
        self.shut_down(now);
        let indices: Vec<Index> = self.nodes.indices().collect();
        for index in indices {
            if let Some(leaving) = self.nodes.get_mut(index).and_then(|node| node.leaving.as_mut()) {
                let plan = leaving.plan.as_ref().clone().within(now);
                leaving.plan = Arc::new(plan);
            }
            self.mark(index);
        }
    }

    pub(crate) fn is_shutting_down(&self) -> bool {
        self.nodes.get(self.root).is_some_and(|root| root.leaving.is_some())
    }

    /// How the shutdown ended, once it has.
    pub(crate) fn outcome(&self) -> Option<&ShutdownOutcome> {
        self.outcome.as_ref()
    }

    pub(super) fn finish_shutdown(&mut self, now: Timestamp) {
        if self.outcome.is_some() || !self.is_shutting_down() || self.len() > 0 {
            return;
        }
        let root = self.nodes.get(self.root).and_then(|root| root.leaving.clone());
        let last = root.and_then(|leaving| leaving.plan.last());
        let mut cuts = std::mem::take(&mut self.cuts);
        if last.is_some_and(|last| now >= last) && !cuts.is_empty() {
            let why = Cut::BudgetExhausted;
            let path = String::new();
            cuts.push(CutAt { path, why });
        }
        self.outcome = Some(if cuts.is_empty() {
            ShutdownOutcome::Clean
        } else {
            ShutdownOutcome::Unclean { cuts }
        });
    }
}
