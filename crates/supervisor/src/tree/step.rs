//! The next step of one worker: the gates, the call of `next`, and the result.
//!
//! Gates in order: freshness, the action in progress, the circuit. A worker that is shutting down passes every gate. A
//! panic of a worker's code affects only that worker: the tree counts it, and after three panics in five minutes it
//! does not call the worker until the window has passed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::Serialize;
use sprag_core::time::Timestamp;

use super::act::{Act, Count, Report};
use super::node::Node;
use super::visit::{LEAVING_ASKED_EVERY_MILLIS, Visit};
use super::{leave, restart};
use crate::runtime::executor::CancelReason;
use crate::runtime::pool::panic_text;
use crate::worker::action::ActionCall;
use crate::worker::erased::Decision;
use crate::worker::{Goal, Phase, Reason};
use sprag_core::words;

words! {
    /// What holds a worker's next step back.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Gate as waits_for {
        /// It could not be built.
        Constructor => "being built",
        /// Nothing could be derived from its spec yet.
        Spec => "a valid definition",
        /// Its last observation is too old.
        Freshness => "a new observation",
        /// Its action is in progress.
        Action => "its action to end",
        /// Its action ended, and its effect was not observed yet.
        Effect => "an observation of its action's effect",
        /// A circuit of its rules is open.
        Circuit => "a child to recover",
        /// Its code panicked too often.
        Panics => "the end of the pause after its panics",
        /// Its children leave first.
        Children => "its children to stop",
    }
}

/// Runs a worker's code; a panic comes back as its text.
pub(super) fn caught<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| panic_text(panic.as_ref()))
}

/// Asks the worker for its next step, unless a gate holds it back.
pub(super) fn run(visit: &mut Visit<'_>) {
    let is_its_turn = leave::is_its_turn(visit);
    let (now, stale_millis) = (visit.now, visit.config.options.collector.stale_millis);
    let Some(node) = visit.node_mut().filter(|node| !node.is_root()) else {
        return;
    };
    let gate = if is_its_turn {
        gate(node, now, stale_millis)
    } else {
        Some(Gate::Children)
    };
    if node.is_leaving() && matches!(gate, Some(Gate::Constructor | Gate::Spec)) {
        return leave::unasked(visit);
    }
    if node.intent.gate.map(|(gate, _)| gate) != gate {
        node.intent.gate = gate.map(|gate| (gate, now));
    }
    match gate {
        None => ask(visit),
        Some(Gate::Action) => ask_interrupt(visit),
        Some(_) => {}
    }
}

fn gate(node: &Node, now: Timestamp, stale_millis: u64) -> Option<Gate> {
    let observed = &node.observed;
    if node.inner.is_none() {
        return Some(Gate::Constructor);
    }
    if observed.desired.is_none() {
        return Some(Gate::Spec);
    }
    let is_before = |after: Timestamp| observed.last.as_ref().is_none_or(|last| last.at < after);
    let is_effect_unseen = observed.effect_after.is_some_and(is_before);
    if node.is_leaving() {
        return leaving_gate(node, is_effect_unseen, now);
    }
    if !node.is_fresh(now, stale_millis) {
        return Some(Gate::Freshness);
    }
    if node.progress.action.in_progress() {
        return Some(Gate::Action);
    }
    if is_effect_unseen {
        return Some(Gate::Effect);
    }
    if node.is_held() {
        return Some(Gate::Circuit);
    }
    node.progress.breaker.open_until(now).map(|_| Gate::Panics)
}

/// What a leaving worker still waits for, a moment at most: its first observation, and the one after its last action.
fn leaving_gate(node: &Node, is_effect_unseen: bool, now: Timestamp) -> Option<Gate> {
    let is_soon = |after: Timestamp| now.since(after) < LEAVING_ASKED_EVERY_MILLIS;
    let effect_after = node.observed.effect_after;
    if node.progress.action.in_progress() {
        return None;
    }
    if is_effect_unseen && effect_after.is_some_and(is_soon) {
        return Some(Gate::Effect);
    }
    let is_unseen = node.observed.last.is_none() && effect_after.is_none();
    let since = node.intent.leaving.as_ref().map(|leaving| leaving.since);
    (is_unseen && since.is_some_and(is_soon)).then_some(Gate::Freshness)
}

fn ask(visit: &mut Visit<'_>) {
    let now = visit.now;
    let Some(node) = visit.node_mut() else { return };
    node.intent.retry_at = None;
    let Some((inner, parts)) = node.asked(now) else {
        return;
    };
    match caught(|| inner.next(parts)) {
        Ok(decision) => apply(visit, decision),
        Err(panic) => panicked(visit, "next", panic),
    }
}

fn apply(visit: &mut Visit<'_>, decision: Decision) {
    match decision {
        Decision::Stay(reason) => stay(visit, reason),
        Decision::Moved(reason) => moved(visit, reason),
        Decision::Act(call, reason) => act(visit, call, reason),
        Decision::Remove(reason) => done(visit, reason),
        Decision::Restart(reason) => {
            give_reason(visit, reason);
            restart::ask_rebuild(visit);
        }
    }
}

/// A new reason for the same state: no transition.
fn give_reason(visit: &mut Visit<'_>, reason: Reason) {
    if let Some(node) = visit.node_mut()
        && node.progress.reason != reason
    {
        node.progress.reason = reason;
        visit.keep();
    }
}

fn stay(visit: &mut Visit<'_>, reason: Reason) {
    give_reason(visit, reason);
    let Some(node) = visit.node_mut() else { return };
    let (goal, progress) = (node.intent.goal, &mut node.progress);
    if goal == Goal::Running || !progress.shown.phase.is_down() || progress.action.in_progress() {
        return;
    }
    if goal == Goal::Removed && node.intent.leaving.is_some() {
        return leave::is_down(visit);
    }
    if !progress.rests {
        progress.rest();
        // A restart continues from here, and so do siblings that waited for it.
        visit.mark();
        visit.mark_neighbours();
    }
}

fn moved(visit: &mut Visit<'_>, reason: Reason) {
    let now = visit.now;
    let Some(node) = visit.node_mut() else { return };
    if let Some(inner) = node.inner.as_ref() {
        node.progress.shown = inner.shown();
    }
    let completed = node
        .asked(now)
        .map(|(inner, parts)| caught(|| inner.completed(parts)).unwrap_or(false));
    let progress = &mut node.progress;
    progress.completed = completed.unwrap_or(false);
    progress.rests = false;
    if progress.shown.phase == Phase::Stopped {
        progress.rest();
    }
    progress.reason = reason;
    progress.since = now;
    progress.transitions += 1;
    visit.acts.push(Act::Count(Count::Transition));
    visit.keep();
    // The new state may have a step to take at once: in the next tick.
    visit.mark();
    visit.mark_neighbours();
}

fn act(visit: &mut Visit<'_>, call: ActionCall, reason: Reason) {
    give_reason(visit, reason);
    visit.acts.push(Act::Start(visit.key, Box::new(call)));
}

/// The worker reports that it can go. One that did so unasked is not built again until it is declared differently.
fn done(visit: &mut Visit<'_>, reason: Reason) {
    give_reason(visit, reason);
    let Some(node) = visit.node() else { return };
    if node.is_leaving() {
        return leave::is_down(visit);
    }
    let (name, spec) = (Arc::clone(node.name()), Arc::clone(&node.placement.spec));
    if let Some(parent) = node.placement.parent.and_then(|parent| visit.nodes.get_mut(parent)) {
        parent.placement.finished.insert(name, spec);
    }
    leave::begin(visit, "it is done");
    if let Some(leaving) = visit.node_mut().and_then(|node| node.intent.leaving.as_mut()) {
        leaving.is_done = true;
    }
}

fn ask_interrupt(visit: &mut Visit<'_>) {
    let now = visit.now;
    let Some((inner, parts)) = visit.node_mut().and_then(|node| node.asked(now)) else {
        return;
    };
    let path = Arc::clone(&parts.identity.path);
    match caught(|| inner.interrupt(parts)) {
        Ok(true) => visit.acts.push(Act::Cancel(path, CancelReason::Interrupt)),
        Ok(false) => {}
        Err(panic) => panicked(visit, "interrupt", panic),
    }
}

/// Counts a panic of the worker's code.
pub(super) fn panicked(visit: &mut Visit<'_>, place: &'static str, panic: String) {
    let now = visit.now;
    let Some(node) = visit.node_mut() else { return };
    node.progress.reason = Reason::from(format!("`{place}` panicked: {panic}"));
    let has_opened = node.progress.breaker.panicked(now);
    let path = Arc::clone(node.path());
    if has_opened {
        tracing::error!(worker = %path, "panicked too often, paused");
    }
    visit.keep();
    visit.acts.push(Act::Report(path, Report::Panic { place, panic }));
}
