//! What people ask of the tree: who is there, start, stop, restart, cancel.
//!
//! A manual start is never refused by a limit: it clears what rules hold against the worker, and it is recorded.

use std::sync::Arc;

use serde::Serialize;
use sprag_core::source::nearest;
use sprag_core::time::Timestamp;

use super::arena::Index;
use super::node::Node;
use super::rules::{Again, Watch};
use super::tick::Tree;
use crate::collector::Observation;
use crate::document::Document;
use crate::explain::{Explain, RuleStatus};
use crate::metrics::{Gauges, RestartCause};
use crate::worker::{Goal, Phase};

/// The path of the supervisor itself: it owns the workers at the top, and the rules over them.
pub const ROOT_PATH: &str = "/";

/// A path as people write it: that of the root is empty inside the tree.
pub(crate) fn shown_path(path: &str) -> &str {
    if path.is_empty() { ROOT_PATH } else { path }
}

/// The most names that a misspelt one is compared with.
const NEAR_MAX: usize = 2_000;

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
    /// How the circuit stands that speaks of it.
    pub circuit: &'static str,
    /// How well it is being looked at.
    pub observation: Observation,
    /// What it waits for.
    pub waiting: Option<String>,
    /// The rules that restart it.
    pub restarted_by: Vec<RuleStatus>,
    /// What was seen last.
    #[serde(skip)]
    pub observed: Option<Document>,
}

/// How many workers are how. Who is stopped is neither healthy nor unhealthy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// They run.
    pub healthy: usize,
    /// They should run and do not, or not well.
    pub unhealthy: usize,
    /// They are stopped.
    pub stopped: usize,
}

/// Why something cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OperateError {
    /// There is nobody of that name.
    #[error("no service or worker `{path}` is known here{}", near.as_ref().map(|near| format!(": did you mean `{near}`?")).unwrap_or_default())]
    Unknown {
        /// The path that was given.
        path: String,
        /// The one that was most likely meant.
        near: Option<String>,
    },
    /// It is leaving.
    #[error("worker `{path}` is leaving; it cannot be started or stopped any more")]
    Leaving {
        /// The path that was given.
        path: String,
    },
    /// It cannot be done as things are.
    #[error("{why}")]
    Refused {
        /// Why, and what to do.
        why: String,
    },
    /// The supervisor is gone.
    #[error("the supervisor has stopped")]
    Gone,
}

impl Counts {
    fn add(&mut self, phase: Phase) {
        match phase {
            Phase::Running => self.healthy += 1,
            Phase::Stopped => self.stopped += 1,
            Phase::Starting | Phase::Degraded | Phase::Stopping | Phase::Failed => self.unhealthy += 1,
        }
    }
}

impl Tree {
    /// Everybody, by path.
    pub(crate) fn list(&self, now: Timestamp) -> Vec<Status> {
        let mut list: Vec<Status> = self
            .nodes
            .indices()
            .filter_map(|index| self.nodes.get(index))
            .filter(|node| !node.is_root())
            .map(|node| self.status(node, now))
            .collect();
        list.sort_by(|left, right| left.path.cmp(&right.path));
        list
    }

    /// How many are how.
    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        let nodes = self.nodes.indices().filter_map(|index| self.nodes.get(index));
        for node in nodes.filter(|node| !node.is_root()) {
            counts.add(node.shown.phase);
        }
        counts
    }

    pub(crate) fn status(&self, node: &Node, now: Timestamp) -> Status {
        Status {
            path: Arc::from(shown_path(node.path())),
            kind: Arc::clone(&node.identity.kind),
            state: node.shown.state,
            phase: node.shown.phase,
            goal: node.goal,
            reason: why(node),
            since: node.since,
            restarts: node.restarts,
            starts: node.starts,
            transitions: node.transitions,
            circuit: self.circuit(node, now),
            // There is nothing to observe of the supervisor itself.
            observation: if node.is_root() {
                Observation::Fresh
            } else {
                node.observation(now, self.options.collector.stale_millis)
            },
            waiting: waits_for(node),
            restarted_by: self.restarted_by(node, now),
            observed: node.seen.as_ref().map(|seen| seen.document.clone()),
        }
    }

    /// How the rules stand that restart the worker.
    fn restarted_by(&self, node: &Node, now: Timestamp) -> Vec<RuleStatus> {
        let Some(owner) = node.parent.and_then(|parent| self.nodes.get(parent)) else {
            return Vec::new();
        };
        let restarts = |watch: &&Watch| *watch.rule.restart == *node.identity.name;
        let watches = owner.watches.iter().filter(restarts);
        watches.map(|watch| RuleStatus::of(owner, watch, now)).collect()
    }

    /// What only the tree knows, for whoever watches over it.
    pub(crate) fn gauges(&self, now: Timestamp) -> Gauges {
        let mut gauges = Gauges::default();
        for node in self.nodes.indices().filter_map(|index| self.nodes.get(index)) {
            if let Some(seen) = &node.seen {
                gauges
                    .observation_ages
                    .push((Arc::clone(node.path()), now.since(seen.at)));
            }
            let open = node
                .watches
                .iter()
                .filter_map(|watch| Some((watch, watch.open_since()?)));
            gauges.circuits_open.extend(open.map(|(watch, since)| {
                let (child, rule) = (watch.rule.restart.clone(), watch.rule.name.clone());
                (Arc::clone(node.path()), child, rule, now.since(since))
            }));
        }
        gauges.observation_ages.sort();
        gauges
    }

    /// The circuit that speaks of the worker: its own breaker, or a rule that would restart it.
    fn circuit(&self, node: &Node, now: Timestamp) -> &'static str {
        if node.breaker.open_until(now).is_some() {
            return "panics";
        }
        let owner = node.parent.and_then(|parent| self.nodes.get(parent));
        let watches = owner.map(|owner| owner.watches.as_slice()).unwrap_or_default();
        let stands = watches
            .iter()
            .filter(|watch| *watch.rule.restart == *node.identity.name)
            .map(Watch::stands)
            .find(|stands| *stands != "closed");
        stands.unwrap_or("closed")
    }

    /// Everything about one worker that a person may want to know.
    pub(crate) fn explain(&self, path: &str, now: Timestamp) -> Result<Explain, OperateError> {
        let node = self.find(path).and_then(|index| self.nodes.get(index));
        let node = node.ok_or_else(|| self.unknown(path))?;
        let children = node.children.values().filter_map(|child| self.nodes.get(*child));
        let mut counts = Counts::default();
        for child in children {
            counts.add(child.shown.phase);
        }
        Ok(Explain::of(node, self.status(node, now), counts, now))
    }

    /// Rules at the root that gave up: alerts for whoever is on duty.
    pub(crate) fn alerts(&self) -> Vec<crate::snapshot::Escalation> {
        let root = self.nodes.get(self.root);
        root.map(|root| root.escalations.to_vec()).unwrap_or_default()
    }

    /// Nobody of that name, and who comes nearest to it.
    fn unknown(&self, path: &str) -> OperateError {
        let mut paths: Vec<&str> = self.by_path.keys().map(AsRef::as_ref).collect();
        paths.sort_unstable();
        OperateError::Unknown {
            path: path.to_owned(),
            near: nearest(path, paths.into_iter().take(NEAR_MAX)).map(str::to_owned),
        }
    }

    fn find(&self, path: &str) -> Option<Index> {
        if path == ROOT_PATH {
            return Some(self.root);
        }
        self.by_path.get(path).copied()
    }

    /// The worker a person speaks of, as long as it is not leaving.
    fn operable(&mut self, path: &str) -> Result<(Index, &mut Node), OperateError> {
        let index = self.find(path).ok_or_else(|| self.unknown(path))?;
        let unknown = || OperateError::Unknown {
            path: path.to_owned(),
            near: None,
        };
        let node = self.nodes.get_mut(index).ok_or_else(unknown)?;
        if node.leaving.is_some() {
            return Err(OperateError::Leaving { path: path.to_owned() });
        }
        Ok((index, node))
    }

    /// A person wants it to run.
    pub(crate) fn start(&mut self, path: &str, by: &str, now: Timestamp) -> Result<(), OperateError> {
        let (index, node) = self.operable(path)?;
        if !node.is_root() {
            node.operator = Some(Goal::Running);
        }
        tracing::info!(worker = path, by, "started by hand");
        self.bring_back(index, by, Again::Start, now);
        self.wished(index, now);
        Ok(())
    }

    /// Ends what was given up and has what failed start, at the worker and below it. What is well is not touched.
    fn bring_back(&mut self, index: Index, by: &str, asked: Again, now: Timestamp) {
        self.forgive(index, by, now);
        self.recover(index, by, asked, now);
        let Some(node) = self.nodes.get(index) else {
            return;
        };
        let recovers = node.inner.as_ref().is_some_and(|inner| inner.recovers());
        if node.shown.phase == Phase::Failed && !recovers {
            // It may have something left to stop, and will not come back by itself.
            self.begin_restart(index, now);
        }
    }

    /// A person wants it to stop and stay.
    pub(crate) fn stop(&mut self, path: &str, by: &str, now: Timestamp) -> Result<(), OperateError> {
        let (index, node) = self.operable(path)?;
        if node.is_root() {
            return Err(not_the_root("stopped"));
        }
        node.operator = Some(Goal::Stopped);
        Self::call_off_restart(node);
        tracing::info!(worker = path, by, "stopped by hand");
        self.wished(index, now);
        Ok(())
    }

    /// A person wants it to stop and start. What rules hold against it is forgotten.
    pub(crate) fn restart(&mut self, path: &str, by: &str, now: Timestamp) -> Result<(), OperateError> {
        let (index, _) = self.operable(path)?;
        self.check_restart(index, path, now)?;
        let Some(node) = self.nodes.get_mut(index) else {
            return Err(OperateError::Gone);
        };
        tracing::info!(worker = path, by, "restarted by hand");
        let has_given_up = !node.escalations.is_empty();
        if !node.is_root() {
            node.operator = Some(Goal::Running);
        }
        if has_given_up {
            self.bring_back(index, by, Again::Restart, now);
        } else {
            self.forgive(index, by, now);
            self.metrics.restarted(path, RestartCause::Manual);
            self.begin_restart(index, now);
        }
        self.wished(index, now);
        Ok(())
    }

    /// What runs is not stopped for a restart that could not bring it back.
    fn check_restart(&self, index: Index, path: &str, now: Timestamp) -> Result<(), OperateError> {
        let Some(node) = self.nodes.get(index) else {
            return Err(self.unknown(path));
        };
        if node.is_root() && node.escalations.is_empty() {
            return Err(not_the_root("restarted"));
        }
        let is_up = !node.is_root() && !node.shown.phase.is_down();
        let obstacle = is_up.then(|| self.obstacle(node, now)).flatten();
        match obstacle {
            Some(why) => Err(OperateError::Refused {
                why: format!(
                    "`{path}` cannot be restarted, and is left running: {why}; fix that, or stop it with `sprag service \
                     stop {path}`"
                ),
            }),
            None => Ok(()),
        }
    }

    /// A person has its action end.
    pub(crate) fn cancel(&mut self, path: &str, by: &str, now: Timestamp) -> Result<(), OperateError> {
        let index = self.find(path).ok_or_else(|| self.unknown(path))?;
        let action = self.nodes.get(index).map(|node| Arc::clone(&node.action));
        if !self.hands.cancel(path, now) {
            let why = format!("no action of `{path}` is in progress: there is nothing to cancel");
            return Err(OperateError::Refused { why });
        }
        let action = action.as_ref().map_or("", |action| action.name.as_str());
        tracing::info!(worker = path, action, by, "action cancelled by hand");
        self.mark(index);
        Ok(())
    }

    fn wished(&mut self, index: Index, now: Timestamp) {
        if let Some(node) = self.nodes.get(index) {
            self.keeper.status(node, now);
        }
        self.mark(index);
        self.mark_neighbours(index);
    }
}

fn not_the_root(done: &str) -> OperateError {
    OperateError::Refused {
        why: format!("`{ROOT_PATH}` is the supervisor itself, which is not {done} here: name a service"),
    }
}

/// Why it is in its state. That somebody stopped it is not the worker's to know.
fn why(node: &Node) -> String {
    if let Some(escalation) = node.escalations.first().filter(|_| node.is_root()) {
        return format!("it gave up on `{}`: {}", escalation.child, escalation.cause);
    }
    let is_by_wish = node.shown.phase == Phase::Stopped && !node.completed && node.leaving.is_none();
    match node.operator {
        Some(Goal::Stopped) if is_by_wish => "stopped by hand".to_owned(),
        None if is_by_wish && !node.spec.enabled => "it is not enabled".to_owned(),
        _ if is_by_wish && node.waiting.is_some() => "not to run yet".to_owned(),
        _ => node.reason.as_str().to_owned(),
    }
}

/// What the worker waits for, in words.
fn waits_for(node: &Node) -> Option<String> {
    let gate = || node.gate.map(|(gate, _)| gate.waits_for().to_owned());
    node.waiting.clone().or_else(gate)
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
