//! The end of an escalation: an operator's start or restart, or a changed spec.

use std::collections::BTreeSet;
use std::sync::Arc;

use sprag_core::time::Timestamp;

use super::act::{Act, Count};
use super::node::Node;
use super::nodes::Nodes;
use super::operate::shown_path;
use super::visit::Visit;
use super::{aim, restart};
use crate::report::metrics::RestartCause;
use crate::worker::{Goal, Phase};

/// What the operator asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    Start,
    Restart,
}

/// Why a restart could not bring the worker back, or one of the children that would stop with it.
pub(super) fn obstacle(nodes: &Nodes, node: &Node, now: Timestamp) -> Option<String> {
    if let Some(why) = node.obstacle(now) {
        return Some(why);
    }
    let stops_too = |child: &&Node| child.placement.spec.states.values().any(|goal| *goal != Goal::Running);
    let is_running = |child: &&Node| aim::wants_lastingly(nodes, child) == Goal::Running;
    let children = nodes.children(node).filter(stops_too).filter(is_running);
    children.into_iter().find_map(|child| {
        let why = obstacle(nodes, child, now)?;
        Some(format!("child `{}`: {why}", child.name()))
    })
}

/// Ends escalations and starts what failed, at the worker and below it. What is well is not touched.
pub(super) fn bring_back(visit: &mut Visit<'_>, by: &str, asked: Again) {
    forgive(visit, by);
    recover_below(visit, by, asked);
    let needs_restart = visit
        .node()
        .is_some_and(|node| node.phase() == Phase::Failed && !node.recovers());
    if needs_restart {
        // It may have something left to stop, and does not come back by itself.
        restart::begin(visit);
    }
}

/// Ends every escalation below a worker and starts what failed there. A child that was given up is restarted at once if
/// a restart was `asked` for, and judged anew if not.
fn recover_below(visit: &mut Visit<'_>, by: &str, asked: Again) {
    let Some(node) = visit.node() else { return };
    let given_up = node.rules.watches.iter().filter(|watch| watch.is_escalated());
    let given_up: BTreeSet<String> = given_up.map(|watch| watch.rule.restart.clone()).collect();
    for child in visit.children() {
        recover(&mut visit.at(child), &given_up, by, asked);
    }
    forgive_absent(visit, by);
}

fn recover(visit: &mut Visit<'_>, given_up: &BTreeSet<String>, by: &str, asked: Again) {
    let Some(node) = visit.node().filter(|node| !node.is_leaving()) else {
        return;
    };
    let has_failed = node.phase() == Phase::Failed;
    let is_given_up = given_up.contains(node.name().as_ref());
    let is_restarted = (has_failed && !node.recovers()) || (is_given_up && asked == Again::Restart);
    let is_wanted = aim::wants_lastingly(visit.nodes, node) == Goal::Running;
    let path = Arc::clone(node.path());
    if has_failed || is_given_up {
        forgive(visit, by);
        visit.mark();
    }
    if is_wanted && is_restarted {
        let restarted = Count::Restarted(path, RestartCause::Manual);
        visit.acts.push(Act::Count(restarted));
        restart::begin(visit);
    }
    recover_below(visit, by, asked);
}

/// Ends escalations over children that do not exist.
fn forgive_absent(visit: &mut Visit<'_>, by: &str) {
    let Some(node) = visit.node_mut() else { return };
    for watch in &mut node.rules.watches {
        if watch.is_escalated() && watch.machine.reset() {
            log_end(&node.placement.identity.path, &watch.rule.restart, by);
        }
    }
    node.rules.escalations = Arc::default();
    visit.mark();
}

/// An operator restarted the child or its spec changed: its panics and the detections of its rules are forgotten.
pub(super) fn forgive(visit: &mut Visit<'_>, why: &str) {
    let Some(node) = visit.node_mut() else { return };
    node.progress.breaker.clear();
    let (name, parent) = (Arc::clone(node.name()), node.placement.parent);
    if let Some(parent) = parent {
        forgive_child(&mut visit.at(parent), &name, why);
    }
}

fn forgive_child(visit: &mut Visit<'_>, name: &str, why: &str) {
    let Some(owner) = visit.node_mut() else {
        return;
    };
    let mut has_ended = false;
    let watches = owner.rules.watches.iter_mut();
    for watch in watches.filter(|watch| watch.rule.restart == name) {
        has_ended |= watch.machine.reset();
    }
    if has_ended {
        log_end(&owner.placement.identity.path, name, why);
        let known = owner.rules.escalations.iter();
        owner.rules.escalations = known.filter(|known| known.child != name).cloned().collect();
    }
    visit.keep();
    visit.mark();
}

fn log_end(supervisor: &str, child: &str, by: &str) {
    let supervisor = shown_path(supervisor);
    tracing::warn!(%supervisor, %child, by, "escalation cleared");
}
