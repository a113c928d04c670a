//! Workers on the wire.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use sprag_core::time::Timestamp;
use sprag_supervisor::collector::Observation;
use sprag_supervisor::process::counted_down;
use sprag_supervisor::store::{Change, Delta, DeltaKind, Part, StoredSnapshot};
use sprag_supervisor::{ActionStatus, Counts, Document, Explain, Goal, Outcome, Status};
use sprag_wire as wire;

/// Something of the supervisor that the API shows.
pub(crate) trait IntoWire {
    /// How it shows it.
    type Wire: Serialize + JsonSchema;

    /// The same as the API shows it: every field by name, so that a new one cannot be forgotten.
    fn into_wire(self) -> Self::Wire;
}

impl<T: IntoWire> IntoWire for Option<T> {
    type Wire = Option<T::Wire>;

    fn into_wire(self) -> Self::Wire {
        self.map(T::into_wire)
    }
}

impl<T: IntoWire> IntoWire for Vec<T> {
    type Wire = Vec<T::Wire>;

    fn into_wire(self) -> Self::Wire {
        self.into_iter().map(T::into_wire).collect()
    }
}

/// What helps when a circuit is not closed.
pub(crate) const RUNBOOK: &str = "docs/runbooks/circuit-open.md";
/// A circuit that needs no attention.
const CLOSED: &str = "closed";

/// A worker as a list shows it.
pub(crate) fn worker(status: &Status, now: Timestamp) -> wire::Worker {
    let observed = status.observed.as_ref().map(Document::read).unwrap_or_default();
    let service = &observed["service"];
    let own = service["restarts"].as_u64().unwrap_or(0);
    wire::Worker {
        path: status.path.to_string(),
        state: status.state.to_owned(),
        reason: counted_down(&status.reason, &observed, now),
        pid: service["process"]["pid"].as_i64(),
        restarts: status.restarts.saturating_add(own),
        circuit: status.circuit.to_owned(),
        observation: observation(&status.observation, service),
        waiting: status.waiting.clone(),
        since: status.since,
        restarted_by: status.restarted_by.clone(),
    }
}

/// `fresh`, `stale`, or `failing: why`. A service that does not answer what it is asked about itself counts as failing.
fn observation(observation: &Observation, service: &Value) -> String {
    match (observation, service["observeError"].as_str()) {
        (Observation::Failing { error }, _) => format!("failing: {error}"),
        (Observation::Fresh, Some(error)) => format!("failing: {error}"),
        (Observation::Fresh, None) => "fresh".to_owned(),
        (Observation::Stale, _) => "stale".to_owned(),
    }
}

/// Everything about one worker.
pub(crate) fn explanation(explain: Explain, now: Timestamp) -> wire::WorkerExplanation {
    let Explain {
        status,
        holds,
        rules,
        escalations,
        child_errors,
        children,
        action,
    } = explain;
    let is_closed = status.circuit == CLOSED && rules.iter().all(|rule| rule.circuit == CLOSED);
    wire::WorkerExplanation {
        worker: worker(&status, now),
        goal: match status.goal {
            Goal::Running => wire::Goal::Running,
            Goal::Stopped => wire::Goal::Stopped,
            Goal::Removed => wire::Goal::Removed,
        },
        holds,
        rules,
        escalations,
        child_errors,
        children: children.into_wire(),
        action: action.into_wire(),
        observed: json!(status.observed),
        runbook: (!is_closed).then(|| RUNBOOK.to_owned()),
    }
}

impl IntoWire for StoredSnapshot {
    type Wire = wire::WorkerRemembered;

    fn into_wire(self) -> wire::WorkerRemembered {
        let Self {
            worker,
            identity,
            desired,
            observed,
            action,
            gone_at: _,
        } = self;
        wire::WorkerRemembered {
            worker: worker.to_string(),
            identity,
            desired: json!(desired.map(|desired| desired.document)),
            state: observed.as_ref().map(|observed| observed.state.clone()),
            observed: json!(observed.map(|observed| observed.document)),
            action: action.into_wire(),
        }
    }
}

impl IntoWire for Counts {
    type Wire = wire::WorkerCounts;

    fn into_wire(self) -> wire::WorkerCounts {
        let Self {
            healthy,
            unhealthy,
            stopped,
        } = self;
        wire::WorkerCounts {
            healthy,
            unhealthy,
            stopped,
        }
    }
}

impl IntoWire for ActionStatus {
    type Wire = wire::LastAction;

    fn into_wire(self) -> wire::LastAction {
        let Self {
            id,
            name,
            generation,
            started,
            attempt,
            outcome,
            error,
        } = self;
        wire::LastAction {
            id,
            name,
            generation,
            started,
            attempt,
            outcome: match outcome {
                Outcome::None => wire::LastOutcome::None,
                Outcome::InProgress => wire::LastOutcome::InProgress,
                Outcome::Succeeded => wire::LastOutcome::Succeeded,
                Outcome::Failed { class } => wire::LastOutcome::Failed { class },
                Outcome::Unknown => wire::LastOutcome::Unknown,
            },
            error,
        }
    }
}

impl IntoWire for Delta {
    type Wire = wire::WorkerDelta;

    fn into_wire(self) -> wire::WorkerDelta {
        let Self { id, at, worker, kind } = self;
        let (kind, part, changes) = match kind {
            DeltaKind::Changed { part, changes } => (
                wire::DeltaKind::Changed,
                Some(part.into_wire()),
                Some(changes.into_wire()),
            ),
            DeltaKind::Gone => (wire::DeltaKind::Gone, None, None),
        };
        wire::WorkerDelta {
            id,
            at,
            worker: worker.to_string(),
            kind,
            part,
            changes,
        }
    }
}

impl IntoWire for Part {
    type Wire = wire::Part;

    fn into_wire(self) -> wire::Part {
        match self {
            Self::Identity => wire::Part::Identity,
            Self::Desired => wire::Part::Desired,
            Self::Observed => wire::Part::Observed,
            Self::Action => wire::Part::Action,
            Self::Memory => wire::Part::Memory,
        }
    }
}

impl IntoWire for Change {
    type Wire = wire::PartChange;

    fn into_wire(self) -> wire::PartChange {
        let Self { path, value } = self;
        wire::PartChange { path, value }
    }
}
