//! Builds workers, replaces them, and stops and starts them for a restart.
//!
//! The supervisor cannot kill a Rust worker of its own process. It fences the old instance instead (its action and its
//! observations no longer count), and builds a new one. It ignores everything that the old instance still does.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sprag_core::supervision::rest;
use sprag_core::supervision::restart as machine;
use sprag_core::time::Timestamp;

use super::act::{Act, Count};
use super::node::{Derived, Node, UNBUILT};
use super::step::caught;
use super::visit::Visit;
use super::watch;
use crate::worker::action::ActionStatus;
use crate::worker::registry::BuildError;
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
    pub(crate) stage: RestartStage,
}

/// How far a restart is, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Halfway {
    /// The old instance may still run.
    Down,
    /// It was down: what runs is the new instance.
    Up,
}

/// What an instance leaves to the one that replaces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leftover {
    /// Nothing: it was seen to be down.
    Nothing,
    /// What it did not stop in time.
    Something,
}

impl Leftover {
    const fn of(is_down: bool) -> Self {
        if is_down { Self::Nothing } else { Self::Something }
    }
}

/// How far a restart is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestartStage {
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
}

impl Procedure {
    /// From its first step on.
    fn begun(node: &Node, now: Timestamp) -> Self {
        let within = match node.placement.spec.stop_grace_millis.unwrap_or(0) {
            grace if grace >= STOP_MAX_MILLIS => grace.saturating_add(STOP_MARGIN_MILLIS),
            _ => STOP_MAX_MILLIS,
        };
        Self {
            since: now,
            force_at: now.plus(within),
            stage: RestartStage::Stopping,
        }
    }

    /// One that an earlier process did not end: from where it was.
    pub(super) fn resumed(node: &Node, halfway: Halfway, now: Timestamp) -> Self {
        let stage = match halfway {
            Halfway::Down => RestartStage::Stopping,
            Halfway::Up => RestartStage::Starting {
                transitions: node.progress.transitions,
            },
        };
        Self {
            stage,
            ..Self::begun(node, now)
        }
    }

    pub(super) fn halfway(&self) -> Halfway {
        match self.stage {
            RestartStage::Stopping => Halfway::Down,
            RestartStage::Starting { .. } => Halfway::Up,
        }
    }
}

impl Rebuild {
    /// Whether the worker goes down to be built anew.
    pub(crate) fn is_draining(&self) -> bool {
        self.asked.is_some()
    }

    /// Since when, and when the supervisor replaces it if it still runs.
    pub(crate) fn draining(&self) -> Option<(Timestamp, Timestamp)> {
        self.asked.map(|since| (since, since.plus(REBUILD_MAX_MILLIS)))
    }

    /// There will be none.
    pub(super) fn withdraw(&mut self) {
        self.asked = None;
        self.retry_at = None;
    }

    pub(crate) fn due(&self) -> Option<Timestamp> {
        let forced = self.asked.map(|since| since.plus(REBUILD_MAX_MILLIS));
        [self.retry_at, forced, self.earliest()].into_iter().flatten().min()
    }

    /// It is built again no sooner: rests grow with each time, until one instance has lasted.
    fn earliest(&self) -> Option<Timestamp> {
        self.asked?;
        let rest = rest::RestSchedule::default().rest(self.streak.max(1));
        self.built_at.map(|at| at.plus(rest))
    }

    fn built(&mut self, now: Timestamp) {
        let stable = rest::RestSchedule::default().stable_after_millis;
        let lasted = self.built_at.is_some_and(|at| now.since(at) >= stable);
        self.streak = if lasted { 1 } else { self.streak.saturating_add(1) };
        self.built_at = Some(now);
        self.withdraw();
    }

    /// The old instance is gone all the same: what is left is to build one, when that is due.
    fn failed(&mut self, now: Timestamp) {
        self.asked = None;
        self.streak = self.streak.saturating_add(1);
        self.retry_at = Some(now.plus(rest::RestSchedule::default().rest(self.streak)));
    }
}

/// Builds a worker for the first time, or anew with fresh dependencies.
pub(super) fn build(visit: &mut Visit<'_>) {
    let (config, now) = (visit.config, visit.now);
    let Some(node) = visit.node_mut() else { return };
    let built = caught(|| config.registry.build(&node.placement.identity));
    let built = built.unwrap_or_else(|panic| Err(BuildError(format!("the constructor panicked: {panic}"))));
    let progress = &mut node.progress;
    match built {
        Ok(inner) => {
            progress.shown = inner.shown();
            progress.reason = Reason::from("built");
            progress.starts += 1;
            node.inner = Some(inner);
            node.intent.rebuild.built(now);
        }
        Err(error) => {
            progress.shown = UNBUILT;
            progress.reason = Reason::from(format!("it could not be built: {error}"));
            let path = &node.placement.identity.path;
            tracing::warn!(worker = %path, %error, "worker not built, retrying");
            node.inner = None;
            node.intent.rebuild.failed(now);
        }
    }
    progress.since = now;
    progress.completed = false;
    progress.rests = false;
    node.observed.derived = Derived::Due;
    node.observed.desired = None;
    watch::refresh(visit);
    visit.mark_neighbours();
}

/// Fences the old instance off and builds a new one.
fn replace(visit: &mut Visit<'_>, leftover: Leftover) {
    let Some(node) = visit.node_mut() else { return };
    let path = Arc::clone(node.path());
    node.observed.last = None;
    node.observed.failing = None;
    node.observed.effect_after = None;
    node.progress.action = Arc::new(ActionStatus::default());
    node.progress.left_up |= leftover == Leftover::Something;
    node.progress.transitions += 1;
    if leftover == Leftover::Something {
        visit.acts.push(Act::Count(Count::Replaced(Arc::clone(&path))));
    }
    visit.acts.push(Act::FenceOff(path));
    build(visit);
    visit.keep();
    visit.mark();
}

/// Tries a failed constructor again when that is due.
pub(super) fn build_due(visit: &mut Visit<'_>) {
    let now = visit.now;
    let is_due = visit.node().is_some_and(|node| {
        let retry_at = node.intent.rebuild.retry_at;
        node.inner.is_none() && retry_at.is_some_and(|at| at <= now) && !node.is_leaving()
    });
    if is_due {
        build(visit);
    }
}

/// The worker asks to be built anew.
pub(super) fn ask_rebuild(visit: &mut Visit<'_>) {
    let now = visit.now;
    if let Some(node) = visit.node_mut() {
        node.intent.rebuild.asked.get_or_insert(now);
        visit.mark();
    }
}

/// Begins a restart: down, forced if it must be, and up.
pub(super) fn begin(visit: &mut Visit<'_>) {
    let now = visit.now;
    let Some(node) = visit.node_mut() else { return };
    node.intent.procedure = Some(Procedure::begun(node, now));
    node.progress.restarts += 1;
    visit.keep();
    visit.mark();
}

/// Cancels a restart that is under way: one that had not stopped its worker yet does not count.
pub(super) fn call_off(node: &mut Node) {
    let procedure = node.intent.procedure.take();
    if procedure.is_some_and(|procedure| procedure.stage == RestartStage::Stopping) {
        node.progress.restarts = node.progress.restarts.saturating_sub(1);
    }
}

/// Takes a restart or a rebuild one step further.
pub(super) fn advance(visit: &mut Visit<'_>) {
    let Some(node) = visit.node().filter(|node| !node.is_leaving()) else {
        return;
    };
    if let Some(asked) = node.intent.rebuild.asked {
        let (is_down, now) = (node.is_down(), visit.now);
        let is_rested = node.intent.rebuild.earliest().is_none_or(|at| at <= now);
        if (is_down || now.since(asked) >= REBUILD_MAX_MILLIS) && is_rested {
            tracing::info!(worker = %node.path(), forced = !is_down, "rebuilt on its own request");
            replace(visit, Leftover::of(is_down));
        }
    }
    advance_procedure(visit);
}

fn advance_procedure(visit: &mut Visit<'_>) {
    let now = visit.now;
    let Some(node) = visit.node_mut() else { return };
    let (is_down, phase, transitions) = (node.is_down(), node.phase(), node.progress.transitions);
    let Some(procedure) = node.intent.procedure.as_mut() else {
        return;
    };
    match procedure.stage {
        RestartStage::Stopping if is_down || now >= procedure.force_at => {
            // A failed worker may not come back by itself: once it has nothing left to stop, it is replaced.
            let is_replaced = !is_down || phase == Phase::Failed;
            let transitions = transitions + u64::from(is_replaced);
            procedure.stage = RestartStage::Starting { transitions };
            if !is_down {
                tracing::warn!(worker = %node.path(), "did not stop in time, replaced");
            }
            if is_replaced {
                replace(visit, Leftover::of(is_down));
            }
        }
        RestartStage::Starting { .. } if phase.is_operational() => node.intent.procedure = None,
        RestartStage::Stopping | RestartStage::Starting { .. } => return,
    }
    visit.keep();
}

/// How far a restarted child is.
pub(super) fn progress(node: &Node) -> machine::Progress {
    let (phase, transitions) = (node.phase(), node.progress.transitions);
    let stage = node.intent.procedure.as_ref().map(|procedure| procedure.stage);
    match stage {
        Some(RestartStage::Stopping) => machine::Progress::Underway,
        Some(RestartStage::Starting { transitions: before }) if phase == Phase::Failed && transitions <= before => {
            machine::Progress::Underway
        }
        _ if phase.is_operational() => machine::Progress::Running,
        _ if phase == Phase::Failed && node.intent.goal == Goal::Running => machine::Progress::Failed,
        _ => machine::Progress::Underway,
    }
}
