//! The next step of one worker: the gates, the question, and what becomes of the answer.
//!
//! Gates in order: freshness, the action in progress, the circuit. A worker that was told to leave passes all of them.
//! A panic of its code is its own misfortune: it is counted, and after three in five minutes the worker is left alone
//! until the window has slid.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::Serialize;
use sprag_core::time::Timestamp;

use super::arena::Index;
use super::node::Node;
use super::tick::Tree;
use super::visit::LEAVING_ASKED_EVERY_MILLIS;
use crate::erased::{Order, Step};
use crate::pool::panic_text;
use crate::worker::{Goal, Phase, Reason};

/// A refused action is asked for again after so long, in milliseconds.
const REFUSED_AGAIN_MILLIS: u64 = 1_000;

/// What holds a worker's next step back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gate {
    /// It could not be built.
    Constructor,
    /// Nothing could be derived from its spec yet.
    Spec,
    /// It was not seen recently.
    Freshness,
    /// Its action is in progress.
    Action,
    /// Its action ended, and its effect was not seen yet.
    Effect,
    /// A circuit of its rules is open.
    Circuit,
    /// Its code panicked too often.
    Panics,
    /// Those below it leave first.
    Children,
}

impl Gate {
    /// What a worker behind it waits for.
    pub const fn waits_for(self) -> &'static str {
        match self {
            Self::Constructor => "being built",
            Self::Spec => "a spec that can be used",
            Self::Freshness => "a fresh look at it",
            Self::Action => "its action to end",
            Self::Effect => "its action's effect to be seen",
            Self::Circuit => "a child to recover",
            Self::Panics => "its panics to be forgotten",
            Self::Children => "its children to leave",
        }
    }
}

/// Runs a worker's code; a panic comes back as its text.
pub(super) fn caught<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| panic_text(panic.as_ref()))
}

/// What somebody that leaves still waits for: the first look at it, and the look after its last action. Each is worth
/// a moment, no more.
fn leaving_gate(node: &Node, is_effect_unseen: bool, now: Timestamp) -> Option<Gate> {
    let is_soon = |after: Timestamp| now.since(after) < LEAVING_ASKED_EVERY_MILLIS;
    if node.action.in_progress() {
        return None;
    }
    if is_effect_unseen && node.effect_after.is_some_and(is_soon) {
        return Some(Gate::Effect);
    }
    let is_unseen = node.seen.is_none() && node.effect_after.is_none();
    let since = node.leaving.as_ref().map(|leaving| leaving.since);
    (is_unseen && since.is_some_and(is_soon)).then_some(Gate::Freshness)
}

impl Tree {
    pub(super) fn decide(&mut self, index: Index, now: Timestamp) {
        let is_free = self.nodes.get(index).is_some_and(|node| node.leaving.is_none()) || self.is_free(index, now);
        let Some(node) = self.nodes.get(index).filter(|node| !node.is_root()) else {
            return;
        };
        let gate = if is_free {
            self.gate(node, now)
        } else {
            Some(Gate::Children)
        };
        if node.leaving.is_some() && matches!(gate, Some(Gate::Constructor | Gate::Spec)) {
            return self.leave_unasked(index, now);
        }
        self.note_gate(index, gate, now);
        match gate {
            None => self.ask(index, now),
            Some(Gate::Action) => self.ask_interrupt(index, now),
            Some(_) => {}
        }
    }

    fn gate(&self, node: &Node, now: Timestamp) -> Option<Gate> {
        if node.inner.is_none() {
            return Some(Gate::Constructor);
        }
        if node.desired.is_none() {
            return Some(Gate::Spec);
        }
        let is_effect_unseen = node
            .effect_after
            .is_some_and(|after| node.seen.as_ref().is_none_or(|seen| seen.at < after));
        if node.leaving.is_some() {
            return leaving_gate(node, is_effect_unseen, now);
        }
        if !node.is_fresh(now, self.options.collector.stale_millis) {
            return Some(Gate::Freshness);
        }
        if node.action.in_progress() {
            return Some(Gate::Action);
        }
        if is_effect_unseen {
            return Some(Gate::Effect);
        }
        if node.is_held() {
            return Some(Gate::Circuit);
        }
        node.breaker.open_until(now).map(|_| Gate::Panics)
    }

    fn note_gate(&mut self, index: Index, gate: Option<Gate>, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        if node.gate.map(|(gate, _)| gate) != gate {
            node.gate = gate.map(|gate| (gate, now));
        }
    }

    fn ask(&mut self, index: Index, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        node.retry_at = None;
        let Some((inner, facts)) = node.asked(now) else {
            return;
        };
        match caught(|| inner.next(facts)) {
            Ok(step) => self.apply(index, step, now),
            Err(panic) => self.panicked(index, "next", &panic, now),
        }
    }

    fn apply(&mut self, index: Index, step: Step, now: Timestamp) {
        match step {
            Step::Stay(reason) => self.stayed(index, reason, now),
            Step::Moved(reason) => self.moved(index, reason, now),
            Step::Act(order, reason) => self.act(index, order, reason, now),
            Step::Remove(reason) => self.done(index, reason, now),
            Step::Restart(reason) => {
                self.reason(index, reason, now);
                self.ask_rebuild(index, now);
            }
        }
    }

    /// A new reason for the same state: no transition.
    fn reason(&mut self, index: Index, reason: Reason, now: Timestamp) {
        if let Some(node) = self.nodes.get_mut(index)
            && node.reason != reason
        {
            node.reason = reason;
            self.keeper.status(node, now);
        }
    }

    fn stayed(&mut self, index: Index, reason: Reason, now: Timestamp) {
        self.reason(index, reason, now);
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        if node.goal == Goal::Running || !node.shown.phase.is_down() || node.action.in_progress() {
            return;
        }
        if node.leaving.is_some() && node.goal == Goal::Removed {
            return self.gone_down(index, now);
        }
        if !node.rests {
            node.rest();
            // A restart goes on from here, and siblings that waited for it.
            self.mark(index);
            self.mark_neighbours(index);
        }
    }

    fn moved(&mut self, index: Index, reason: Reason, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        if let Some(inner) = node.inner.as_ref() {
            node.shown = inner.shown();
        }
        let completed = node
            .asked(now)
            .map(|(inner, facts)| caught(|| inner.completed(facts)).unwrap_or(false));
        node.completed = completed.unwrap_or(false);
        node.rests = false;
        if node.shown.phase == Phase::Stopped {
            node.rest();
        }
        node.reason = reason;
        node.since = now;
        node.transitions += 1;
        self.metrics.moved();
        self.keeper.status(node, now);
        // The new state may have a step to take at once: in the next tick.
        self.mark(index);
        self.mark_neighbours(index);
    }

    fn act(&mut self, index: Index, order: Order, reason: Reason, now: Timestamp) {
        self.reason(index, reason, now);
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        let Some(outer) = node.inner.as_ref().map(|inner| inner.outer()) else {
            return;
        };
        let path = Arc::clone(node.path());
        match self.hands.start(&path, outer, order, now) {
            Ok(status) => {
                node.rests = false;
                node.action = status;
                node.effect_after = None;
            }
            Err(refused) => {
                node.retry_at = Some(now.plus(REFUSED_AGAIN_MILLIS));
                if self.seldom.says(&path, &refused, now) {
                    tracing::debug!(worker = %path, %refused, "the action was refused");
                }
            }
        }
    }

    /// The worker says that it can go. One that was not told to is not built again until it is declared otherwise.
    fn done(&mut self, index: Index, reason: Reason, now: Timestamp) {
        self.reason(index, reason, now);
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        if node.leaving.is_some() {
            return self.gone_down(index, now);
        }
        let (parent, name, spec) = (node.parent, Arc::clone(&node.identity.name), Arc::clone(&node.spec));
        if let Some(parent) = parent.and_then(|parent| self.nodes.get_mut(parent)) {
            parent.finished.insert(name, spec);
        }
        self.leave(index, "it is done", now);
        if let Some(leaving) = self.nodes.get_mut(index).and_then(|node| node.leaving.as_mut()) {
            leaving.is_done = true;
        }
    }

    fn ask_interrupt(&mut self, index: Index, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        let Some((inner, facts)) = node.asked(now) else {
            return;
        };
        match caught(|| inner.interrupt(facts)) {
            Ok(true) => self.hands.interrupt(node.path(), now),
            Ok(false) => {}
            Err(panic) => self.panicked(index, "interrupt", &panic, now),
        }
    }

    /// Counts a panic of the worker's code.
    pub(super) fn panicked(&mut self, index: Index, place: &'static str, panic: &str, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        node.reason = Reason::from(format!("`{place}` panicked: {panic}"));
        let opened = node.breaker.panicked(now);
        let path = Arc::clone(node.path());
        self.keeper.status(node, now);
        self.metrics.panicked();
        if self.seldom.says(&path, panic, now) {
            tracing::error!(worker = %path, place, %panic, "a worker panicked");
        }
        if opened {
            tracing::error!(worker = %path, "it panicked too often and is left alone for a while");
        }
    }
}
