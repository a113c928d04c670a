//! What was expected against what happened.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::read::{Expect, texts};
use crate::document::source::Position;
use crate::machine::simulate::{Line, Simulation};
use crate::machine::testing::action::Unmet;
use crate::machine::testing::keys::{COMPLETED, RUNNING};

/// How one scenario went.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The scenario.
    pub name: String,
    /// The line it stands on, from 1.
    pub line: u32,
    /// Whether everything was as expected.
    pub passed: bool,
    /// What was not.
    pub mismatches: Vec<Mismatch>,
}

/// Something that was not as expected.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mismatch {
    /// Which step, from 1; 0 is the start, and none is the end of the scenario.
    pub step: Option<usize>,
    /// What the step was.
    pub event: String,
    /// What differs, and where that was expected; the step, where nothing was said.
    #[serde(flatten)]
    pub unmet: Unmet,
}

impl Mismatch {
    /// `step 2 (GO): configuration is ["a"], expected ["b"]`.
    pub fn sentence(&self) -> String {
        let step = match self.step {
            Some(0) => "start".to_owned(),
            Some(step) => format!("step {step} ({})", self.event),
            None => "then".to_owned(),
        };
        format!("{step}: {}", self.unmet.sentence())
    }
}

/// Where in a scenario something is compared.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    pub(super) step: Option<usize>,
    pub(super) event: String,
    pub(super) at: Position,
}

impl Moment {
    pub(super) fn mismatch(&self, field: impl Into<String>, expected: Value, actual: Value) -> Mismatch {
        Mismatch {
            step: self.step,
            event: self.event.clone(),
            unmet: Unmet {
                field: field.into(),
                expected,
                actual,
                line: self.at.line,
                column: self.at.column,
            },
        }
    }
}

/// Everything about `line` that is not as expected.
pub(super) fn compare(expect: &Expect, line: &Line, simulation: &Simulation, moment: &Moment) -> Vec<Mismatch> {
    let mut found = Vec::new();
    for (field, expected) in &expect.fields {
        if field == "variables" {
            found.extend(variables(expected, &line.variables, moment));
            continue;
        }
        let (expected, actual) = match field.as_str() {
            "configuration" => (sorted(expected), json!(line.configuration)),
            "actions" => (json!(texts(Some(expected))), json!(line.actions)),
            "handled" => (expected.clone(), json!(line.handled)),
            "status" => (
                expected.clone(),
                json!(if simulation.is_completed() { COMPLETED } else { RUNNING }),
            ),
            "output" => (expected.clone(), simulation.output().cloned().unwrap_or_default()),
            _ => (expected.clone(), json!(line.error)),
        };
        if expected != actual {
            found.push(moment.mismatch(field, expected, actual));
        }
    }
    found
}

fn sorted(configuration: &Value) -> Value {
    let mut paths = texts(Some(configuration));
    paths.sort_unstable();
    json!(paths)
}

/// Only the variables that are named must be as they say.
fn variables(expected: &Value, actual: &Map<String, Value>, moment: &Moment) -> Vec<Mismatch> {
    let expected = expected.as_object().into_iter().flatten();
    let differing = expected.filter(|(name, value)| actual.get(*name).unwrap_or(&Value::Null) != *value);
    let mismatch = |(name, value): (&String, &Value)| {
        let is = actual.get(name).cloned().unwrap_or_default();
        moment.mismatch(format!("variables.{name}"), value.clone(), is)
    };
    differing.map(mismatch).collect()
}
