//! Building workers, building them anew, and the way down and up of a restart.
//!
//! Forcing a worker of this process can only mean to fence it off: its action and its observations belong to a life that
//! is over, and a new worker takes its place. Whatever the old one still does, nobody listens.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sprag_core::supervision::rest::Schedule;
use sprag_core::supervision::restart::Progress;
use sprag_core::time::Timestamp;

use super::arena::Index;
use super::node::{Derived, Node, UNBUILT};
use super::step::caught;
use super::tick::Tree;
use crate::action::ActionStatus;
use crate::worker::{Goal, Phase, Reason};

/// A child that has not stopped by then is forced, in milliseconds.
const STOP_MAX_MILLIS: u64 = 10_000;
/// A longer stop grace is waited for, and so much more, in milliseconds.
const STOP_MARGIN_MILLIS: u64 = 1_000;
/// A worker that asked to be built anew and does not stop is replaced after so long, in milliseconds.
const REBUILD_MAX_MILLIS: u64 = 30_000;

/// A restart under way.
#[derive(Clone, Debug)]
pub(crate) struct Procedure {
    pub(crate) since: Timestamp,
    pub(crate) force_at: Timestamp,
    pub(crate) stage: Stage,
}

/// How far a restart is, as it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Halfway {
    /// What ran before may still run.
    Down,
    /// It was down: whatever runs is the new life.
    Up,
}

/// What a worker leaves to the one that takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// Nothing: it was seen to be down.
    Nothing,
    /// Whatever it did not stop in time.
    Something,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// On its way down.
    Stopping,
    /// On its way up, from that many transitions on.
    Starting {
        /// Transitions it had made when it was down.
        transitions: u64,
    },
}

/// What is known about building the worker.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rebuild {
    asked: Option<Timestamp>,
    built_at: Option<Timestamp>,
    streak: u32,
    retry_at: Option<Timestamp>,
    pub(crate) error: Option<Arc<str>>,
}

impl Procedure {
    /// From its first step on.
    fn begun(node: &Node, now: Timestamp) -> Self {
        let within = match node.spec.stop_grace_millis.unwrap_or(0) {
            grace if grace >= STOP_MAX_MILLIS => grace.saturating_add(STOP_MARGIN_MILLIS),
            _ => STOP_MAX_MILLIS,
        };
        Self {
            since: now,
            force_at: now.plus(within),
            stage: Stage::Stopping,
        }
    }

    /// One that an earlier process did not end: from where it was.
    pub(super) fn resumed(node: &Node, halfway: Halfway, now: Timestamp) -> Self {
        let stage = match halfway {
            Halfway::Down => Stage::Stopping,
            Halfway::Up => Stage::Starting {
                transitions: node.transitions,
            },
        };
        Self {
            stage,
            ..Self::begun(node, now)
        }
    }

    pub(super) fn halfway(&self) -> Halfway {
        match self.stage {
            Stage::Stopping => Halfway::Down,
            Stage::Starting { .. } => Halfway::Up,
        }
    }
}

impl Rebuild {
    /// Whether the worker goes down to be built anew.
    pub(crate) fn is_draining(&self) -> bool {
        self.asked.is_some()
    }

    /// Since when, and when it is replaced if it has not stopped.
    pub(crate) fn draining(&self) -> Option<(Timestamp, Timestamp)> {
        self.asked.map(|since| (since, since.plus(REBUILD_MAX_MILLIS)))
    }

    /// There will be none.
    pub(crate) fn withdraw(&mut self) {
        self.asked = None;
        self.retry_at = None;
    }

    pub(crate) fn due(&self) -> Option<Timestamp> {
        let forced = self.asked.map(|since| since.plus(REBUILD_MAX_MILLIS));
        [self.retry_at, forced, self.earliest()].into_iter().flatten().min()
    }

    /// No sooner is it built again: rests grow with each time, until one life has lasted.
    fn earliest(&self) -> Option<Timestamp> {
        self.asked?;
        let rest = Schedule::default().rest(self.streak.max(1));
        self.built_at.map(|at| at.plus(rest))
    }

    fn built(&mut self, now: Timestamp) {
        let stable = Schedule::default().stable_after_millis;
        let lasted = self.built_at.is_some_and(|at| now.since(at) >= stable);
        self.streak = if lasted { 1 } else { self.streak.saturating_add(1) };
        self.built_at = Some(now);
        self.asked = None;
        self.retry_at = None;
        self.error = None;
    }

    /// The old worker is gone all the same: what is left is to build one, when that is due.
    fn failed(&mut self, error: Arc<str>, now: Timestamp) {
        self.asked = None;
        self.streak = self.streak.saturating_add(1);
        self.retry_at = Some(now.plus(Schedule::default().rest(self.streak)));
        self.error = Some(error);
    }
}

impl Tree {
    /// Builds a worker for the first time, or anew with fresh dependencies.
    pub(super) fn build(&mut self, index: Index, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        let built = caught(|| self.registry.build(&node.identity));
        let built = built.unwrap_or_else(|panic| Err(crate::BuildError(format!("the constructor panicked: {panic}"))));
        match built {
            Ok(inner) => {
                node.shown = inner.shown();
                node.inner = Some(inner);
                node.reason = Reason::from("built");
                node.starts += 1;
                node.rebuild.built(now);
            }
            Err(error) => {
                node.shown = UNBUILT;
                node.inner = None;
                node.reason = Reason::from(format!("it could not be built: {error}"));
                tracing::warn!(worker = %node.identity.path, %error, "a worker could not be built; it is tried again");
                node.rebuild.failed(Arc::from(error.to_string()), now);
            }
        }
        node.since = now;
        node.derived = Derived::Due;
        node.desired = None;
        node.completed = false;
        node.rests = false;
        self.refresh_watches(index, now);
        self.mark_neighbours(index);
    }

    /// The old worker is fenced off and a new one takes its place.
    fn replace(&mut self, index: Index, left: Left, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        self.hands.forget(&Arc::clone(node.path()));
        node.seen = None;
        node.failing = None;
        node.action = Arc::new(ActionStatus::default());
        node.effect_after = None;
        node.left_up |= left == Left::Something;
        node.transitions += 1;
        self.build(index, now);
        if let Some(node) = self.nodes.get(index) {
            self.keeper.status(node, now);
        }
        self.mark(index);
    }

    /// A constructor that failed is tried again when it is due.
    pub(super) fn build_due(&mut self, index: Index, now: Timestamp) {
        let Some(node) = self.nodes.get(index) else {
            return;
        };
        let is_due = node.rebuild.retry_at.is_some_and(|at| at <= now);
        if node.inner.is_none() && is_due && node.leaving.is_none() {
            self.build(index, now);
        }
    }

    /// The worker asks to be built anew.
    pub(super) fn ask_rebuild(&mut self, index: Index, now: Timestamp) {
        if let Some(node) = self.nodes.get_mut(index) {
            node.rebuild.asked.get_or_insert(now);
            self.mark(index);
        }
    }

    /// Begins a restart: down, forced if it must be, and up.
    pub(super) fn begin_restart(&mut self, index: Index, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        node.procedure = Some(Procedure::begun(node, now));
        node.restarts += 1;
        self.keeper.status(node, now);
        self.mark(index);
    }

    /// A restart that is under way is called off: one that had not stopped its worker yet was none.
    pub(super) fn call_off_restart(node: &mut Node) {
        let procedure = node.procedure.take();
        if procedure.is_some_and(|procedure| procedure.stage == Stage::Stopping) {
            node.restarts = node.restarts.saturating_sub(1);
        }
    }

    /// Takes a restart or a rebuild one step on.
    pub(super) fn advance_restart(&mut self, index: Index, now: Timestamp) {
        let Some(node) = self.nodes.get(index).filter(|node| node.leaving.is_none()) else {
            return;
        };
        let is_down = node.is_down();
        if let Some(asked) = node.rebuild.asked {
            let is_rested = node.rebuild.earliest().is_none_or(|at| at <= now);
            if (is_down || now.since(asked) >= REBUILD_MAX_MILLIS) && is_rested {
                let left = if is_down { Left::Nothing } else { Left::Something };
                if left == Left::Something {
                    self.metrics.forced(&node.identity.path, "replaced");
                }
                tracing::info!(worker = %node.identity.path, forced = !is_down, "built anew, as it asked");
                self.replace(index, left, now);
            }
        }
        self.advance_procedure(index, now);
    }

    fn advance_procedure(&mut self, index: Index, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        let is_down = node.is_down();
        let lasting = node.shown.phase.is_operational();
        let Some(procedure) = node.procedure.as_mut() else {
            return;
        };
        let transitions = node.transitions;
        let is_forced = now >= procedure.force_at;
        match procedure.stage {
            Stage::Stopping if is_down || is_forced => {
                // Who failed may not come back by itself: once it has nothing left to stop, a fresh worker takes its
                // place.
                let is_replaced = !is_down || node.shown.phase == Phase::Failed;
                let transitions = transitions + u64::from(is_replaced);
                procedure.stage = Stage::Starting { transitions };
                if !is_down {
                    tracing::warn!(worker = %node.identity.path, "did not stop in time, replaced");
                    self.metrics.forced(&node.identity.path, "replaced");
                }
                if is_replaced {
                    let left = if is_down { Left::Nothing } else { Left::Something };
                    self.replace(index, left, now);
                }
            }
            Stage::Starting { .. } if lasting => node.procedure = None,
            Stage::Stopping | Stage::Starting { .. } => return,
        }
        if let Some(node) = self.nodes.get(index) {
            self.keeper.status(node, now);
        }
    }
}

/// How far a restarted child is.
pub(super) fn progress(node: &Node) -> Progress {
    let phase = node.shown.phase;
    match node.procedure.as_ref().map(|procedure| procedure.stage) {
        Some(Stage::Stopping) => Progress::Underway,
        Some(Stage::Starting { transitions }) if phase == Phase::Failed && node.transitions <= transitions => {
            Progress::Underway
        }
        _ if phase.is_operational() => Progress::Running,
        _ if phase == Phase::Failed && node.goal == Goal::Running => Progress::Failed,
        _ => Progress::Underway,
    }
}
