//! `sprag machine simulate`: one line for each input, and one before them for the initial state.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};
use sprag_core::machine::{Line, SimInput, Simulation};
use sprag_core::time::Timestamp;

use super::local;
use crate::failure::{Exit, Failure};
use crate::input;
use crate::output::{self, Output, Table};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The machine file, YAML or JSON
    file: PathBuf,
    /// Messages, in order
    #[arg(value_name = "NAME|NAME=JSON")]
    events: Vec<String>,
    /// Inputs from a file instead, one JSON object a line: {"type": "t", "payload": {…}}, {"advance": "5m"},
    /// {"outcome": "actionId", "success": true, "result": {…}}; `-` is standard input
    #[arg(long = "events", value_name = "FILE", conflicts_with = "events")]
    from: Option<PathBuf>,
    /// A variable of the start; repeat it for more
    #[arg(long = "var", value_name = "NAME=JSON")]
    var: Vec<String>,
    /// All variables of the start: a JSON object, or a YAML or JSON file
    #[arg(long, value_name = "JSON|FILE")]
    variables: Option<String>,
    /// The key of the execution
    #[arg(long)]
    key: Option<String>,
    /// When the simulation begins; now unless given
    #[arg(long, value_name = "INSTANT")]
    at: Option<Timestamp>,
}

/// Steps through the machine and shows every step.
pub(crate) fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments { file, events, from, var, variables, key, at } = arguments;
    let machine = Arc::new(local::load(file)?);
    let inputs = match from {
        Some(path) => from_file(path)?,
        None => events.iter().map(|event| from_argument(event)).collect::<Result<_, _>>()?,
    };
    let variables = input::variables(variables.as_deref(), var)?;
    let now = at.unwrap_or_else(output::now);
    let (mut simulation, first) = Simulation::start(machine, variables, key.clone(), now);
    let is_started = first.error.is_none();
    let lines: Vec<Line> = std::iter::once(first).chain(inputs.into_iter().map(|input| simulation.feed(input))).collect();
    match output {
        Output::Json => output::data(&json_lines(&lines)?)?,
        Output::Text => output::data(&text(&lines))?,
    }
    Ok(if is_started { Exit::Done } else { Exit::Failed })
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

fn text(lines: &[Line]) -> String {
    let mut table = Table::new(&["EVENT", "STATES", "HANDLED", "ACTIONS", "CHANGED"]);
    let nothing = Map::new();
    let mut before = &nothing;
    for line in lines {
        let Line { event, configuration, handled, actions, variables, error } = line;
        let handled = if *handled { "yes" } else { "no" };
        table.row([
            event.clone().unwrap_or_else(|| "(start)".to_owned()),
            configuration.join(", "),
            error.clone().unwrap_or_else(|| handled.to_owned()),
            if actions.is_empty() { "-".to_owned() } else { actions.join(", ") },
            changed(before, variables),
        ]);
        before = variables;
    }
    table.text()
}

/// The variables whose value is another one now.
fn changed(before: &Map<String, Value>, after: &Map<String, Value>) -> String {
    let changed = after.iter().filter(|(name, value)| before.get(*name) != Some(*value));
    let changed: Vec<String> = changed.map(|(name, value)| format!("{name}={value}")).collect();
    if changed.is_empty() { "-".to_owned() } else { changed.join(" ") }
}
