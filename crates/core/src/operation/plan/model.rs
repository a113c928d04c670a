//! The plan itself, its canonical bytes and its digest.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::triggered::MACHINE_PREFIX;
use crate::action::Permission;
use crate::document::json;
use crate::expression::template::Template;
use crate::operation::canonical::canonical;
use crate::operation::definition::{Kind, OnFailure, secret_owner};
use crate::operation::proposal::Urgency;
use crate::operation::risk::Risk;
use crate::time::Timestamp;

/// What is approved and run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Plan {
    /// The id of the workflow.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Why it is needed.
    pub reason: String,
    /// The principal that proposed it.
    pub proposer: String,
    /// When: the `now` of every expression.
    pub proposed_at: Timestamp,
    /// A reference outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// How soon an approver should decide.
    pub urgency: Urgency,
    /// What a failed step leads to.
    pub on_failure: OnFailure,
    /// The workflow that this one replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    /// The execution whose action it is about, or whose effects it takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<String>,
    /// The highest risk of a step.
    pub risk_level: Risk,
    /// Whether a step or the operation itself declares that it needs approval.
    pub requires_approval: bool,
    /// The versions of the operations of kind workflow that were expanded, with their digests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expanded: Vec<Expanded>,
    /// The steps; each comes after those that it waits for, except where the proposal has another order.
    pub steps: Vec<PlanStep>,
}

/// An operation of kind workflow that was expanded into steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expanded {
    /// The operation.
    pub operation: String,
    /// Its version.
    pub version: u32,
    /// The digest of that version.
    pub digest: String,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanStep {
    /// Its name, unique in the plan; the actionId of its action.
    pub name: String,
    /// Why it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it does.
    #[serde(flatten)]
    pub action: StepAction,
    /// The steps before it.
    pub depends_on: Vec<String>,
    /// Milliseconds from the end of those to its begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<u64>,
    /// Not before this instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<Timestamp>,
    /// Whether steps that depend on it begin also if it fails.
    pub continue_on_error: bool,
    /// What takes its effect back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensation: Option<StepAction>,
    /// The action whose effect the step takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensates: Option<String>,
}

/// An operation with its parameters: what a step or its compensation does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepAction {
    /// The operation.
    pub operation: String,
    /// Its version.
    pub version: u32,
    /// The digest of that version.
    pub digest: String,
    /// What it acts on.
    pub kind: Kind,
    /// The subject it acts on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// How much can go wrong.
    pub risk_level: Risk,
    /// Whether the operation declares that it needs approval.
    pub requires_approval: bool,
    /// The parameters, defaults included.
    pub params: Map<String, Value>,
    /// The parameters that the operation declares, as its document has them: what is known only at run time is checked
    /// against them again.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
    /// The secrets that a parameter may name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// The action definition with every known value rendered, its limits and those of the subject included.
    pub action: Map<String, Value>,
    /// JSON pointers to the texts of `params` and `action` that are known only when the step runs. All others are data,
    /// whatever they hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// What the action may reach: resolved addresses, programs, secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<Permission>,
}

/// When a plan needs approval (`[approval] mode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Approvals {
    /// If a step declares it or its risk reaches the threshold.
    #[default]
    DeclaredOrRisk,
    /// Always.
    All,
    /// If a step declares it.
    Declared,
}

/// Canonical bytes that are no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stored plan cannot be read: {detail}")]
pub struct PlanError {
    /// What stands in the way.
    pub detail: String,
}

impl Plan {
    /// The canonical bytes (RFC 8785): what is stored, and what the digest is of.
    pub fn canonical(&self) -> Vec<u8> {
        // A plan holds texts, numbers and lists only, so it always has a value.
        let value = serde_json::to_value(self).unwrap_or_default();
        canonical(&value)
    }

    /// SHA-256 of the canonical bytes.
    pub fn digest(&self) -> [u8; 32] {
        json::digest(&self.canonical())
    }

    /// The digest in lowercase hexadecimal digits, as clients send it.
    pub fn digest_text(&self) -> String {
        json::hex(&self.digest())
    }

    /// The plan that these canonical bytes are of.
    pub fn from_canonical(bytes: &[u8]) -> Result<Self, PlanError> {
        serde_json::from_slice(bytes).map_err(|error| PlanError {
            detail: error.to_string(),
        })
    }

    /// The digest of what the plan does, without its id and the time of the proposal: two open plans of one proposer with
    /// the same fingerprint are the same request.
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Some(members) = value.as_object_mut() {
            members.remove("id");
            members.remove("proposedAt");
        }
        json::digest(&canonical(&value))
    }

    /// Whether a step has a due time, or waits for one that has: it may begin long after the plan.
    pub fn is_follow_up(&self, step: &PlanStep) -> bool {
        let mut names = vec![step.name.as_str()];
        let mut position = 0;
        while let Some(step) = names.get(position).and_then(|name| self.step(name)) {
            if step.delay.is_some() || step.scheduled_at.is_some() {
                return true;
            }
            for name in &step.depends_on {
                if !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
            position += 1;
        }
        false
    }

    /// The step of that name.
    pub fn step(&self, name: &str) -> Option<&PlanStep> {
        self.steps.iter().find(|step| step.name == name)
    }
}

impl StepAction {
    /// Whether something of that parameter is known only when the step runs.
    pub fn is_open_parameter(&self, name: &str) -> bool {
        let pointer = format!("/params/{name}");
        let inside = format!("{pointer}/");
        self.open
            .iter()
            .any(|open| *open == pointer || open.starts_with(&inside))
    }

    /// What it is called where a rule lets an owner name a secret: the operation, or the machine whose action it is.
    pub fn secret_owner(&self) -> String {
        match self.operation.strip_prefix(MACHINE_PREFIX) {
            Some(machine) => machine.to_owned(),
            None => secret_owner(&self.operation),
        }
    }

    /// What its action may reach: what the runner says, and the secrets that are named where its values are known late.
    pub(super) fn reached(&self, permissions: &dyn Fn(&str, &Value) -> Vec<Permission>) -> Vec<Permission> {
        let text = |name: &str| self.action.get(name).and_then(Value::as_str);
        let config = self.action.get("config").unwrap_or(&Value::Null);
        let of = |scope: &str, object: &str| Permission {
            scope: scope.to_owned(),
            object: object.to_owned(),
        };
        let mut reached = match text("runner") {
            Some(runner) => vec![of("runner", runner)],
            None => permissions(text("type").unwrap_or_default(), config),
        };
        let opens = self.open.iter().filter_map(|open| open.strip_prefix("/action/config"));
        let templates = opens.filter_map(|open| Template::compile(config.pointer(open)?).ok());
        for template in templates {
            reached.extend(template.secrets().iter().map(|used| of("secret", &used.name)));
        }
        reached.sort_unstable();
        reached.dedup();
        reached
    }

    /// The steps whose results its parameters use.
    pub fn results_used(&self) -> Vec<String> {
        let params = Value::Object(self.params.clone());
        let texts = self
            .open
            .iter()
            .filter_map(|open| params.pointer(open.strip_prefix("/params")?));
        let templates: Vec<Template> = texts.filter_map(|text| Template::compile(text).ok()).collect();
        let paths = templates
            .iter()
            .flat_map(Template::paths)
            .filter(|path| path.root() == Some("steps"));
        paths
            .filter_map(|path| path.segments().get(1).map(ToString::to_string))
            .collect()
    }
}
