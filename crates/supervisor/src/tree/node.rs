//! One worker in the tree, with all its state.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use sprag_core::supervision::Breaker;
use sprag_core::time::Timestamp;

use super::leave::Leaving;
use super::nodes::WorkerKey;
use super::restart::{Procedure, Rebuild};
use super::step::Gate;
use super::watch::Watch;
use crate::runtime::collector::Observation;
use crate::worker::action::ActionStatus;
use crate::worker::child::{ChildSpec, Variables};
use crate::worker::document::Document;
use crate::worker::erased::{ErasedWorker, Opaque, ShownState, SnapshotParts};
use crate::worker::snapshot::{Children, Escalation, Identity};
use crate::worker::{Goal, Phase, Reason};

/// A worker in the tree. The root is a node too, without a worker.
pub(crate) struct Node {
    pub(crate) placement: Placement,
    pub(crate) observed: Observed,
    pub(crate) intent: Intent,
    pub(crate) progress: Progress,
    pub(crate) rules: RuleState,
    pub(crate) schedule: VisitSchedule,
    /// The worker itself; `None` while it could not be built.
    pub(crate) inner: Option<Box<dyn ErasedWorker>>,
}

/// Who a worker is, what its parent declared about it, and its children.
pub(crate) struct Placement {
    pub(crate) identity: Arc<Identity>,
    pub(crate) parent: Option<WorkerKey>,
    pub(crate) spec: Arc<ChildSpec>,
    pub(crate) variables: Arc<Variables>,
    pub(crate) children: BTreeMap<Arc<str>, WorkerKey>,
    /// The children as they were declared last.
    pub(crate) declared: Arc<[Arc<ChildSpec>]>,
    /// The spec that `declared` came from; `None` when the worker itself declared them.
    pub(crate) followed: Option<Arc<ChildSpec>>,
    /// Whether the children match the declaration.
    pub(crate) is_settled: bool,
    /// For each child, the siblings that depend on it.
    pub(crate) dependents: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    /// Children that reported they were done: not built again until their spec changes.
    pub(crate) finished: BTreeMap<Arc<str>, Arc<ChildSpec>>,
    pub(crate) child_errors: Vec<super::ChildError>,
    /// The children as the worker's business logic sees them.
    pub(crate) view: Children,
    /// Whether the view is out of date.
    pub(crate) view_due: bool,
}

/// What is desired of a worker and what was observed of it.
pub(crate) struct Observed {
    pub(crate) derived: Derived,
    pub(crate) desired: Option<Opaque>,
    pub(crate) last: Option<LastObservation>,
    /// The error of the last pass, if it failed.
    pub(crate) failing: Option<Arc<str>>,
    /// Only an observation from then on shows the last action's effect.
    pub(crate) effect_after: Option<Timestamp>,
}

/// An observation, and when the pass that made it began.
#[derive(Clone)]
pub(crate) struct LastObservation {
    pub(crate) value: Opaque,
    pub(crate) document: Document,
    pub(crate) at: Timestamp,
    /// Tells answers apart where several passes may bring the same one.
    pub(crate) edition: Option<u64>,
}

/// Whether the desired state follows from the spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Derived {
    /// It was not derived yet, or the spec changed.
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

/// Where a worker is to go, and what it waits for.
pub(crate) struct Intent {
    pub(crate) goal: Goal,
    /// The operator's last wish.
    pub(crate) operator: Option<Goal>,
    /// What it waits for before it may have the goal it should have.
    pub(crate) waiting: Option<String>,
    /// What holds its next step back, and since when.
    pub(crate) gate: Option<(Gate, Timestamp)>,
    pub(crate) leaving: Option<Leaving>,
    pub(crate) procedure: Option<Procedure>,
    pub(crate) rebuild: Rebuild,
    /// When a refused action is requested again.
    pub(crate) retry_at: Option<Timestamp>,
}

/// How far a worker is, and what is counted about it.
pub(crate) struct Progress {
    pub(crate) shown: ShownState,
    pub(crate) reason: Reason,
    /// When it entered its state.
    pub(crate) since: Timestamp,
    pub(crate) transitions: u64,
    pub(crate) starts: u64,
    pub(crate) restarts: u64,
    pub(crate) breaker: Breaker,
    pub(crate) action: Arc<ActionStatus>,
    pub(crate) completed: bool,
    /// It is known to be down: it stopped by itself, or was asked to stop and had nothing left to do.
    pub(crate) rests: bool,
    /// The supervisor replaced an earlier instance that may have been up, and has not seen it down since.
    pub(crate) left_up: bool,
}

/// The rules across a worker's children.
#[derive(Default)]
pub(crate) struct RuleState {
    pub(crate) watches: Vec<Watch>,
    /// Whether a rule of the parent names this worker.
    pub(crate) watched: bool,
    pub(crate) escalations: Arc<[Escalation]>,
}

/// When a worker is visited and written next.
#[derive(Default)]
pub(crate) struct VisitSchedule {
    /// Whether it is queued for a visit.
    pub(crate) marked: bool,
    /// The tick that last visited it.
    pub(crate) visited: u64,
    pub(crate) due: Option<Timestamp>,
    /// When its observation was last written.
    pub(crate) kept_at: Option<Timestamp>,
    /// When its windows are written again, while there is something in them: they are stored as ages.
    pub(crate) keep_again: Option<Timestamp>,
}

/// The state of a worker that was never built.
pub(crate) const UNBUILT: ShownState = ShownState {
    state: "stopped",
    phase: Phase::Stopped,
};

impl Node {
    pub(crate) fn new(identity: Identity, parent: Option<WorkerKey>, spec: Arc<ChildSpec>, now: Timestamp) -> Self {
        Self {
            placement: Placement::new(identity, parent, spec),
            observed: Observed {
                derived: Derived::Due,
                desired: None,
                last: None,
                failing: None,
                effect_after: None,
            },
            intent: Intent {
                goal: Goal::Stopped,
                operator: None,
                waiting: None,
                gate: None,
                leaving: None,
                procedure: None,
                rebuild: Rebuild::default(),
                retry_at: None,
            },
            progress: Progress {
                shown: UNBUILT,
                reason: Reason::from("not started yet"),
                since: now,
                transitions: 0,
                starts: 0,
                restarts: 0,
                breaker: Breaker::default(),
                action: Arc::default(),
                completed: false,
                rests: false,
                left_up: false,
            },
            rules: RuleState::default(),
            schedule: VisitSchedule::default(),
            inner: None,
        }
    }

    /// The root: it owns the workers at the top and never moves.
    pub(super) fn root(now: Timestamp) -> Self {
        let nothing: Arc<str> = Arc::from("");
        let identity = Identity {
            path: Arc::clone(&nothing),
            name: Arc::clone(&nothing),
            kind: nothing,
        };
        let spec = Arc::new(ChildSpec::new("", "", Value::Null));
        let mut root = Self::new(identity, None, spec, now);
        root.intent.goal = Goal::Running;
        root.progress.shown.state = Phase::Running.name();
        root.progress.shown.phase = Phase::Running;
        root.progress.reason = Reason::from("it supervises the workers below it");
        root
    }

    pub(crate) fn path(&self) -> &Arc<str> {
        &self.placement.identity.path
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.placement.identity.name
    }

    pub(crate) fn phase(&self) -> Phase {
        self.progress.shown.phase
    }

    pub(crate) fn is_root(&self) -> bool {
        self.placement.parent.is_none()
    }

    pub(crate) fn is_leaving(&self) -> bool {
        self.intent.leaving.is_some()
    }

    /// Whether nothing is left to stop. The state alone does not tell: a failed worker may still be up, and so may what
    /// an earlier instance left behind.
    pub(crate) fn is_down(&self) -> bool {
        let progress = &self.progress;
        self.inner.is_none() || (progress.rests && progress.shown.phase.is_down() && !progress.action.in_progress())
    }

    /// Whether the last observation is recent enough to decide on.
    pub(crate) fn is_fresh(&self, now: Timestamp, stale_after_millis: u64) -> bool {
        let last = self.observed.last.as_ref();
        last.is_some_and(|last| now.since(last.at) < stale_after_millis)
    }

    pub(crate) fn observation(&self, now: Timestamp, stale_after_millis: u64) -> Observation {
        match &self.observed.failing {
            Some(error) => Observation::Failing {
                error: Arc::clone(error),
            },
            None if self.is_fresh(now, stale_after_millis) => Observation::Fresh,
            None => Observation::Stale,
        }
    }

    /// The worker and one instant for its pure functions; `None` before anything could be derived.
    pub(crate) fn asked(&mut self, now: Timestamp) -> Option<(&mut dyn ErasedWorker, SnapshotParts<'_>)> {
        let Self {
            placement,
            observed,
            intent,
            progress,
            rules,
            inner,
            ..
        } = self;
        let parts = parts((&*placement, &*observed, &*intent, &*progress, &*rules), now)?;
        Some((inner.as_mut()?.as_mut(), parts))
    }

    /// Why a restart could not bring the worker back, as far as is known.
    pub(crate) fn obstacle(&self, now: Timestamp) -> Option<String> {
        let known = (
            &self.placement,
            &self.observed,
            &self.intent,
            &self.progress,
            &self.rules,
        );
        self.inner.as_ref()?.obstacle(parts(known, now)?)
    }

    /// Whether it leaves its failed state by itself.
    pub(crate) fn recovers(&self) -> bool {
        self.inner.as_ref().is_some_and(|inner| inner.recovers())
    }

    /// Whether something is counted about it that grows old.
    pub(crate) fn counts_ages(&self, now: Timestamp) -> bool {
        let counts = |watch: &Watch| watch.machine.holds() || watch.machine.detections(now) > 0;
        self.progress.breaker.is_counting(now) || self.rules.watches.iter().any(counts)
    }

    /// Whether a circuit of its own rules holds its next step back.
    pub(crate) fn is_held(&self) -> bool {
        self.rules.watches.iter().any(|watch| watch.machine.holds())
    }
}

type NodeParts<'a> = (&'a Placement, &'a Observed, &'a Intent, &'a Progress, &'a RuleState);

fn parts((placement, observed, intent, progress, rules): NodeParts<'_>, now: Timestamp) -> Option<SnapshotParts<'_>> {
    Some(SnapshotParts {
        identity: &placement.identity,
        now,
        goal: intent.goal,
        desired: observed.desired.as_ref()?,
        observed: observed.last.as_ref().map(|last| &last.value),
        observed_at: observed.last.as_ref().map(|last| last.at),
        action: &progress.action,
        children: &placement.view,
        escalations: &rules.escalations,
    })
}

impl Placement {
    fn new(identity: Identity, parent: Option<WorkerKey>, spec: Arc<ChildSpec>) -> Self {
        Self {
            identity: Arc::new(identity),
            parent,
            spec,
            variables: Arc::default(),
            children: BTreeMap::new(),
            declared: Arc::default(),
            followed: None,
            is_settled: false,
            dependents: BTreeMap::new(),
            finished: BTreeMap::new(),
            child_errors: Vec::new(),
            view: Children::default(),
            view_due: true,
        }
    }

    /// Whether the children come from the spec that is in force.
    pub(super) fn follows_spec(&self) -> bool {
        self.followed
            .as_ref()
            .is_some_and(|followed| Arc::ptr_eq(followed, &self.spec))
    }
}

impl Progress {
    /// The worker was seen to be down.
    pub(super) fn rest(&mut self) {
        self.rests = true;
        self.left_up = false;
    }
}
