//! Actions of machines as steps of plans: what people approve before such an action begins, and what takes back its
//! effect.
//!
//! The values of an action are known at its trigger, except those of secrets and of the attempt. So its step holds no
//! expression besides those; what these texts name otherwise stands in the parameters.

use serde_json::{Map, Value, json};

use super::model::{Plan, PlanStep, StepAction};
use crate::action::{LimitUse, Permission};
use crate::document::json;
use crate::expression::template::{Frozen, rename};
use crate::machine::Machine;
use crate::operation::definition::{Kind, OnFailure};
use crate::operation::proposal::Urgency;
use crate::time::Timestamp;

/// What the names of proposers and operations begin with that are machines. No operation is called so: names of operations
/// have no `:`.
pub(super) const MACHINE_PREFIX: &str = "machine:";
/// The keys of an action definition that say what its attempts do.
const KEYS: [&str; 8] = [
    "deadline",
    "description",
    "onUnknown",
    "priority",
    "retryPolicy",
    "runner",
    "timeout",
    "type",
];

/// An action of a machine whose values are known.
#[derive(Clone, Copy, Debug)]
pub struct TriggeredAction<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// Its version.
    pub version: u32,
    /// The position of the definition.
    pub position: usize,
    /// The configuration; none where it is the definition's own.
    pub frozen: Option<&'a Frozen>,
    /// The limits, keys rendered.
    pub limits: &'a [LimitUse],
}

/// What a plan of one principal holds besides its steps.
#[derive(Clone, Debug)]
pub struct PlanHead {
    /// The id of the workflow.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Why it is needed.
    pub reason: String,
    /// The principal that proposes it.
    pub proposer: String,
    /// The execution that it is about.
    pub execution: Option<String>,
    /// When.
    pub now: Timestamp,
}

/// The name of a machine where a principal or an operation is named.
pub fn machine_principal(machine: &str) -> String {
    format!("{MACHINE_PREFIX}{machine}")
}

impl TriggeredAction<'_> {
    /// The step that performs this action; none if there is no such definition.
    pub fn plan_step(&self, permissions: &dyn Fn(&str, &Value) -> Vec<Permission>) -> Option<PlanStep> {
        let definition = self.machine.actions.get(self.position)?;
        let written = self.machine.definition["actions"].get(self.position)?.as_object()?;
        let mut action: Map<String, Value> = KEYS
            .iter()
            .filter_map(|key| Some(((*key).to_owned(), written.get(*key)?.clone())))
            .collect();
        let (config, open, params) = self.config(definition.config.constant());
        action.insert("config".to_owned(), config);
        if !self.limits.is_empty() {
            action.insert("limits".to_owned(), json!(self.limits));
        }
        if !definition.tags.is_empty() {
            action.insert("tags".to_owned(), json!(definition.tags));
        }
        let mut step = StepAction {
            operation: machine_principal(&self.machine.id),
            version: self.version,
            digest: json::hex(&self.machine.digest),
            kind: Kind::Tool,
            subject: None,
            risk_level: definition.risk.unwrap_or_default(),
            requires_approval: definition.requires_approval,
            params,
            parameters: Map::new(),
            secrets: Vec::new(),
            action,
            open,
            permissions: Vec::new(),
        };
        step.permissions = step.reached(permissions);
        Some(PlanStep::new(definition.action_id.clone(), step))
    }

    /// The configuration, where it holds expressions, and the values that these name besides late-bound ones.
    fn config(&self, constant: Option<&Value>) -> (Value, Vec<String>, Map<String, Value>) {
        let Some(Frozen { config, late, bindings }) = self.frozen else {
            return (constant.cloned().unwrap_or_else(|| json!({})), Vec::new(), Map::new());
        };
        let mut config = config.clone();
        for pointer in late {
            if let Some(text) = config.pointer_mut(pointer) {
                *text = rename(text, &|path| {
                    let name = path.to_string();
                    let is_bound = bindings.contains_key(&name);
                    is_bound.then(|| format!("params[{}]", Value::from(name)))
                });
            }
        }
        let open = late.iter().map(|pointer| format!("/action/config{pointer}")).collect();
        (config, open, bindings.clone())
    }
}

impl PlanStep {
    /// A step that waits for nothing.
    pub fn new(name: String, action: StepAction) -> Self {
        Self {
            name,
            reason: None,
            action,
            depends_on: Vec::new(),
            delay: None,
            scheduled_at: None,
            continue_on_error: false,
            compensation: None,
            compensates: None,
        }
    }
}

impl Plan {
    /// The plan of these steps, none of which has a compensation.
    pub fn of_steps(head: PlanHead, steps: Vec<PlanStep>) -> Self {
        let PlanHead {
            id,
            name,
            description,
            reason,
            proposer,
            execution,
            now,
        } = head;
        Self {
            id,
            name,
            description,
            reason,
            proposer,
            proposed_at: now,
            ticket: None,
            urgency: Urgency::Soon,
            on_failure: OnFailure::Stop,
            supersedes: None,
            execution,
            risk_level: steps
                .iter()
                .map(|step| step.action.risk_level)
                .max()
                .unwrap_or_default(),
            requires_approval: steps.iter().any(|step| step.action.requires_approval),
            expanded: Vec::new(),
            steps,
        }
    }
}
