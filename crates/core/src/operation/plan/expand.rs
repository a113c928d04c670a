//! Steps of a plan from steps as they were written: operations of kind workflow are replaced by their own steps.
//!
//! A step inside a step has both names with `__` between them. What waits for a workflow waits for those of its steps that no
//! other of its steps waits for, and the first of its steps wait for what the workflow waits for.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::build::{Builder, due_of, step_name};
use super::given::{Given, Refused};
use super::model::{Expanded, PlanStep, StepAction};
use crate::document::json;
use crate::document::source::Place;
use crate::expression::scope::Path;
use crate::expression::template::rename;
use crate::operation::catalog::{NESTING_MAX, Versioned};
use crate::operation::definition::{Body, Compensate, Due, OnFailure, StepDocument};
use crate::operation::steps::{INSIDE, dependencies};
use crate::time::Timestamp;

/// Where a list of steps stands in the plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Seat {
    /// What the names of its steps begin with.
    prefix: String,
    /// What its first steps wait for.
    before: Vec<String>,
    /// When its first steps begin at the earliest.
    at: Option<Timestamp>,
    /// How long after those before them.
    delay: Option<u64>,
    /// Where faults point: the step of the proposal around it, if there is one.
    pointer: Option<String>,
    /// How many workflows are around it.
    depth: usize,
}

/// How the parameters of a step are made.
type Give<'g> = &'g dyn Fn(&Map<String, Value>) -> Result<Given, Vec<Refused>>;

impl Builder<'_> {
    /// A proposal of one operation.
    pub(super) fn single(&mut self, operation: &str, given: &Given, due: Due) {
        let Some(versioned) = self.options.catalog.operation(operation).cloned() else {
            return self.unknown_operation(operation, "/operation");
        };
        let (at, delay) = due_of(due, false, self.facts.now);
        if let Body::Workflow { .. } = versioned.operation.body {
            let seat = Seat {
                at,
                delay,
                pointer: Some(String::new()),
                ..Seat::default()
            };
            self.workflow(&versioned, given, &seat);
            return;
        }
        let name = step_name(operation);
        let compensation = self.compensation(&versioned, given, &name, "");
        if let Some(action) = self.action(&versioned, given, "") {
            self.steps.push(PlanStep {
                name,
                reason: None,
                action,
                depends_on: Vec::new(),
                delay,
                scheduled_at: at,
                continue_on_error: false,
                compensation,
                compensates: None,
            });
        }
    }

    /// Adds steps; the names of the last ones.
    pub(super) fn expand(&mut self, steps: &[StepDocument], give: Give<'_>, seat: &Seat) -> Vec<String> {
        let needs = dependencies(steps);
        // A workflow's name stands for its last steps. They are known once it was expanded, so what waits for it comes later.
        let mut ends: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut left: Vec<(&StepDocument, &Vec<String>)> = steps.iter().zip(&needs).collect();
        while !left.is_empty() {
            let is_ready = |(_, needed): &(&StepDocument, &Vec<String>)| {
                let known =
                    |name: &String| steps.iter().all(|step| step.name != *name) || ends.contains_key(name.as_str());
                needed.iter().all(known)
            };
            // In a circle nothing is ready. It was named before; each of its steps is still judged.
            let next = left.iter().position(is_ready).unwrap_or(0);
            let (step, needed) = left.remove(next);
            let before = needed
                .iter()
                .flat_map(|name| ends.get(name.as_str()).cloned().unwrap_or_default())
                .collect();
            let own = self.one(step, before, give, seat);
            ends.insert(&step.name, own);
        }
        let awaited: BTreeSet<&str> = needs.iter().flatten().map(String::as_str).collect();
        let last = steps.iter().filter(|step| !awaited.contains(step.name.as_str()));
        last.filter_map(|step| ends.get(step.name.as_str()))
            .flatten()
            .cloned()
            .collect()
    }

    fn one(&mut self, step: &StepDocument, before: Vec<String>, give: Give<'_>, seat: &Seat) -> Vec<String> {
        let name = format!("{}{}", seat.prefix, step.name);
        let pointer = seat.pointer.clone().unwrap_or_else(|| step.pointer.clone());
        let Some(versioned) = self.options.catalog.operation(&step.operation).cloned() else {
            self.unknown_operation(&step.operation, &format!("{pointer}/operation"));
            return vec![name];
        };
        let is_first = before.is_empty();
        let before = if is_first { seat.before.clone() } else { before };
        let (at, delay) = due_of(step.due, !before.is_empty(), self.facts.now);
        let (at, delay) = if is_first {
            (at.max(seat.at), sum(delay, seat.delay))
        } else {
            (at, delay)
        };
        let written = inside_names(&step.params, &seat.prefix);
        let given = match give(&written) {
            Ok(given) => given,
            Err(refused) => {
                self.refused(refused, &pointer);
                return vec![name];
            }
        };
        if let Body::Workflow { .. } = versioned.operation.body {
            if step.continue_on_error {
                let detail = format!("step `{name}` is a workflow, which cannot have `continueOnError`");
                self.error(&pointer, "misplaced-key", detail, "set it on steps of the workflow");
            }
            let prefix = format!("{name}{INSIDE}");
            let depth = seat.depth + 1;
            let seat = Seat {
                prefix,
                before,
                at,
                delay,
                pointer: Some(pointer),
                depth,
            };
            return self.workflow(&versioned, &given, &seat);
        }
        let compensation = self.compensation(&versioned, &given, &name, &pointer);
        if let Some(action) = self.action(&versioned, &given, &pointer) {
            self.steps.push(PlanStep {
                name: name.clone(),
                reason: step.reason.clone(),
                action,
                depends_on: before,
                delay,
                scheduled_at: at,
                continue_on_error: step.continue_on_error,
                compensation,
                compensates: None,
            });
        }
        vec![name]
    }

    fn workflow(&mut self, versioned: &Versioned, given: &Given, seat: &Seat) -> Vec<String> {
        let Versioned { version, operation } = versioned;
        let pointer = seat.pointer.clone().unwrap_or_default();
        let Body::Workflow { steps, on_failure } = &operation.body else {
            return Vec::new();
        };
        if seat.depth > NESTING_MAX {
            let detail = format!("workflows stand more than `{NESTING_MAX}` deep in each other");
            self.error(&pointer, "nested-too-deep", detail, "nest less");
            return Vec::new();
        }
        let is_open = |name: &str| given.is_open(name);
        let (values, faults) = operation.parameters.check(&given.values, &[], &is_open);
        for fault in faults {
            let place = Place::unwritten(format!("{pointer}/params")).of(&fault.name);
            self.findings.error(&place, fault.code, fault.detail, fault.remedy);
        }
        if *on_failure == OnFailure::Compensate {
            self.on_failure = OnFailure::Compensate;
        }
        self.risk = self.risk.max(operation.risk);
        self.requires_approval |= operation.requires_approval;
        self.expanded.push(Expanded {
            operation: operation.name.clone(),
            version: *version,
            digest: json::hex(&operation.digest()),
        });
        let around = Given {
            values,
            open: given.open.clone(),
        };
        let now = self.facts.now.to_string();
        self.expand(steps, &|written| around.hand_on(written, &now), seat)
    }

    /// What takes the effect of a step back.
    fn compensation(&mut self, versioned: &Versioned, given: &Given, step: &str, pointer: &str) -> Option<StepAction> {
        let Body::Action {
            compensate: Some(Compensate { operation, params }),
            ..
        } = &versioned.operation.body
        else {
            return None;
        };
        let Some(undo) = self.options.catalog.operation(operation).cloned() else {
            self.unknown_operation(operation, &format!("{pointer}/operation"));
            return None;
        };
        if let Body::Workflow { .. } = undo.operation.body {
            let detail = format!(
                "the compensation `{operation}` of `{}` is a workflow",
                versioned.operation.name
            );
            self.error(
                pointer,
                "misplaced-key",
                detail,
                "compensate with an operation of one action",
            );
            return None;
        }
        // The result of the step is what its compensation calls `result`.
        let result = |path: &Path| match path.segments() {
            [root, rest @ ..] if root.as_ref() == "result" => Some(path_text(&format!("steps.{step}.result"), rest)),
            _ => None,
        };
        let written = renamed(params, &result);
        let (values, _) = versioned
            .operation
            .parameters
            .check(&given.values, &versioned.operation.secrets, &|name| given.is_open(name));
        let around = Given {
            values,
            open: given.open.clone(),
        };
        match around.hand_on(&written, &self.facts.now.to_string()) {
            Ok(given) => self.action(&undo, &given, pointer),
            Err(refused) => {
                self.refused(refused, pointer);
                None
            }
        }
    }

    fn refused(&mut self, refused: Vec<Refused>, pointer: &str) {
        for Refused {
            pointer: at,
            detail,
            remedy,
        } in refused
        {
            let pointer = format!("{pointer}/params{at}");
            // What was wrong with the text itself was named when the proposal was read.
            if !self.findings.has_errors_at(&pointer) {
                self.error(&pointer, "bad-value", detail, &remedy);
            }
        }
    }
}

/// The same parameters, in which the names of steps beside them have the prefix that they have in the plan.
fn inside_names(params: &Map<String, Value>, prefix: &str) -> Map<String, Value> {
    if prefix.is_empty() {
        return params.clone();
    }
    renamed(params, &|path| match path.segments() {
        [root, name, rest @ ..] if root.as_ref() == "steps" => Some(path_text(&format!("steps.{prefix}{name}"), rest)),
        _ => None,
    })
}

fn renamed(params: &Map<String, Value>, by: &dyn Fn(&Path) -> Option<String>) -> Map<String, Value> {
    params
        .iter()
        .map(|(name, value)| (name.clone(), rename(value, by)))
        .collect()
}

/// A path as an expression: positions and names that are no identifiers in brackets.
fn path_text(begin: &str, rest: &[Box<str>]) -> String {
    let part = |name: &str| match name.parse::<usize>() {
        Ok(position) => format!("[{position}]"),
        Err(_) => format!("[{}]", Value::from(name)),
    };
    rest.iter().fold(begin.to_owned(), |text, name| text + &part(name))
}

fn sum(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.saturating_add(right)),
        (one, other) => one.or(other),
    }
}
