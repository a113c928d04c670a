//! `sprag action plan-load`.

use std::path::PathBuf;

use serde_json::json;
use sprag_core::machine::testing::{LoadTestPlan, PlanOptions, plan_load, plan_schema};
use sprag_core::time::duration::Millis;

use crate::commands::testing::{Ready, Unusable, read};
use crate::config::ConfigFile;
use crate::failure::{Exit, Failure};
use crate::output::{self, plain};

const AFTER_HELP: &str = "\
The plan is JSON. The same definition and options give the same bytes.
See docs/actions/testing.md.

Exits with 2 if the file or an option is not valid.

Examples:
  sprag action plan-load charge.yaml --concurrency 50 --duration 5m";

const CONFIG_HELP: &str = "Configuration file\n[default: SPRAG_CONFIG, FILE's own, or sprag.toml]";

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, mut_arg("config", |arg| arg.help(CONFIG_HELP)))]
pub(crate) struct Arguments {
    /// An action definition, or an action test file; YAML or JSON
    #[arg(value_name = "FILE", required_unless_present = "schema")]
    file: Option<PathBuf>,
    /// Concurrent actions, 1 to 100000
    #[arg(long, default_value_t = 10, value_name = "COUNT")]
    concurrency: u32,
    /// Duration: 1s to 1h
    #[arg(long, default_value = "1m", value_name = "TIME")]
    duration: String,
    /// Time until all actions run
    #[arg(long, default_value = "10s", value_name = "TIME")]
    ramp_up: String,
    /// Seed for random numbers
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    seed: u64,
    /// Print the JSON Schema of a plan
    #[arg(long, conflicts_with = "file")]
    schema: bool,
    #[command(flatten)]
    config: ConfigFile,
}

/// Makes the plan and prints it.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let Some(file) = &arguments.file else {
        output::json(&plan_schema())?;
        return Ok(Exit::Done);
    };
    let unusable = |unusable: Unusable| unusable.failure("action-invalid");
    let tests = read(file, arguments.config.path()).map_err(unusable)?;
    let definition = tests.iter().find_map(|test| match test {
        Ready::Action(_, definition) => Some(definition),
        Ready::Scenario(..) => None,
    });
    let definition = definition.ok_or_else(|| {
        Failure::invalid(format!("`{}` has no test of an action", file.display())).note("add one with an `actionId`")
    })?;
    let options = PlanOptions {
        concurrency: arguments.concurrency,
        duration: millis("--duration", &arguments.duration)?,
        ramp_up: millis("--ramp-up", &arguments.ramp_up)?,
        seed: arguments.seed,
    };
    let plan = plan_load(&definition.subject, definition.reach, options)
        .map_err(|error| Failure::invalid(error.to_string()))?;
    output::json(&json!(plan))?;
    output::note(&summary(&plan));
    Ok(Exit::Done)
}

fn millis(option: &str, text: &str) -> Result<u64, Failure> {
    Millis::parse(text).map(Millis::get).map_err(|problem| {
        Failure::invalid(format!("`{option} {text}`: a duration that {}", problem.reason))
            .note("write it like `500ms`, `30s`, `5m` or `2h`")
    })
}

/// One line for people; the plan itself is for programs.
fn summary(plan: &LoadTestPlan) -> String {
    let spoken = |millis| Millis::new(millis).unwrap_or(Millis::MAX).to_string();
    format!(
        "{}: {} at once for {}, all of them after {}, in {} scenarios",
        plain(&plan.action_id),
        plan.concurrency,
        spoken(plan.duration),
        spoken(plan.ramp_up_time),
        plan.scenarios.len()
    )
}
