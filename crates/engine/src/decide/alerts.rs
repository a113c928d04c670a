//! Alerts: what happens when an action that matters becomes a dead letter, when a plan waits for approval, or when a supervisor
//! cannot help itself. The heads of the audit leave the machine in the same way.
//!
//! An alert is a machine of its own with one action. Its execution is started by the very decision that makes the action
//! dead, in the same commit, so it is never lost and never doubled, whatever dies; it is retried, limited and shown like
//! anything else that Sprag does. Alerts that die raise no alerts.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use sprag_core::action::{Action, Status};
use sprag_core::document::source::Format;
use sprag_core::document::{Finding, Severity};
use sprag_core::filter::{self, Condition, Field, Resource};
use sprag_core::machine::{ConfigCheck, DefinitionLimits, LoadOptions, Machine, load_text};
use sprag_core::operation::machine_principal;

use super::Decider;
use super::convert::action_row;
use super::plans::PlanState;
pub use super::waiting::ApprovalNews;
use crate::requests::{Start, start_version};

/// The most alerts.
pub const ALERTS_MAX: usize = 100;
/// What the machines of alerts begin with.
const PREFIX: &str = "alert_";
/// What their action is called.
const ACTION: &str = "alert";
/// The machine that sends the heads of the audit.
pub const HEADS_MACHINE: &str = "audit_heads";
/// The name of its action.
const HEADS_ACTION: &str = "heads";
/// The state of a machine of one action until that has ended.
pub const RAISED: &str = "raised";
/// What matters, where an alert does not say.
pub const CRITICAL: &str = "type = \"blockchain_mint\" OR priority > 90 OR tag = \"critical\"";

/// What is raised when an action that it means dies.
#[derive(Clone, Debug)]
pub struct Alert {
    /// Which dead letters; none, where it is about something else.
    condition: Option<Condition>,
    /// Which news of plans that wait for approval.
    approvals: BTreeSet<ApprovalNews>,
    machine: Arc<Machine>,
    purpose: Purpose,
}

/// What a machine of one action is for. Its action, its variable and its tag have one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Alert,
    Heads,
}

impl Purpose {
    const fn word(self) -> &'static str {
        match self {
            Self::Alert => ACTION,
            Self::Heads => HEADS_ACTION,
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Alert => "Raised by [[alerts]] of sprag.toml.",
            Self::Heads => "Sends the heads of the audit, as [audit.heads] of sprag.toml says.",
        }
    }
}

/// What is wrong with an alert: where, as a JSON pointer into it, and what would fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertProblem {
    /// Where.
    pub pointer: String,
    /// What is wrong.
    pub detail: String,
    /// What would fix it.
    pub remedy: String,
}

impl Alert {
    /// An alert with this name that is raised `when` a dead letter meets the filter, and does `action`, which is an action
    /// definition without `actionId` and `triggerState`. Its templates see the alert as `variables.alert`.
    pub fn new(
        name: &str,
        when: Option<&str>,
        action: &Map<String, Value>,
        runners: &dyn ConfigCheck,
    ) -> Result<Self, Vec<AlertProblem>> {
        let condition = filter::condition(when.unwrap_or(CRITICAL), Resource::DeadLetters);
        let condition = condition.map_err(|error| AlertProblem {
            pointer: "/when".to_owned(),
            detail: error.to_string(),
            remedy: "fix the filter; docs/filters.md has its grammar".to_owned(),
        });
        Self::about(
            &alert_machine(name),
            Purpose::Alert,
            condition.map(Some),
            action,
            runners,
        )
    }

    /// The same for what is no dead letter: the part that observes it raises it with [`Alert::raise`].
    pub fn by_hand(
        name: &str,
        action: &Map<String, Value>,
        runners: &dyn ConfigCheck,
    ) -> Result<Self, Vec<AlertProblem>> {
        Self::about(&alert_machine(name), Purpose::Alert, Ok(None), action, runners)
    }

    /// What sends the heads of the audit: `action` is an action definition as that of an alert. Its templates see the heads as
    /// `variables.heads`. An action that waits for a person would hold back what checks that person.
    pub fn of_heads(action: &Map<String, Value>, runners: &dyn ConfigCheck) -> Result<Self, Vec<AlertProblem>> {
        let waits = ["requiresApproval", "riskLevel"]
            .into_iter()
            .find(|key| action.contains_key(*key));
        let condition = waits.map_or(Ok(None), |key| {
            Err(AlertProblem {
                pointer: format!("/action/{key}"),
                detail: format!("the heads of the audit never wait for approval, so `{key}` cannot be used"),
                remedy: format!("leave out `{key}`"),
            })
        });
        Self::about(HEADS_MACHINE, Purpose::Heads, condition, action, runners)
    }

    fn about(
        machine: &str,
        purpose: Purpose,
        condition: Result<Option<Condition>, AlertProblem>,
        action: &Map<String, Value>,
        runners: &dyn ConfigCheck,
    ) -> Result<Self, Vec<AlertProblem>> {
        let mut problems: Vec<AlertProblem> = condition.as_ref().err().cloned().into_iter().collect();
        let text = definition(machine, purpose, action).to_string();
        let options = LoadOptions {
            limits: DefinitionLimits::default(),
            runners,
        };
        let loaded = load_text(&text, Format::Json, &options);
        problems.extend(loaded.findings.into_iter().filter_map(problem));
        match (condition, loaded.machine) {
            (Ok(condition), Some(machine)) => Ok(Self {
                condition,
                approvals: BTreeSet::new(),
                machine: Arc::new(machine),
                purpose,
            }),
            _ => Err(problems),
        }
    }

    /// It is raised by this news of plans that wait for approval too.
    #[must_use]
    pub fn with_approvals(mut self, approvals: BTreeSet<ApprovalNews>) -> Self {
        self.approvals = approvals;
        self
    }

    /// The machine that raises it.
    pub(crate) fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// Whether it is raised by this dead letter.
    pub(crate) fn means(&self, action: &Action) -> bool {
        let row = action_row(action, sprag_store::records::ExecutionStatus::Running);
        let dead = Condition::number(Field::Status, Status::Dead.number());
        dead.holds(&row) && self.condition.as_ref().is_some_and(|condition| condition.holds(&row))
    }

    /// How it is raised with what there is to say; `about` are words to find it by.
    pub fn raise(&self, payload: Value, about: &[&str]) -> Start {
        let word = self.purpose.word().to_owned();
        let mut tags = vec![word.clone()];
        tags.extend(about.iter().map(|&tag| tag.to_owned()));
        Start {
            machine: self.machine.id.clone(),
            variables: Map::from_iter([(word, payload)]),
            tags,
            ..Start::default()
        }
    }

    /// How it is raised for a dead letter.
    fn start(&self, version: u32, action: &Action) -> Start {
        Start {
            version: Some(version),
            ..self.raise(payload(action), &[&action.origin.machine])
        }
    }
}

/// An alert whose machine is stored.
#[derive(Debug)]
pub(crate) struct ArmedAlert {
    pub(crate) alert: Alert,
    pub(crate) version: u32,
}

impl ArmedAlert {
    /// What starts it.
    fn seat(&self) -> (Arc<Machine>, u32) {
        (Arc::clone(&self.alert.machine), self.version)
    }
}

/// Raises the alerts of what died in this batch so far, and of plans that wait for approval, and returns whether any was raised.
pub(crate) fn raise_alerts(decider: &mut Decider<'_>) -> bool {
    if decider.known.alerts.is_empty() {
        return false;
    }
    let mut raised = false;
    while let Some(&(id, status)) = decider.batch.ended.get(decider.batch.alerted) {
        decider.batch.alerted += 1;
        let died = decider.batch.action(id).filter(|_| status == Status::Dead);
        let Some(action) = died.filter(|action| !is_alert(action)).cloned() else {
            continue;
        };
        let armed = decider.known.alerts.iter();
        let meant = armed.filter(|armed| armed.alert.means(&action));
        let starts = meant.map(|armed| (armed.alert.start(armed.version, &action), armed.seat()));
        let starts = starts.collect();
        raised |= start_all(decider, starts, &id.to_string());
    }
    for (id, news) in std::mem::take(&mut decider.batch.news) {
        let Some(plan) = decider.batch.plans.get(&id).filter(|plan| !is_of_alert(plan)) else {
            continue;
        };
        let armed = decider.known.alerts.iter();
        let meant = armed.filter(|armed| armed.alert.approvals.contains(&news));
        let starts = meant.map(|armed| {
            let start = armed.alert.raise(plan.alert(news), &[plan.plan.proposer.as_str()]);
            let version = Some(armed.version);
            (Start { version, ..start }, armed.seat())
        });
        let starts = starts.collect();
        raised |= start_all(decider, starts, &id.to_string());
    }
    raised
}

/// Starts the machines of alerts, and returns whether there were any. `about` is what they are about.
fn start_all(decider: &mut Decider<'_>, starts: Vec<(Start, (Arc<Machine>, u32))>, about: &str) -> bool {
    let raised = !starts.is_empty();
    for (start, (machine, version)) in starts {
        if let Err(refusal) = start_version(decider, &start, &machine, version) {
            tracing::error!(alert = start.machine, about, %refusal, "alert not raised");
        }
    }
    raised
}

/// Whether a plan is about an alert's own action.
fn is_of_alert(plan: &PlanState) -> bool {
    plan.plan.proposer.starts_with(&machine_principal(PREFIX))
}

/// Whether an action is an alert's own.
fn is_alert(action: &Action) -> bool {
    action.origin.machine.starts_with(PREFIX) && action.action_id == ACTION
}

fn problem(finding: Finding) -> Option<AlertProblem> {
    if finding.severity != Severity::Error {
        return None;
    }
    let inside = finding.pointer.strip_prefix("/actions/0");
    let pointer = match (inside, finding.pointer.as_str()) {
        (Some(rest), _) => format!("/action{rest}"),
        (None, "/id") => "/name".to_owned(),
        (None, _) => "/action".to_owned(),
    };
    Some(AlertProblem {
        pointer,
        detail: finding.detail,
        remedy: finding.remedy,
    })
}

/// The name of the machine of an alert.
fn alert_machine(name: &str) -> String {
    format!("{PREFIX}{name}")
}

/// A machine of one action. One whose action died waits for a person, and is sent when that is retried.
fn definition(machine: &str, purpose: Purpose, action: &Map<String, Value>) -> Value {
    let word = purpose.word();
    let mut action = action.clone();
    let is_webhook = action.get("type").and_then(Value::as_str) == Some("webhook");
    if let Some(Value::Object(config)) = action.get_mut("config").filter(|_| is_webhook) {
        let payload = format!("{{{{variables.{word}}}}}");
        config.entry("payload").or_insert_with(|| json!(payload));
    }
    action.insert("actionId".to_owned(), json!(word));
    action.insert("triggerState".to_owned(), json!(RAISED));
    let (done, failed) = (format!("done.{word}"), format!("failed.{word}"));
    json!({
        "id": machine,
        "description": purpose.description(),
        "variables": { word: null },
        "initial": RAISED,
        "states": {
            RAISED: { "on": { &done: "sent", failed: "stuck" } },
            "stuck": { "on": { done: "sent" } },
            "sent": { "type": "final" },
        },
        "actions": [action],
    })
}

/// What an alert says. All of it is stored already, so no secret is in it.
fn payload(action: &Action) -> Value {
    let error = action.body.last_error.as_ref();
    json!({
        "type": "action_failed",
        "severity": "high",
        "details": {
            "id": action.id,
            "actionId": action.action_id,
            "actionType": action.kind,
            "machine": action.origin.machine,
            "version": action.origin.version,
            "executionId": action.origin.execution,
            "priority": action.priority,
            "tags": action.tags,
            "attempts": action.attempts_made(),
            "diedAt": action.body.died_at,
            "fingerprint": action.fingerprint(),
            "failureReason": error.map(|error| json!({
                "type": error.kind, "message": error.message, "code": error.code,
            })),
        },
    })
}
