//! Workers on the wire.

use serde::Serialize;
use serde_json::{Value, json};
use sprag_core::time::Timestamp;
use sprag_supervisor::collector::Observation;
use sprag_supervisor::process::counted_down;
use sprag_supervisor::store::StoredSnapshot;
use sprag_supervisor::{Document, Explain, RuleStatus, Status};

/// What helps when a circuit is not closed.
pub(crate) const RUNBOOK: &str = "docs/runbooks/circuit-open.md";
/// A circuit that nobody has to think about.
const CLOSED: &str = "closed";

/// A worker in a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkerView {
    path: String,
    state: &'static str,
    reason: String,
    pid: Option<i64>,
    restarts: u64,
    circuit: &'static str,
    observation: String,
    waiting: Option<String>,
    since: Timestamp,
    restarted_by: Vec<RuleStatus>,
}

impl WorkerView {
    pub(crate) fn of(status: &Status, now: Timestamp) -> Self {
        let observed = status.observed.as_ref().map(Document::read).unwrap_or_default();
        let service = &observed["service"];
        let own = service["restarts"].as_u64().unwrap_or(0);
        Self {
            path: status.path.to_string(),
            state: status.state,
            reason: counted_down(&status.reason, &observed, now),
            pid: service["process"]["pid"].as_i64(),
            restarts: status.restarts.saturating_add(own),
            circuit: status.circuit,
            observation: observation(&status.observation, service),
            waiting: status.waiting.clone(),
            since: status.since,
            restarted_by: status.restarted_by.clone(),
        }
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

/// Everything that is remembered of one worker, in the parts that deltas speak of.
pub(crate) fn remembered(snapshot: &StoredSnapshot) -> Value {
    json!({
        "worker": snapshot.worker,
        "identity": snapshot.identity,
        "desired": snapshot.desired.as_ref().map(|desired| &desired.document),
        "observed": snapshot.observed.as_ref().map(|observed| &observed.document),
        "state": snapshot.observed.as_ref().map(|observed| &observed.state),
        "action": snapshot.action,
    })
}

/// Everything about one worker.
pub(crate) fn explanation(explain: &Explain, now: Timestamp) -> Value {
    let mut view = json!(WorkerView::of(&explain.status, now));
    let is_closed = explain.status.circuit == CLOSED && explain.rules.iter().all(|rule| rule.circuit == CLOSED);
    let more = json!({
        "goal": explain.status.goal,
        "holds": explain.holds,
        "rules": explain.rules,
        "escalations": explain.escalations,
        "childErrors": explain.child_errors,
        "children": explain.children,
        "action": explain.action,
        "observed": explain.status.observed,
        "runbook": (!is_closed).then_some(RUNBOOK),
    });
    if let (Value::Object(view), Value::Object(more)) = (&mut view, more) {
        view.extend(more);
    }
    view
}
