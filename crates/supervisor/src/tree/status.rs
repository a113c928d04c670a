//! The tree for people: the list of workers, counts, gauges, explanations, troubles.

use std::sync::Arc;

use serde::Serialize;
use sprag_core::supervision::Circuit;
use sprag_core::time::Timestamp;
use sprag_wire::WorkerRule;

use super::node::Node;
use super::operate::shown_path;
use super::tick::Tree;
use super::watch::Watch;
use crate::report::explain::{Explain, rule};
use crate::report::metrics::Gauges;
use crate::report::trouble::{Trouble, TroubleKind};
use crate::rule::Check;
use crate::runtime::collector::Observation;
use crate::worker::document::Document;
use crate::worker::snapshot::Escalation;
use crate::worker::{Goal, Phase};

/// A worker as people see it in a list.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Its place in the tree.
    pub path: Arc<str>,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: Arc<str>,
    /// Its state.
    pub state: &'static str,
    /// What that means.
    pub phase: Phase,
    /// Where it is to go.
    pub goal: Goal,
    /// Why it is in its state.
    pub reason: String,
    /// Since when.
    pub since: Timestamp,
    /// Restarts by rules and people.
    pub restarts: u64,
    /// How often it was built.
    pub starts: u64,
    /// Transitions so far.
    pub transitions: u64,
    /// How the circuit stands that concerns it.
    pub circuit: &'static str,
    /// How well it is observed.
    pub observation: Observation,
    /// What it waits for.
    pub waiting: Option<String>,
    /// The rules that restart it.
    pub restarted_by: Vec<WorkerRule>,
    /// Its last observation.
    #[serde(skip)]
    pub observed: Option<Document>,
}

/// How many workers are healthy. A stopped worker is neither healthy nor unhealthy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// They run.
    pub healthy: usize,
    /// They should run and do not, or not well.
    pub unhealthy: usize,
    /// They are stopped.
    pub stopped: usize,
}

impl Counts {
    fn of<'a>(nodes: impl Iterator<Item = &'a Node>) -> Self {
        let mut counts = Self::default();
        for node in nodes {
            counts.add(node.phase());
        }
        counts
    }

    fn add(&mut self, phase: Phase) {
        match phase {
            Phase::Running => self.healthy += 1,
            Phase::Stopped => self.stopped += 1,
            Phase::Starting | Phase::Degraded | Phase::Stopping | Phase::Failed => self.unhealthy += 1,
        }
    }
}

impl Tree {
    /// Every worker, by path.
    pub(crate) fn list(&self, now: Timestamp) -> Vec<Status> {
        let workers = self.nodes.iter().filter(|node| !node.is_root());
        let mut list: Vec<Status> = workers.map(|node| self.status(node, now)).collect();
        list.sort_by(|left, right| left.path.cmp(&right.path));
        list
    }

    /// How many workers are healthy.
    pub(crate) fn counts(&self) -> Counts {
        Counts::of(self.nodes.iter().filter(|node| !node.is_root()))
    }

    /// Everything about one worker that a person may want to know.
    pub(super) fn explain_node(&self, node: &Node, now: Timestamp) -> Explain {
        let children = Counts::of(self.nodes.children(node));
        Explain::of(node, self.status(node, now), children, now)
    }

    fn status(&self, node: &Node, now: Timestamp) -> Status {
        let (placement, progress) = (&node.placement, &node.progress);
        Status {
            path: Arc::from(shown_path(node.path())),
            kind: Arc::clone(&placement.identity.kind),
            state: progress.shown.state,
            phase: progress.shown.phase,
            goal: node.intent.goal,
            reason: why(node),
            since: progress.since,
            restarts: progress.restarts,
            starts: progress.starts,
            transitions: progress.transitions,
            circuit: self.circuit(node, now),
            // There is nothing to observe of the supervisor itself.
            observation: if node.is_root() {
                Observation::Fresh
            } else {
                node.observation(now, self.config.options.collector.stale_millis)
            },
            waiting: waits_for(node),
            restarted_by: self.restarted_by(node, now),
            observed: node.observed.last.as_ref().map(|last| last.document.clone()),
        }
    }

    /// The rules that restart the worker.
    fn restarted_by(&self, node: &Node, now: Timestamp) -> Vec<WorkerRule> {
        let Some(owner) = self.nodes.parent(node) else {
            return Vec::new();
        };
        let watches = watches_over(owner, node);
        watches.map(|watch| rule(owner, watch, now)).collect()
    }

    /// The circuit that concerns the worker: its own breaker, or a rule that would restart it.
    fn circuit(&self, node: &Node, now: Timestamp) -> &'static str {
        if node.progress.breaker.open_until(now).is_some() {
            return "panics";
        }
        let owner = self.nodes.parent(node);
        let mut stands = owner
            .into_iter()
            .flat_map(|owner| watches_over(owner, node))
            .map(Watch::stands);
        stands.find(|stands| *stands != "closed").unwrap_or("closed")
    }

    /// What only the tree knows, for monitoring.
    pub(crate) fn gauges(&self, now: Timestamp) -> Gauges {
        let mut gauges = Gauges::default();
        for node in self.nodes.iter() {
            let path = node.path();
            if let Some(last) = &node.observed.last {
                gauges.observation_ages.push((Arc::clone(path), now.since(last.at)));
            }
            let watches = node.rules.watches.iter();
            let open = watches.filter_map(|watch| Some((watch, watch.open_since()?)));
            gauges.circuits_open.extend(open.map(|(watch, since)| {
                let (child, rule) = (watch.rule.restart.clone(), watch.rule.name.clone());
                (Arc::clone(path), child, rule, now.since(since))
            }));
        }
        gauges.observation_ages.sort();
        gauges
    }

    /// Rules at the root that gave up: alerts for the operator on duty.
    pub(crate) fn alerts(&self) -> Vec<Escalation> {
        let root = self.nodes.get(self.nodes.root());
        root.map(|root| root.rules.escalations.to_vec()).unwrap_or_default()
    }

    /// Everything the operator on duty should know of, by place in the tree.
    pub(crate) fn troubles(&self, now: Timestamp) -> Vec<Trouble> {
        let mut troubles = Vec::new();
        for node in self.nodes.iter().filter(|node| !node.is_leaving()) {
            let watches = node.rules.watches.iter();
            troubles.extend(watches.filter_map(|watch| circuit_trouble(node, watch)));
            if node.progress.breaker.open_until(now).is_some() {
                troubles.push(trouble(node, TroubleKind::Panics));
            }
            if node.phase() == Phase::Failed {
                troubles.push(trouble(node, TroubleKind::Failed));
            }
        }
        troubles
    }
}

/// The rules of `owner` that restart the worker.
fn watches_over<'a>(owner: &'a Node, node: &'a Node) -> impl Iterator<Item = &'a Watch> {
    let watches = owner.rules.watches.iter();
    watches.filter(|watch| *watch.rule.restart == **node.name())
}

/// Why it is in its state. That an operator stopped it is not the worker's to know.
fn why(node: &Node) -> String {
    let (intent, progress) = (&node.intent, &node.progress);
    if let Some(escalation) = node.rules.escalations.first().filter(|_| node.is_root()) {
        return format!("it gave up on `{}`: {}", escalation.child, escalation.cause);
    }
    let is_by_wish = node.phase() == Phase::Stopped && !progress.completed && !node.is_leaving();
    match intent.operator {
        Some(Goal::Stopped) if is_by_wish => "stopped by hand".to_owned(),
        None if is_by_wish && !node.placement.spec.enabled => "it is not enabled".to_owned(),
        _ if is_by_wish && intent.waiting.is_some() => "not to run yet".to_owned(),
        _ => progress.reason.as_str().to_owned(),
    }
}

/// What the worker waits for, in words.
fn waits_for(node: &Node) -> Option<String> {
    let gate = || node.intent.gate.map(|(gate, _)| gate.waits_for().to_owned());
    node.intent.waiting.clone().or_else(gate)
}

fn trouble(node: &Node, kind: TroubleKind) -> Trouble {
    Trouble {
        kind,
        worker: Arc::clone(node.path()),
        rule: None,
        cause: node.progress.reason.as_str().to_owned(),
        since: node.progress.since,
    }
}

fn circuit_trouble(owner: &Node, watch: &Watch) -> Option<Trouble> {
    let (kind, since, cause) = match watch.machine.circuit() {
        Circuit::Closed => return None,
        Circuit::Open { since, .. } | Circuit::HalfOpen { since, .. } => (TroubleKind::CircuitOpen, *since, None),
        Circuit::Escalated { since, cause } => (TroubleKind::Escalated, *since, Some(cause.clone())),
    };
    let last = || match &watch.last {
        Some((Check::Bad(why), _)) => why.clone(),
        _ => format!("rule `{}` found it broken", watch.rule.name),
    };
    let worker = match owner.path().as_ref() {
        "" => watch.rule.restart.clone(),
        path => format!("{path}/{}", watch.rule.restart),
    };
    Some(Trouble {
        kind,
        worker: Arc::from(worker),
        rule: Some(watch.rule.name.clone()),
        cause: cause.unwrap_or_else(last),
        since,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // 68.
    #[test]
    fn of_all_phases_only_running_is_healthy_and_stopped_is_neither() {
        let phases = [
            (Phase::Stopped, (0, 0, 1)),
            (Phase::Starting, (0, 1, 0)),
            (Phase::Running, (1, 0, 0)),
            (Phase::Degraded, (0, 1, 0)),
            (Phase::Stopping, (0, 1, 0)),
            (Phase::Failed, (0, 1, 0)),
        ];
        for (phase, wanted) in phases {
            let mut counts = Counts::default();
            counts.add(phase);
            assert_eq!((counts.healthy, counts.unhealthy, counts.stopped), wanted, "{phase}");
        }
    }
}
