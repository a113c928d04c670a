//! From a plan to the definition of a machine: a workflow is an execution like any other.
//!
//! Each step is a region of one parallel state. Its states say what it waits for: `scheduled` (an instant), `waiting` (steps
//! before), `delayed` (a time after them), `running` (its action), then `completed`, or `failed` while its dead letter waits.
//! A retried dead letter that succeeds leads on from `failed`. With `onFailure: compensate` a failure stops what has not begun,
//! what runs comes to its end, and the compensations of completed steps run one after the other, those of later steps first.
//!
//! What a plan holds as data stays data: a text with braces is put into the variable `literals` and named from there.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::definition::OnFailure;
use super::plan::{Plan, PlanStep, StepAction};
use crate::time::Timestamp;

/// What the names of machines that are compiled from plans begin with.
pub const MACHINE_PREFIX: &str = "workflow/";
/// What the actionIds of compensations begin with. No step is called so: `__` stands only after a name.
pub const UNDO_PREFIX: &str = "__undo_";
/// The state that holds all steps.
const STEPS: &str = "steps";
/// The state in which compensations run.
const COMPENSATING: &str = "compensating";

/// The name of the machine of a workflow.
pub fn machine_name(workflow: &str) -> String {
    format!("{MACHINE_PREFIX}{workflow}")
}

/// Whether a machine of this name is compiled from a plan.
pub fn is_workflow_machine(name: &str) -> bool {
    name.starts_with(MACHINE_PREFIX)
}

/// Whether an actionId of such a machine is that of a compensation.
pub fn is_compensation(action_id: &str) -> bool {
    action_id.starts_with(UNDO_PREFIX)
}

/// The definition of the machine that runs a plan which starts now. Same plan, same instant, same definition.
pub fn compile(plan: &Plan, now: Timestamp) -> Value {
    Compiler {
        plan,
        now,
        compensates: plan.on_failure == OnFailure::Compensate,
        literals: Vec::new(),
    }
    .machine()
}

struct Compiler<'p> {
    plan: &'p Plan,
    now: Timestamp,
    compensates: bool,
    literals: Vec<String>,
}

impl<'p> Compiler<'p> {
    fn machine(mut self) -> Value {
        let mut actions = Vec::new();
        for step in &self.plan.steps {
            let trigger = format!("{STEPS}.{}.running", step.name);
            actions.push(self.action(&step.action, &step.name, &trigger));
        }
        for (step, undo) in self.undone() {
            let trigger = format!("{COMPENSATING}.{}", step.name);
            actions.push(self.action(undo, &undo_id(&step.name), &trigger));
        }
        let regions: Map<String, Value> = self
            .plan
            .steps
            .iter()
            .map(|step| (step.name.clone(), self.region(step)))
            .collect();
        let mut states = Map::new();
        let done = if self.compensates {
            json!([
                { "target": COMPENSATING, "guard": { "var": "variables.failed" } },
                { "target": "completed" },
            ])
        } else {
            json!({ "target": "completed" })
        };
        states.insert(
            STEPS.to_owned(),
            json!({ "type": "parallel", "states": regions, "onDone": done }),
        );
        if self.compensates {
            states.insert(COMPENSATING.to_owned(), self.compensating());
            states.insert(
                "compensated".to_owned(),
                json!({ "type": "final", "id": "compensated", "output": { "status": "compensated" } }),
            );
        }
        states.insert(
            "completed".to_owned(),
            json!({ "type": "final", "output": { "status": "completed" } }),
        );
        let mut variables = Map::new();
        if !self.literals.is_empty() {
            variables.insert("literals".to_owned(), json!(self.literals));
        }
        json!({
            "id": machine_name(&self.plan.id),
            "description": self.plan.name,
            "variables": variables,
            "initial": STEPS,
            "states": states,
            "actions": actions,
        })
    }

    /// The states of one step, from the first that it needs.
    fn region(&self, step: &PlanStep) -> Value {
        let early = step.scheduled_at.map_or(0, |at| at.since(self.now));
        let mut names: Vec<&str> = Vec::new();
        let needed = [
            ("scheduled", early > 0),
            ("waiting", !step.depends_on.is_empty()),
            ("delayed", step.delay.is_some_and(|delay| delay > 0)),
        ];
        names.extend(
            needed
                .into_iter()
                .filter(|(_, is_needed)| *is_needed)
                .map(|(name, _)| name),
        );
        let mut states = Map::new();
        for (position, name) in names.iter().enumerate() {
            let next = names.get(position + 1).copied().unwrap_or("running");
            let mut state = match *name {
                "scheduled" => json!({ "after": { millis(early): next } }),
                "delayed" => json!({ "after": { millis(step.delay.unwrap_or(0)): next } }),
                _ => json!({ "always": [{ "target": next, "guard": self.ready(step) }] }),
            };
            if self.compensates {
                let stopped = json!({ "target": "stopped", "guard": { "var": "variables.failed" } });
                let mut always = vec![stopped];
                always.extend(state["always"].as_array().cloned().unwrap_or_default());
                state["always"] = always.into();
            }
            states.insert((*name).to_owned(), state);
        }
        states.insert("running".to_owned(), self.running(step));
        states.insert("failed".to_owned(), self.failed(step));
        states.insert("completed".to_owned(), json!({ "type": "final" }));
        if self.compensates && !names.is_empty() {
            states.insert("stopped".to_owned(), json!({ "type": "final" }));
        }
        json!({ "initial": names.first().copied().unwrap_or("running"), "states": states })
    }

    /// Every step before it has ended as it must.
    fn ready(&self, step: &PlanStep) -> Value {
        let ended = |name: &String| {
            let completed = json!({ "in_state": format!("{STEPS}.{name}.completed") });
            let may_fail = self.plan.step(name).is_some_and(|before| before.continue_on_error);
            if may_fail {
                json!({ "or": [completed, { "in_state": format!("{STEPS}.{name}.failed") }] })
            } else {
                completed
            }
        };
        json!({ "and": step.depends_on.iter().map(ended).collect::<Vec<_>>() })
    }

    fn running(&self, step: &PlanStep) -> Value {
        let name = &step.name;
        let mut failed = json!({ "target": "failed" });
        if self.compensates && !step.continue_on_error {
            failed["assign"] = json!({ "failed": true });
        }
        json!({ "on": { format!("done.{name}"): self.completed(step), format!("failed.{name}"): failed } })
    }

    fn completed(&self, step: &PlanStep) -> Value {
        if self.compensates && step.compensation.is_some() {
            json!({ "target": "completed", "assign": { completed_variable(&step.name): true } })
        } else {
            json!({ "target": "completed" })
        }
    }

    /// A failure that others may ignore, or that is compensated, is the end of the step. Any other waits for its dead letter.
    fn failed(&self, step: &PlanStep) -> Value {
        if self.compensates || step.continue_on_error {
            json!({ "type": "final" })
        } else {
            json!({ "on": { format!("done.{}", step.name): "completed" } })
        }
    }

    /// One compensation after the other. One that fails waits for its dead letter.
    fn compensating(&self) -> Value {
        let mut states = Map::new();
        let mut choices = Vec::new();
        for (step, _) in self.undone() {
            let variable = completed_variable(&step.name);
            choices.push(json!({ "target": step.name, "guard": { "var": format!("variables.{variable}") } }));
            let done = json!({ "target": "__next", "assign": { variable: false } });
            states.insert(
                step.name.clone(),
                json!({ "on": { format!("done.{}", undo_id(&step.name)): done } }),
            );
        }
        choices.push(json!({ "target": "#compensated" }));
        states.insert("__next".to_owned(), json!({ "always": choices }));
        json!({ "initial": "__next", "states": states })
    }

    /// The steps that have a compensation, each before those that it waits for.
    fn undone(&self) -> Vec<(&'p PlanStep, &'p StepAction)> {
        if !self.compensates {
            return Vec::new();
        }
        let mut order = in_order(self.plan);
        order.reverse();
        order
            .into_iter()
            .filter_map(|step| Some((step, step.compensation.as_ref()?)))
            .collect()
    }

    fn action(&mut self, step: &StepAction, action_id: &str, trigger: &str) -> Value {
        let open: BTreeSet<&str> = step.open.iter().map(String::as_str).collect();
        let mut action = Map::new();
        for (name, value) in &step.action {
            let value = match name.as_str() {
                "config" | "limits" => self.escaped(value, &format!("/action/{name}"), &open),
                _ => value.clone(),
            };
            action.insert(name.clone(), value);
        }
        action.insert("actionId".to_owned(), action_id.into());
        action.insert("triggerState".to_owned(), trigger.into());
        action.insert("owner".to_owned(), step.secret_owner().into());
        if open
            .iter()
            .any(|open| open.starts_with("/action/") || open.starts_with("/params/"))
        {
            let params = self.escaped(&step.params.clone().into(), "/params", &open);
            action.insert("params".to_owned(), params);
            // The values of a machine's action are nobody's parameters.
            if !step.parameters.is_empty() {
                action.insert("parameters".to_owned(), step.parameters.clone().into());
            }
            action.insert("secrets".to_owned(), json!(step.secrets));
            action.insert("now".to_owned(), self.plan.proposed_at.to_string().into());
        }
        action.into()
    }

    /// The same value as a template that comes to it.
    fn escaped(&mut self, value: &Value, pointer: &str, open: &BTreeSet<&str>) -> Value {
        match value {
            Value::String(text) if open.contains(pointer) || !is_template(text) => value.clone(),
            Value::String(text) => {
                self.literals.push(text.clone());
                format!("{{{{variables.literals[{}]}}}}", self.literals.len() - 1).into()
            }
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items
                    .map(|(at, item)| self.escaped(item, &format!("{pointer}/{at}"), open))
                    .collect()
            }
            Value::Object(members) => {
                let mut escaped = Map::new();
                for (name, member) in members {
                    let token = name.replace('~', "~0").replace('/', "~1");
                    escaped.insert(name.clone(), self.escaped(member, &format!("{pointer}/{token}"), open));
                }
                escaped.into()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

/// The steps of a plan, each after those that it waits for; otherwise in the order of the plan.
fn in_order(plan: &Plan) -> Vec<&PlanStep> {
    let mut left: Vec<&PlanStep> = plan.steps.iter().collect();
    let mut ended: BTreeSet<&str> = BTreeSet::new();
    let mut order = Vec::new();
    while let Some(next) = left
        .iter()
        .position(|step| step.depends_on.iter().all(|name| ended.contains(name.as_str())))
    {
        let step = left.remove(next);
        ended.insert(&step.name);
        order.push(step);
    }
    order
}

/// The actionId of a step's compensation.
pub fn undo_id(step: &str) -> String {
    format!("{UNDO_PREFIX}{step}")
}

fn completed_variable(step: &str) -> String {
    format!("completed_{step}")
}

fn millis(millis: u64) -> String {
    format!("{millis}ms")
}

fn is_template(text: &str) -> bool {
    ["{{", "{%", "{#"].iter().any(|open| text.contains(open))
}

/// Where a step stands in its machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepPhase {
    /// Its instant has not come.
    Scheduled,
    /// Steps before it have not ended.
    Waiting,
    /// They have, and its delay runs.
    Delayed,
    /// Its action was triggered.
    Running,
    /// Its action failed.
    Failed,
    /// Its action succeeded.
    Completed,
    /// It never began, because another step failed.
    Stopped,
}

/// Where a workflow stands in its machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkflowPhase {
    /// Steps run or wait.
    Running,
    /// A step failed that others wait for, or whose failure is not ignored.
    Failed,
    /// Compensations run.
    Compensating,
    /// They have ended.
    Compensated,
    /// Every step has ended as it must.
    Completed,
}

impl StepPhase {
    const WORDS: [(&'static str, Self); 7] = [
        ("scheduled", Self::Scheduled),
        ("waiting", Self::Waiting),
        ("delayed", Self::Delayed),
        ("running", Self::Running),
        ("failed", Self::Failed),
        ("completed", Self::Completed),
        ("stopped", Self::Stopped),
    ];

    /// Where a step stands, from the active states of the machine as dotted paths; none once the workflow left its steps.
    pub fn of(step: &str, configuration: &[String]) -> Option<Self> {
        configuration.iter().find_map(|path| {
            let rest = path.strip_prefix(STEPS)?.strip_prefix('.')?;
            let (name, state) = rest.split_once('.')?;
            let found = Self::WORDS.iter().find(|(word, _)| *word == state)?;
            (name == step).then_some(found.1)
        })
    }
}

impl WorkflowPhase {
    /// Where the workflow stands, from the active states of its machine as dotted paths.
    pub fn of(plan: &Plan, configuration: &[String]) -> Self {
        let has = |name: &str| {
            configuration
                .iter()
                .any(|path| path == name || path.starts_with(&format!("{name}.")))
        };
        if has("compensated") {
            return Self::Compensated;
        }
        if has(COMPENSATING) {
            return Self::Compensating;
        }
        if has("completed") {
            return Self::Completed;
        }
        let failed = |step: &PlanStep| {
            !step.continue_on_error && StepPhase::of(&step.name, configuration) == Some(StepPhase::Failed)
        };
        if plan.steps.iter().any(failed) {
            Self::Failed
        } else {
            Self::Running
        }
    }
}
