//! One worker in the tree, with everything the supervisor knows about it.

use std::collections::BTreeMap;
use std::sync::Arc;

use sprag_core::supervision::Breaker;
use sprag_core::time::Timestamp;

use super::arena::Index;
use super::leave::Leaving;
use super::restart::{Procedure, Rebuild};
use super::rules::Watch;
use super::step::Gate;
use crate::action::ActionStatus;
use crate::child::{ChildSpec, Variables};
use crate::collector::Observation;
use crate::document::Document;
use crate::erased::{Facts, Inner, Opaque, Shown};
use crate::snapshot::{Children, Escalation, Identity};
use crate::worker::{Goal, Phase, Reason};

/// What was seen, and when the pass that saw it began.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) observed: Opaque,
    pub(crate) document: Document,
    pub(crate) at: Timestamp,
    /// Which answer of the world it is, where several looks may bring the same one.
    pub(crate) edition: Option<u64>,
}

/// What follows from the spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Derived {
    /// It was not looked at yet, or something changed.
    Due,
    /// It is in force.
    Done,
    /// It cannot be derived; what was in force before still is.
    Failed {
        /// Why.
        error: Arc<str>,
        /// Since when.
        since: Timestamp,
    },
}

/// A worker in the tree; the root has none.
#[expect(clippy::struct_excessive_bools, reason = "facts that do not depend on each other")]
pub(crate) struct Node {
    pub(crate) identity: Arc<Identity>,
    pub(crate) parent: Option<Index>,
    pub(crate) spec: Arc<ChildSpec>,
    pub(crate) variables: Arc<Variables>,
    pub(crate) inner: Option<Box<dyn Inner>>,
    pub(crate) shown: Shown,
    pub(crate) reason: Reason,
    /// Since when it is in its state.
    pub(crate) since: Timestamp,
    pub(crate) transitions: u64,
    pub(crate) derived: Derived,
    pub(crate) desired: Option<Opaque>,
    pub(crate) seen: Option<Seen>,
    /// What the last pass said, when it failed.
    pub(crate) failing: Option<Arc<str>>,
    pub(crate) action: Arc<ActionStatus>,
    /// Only what was seen from then on shows the last action's effect.
    pub(crate) effect_after: Option<Timestamp>,
    pub(crate) goal: Goal,
    /// A person's wish, until the next one.
    pub(crate) operator: Option<Goal>,
    /// Why it has not the goal it should have: what it waits for.
    pub(crate) waiting: Option<String>,
    /// What holds its next step back, and since when.
    pub(crate) gate: Option<(Gate, Timestamp)>,
    pub(crate) leaving: Option<Leaving>,
    pub(crate) procedure: Option<Procedure>,
    pub(crate) rebuild: Rebuild,
    pub(crate) breaker: Breaker,
    pub(crate) completed: bool,
    /// It is down, and that is no guess: it went there by itself, or was asked to stop and had nothing left to do.
    pub(crate) rests: bool,
    /// A life before this one was fenced off while it may have been up, and nobody has seen it down since.
    pub(crate) left_up: bool,
    pub(crate) starts: u64,
    pub(crate) restarts: u64,
    pub(crate) children: BTreeMap<Arc<str>, Index>,
    /// What was declared last.
    pub(crate) declared: Arc<[Arc<ChildSpec>]>,
    /// The declaration of its own that this came from, unless it was the worker's opinion.
    pub(crate) followed: Option<Arc<ChildSpec>>,
    /// Whether the children are those.
    pub(crate) is_settled: bool,
    /// Which of the children depend on a child.
    pub(crate) dependents: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    /// Children that said they were done: not built again until their spec changes.
    pub(crate) finished: BTreeMap<Arc<str>, Arc<ChildSpec>>,
    pub(crate) child_errors: Vec<super::ChildError>,
    pub(crate) watches: Vec<Watch>,
    /// Whether a rule of the parent looks at it.
    pub(crate) watched: bool,
    pub(crate) escalations: Arc<[Escalation]>,
    pub(crate) view: Children,
    /// Whether the children's view must be made anew.
    pub(crate) view_due: bool,
    /// When it was last written down what was seen.
    pub(crate) kept_at: Option<Timestamp>,
    /// When its windows are written down again, while there is something in them: what is kept are ages.
    pub(crate) keep_again: Option<Timestamp>,
    /// When a refused action is asked for again.
    pub(crate) retry_at: Option<Timestamp>,
    pub(crate) marked: bool,
    /// The tick that last visited it.
    pub(crate) visited: u64,
    pub(crate) due: Option<Timestamp>,
}

/// What a worker looks like before it was ever built.
pub(crate) const UNBUILT: Shown = Shown {
    state: "stopped",
    phase: Phase::Stopped,
};

impl Node {
    pub(crate) fn new(identity: Identity, parent: Option<Index>, spec: Arc<ChildSpec>, now: Timestamp) -> Self {
        Self {
            identity: Arc::new(identity),
            parent,
            spec,
            variables: Arc::default(),
            inner: None,
            shown: UNBUILT,
            reason: Reason::from("not started yet"),
            since: now,
            transitions: 0,
            derived: Derived::Due,
            desired: None,
            seen: None,
            failing: None,
            action: Arc::default(),
            effect_after: None,
            goal: Goal::Stopped,
            operator: None,
            waiting: None,
            gate: None,
            leaving: None,
            procedure: None,
            rebuild: Rebuild::default(),
            breaker: Breaker::default(),
            completed: false,
            rests: false,
            left_up: false,
            starts: 0,
            restarts: 0,
            children: BTreeMap::new(),
            declared: Arc::default(),
            followed: None,
            is_settled: false,
            dependents: BTreeMap::new(),
            finished: BTreeMap::new(),
            child_errors: Vec::new(),
            watches: Vec::new(),
            watched: false,
            escalations: Arc::default(),
            view: Children::default(),
            view_due: true,
            kept_at: None,
            keep_again: None,
            retry_at: None,
            marked: false,
            visited: 0,
            due: None,
        }
    }

    pub(crate) fn path(&self) -> &Arc<str> {
        &self.identity.path
    }

    pub(crate) fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    /// Whether nothing is left to stop. A state alone does not say so: who failed may still be up, and so may what an
    /// earlier life of a worker left behind that stands in its first state.
    pub(crate) fn is_down(&self) -> bool {
        self.inner.is_none() || (self.rests && self.shown.phase.is_down() && !self.action.in_progress())
    }

    /// It was seen to be down.
    pub(crate) fn rest(&mut self) {
        self.rests = true;
        self.left_up = false;
    }

    /// Whether what was seen is recent enough to decide on.
    pub(crate) fn is_fresh(&self, now: Timestamp, stale_after_millis: u64) -> bool {
        self.seen
            .as_ref()
            .is_some_and(|seen| now.since(seen.at) < stale_after_millis)
    }

    pub(crate) fn observation(&self, now: Timestamp, stale_after_millis: u64) -> Observation {
        match &self.failing {
            Some(error) => Observation::Failing {
                error: Arc::clone(error),
            },
            None if self.is_fresh(now, stale_after_millis) => Observation::Fresh,
            None => Observation::Stale,
        }
    }

    /// The worker and one instant for its pure functions; `None` before anything could be derived.
    pub(crate) fn asked(&mut self, now: Timestamp) -> Option<(&mut dyn Inner, Facts<'_>)> {
        let facts = Facts {
            identity: &self.identity,
            now,
            goal: self.goal,
            desired: self.desired.as_ref()?,
            observed: self.seen.as_ref().map(|seen| &seen.observed),
            observed_at: self.seen.as_ref().map(|seen| seen.at),
            action: &self.action,
            children: &self.view,
            escalations: &self.escalations,
        };
        Some((self.inner.as_mut()?.as_mut(), facts))
    }

    /// Why a restart could not bring the worker back, as far as is seen.
    pub(crate) fn obstacle(&self, now: Timestamp) -> Option<String> {
        self.inner.as_ref()?.obstacle(Facts {
            identity: &self.identity,
            now,
            goal: self.goal,
            desired: self.desired.as_ref()?,
            observed: self.seen.as_ref().map(|seen| &seen.observed),
            observed_at: self.seen.as_ref().map(|seen| seen.at),
            action: &self.action,
            children: &self.view,
            escalations: &self.escalations,
        })
    }

    /// Whether something is counted about it that grows old.
    pub(crate) fn counts_ages(&self, now: Timestamp) -> bool {
        let counts = |watch: &Watch| watch.machine.holds() || watch.machine.detections(now) > 0;
        self.breaker.is_counting(now) || self.watches.iter().any(counts)
    }

    /// Whether a circuit of its own rules holds its next step back.
    pub(crate) fn is_held(&self) -> bool {
        self.watches.iter().any(|watch| watch.machine.holds())
    }
}
