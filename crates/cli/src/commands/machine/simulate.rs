//! `sprag machine simulate`: one line for each input, and one before them for the initial state.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use sprag_core::machine::{Line, SimInput, Simulation};
use sprag_core::time::Timestamp;
use sprag_engine::requests::Refusal;

use super::local;
use crate::failure::{Exit, Failure};
use crate::input;
use crate::output::{self, Output, plain};

/// When a simulation begins unless it is said: always the same, so that the same inputs give the same lines.
const BEGIN: &str = "2026-01-01T00:00:00Z";

const AFTER_HELP: &str = "\
Events happen in the given order:
  NAME, NAME=JSON           a message, with a payload
  done.ACTION[=JSON]        an action succeeds, with a result
  failed.ACTION[=JSON]      an action fails, with {\"type\": …, \"message\": …}
  +5m                       the clock advances

A file of --events holds one JSON object per line:
  {\"type\": \"PAID\", \"payload\": …}
  {\"advance\": \"5m\"}
  {\"outcome\": \"charge\", \"success\": true, \"result\": …}

Exits with 0 if every event was accepted, 1 if one was refused or a decision
failed, 2 if the file or an event is not valid.

Examples:
  sprag machine simulate order.yaml done.charge +2d SHIPPED --var amount=42";

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// The machine file, YAML or JSON; `-` is standard input
    file: PathBuf,
    /// Events in order: messages, results of actions, elapsed time
    #[arg(value_name = "EVENT")]
    events: Vec<String>,
    /// Read more events from this file
    #[arg(long = "events", value_name = "FILE")]
    events_file: Option<PathBuf>,
    /// Set a variable, as JSON or text; repeatable
    #[arg(long = "var", value_name = "NAME=VALUE")]
    var: Vec<String>,
    /// Set all variables: a JSON object, or a file
    #[arg(long, value_name = "JSON|FILE")]
    variables: Option<String>,
    /// Key of the simulated execution
    #[arg(long)]
    key: Option<String>,
    /// Start time
    #[arg(long, value_name = "TIME", default_value = BEGIN)]
    now: Timestamp,
}

/// Steps through the machine and shows every step.
pub(crate) fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments {
        file,
        events,
        events_file,
        var,
        variables,
        key,
        now,
    } = arguments;
    let machine = Arc::new(local::load(file)?);
    let mut inputs: Vec<SimInput> = events
        .iter()
        .map(|event| from_argument(event))
        .collect::<Result<_, _>>()?;
    if let Some(path) = events_file {
        inputs.extend(from_file(path)?);
    }
    let variables = input::variables(variables.as_deref(), var)?;
    match sprag_engine::check_input(&machine, &variables) {
        // Nothing was given: show the states, and what a start would need.
        Err(refusal) if variables.is_empty() => {
            output::note(&format!("{}: `exec start` would refuse them", refusal.detail));
        }
        checked => checked.map_err(refused)?,
    }
    let (mut simulation, first) = Simulation::start(machine, variables, key.clone(), *now);
    let lines: Vec<Line> = std::iter::once(first)
        .chain(inputs.into_iter().map(|input| simulation.feed(input)))
        .collect();
    match output {
        Output::Json => output::data(&json_lines(&lines)?)?,
        Output::Text => output::data(&lines.iter().map(text).collect::<String>())?,
    }
    let is_refused = lines.iter().any(|line| line.error.is_some());
    Ok(if is_refused { Exit::Failed } else { Exit::Done })
}

/// What a server would say to a start.
fn refused(refusal: Refusal) -> Failure {
    let Refusal {
        code, detail, errors, ..
    } = refusal;
    let failure = Failure::invalid(detail).code(code.text());
    errors.into_iter().fold(failure, |failure, (pointer, detail)| {
        failure.note(plain(&format!("{pointer}: {detail}")))
    })
}

fn from_argument(event: &str) -> Result<SimInput, Failure> {
    SimInput::from_argument(event).map_err(|error| Failure::invalid(error.to_string()))
}

fn from_file(path: &Path) -> Result<Vec<SimInput>, Failure> {
    let text = input::text(path)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let inputs = lines.map(|(position, line)| {
        let place = format!("{}:{}", path.display(), position + 1);
        SimInput::from_line(line).map_err(|error| Failure::invalid(format!("{place}: {error}")))
    });
    inputs.collect()
}

fn json_lines(lines: &[Line]) -> anyhow::Result<String> {
    let mut text = String::new();
    for line in lines {
        text.push_str(&serde_json::to_string(line)?);
        text.push('\n');
    }
    Ok(text)
}

/// `NAME → states   what happened   variables`: states are never cut, they are what a simulation is for.
fn text(line: &Line) -> String {
    let Line {
        event,
        configuration,
        handled,
        actions,
        variables,
        error,
        detail,
        output,
    } = line;
    let mut parts = vec![format!(
        "{} → {}",
        event.as_deref().unwrap_or("start"),
        configuration.join(", ")
    )];
    if !actions.is_empty() {
        parts.push(format!("runs {}", actions.join(", ")));
    }
    match error {
        Some(code) => parts.push(format!("refused: {code}: {}", detail.as_deref().unwrap_or_default())),
        None if !handled => parts.push("nothing happened".to_owned()),
        None => {}
    }
    if !variables.is_empty() {
        parts.push(Value::Object(variables.clone()).to_string());
    }
    match output {
        Some(Value::Null) => parts.push("completed".to_owned()),
        Some(output) => parts.push(format!("completed, output {output}")),
        None => {}
    }
    format!("{}\n", plain(&parts.join("   ")))
}
