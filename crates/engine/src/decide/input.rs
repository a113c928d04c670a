//! What a machine's `input` says about the variables that an execution starts with.

use serde_json::{Map, Value};
use sprag_core::machine::Machine;

use crate::requests::{Code, Refusal};

/// How many problems of one input are reported.
const PROBLEMS_MAX: usize = 20;

/// Refuses variables that the machine's `input` does not allow, as a start does; nothing is started.
pub fn check_input(machine: &Machine, given: &Map<String, Value>) -> Result<(), Refusal> {
    // A schema that does not compile is found by lint; a stored one restricts nothing.
    let Some(Ok(validator)) = machine.input.as_ref().map(jsonschema::validator_for) else {
        return Ok(());
    };
    let mut variables = machine.variables.clone();
    variables.extend(given.clone());
    refuse(machine, problems(&validator, &Value::Object(variables)))
}

/// What is wrong with variables, as (pointer, detail).
pub(crate) fn problems(validator: &jsonschema::Validator, variables: &Value) -> Vec<(String, String)> {
    let problem = |error: jsonschema::ValidationError<'_>| (error.instance_path().to_string(), error.to_string());
    validator
        .iter_errors(variables)
        .take(PROBLEMS_MAX)
        .map(problem)
        .collect()
}

/// The refusal for these problems, if there are any.
pub(crate) fn refuse(machine: &Machine, problems: Vec<(String, String)>) -> Result<(), Refusal> {
    if problems.is_empty() {
        return Ok(());
    }
    let detail = format!(
        "the variables do not match the `input` schema of machine `{}`",
        machine.id
    );
    let errors = problems
        .into_iter()
        .map(|(pointer, detail)| (format!("/variables{pointer}"), detail))
        .collect();
    Err(Refusal {
        errors,
        ..Refusal::new(Code::InputInvalid, detail)
    })
}
