//! Leaving: the tree asks a worker to leave, continues to visit it, and removes it. Children leave before parents. Each
//! level has its time budget, and all have one deadline.
//!
//! A shutdown means that the root leaves. A worker that does not leave in time is cut off: its action and its
//! observations are fenced, and its later results have no effect on the tree.

use std::sync::Arc;

use serde::Serialize;
use sprag_core::supervision::{ShutdownFault, ShutdownPlan};
use sprag_core::time::Timestamp;

use super::act::{Act, Count};
use super::node::Derived;
use super::nodes::{Nodes, WorkerKey};
use super::visit::Visit;
use crate::runtime::executor::CancelReason;
use crate::worker::{Goal, Reason};

/// How long the last observation of a worker may take, in milliseconds: it is worth a moment, no more.
const LAST_LOOK_MILLIS: u64 = 1_000;

/// A worker on its way out.
#[derive(Clone, Debug)]
pub(crate) struct Leaving {
    pub(crate) since: Timestamp,
    pub(crate) plan: Arc<ShutdownPlan>,
    /// How many levels are below it.
    pub(crate) height: usize,
    /// Until when it waits for siblings that must stop before it.
    pub(crate) order_until: Timestamp,
    /// Since when it has no children left.
    pub(crate) free_since: Option<Timestamp>,
    /// It reported that it is done.
    pub(crate) is_done: bool,
    pub(crate) last_look: LastLook,
}

/// The last observation of a worker that is down: the store remembers how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastLook {
    /// The worker is not down yet.
    NotYet,
    /// Under way, and waited for until then.
    Until(Timestamp),
    /// Nothing more is observed.
    Over,
}

/// A worker that had to be cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CutAt {
    /// Its path; empty for the root, when the workers below it used all the time there was.
    pub path: String,
    /// Why.
    pub why: ShutdownFault,
}

/// How a shutdown ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ShutdownOutcome {
    /// Every worker left by itself.
    Clean,
    /// Some had to be cut.
    Unclean {
        /// These workers, and why.
        cuts: Vec<CutAt>,
    },
}

/// How far the shutdown of the whole tree is.
#[derive(Default)]
pub(super) struct Shutdown {
    /// Workers that were cut so far.
    pub(super) cuts: Vec<CutAt>,
    pub(super) outcome: Option<ShutdownOutcome>,
}

impl Shutdown {
    /// Ends the shutdown once no worker is left.
    pub(super) fn finish(&mut self, nodes: &Nodes, now: Timestamp) {
        let root = nodes.get(nodes.root()).and_then(|root| root.intent.leaving.as_ref());
        let Some(leaving) = root.filter(|_| self.outcome.is_none() && nodes.len() == 0) else {
            return;
        };
        let mut cuts = std::mem::take(&mut self.cuts);
        if leaving.plan.last().is_some_and(|last| now >= last) && !cuts.is_empty() {
            let why = ShutdownFault::BudgetExhausted;
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

/// Has the worker and everything below it leave. A second call does nothing.
pub(super) fn begin(visit: &mut Visit<'_>, why: &'static str) {
    let Some(node) = visit.node().filter(|node| !node.is_leaving()) else {
        return;
    };
    let path = Arc::clone(node.path());
    let (now, options) = (visit.now, &visit.config.options);
    let mut graces = Vec::new();
    measure(visit.nodes, visit.key, &mut graces);
    let mut plan = ShutdownPlan::new(now, options.level_millis, &graces);
    if let Some(limit) = options.shutdown_limit_millis {
        plan = plan.within(now.plus(limit));
    }
    begin_below(visit, &Arc::new(plan));
    tracing::info!(worker = %path, why, "leaving");
}

/// Collects the longest stop grace of each height below; returns the worker's own height.
fn measure(nodes: &Nodes, key: WorkerKey, graces: &mut Vec<Option<u64>>) -> usize {
    let Some(node) = nodes.get(key) else {
        return 0;
    };
    let children = node.placement.children.values();
    let below = children.map(|child| measure(nodes, *child, graces) + 1).max();
    // The root has no worker: it needs no time of its own.
    let height = match below {
        Some(below) if node.is_root() => return below,
        below => below.unwrap_or(0),
    };
    if graces.len() <= height {
        graces.resize(height + 1, None);
    }
    if let Some(longest) = graces.get_mut(height) {
        *longest = (*longest).max(node.placement.spec.stop_grace_millis);
    }
    height
}

fn begin_below(visit: &mut Visit<'_>, plan: &Arc<ShutdownPlan>) -> usize {
    let mut height = 0;
    for child in visit.children() {
        height = height.max(begin_below(&mut visit.at(child), plan) + 1);
    }
    let (key, now) = (visit.key, visit.now);
    let order_until = now.plus(visit.config.options.level_millis / 2);
    let acts = &mut *visit.acts;
    let Some(node) = visit.nodes.get_mut(key).filter(|node| !node.is_leaving()) else {
        return height;
    };
    let path = Arc::clone(node.path());
    let intent = &mut node.intent;
    intent.leaving = Some(Leaving {
        since: now,
        plan: Arc::clone(plan),
        height,
        order_until,
        free_since: None,
        is_done: false,
        last_look: LastLook::NotYet,
    });
    // A pending restart becomes the removal.
    intent.procedure = None;
    intent.rebuild.withdraw();
    let open = node.rules.watches.iter_mut().filter(|watch| watch.machine.holds());
    for watch in open {
        watch.machine.abandon();
        acts.push(Act::Count(Count::Abandoned(
            Arc::clone(&path),
            Box::new(watch.rule.clone()),
        )));
    }
    if node.progress.action.in_progress() {
        acts.push(Act::Cancel(path, CancelReason::Removal));
    }
    visit.mark();
    height
}

/// A leaving worker is declared again. Levels, not edges: it simply continues.
pub(super) fn stay(visit: &mut Visit<'_>) {
    let now = visit.now;
    let Some(node) = visit.node_mut() else { return };
    let Some(leaving) = node.intent.leaving.take_if(|leaving| !leaving.is_done) else {
        return;
    };
    node.placement.is_settled = false;
    node.progress.since = now;
    let path = Arc::clone(node.path());
    tracing::info!(worker = %path, "declared again while leaving, stays");
    if leaving.last_look != LastLook::NotYet {
        // Its last observation was made already: collection starts anew with what is desired.
        node.observed.derived = Derived::Due;
        visit.acts.push(Act::StopObserving(path));
    }
    visit.mark();
}

/// Whether a leaving worker's children are gone, so that it is its own turn; one that stays always has its turn.
pub(super) fn is_its_turn(visit: &mut Visit<'_>) -> bool {
    let now = visit.now;
    let Some(node) = visit.node_mut() else {
        return false;
    };
    let Some(leaving) = node.intent.leaving.as_mut() else {
        return true;
    };
    let is_free = node.placement.children.is_empty();
    if is_free {
        leaving.free_since.get_or_insert(now);
    }
    is_free
}

/// The worker is down. Where a store remembers it, it goes once it was observed for the last time.
pub(super) fn is_down(visit: &mut Visit<'_>) {
    let (now, remembers) = (visit.now, visit.config.memory.remembers());
    let Some(node) = visit.node_mut() else { return };
    let path = Arc::clone(node.path());
    let Some(leaving) = node.intent.leaving.as_mut() else {
        return;
    };
    match leaving.last_look {
        LastLook::NotYet if remembers && node.observed.desired.is_some() => {
            leaving.last_look = LastLook::Until(now.plus(LAST_LOOK_MILLIS));
            visit.acts.push(Act::ObserveLast(path));
        }
        LastLook::Until(at) if now < at => {}
        LastLook::NotYet | LastLook::Until(_) | LastLook::Over => reap(visit),
    }
}

/// The worker cannot be asked to stop. If it never did anything there is nothing to undo; but what an earlier instance
/// left up stays up, and that is no clean end.
pub(super) fn unasked(visit: &mut Visit<'_>) {
    if let Some(node) = visit.node().filter(|node| node.progress.left_up) {
        let path = node.path().as_ref().to_owned();
        tracing::warn!(worker = %path, "remaining effects cannot be stopped, cut off");
        let why = ShutdownFault::Unasked;
        visit.acts.push(Act::Cut(CutAt { path, why }));
    }
    reap(visit);
}

/// Cuts a worker whose time is over, and everything left below it.
pub(super) fn cut_overdue(visit: &mut Visit<'_>) {
    let Some(node) = visit.node().filter(|node| !node.is_root()) else {
        return;
    };
    let Some(leaving) = &node.intent.leaving else {
        return;
    };
    let Some(why) = leaving.plan.cut(visit.now, leaving.height, leaving.free_since) else {
        return;
    };
    let path = node.path().as_ref().to_owned();
    for child in visit.children() {
        cut_overdue(&mut visit.at(child));
    }
    tracing::warn!(worker = %path, ?why, "did not leave in time, cut off");
    visit.acts.push(Act::Cut(CutAt { path, why }));
    reap(visit);
}

/// Removes the worker and everything below it.
fn reap(visit: &mut Visit<'_>) {
    visit.mark_neighbours();
    let key = visit.key;
    let Some(node) = visit.nodes.remove(key) else {
        return;
    };
    let path = Arc::clone(node.path());
    if let Some(parent) = node.placement.parent.and_then(|parent| visit.nodes.get_mut(parent)) {
        parent.placement.children.remove(node.name());
        parent.placement.view_due = true;
        parent.placement.is_settled = false;
    }
    let children: Vec<WorkerKey> = node.placement.children.values().copied().collect();
    visit.acts.push(Act::Forget(key, Box::new(node)));
    for child in children {
        reap(&mut visit.at(child));
    }
    tracing::info!(worker = %path, "removed");
}

/// Has every worker leave. A second call does nothing more.
pub(super) fn shut_down(visit: &mut Visit<'_>) {
    let why = "the supervisor stops";
    begin(visit, why);
    if let Some(root) = visit.node_mut() {
        root.intent.goal = Goal::Removed;
        root.progress.reason = Reason::from(why);
    }
}

/// Ends the time of every leaving worker: they are cut in the next tick.
pub(super) fn force(visit: &mut Visit<'_>) {
    let (keys, now): (Vec<WorkerKey>, Timestamp) = (visit.nodes.keys().collect(), visit.now);
    for key in keys {
        let mut visit = visit.at(key);
        if let Some(leaving) = visit.node_mut().and_then(|node| node.intent.leaving.as_mut()) {
            let plan = leaving.plan.as_ref().clone().within(now);
            leaving.plan = Arc::new(plan);
        }
        visit.mark();
    }
}
