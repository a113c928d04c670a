//! The goal of a worker, from its declaration, its parent, the operator and its siblings.
//!
//! The goal is a level, not an edge: every visit computes it again. So if a parent recovers while its child stops, the
//! child gets the goal to run again.

use super::node::Node;
use super::nodes::Nodes;
use super::restart::RestartStage;
use super::visit::Visit;
use crate::worker::child::{Dependency, Need};
use crate::worker::{Goal, Phase};

/// A goal, and what the worker waits for before it may have the goal it should have.
struct Aim {
    goal: Goal,
    waiting: Option<String>,
}

impl Aim {
    const fn plain(goal: Goal) -> Self {
        Self { goal, waiting: None }
    }

    fn behind(goal: Goal, sibling: &str) -> Self {
        let waiting = Some(format!("`{sibling}` to stop first"));
        Self { goal, waiting }
    }
}

/// Sets the goal. A new one concerns siblings that wait in turn.
pub(super) fn run(visit: &mut Visit<'_>) {
    let Some(node) = visit.node() else { return };
    let aim = aim(visit, node);
    let Some(node) = visit.node_mut() else { return };
    node.intent.waiting = aim.waiting;
    if node.intent.goal != aim.goal {
        node.intent.goal = aim.goal;
        visit.mark_neighbours();
    }
}

fn aim(visit: &Visit<'_>, node: &Node) -> Aim {
    let (nodes, intent) = (&*visit.nodes, &node.intent);
    if let Some(leaving) = &intent.leaving {
        return match dependent_in_the_way(nodes, node, visit.now < leaving.order_until) {
            Some(name) => Aim::behind(intent.goal, name),
            None => Aim::plain(Goal::Removed),
        };
    }
    if wants(nodes, node) == Goal::Running {
        return start_order(nodes, node);
    }
    let is_restart = intent.procedure.is_some() || intent.rebuild.is_draining();
    match dependent_in_the_way(nodes, node, !is_restart && intent.goal == Goal::Running) {
        Some(name) => Aim::behind(Goal::Running, name),
        None => Aim::plain(Goal::Stopped),
    }
}

/// What the worker's spec, its parent and the operator want of it; its siblings have no say.
pub(super) fn wants(nodes: &Nodes, node: &Node) -> Goal {
    let procedure = node.intent.procedure.as_ref();
    let is_stopping = procedure.is_some_and(|procedure| procedure.stage == RestartStage::Stopping);
    if is_stopping || node.intent.rebuild.is_draining() {
        return Goal::Stopped;
    }
    wants_lastingly(nodes, node)
}

/// The same without a restart that is under way.
pub(super) fn wants_lastingly(nodes: &Nodes, node: &Node) -> Goal {
    if node.is_leaving() {
        return Goal::Removed;
    }
    let (operator, spec) = (node.intent.operator, &node.placement.spec);
    if operator == Some(Goal::Stopped) || (!spec.enabled && operator.is_none()) {
        return Goal::Stopped;
    }
    let parent = nodes.parent(node);
    let mapped = parent.and_then(|parent| spec.states.get(parent.progress.shown.state));
    mapped.copied().unwrap_or(Goal::Running)
}

/// Whether a child of that name exists, stays, and is meant to run.
pub(super) fn is_meant_to_run(nodes: &Nodes, parent: &Node, name: &str) -> bool {
    let child = nodes.child(parent, name);
    child.is_some_and(|child| wants_lastingly(nodes, child) == Goal::Running)
}

/// A worker that is down starts only when its dependencies are met; one that is up stays up.
fn start_order(nodes: &Nodes, node: &Node) -> Aim {
    if !node.phase().is_down() {
        return Aim::plain(Goal::Running);
    }
    let mut dependencies = node.placement.spec.depends_on.iter();
    match dependencies.find(|dependency| !is_met(nodes, node, dependency)) {
        Some(Dependency { on, need }) => Aim {
            goal: Goal::Stopped,
            waiting: Some(format!("`{on}` to be {}", need.name())),
        },
        None => Aim::plain(Goal::Running),
    }
}

fn is_met(nodes: &Nodes, node: &Node, dependency: &Dependency) -> bool {
    let parent = nodes.parent(node);
    let sibling = parent.and_then(|parent| nodes.child(parent, &dependency.on));
    sibling.is_some_and(|sibling| match dependency.need {
        Need::Started => !sibling.phase().is_down(),
        Need::Ready => sibling.phase().is_operational(),
        Need::Completed => sibling.progress.completed,
    })
}

/// Stopping goes the other way: a sibling that depends on this one, stops as well, and is not down yet.
fn dependent_in_the_way<'a>(nodes: &'a Nodes, node: &Node, is_ordered: bool) -> Option<&'a str> {
    if !is_ordered {
        return None;
    }
    let parent = nodes.parent(node)?;
    let dependents = parent.placement.dependents.get(node.name())?;
    let in_the_way = dependents.iter().find(|name| {
        nodes.child(parent, name).is_some_and(|sibling| {
            let goes = wants_lastingly(nodes, sibling) != Goal::Running;
            let is_down = sibling.phase() == Phase::Stopped || sibling.is_down();
            goes && (!is_down || sibling.is_leaving())
        })
    });
    in_the_way.map(AsRef::as_ref)
}
