//! Explains a worker: its state, what it waits for and since when, the next step and its time, and what a person can
//! do.

use serde::Serialize;
use sprag_core::supervision::restart::{
    GOOD_CHECKS, RESTART_MAX_MILLIS, RestartStage as CircuitStage, UNDECIDED_MAX_MILLIS,
};
use sprag_core::supervision::{Circuit, RestartMachine};
use sprag_core::time::Timestamp;
use sprag_wire::{WorkerEscalation, WorkerHold, WorkerRule};

use crate::rule::Check;
use crate::tree::{ChildError, Counts, Derived, Gate, Node, RestartStage, Status, Watch, shown_path};
use crate::worker::action::ActionStatus;

/// Everything about one worker that a person may want to know.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explain {
    /// The worker as in a list.
    #[serde(flatten)]
    pub status: Status,
    /// What holds it back; empty when nothing does.
    pub holds: Vec<WorkerHold>,
    /// The rules across its children.
    pub rules: Vec<WorkerRule>,
    /// Children on which the supervisor gave up.
    pub escalations: Vec<WorkerEscalation>,
    /// Declarations of children that cannot be.
    pub child_errors: Vec<String>,
    /// Its children.
    pub children: Counts,
    /// Its last action.
    pub action: ActionStatus,
}

impl Explain {
    pub(crate) fn of(node: &Node, status: Status, children: Counts, now: Timestamp) -> Self {
        Self {
            holds: holds(node, now),
            rules: node.rules.watches.iter().map(|watch| rule(node, watch, now)).collect(),
            escalations: node.rules.escalations.to_vec(),
            child_errors: node.placement.child_errors.iter().map(ChildError::to_string).collect(),
            children,
            action: node.progress.action.as_ref().clone(),
            status,
        }
    }
}

fn holds(node: &Node, now: Timestamp) -> Vec<WorkerHold> {
    let mut holds = Vec::new();
    if let Some((gate, since)) = node.intent.gate {
        holds.extend(gate_hold(gate, since, node, now));
    }
    if let Some(waiting) = &node.intent.waiting {
        holds.push(WorkerHold {
            what: format!("it waits for {waiting}"),
            since: node.progress.since,
            next: "it continues after that".to_owned(),
            at: None,
            gives_up: node.intent.leaving.as_ref().map(|leaving| leaving.order_until),
            remedy: "check the worker that it waits for".to_owned(),
        });
    }
    if let Some(procedure) = &node.intent.procedure {
        let stops = procedure.stage == RestartStage::Stopping;
        holds.push(WorkerHold {
            what: "the supervisor is restarting it".to_owned(),
            since: procedure.since,
            next: if stops {
                "the supervisor forces the stop if it still runs"
            } else {
                "it starts"
            }
            .to_owned(),
            at: stops.then_some(procedure.force_at),
            gives_up: None,
            remedy: "wait, or stop it".to_owned(),
        });
    }
    holds.extend(spec_hold(node));
    if let Some((since, forced_at)) = node.intent.rebuild.draining() {
        holds.push(WorkerHold {
            what: "it stops, so that the supervisor can build it again, as it requested".to_owned(),
            since,
            next: "the supervisor replaces it if it still runs".to_owned(),
            at: Some(forced_at),
            gives_up: None,
            remedy: "wait, or stop it".to_owned(),
        });
    }
    if let Some(leaving) = &node.intent.leaving {
        holds.push(WorkerHold {
            what: "it is shutting down for good".to_owned(),
            since: leaving.since,
            next: "the supervisor cuts it off if it still runs".to_owned(),
            at: leaving.plan.deadline(leaving.height),
            gives_up: leaving.plan.deadline(leaving.height),
            remedy: "wait, or stop the supervisor a second time".to_owned(),
        });
    }
    holds
}

/// A spec that cannot be used while an older one is in force holds nothing up, and is easily missed.
fn spec_hold(node: &Node) -> Option<WorkerHold> {
    let Derived::Failed { error, since } = &node.observed.derived else {
        return None;
    };
    node.observed.desired.as_ref()?;
    Some(WorkerHold {
        what: format!("its new definition cannot be used, so the old one stays in force: {error}"),
        since: *since,
        next: "the supervisor checks the definition again at each tick".to_owned(),
        at: None,
        gives_up: None,
        remedy: "fix its definition or variables".to_owned(),
    })
}

fn gate_hold(gate: Gate, since: Timestamp, node: &Node, now: Timestamp) -> Vec<WorkerHold> {
    let hold = |next: String, at: Option<Timestamp>, remedy: &'static str| WorkerHold {
        what: format!("it waits for {}", gate.waits_for()),
        since,
        next,
        at,
        gives_up: None,
        remedy: remedy.to_owned(),
    };
    let one = match gate {
        Gate::Constructor => hold(
            "the supervisor builds it again".to_owned(),
            node.intent.rebuild.due(),
            "fix the error of its constructor",
        ),
        Gate::Spec => hold(
            "the supervisor checks the definition again at each tick".to_owned(),
            None,
            "fix its definition or variables",
        ),
        Gate::Freshness => hold(
            "the supervisor observes it again, and does nothing on an old observation".to_owned(),
            None,
            "check the errors of its collector",
        ),
        Gate::Action => hold(
            format!(
                "`{}` ends, or the supervisor cancels it at its timeout",
                node.progress.action.name
            ),
            None,
            "wait, or cancel the action (`sprag service cancel PATH`)",
        ),
        Gate::Effect => hold("the observation after the action".to_owned(), None, "wait"),
        Gate::Panics => hold(
            "the supervisor calls its code again".to_owned(),
            node.progress.breaker.open_until(now),
            "fix its code; a manual start clears the count",
        ),
        Gate::Children => hold("its children stop first".to_owned(), None, "wait"),
        Gate::Circuit => return node.rules.watches.iter().filter_map(circuit_hold).collect(),
    };
    vec![one]
}

/// The hold of a circuit that is not closed.
fn circuit_hold(watch: &Watch) -> Option<WorkerHold> {
    let child = &watch.rule.restart;
    let (since, next, at, gives_up) = match watch.machine.circuit() {
        Circuit::Open {
            since,
            stage: CircuitStage::Restarting { since: began, .. },
        } => {
            let gives_up = began.plus(RESTART_MAX_MILLIS);
            (*since, format!("`{child}` comes back"), None, Some(gives_up))
        }
        Circuit::Open {
            since,
            stage: CircuitStage::Resting { until, .. },
        } => (*since, "the rule checks again".to_owned(), Some(*until), None),
        Circuit::HalfOpen { since, judged, .. } => {
            let gives_up = judged.plus(UNDECIDED_MAX_MILLIS);
            (
                *since,
                "the next good check closes the circuit".to_owned(),
                None,
                Some(gives_up),
            )
        }
        Circuit::Closed | Circuit::Escalated { .. } => return None,
    };
    Some(WorkerHold {
        what: format!("rule `{}` restarts `{child}`", watch.rule.name),
        since,
        next,
        at,
        gives_up,
        remedy: "wait, restart the child, or change its definition".to_owned(),
    })
}

/// How a rule stands.
pub(crate) fn rule(owner: &Node, watch: &Watch, now: Timestamp) -> WorkerRule {
    let machine: &RestartMachine = &watch.machine;
    let (last_check, found) = match &watch.last {
        Some((Check::Good, _)) => (Some("good"), None),
        Some((Check::Bad(why), _)) => (Some("bad"), Some(why.clone())),
        Some((Check::Undecided(why), _)) => (Some("undecided"), Some(why.clone())),
        None => (None, None),
    };
    let (gave_up, gave_up_at) = match machine.circuit() {
        Circuit::Escalated { cause, since } => (Some(cause.clone()), Some(*since)),
        _ => (None, None),
    };
    let bad = found.clone().filter(|_| last_check == Some("bad"));
    WorkerRule {
        name: watch.rule.name.clone(),
        supervisor: shown_path(owner.path()).to_owned(),
        restart: watch.rule.restart.clone(),
        affects: watch.affected.iter().cloned().collect(),
        circuit: watch.stands().to_owned(),
        detections: machine.detections(now),
        detections_max: machine.limits().detections_max,
        window_millis: machine.limits().window_millis,
        last_check: last_check.map(str::to_owned),
        checked_at: watch.last.as_ref().map(|(_, at)| *at),
        reason: gave_up.clone().or_else(|| watch.idle.clone()).or(found),
        cause: bad.or_else(|| gave_up.clone()),
        next: next(watch),
        next_at: machine.due(now),
        gave_up,
        gave_up_at,
    }
}

/// What a rule does next.
fn next(watch: &Watch) -> String {
    let child = &watch.rule.restart;
    match watch.machine.circuit() {
        Circuit::Closed if watch.machine.grace_since().is_some() => {
            format!("`{child}` restarts unless the condition becomes false before then")
        }
        Circuit::Closed if watch.idle.is_some() => "the rule checks again as soon as it can".to_owned(),
        Circuit::Closed => "the rule checks each new observation".to_owned(),
        Circuit::Open {
            stage: CircuitStage::Restarting { .. },
            ..
        } => format!("`{child}` stops and starts, then the rule waits"),
        Circuit::Open { .. } => "the rule checks again".to_owned(),
        Circuit::HalfOpen { good, .. } => {
            let checks = match GOOD_CHECKS.saturating_sub(*good) {
                1 => "one more good check closes".to_owned(),
                more => format!("{more} good checks close"),
            };
            format!("{checks} the circuit; a bad one restarts `{child}` again")
        }
        Circuit::Escalated { .. } => {
            format!("nothing, until `{child}` or its supervisor is started by a person or its configuration changes")
        }
    }
}
