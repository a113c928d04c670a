//! Where a worker is to go: what its declaration, its parent, a person and its siblings make of it.
//!
//! Levels, not edges: the goal is computed anew on each visit, so a parent that recovers while its child stops simply
//! wants it running again.

use sprag_core::time::Timestamp;

use super::arena::Index;
use super::node::Node;
use super::restart::Stage;
use super::tick::Tree;
use crate::child::{Dependency, Need};
use crate::worker::{Goal, Phase};

/// A goal, and what the worker waits for before it may have the goal it should have.
pub(crate) struct Aim {
    pub(crate) goal: Goal,
    pub(crate) waiting: Option<String>,
}

impl Aim {
    const fn plain(goal: Goal) -> Self {
        Self { goal, waiting: None }
    }
}

impl Tree {
    /// Where the worker is to go now.
    pub(super) fn aim(&self, index: Index, now: Timestamp) -> Aim {
        let Some(node) = self.nodes.get(index) else {
            return Aim::plain(Goal::Removed);
        };
        if let Some(leaving) = &node.leaving {
            return match self.dependent_in_the_way(node, now < leaving.order_until) {
                Some(name) => Aim {
                    goal: node.goal,
                    waiting: Some(format!("`{name}` to stop first")),
                },
                None => Aim::plain(Goal::Removed),
            };
        }
        if self.wants(node) == Goal::Running {
            return self.start_order(node);
        }
        let is_restart = node.procedure.is_some() || node.rebuild.is_draining();
        match self.dependent_in_the_way(node, !is_restart && node.goal == Goal::Running) {
            Some(name) => Aim {
                goal: Goal::Running,
                waiting: Some(format!("`{name}` to stop first")),
            },
            None => Aim::plain(Goal::Stopped),
        }
    }

    /// What everybody but its siblings wants of it.
    pub(super) fn wants(&self, node: &Node) -> Goal {
        let restarting = node
            .procedure
            .as_ref()
            .is_some_and(|procedure| procedure.stage == Stage::Stopping);
        if restarting || node.rebuild.is_draining() {
            return Goal::Stopped;
        }
        self.wants_lastingly(node)
    }

    /// The same without a restart that is under way.
    pub(super) fn wants_lastingly(&self, node: &Node) -> Goal {
        if node.leaving.is_some() {
            return Goal::Removed;
        }
        if node.operator == Some(Goal::Stopped) || (!node.spec.enabled && node.operator.is_none()) {
            return Goal::Stopped;
        }
        let parent = node.parent.and_then(|parent| self.nodes.get(parent));
        let mapped = parent.and_then(|parent| node.spec.states.get(parent.shown.state));
        mapped.copied().unwrap_or(Goal::Running)
    }

    /// A worker that is down starts only when those it depends on are there; one that is up stays up.
    fn start_order(&self, node: &Node) -> Aim {
        if !node.shown.phase.is_down() {
            return Aim::plain(Goal::Running);
        }
        let unmet = node
            .spec
            .depends_on
            .iter()
            .find(|dependency| !self.is_met(node, dependency));
        match unmet {
            Some(Dependency { on, need }) => Aim {
                goal: Goal::Stopped,
                waiting: Some(format!("`{on}` to be {}", need.name())),
            },
            None => Aim::plain(Goal::Running),
        }
    }

    fn is_met(&self, node: &Node, dependency: &Dependency) -> bool {
        let sibling = node
            .parent
            .and_then(|parent| self.nodes.get(parent))
            .and_then(|parent| parent.children.get(dependency.on.as_str()))
            .and_then(|sibling| self.nodes.get(*sibling));
        let Some(sibling) = sibling else {
            return false;
        };
        match dependency.need {
            Need::Started => !matches!(sibling.shown.phase, Phase::Stopped | Phase::Failed),
            Need::Ready => sibling.shown.phase.is_operational(),
            Need::Completed => sibling.completed,
        }
    }

    /// Stopping goes the other way: a sibling that depends on this one, goes down as well, and is not down yet.
    fn dependent_in_the_way(&self, node: &Node, is_ordered: bool) -> Option<String> {
        if !is_ordered {
            return None;
        }
        let parent = self.nodes.get(node.parent?)?;
        let dependents = parent.dependents.get(&node.identity.name)?;
        dependents.iter().find_map(|name| {
            let sibling = self.nodes.get(*parent.children.get(name)?)?;
            let goes = self.wants_lastingly(sibling) != Goal::Running;
            let is_down = sibling.shown.phase == Phase::Stopped || sibling.is_down();
            let is_up = !is_down || sibling.leaving.is_some();
            (goes && is_up).then(|| name.as_ref().to_owned())
        })
    }
}

impl Need {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Ready => "ready",
            Self::Completed => "completed",
        }
    }
}
