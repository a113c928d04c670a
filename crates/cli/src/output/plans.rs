//! The exact plan of a workflow as text: what a person reads before an approval.
//!
//! First one line a step, then everything that the plan holds of each step. A value may come from an untrusted proposer, so
//! control characters in it are escaped. A value that is cut shows its length.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use sprag_core::operation::{OnFailure, Plan, PlanStep, StepAction};
use sprag_wire::{PlanDifference, Workflow, WorkflowPlan, WorkflowStatus};

use super::table::Table;
use super::terminal::one_line;
use super::when::span;

/// A longer value is cut: `--output json` has all of it.
const VALUE_CHARS_MAX: usize = 4_000;
/// A value of more characters gets lines of its own.
const LINE_CHARS: usize = 100;

/// The exact plan, what differs from the last run, and how to approve it.
pub(crate) fn plan(workflow: &Workflow, plan: &WorkflowPlan) -> String {
    let exact = match serde_json::from_value::<Plan>(plan.plan.clone()) {
        Ok(exact) => readable(&exact),
        // A plan of a newer server: as it is.
        Err(_) => format!("{:#}\n", plan.plan),
    };
    format!("plan:\n{exact}\n{}{}", since_last(plan), decision(workflow, plan))
}

fn since_last(plan: &WorkflowPlan) -> String {
    let Some(last) = plan.last_run else {
        return "no earlier run of this name\n".to_owned();
    };
    if plan.changes.is_empty() {
        return format!("the same as the last run, {last}\n");
    }
    let changes: String = plan.changes.iter().map(change).collect();
    format!("different from the last run, {last}:\n{changes}")
}

fn change(PlanDifference { path, before, after }: &PlanDifference) -> String {
    format!("  {}: {} -> {}\n", one_line(path), compact(before), compact(after))
}

/// The command that approves exactly this plan, while it waits.
fn decision(workflow: &Workflow, plan: &WorkflowPlan) -> String {
    if workflow.status != WorkflowStatus::AwaitingApproval {
        return String::new();
    }
    format!(
        "\napprove it with: sprag workflow approve {} --digest {}\n",
        workflow.id, plan.digest
    )
}

fn readable(plan: &Plan) -> String {
    let mut text = overview(plan).text();
    for step in &plan.steps {
        let _ = write!(text, "\n{}:\n{}", one_line(&step.name), indented(&details(step)));
    }
    let about = about(plan);
    if about.is_empty() {
        return text;
    }
    format!("{text}\n{about}")
}

/// The steps, one a line.
fn overview(plan: &Plan) -> Table {
    let mut table = Table::new(&["STEP", "OPERATION", "RISK", "AFTER", "BEGINS", "CHANGES", "REACHES"]);
    for step in &plan.steps {
        let after = match step.depends_on.as_slice() {
            [] => "-".to_owned(),
            names => names.join(", "),
        };
        table.row([
            step.name.clone(),
            versioned(&step.action),
            step.action.risk_level.to_string(),
            after,
            begins(step),
            changes(&step.action),
            reached(&step.action),
        ]);
    }
    table
}

fn versioned(action: &StepAction) -> String {
    format!("{}@{}", action.operation, action.version)
}

/// What a step acts on.
fn changes(action: &StepAction) -> String {
    action
        .subject
        .as_ref()
        .map_or_else(|| "nothing declared".to_owned(), |subject| format!("subject {subject}"))
}

fn reached(action: &StepAction) -> String {
    let reached: Vec<String> = action.permissions.iter().map(ToString::to_string).collect();
    if reached.is_empty() {
        "nothing".to_owned()
    } else {
        reached.join(", ")
    }
}

fn begins(step: &PlanStep) -> String {
    let delay = step.delay.map(|delay| format!("{} later", span(delay)));
    let due = step.scheduled_at.map(|at| format!("not before {at}"));
    let times: Vec<String> = delay.into_iter().chain(due).collect();
    if times.is_empty() {
        "at once".to_owned()
    } else {
        times.join(", ")
    }
}

/// Everything that the plan holds of a step.
fn details(step: &PlanStep) -> String {
    let mut lines = Lines::default();
    if let Some(reason) = &step.reason {
        lines.add("reason", reason);
    }
    lines.action(&step.action);
    if step.continue_on_error {
        lines.add("on error", "steps that depend on it begin also if it fails");
    }
    if let Some(compensates) = &step.compensates {
        lines.add("takes back", compensates);
    }
    if let Some(back) = &step.compensation {
        lines.add("taken back by", &versioned(back));
        lines.0.push_str(&indented(&Lines::of(back)));
    }
    lines.0
}

/// Names and values, one a line.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn of(action: &StepAction) -> String {
        let mut lines = Self::default();
        lines.action(action);
        lines.0
    }

    fn add(&mut self, name: &str, value: &str) {
        // Writing to a text cannot fail.
        let _ = writeln!(self.0, "{:<13} {}", name, one_line(value));
    }

    fn value(&mut self, name: &str, value: &Value) {
        let text = compact(value);
        if text.chars().count() <= LINE_CHARS {
            let _ = writeln!(self.0, "{name:<13} {text}");
        } else {
            let _ = writeln!(self.0, "{name}:\n{}", indented(&pretty(value)).trim_end());
        }
    }

    fn action(&mut self, action: &StepAction) {
        self.add("operation", &versioned(action));
        self.add("definition", &action.digest);
        if action.requires_approval {
            self.add("approval", "the operation requires it");
        }
        self.add("changes", &changes(action));
        self.add("reaches", &reached(action));
        self.members("params", &action.params);
        for (name, value) in &action.action {
            self.value(name, value);
        }
        if !action.secrets.is_empty() {
            self.add("secrets", &action.secrets.join(", "));
        }
        for open in &action.open {
            self.add("known late", &format!("{open} is known only when the step runs"));
        }
    }

    fn members(&mut self, name: &str, members: &Map<String, Value>) {
        if !members.is_empty() {
            self.value(name, &Value::Object(members.clone()));
        }
    }
}

/// What holds for the whole plan, where it is not as usual.
fn about(plan: &Plan) -> String {
    let mut lines = Lines::default();
    if let Some(description) = &plan.description {
        lines.add("description", description);
    }
    lines.add("proposed at", &plan.proposed_at.to_string());
    let on_failure = match plan.on_failure {
        OnFailure::Stop => "what depends on the failed step waits",
        OnFailure::Compensate => "the compensations of completed steps run",
    };
    lines.add("on failure", on_failure);
    for (name, value) in [("supersedes", &plan.supersedes), ("execution", &plan.execution)] {
        if let Some(value) = value {
            lines.add(name, value);
        }
    }
    for expanded in &plan.expanded {
        let operation = format!("{}@{}, {}", expanded.operation, expanded.version, expanded.digest);
        lines.add("expanded", &operation);
    }
    lines.0
}

/// A value in one line.
fn compact(value: &Value) -> String {
    cut(&one_line(&value.to_string()))
}

/// A value in lines.
fn pretty(value: &Value) -> String {
    // JSON escapes control characters, so each line break is one of the layout.
    let lines: Vec<String> = format!("{value:#}").lines().map(one_line).collect();
    cut(&lines.join("\n"))
}

fn cut(text: &str) -> String {
    let length = text.chars().count();
    if length <= VALUE_CHARS_MAX {
        return text.to_owned();
    }
    let kept: String = text.chars().take(VALUE_CHARS_MAX).collect();
    format!("{kept}… ({length} characters; --output json has all of them)")
}

fn indented(text: &str) -> String {
    text.lines().flat_map(|line| ["  ", line, "\n"]).collect()
}
