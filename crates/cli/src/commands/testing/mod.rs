//! `sprag machine test` and `sprag action test`: one runner for tests of machines and of their actions.
//!
//! A machine is simulated; an action is triggered, run and retried by the code that does it in earnest.

mod action;
mod exchanges;
mod read;
mod report;
mod secrets;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sprag_core::machine::testing::run_scenario;

use self::action::World;
pub(super) use self::read::{Ready, Unusable, parsed, read};
use self::report::Report;
use crate::commands::machine::findings::{self, counted};
use crate::config::ConfigFile;
use crate::failure::{Exit, Failure};
use crate::output::{self, Output};

const AFTER_HELP: &str = "\
FILE has a `machine` or an `action`, and `tests`. A test with steps runs the
machine; a test with `actionId`, or in a file that names an action, runs the
action against scripted replies. A file with only an action definition runs one
test in which every reply is a success. Time is simulated, so delays take no
time. See docs/actions/testing.md.

Exits with 0 if every test passes, 1 if one fails, 2 if a file is not valid.

Examples:
  sprag machine test order-tests.yaml
  sprag action test charge.yaml
  sprag action test charge.yaml --sandbox staging";

const CONFIG_HELP: &str = "Configuration file, without --sandbox\n[default: SPRAG_CONFIG, FILE's own, or sprag.toml]";

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, mut_arg("config", |arg| arg.help(CONFIG_HELP)))]
pub(super) struct Arguments {
    /// Test files or action definitions, YAML or JSON
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Send real requests, with `sprag.NAME.toml`
    #[arg(long, value_name = "NAME")]
    sandbox: Option<String>,
    #[command(flatten)]
    config: ConfigFile,
}

/// Runs all tests of all files. Files are read and checked before anything runs. `code` is what a file that cannot be used
/// is refused with.
pub(super) fn run(arguments: &Arguments, code: &'static str, output: Output) -> anyhow::Result<Exit> {
    let Arguments { files, sandbox, config } = arguments;
    let (world, config) = match sandbox {
        Some(name) => (World::Sandbox, Some(configuration_of(name)?)),
        None => (World::Scripted, config.path().map(Path::to_path_buf)),
    };
    let mut all = Vec::new();
    for path in files {
        match read(path, config.as_deref()) {
            Ok(tests) => all.extend(tests.into_iter().map(|test| (path.as_path(), test))),
            Err(Unusable::Findings(path, found)) if output == Output::Json => {
                let problems: Vec<Value> = found.iter().map(|one| findings::document(&path, one)).collect();
                let validation = json!({"problems": problems});
                let document = json!({"success": false, "failed": 0, "validation": validation, "tests": []});
                output::json(&document)?;
                return Ok(Exit::Invalid);
            }
            Err(unusable) => return Err(unusable.failure(code)),
        }
    }
    // A paused clock jumps from one thing to wait for to the next. It is paused from its beginning, so that no part
    // of a millisecond is left over.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(world == World::Scripted)
        .build()?;
    let reports = runtime.block_on(run_all(&all, world))?;
    show(&reports, output)
}

async fn run_all<'a>(tests: &'a [(&'a Path, Ready)], world: World) -> anyhow::Result<Vec<Report<'a>>> {
    let mut reports = Vec::new();
    for (path, test) in tests {
        reports.push(match test {
            Ready::Scenario(scenario, machine) => Report::Scenario(path, run_scenario(scenario, machine)),
            Ready::Action(case, definition) => {
                Report::Action(path, Box::new(action::run(case, definition, world).await?))
            }
        });
    }
    Ok(reports)
}

/// The configuration of a sandbox.
fn configuration_of(name: &str) -> Result<PathBuf, Failure> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(Failure::invalid(format!("`{name}` is not the name of a sandbox"))
            .note("use letters, digits, `-` and `_`: NAME stands for sprag.NAME.toml"));
    }
    let file = PathBuf::from(format!("sprag.{name}.toml"));
    if Path::new(&file).is_file() {
        return Ok(file);
    }
    Err(Failure::invalid(format!("there is no `{}` here", file.display()))
        .note("write one with the services and providers of your test systems"))
}

/// Tests of machines are listed as `scenarios`, those of actions as `tests`.
fn show(reports: &[Report<'_>], output: Output) -> anyhow::Result<Exit> {
    let failed = reports.iter().filter(|report| !report.passed()).count();
    match output {
        Output::Json => {
            let (scenarios, tests): (Vec<&Report<'_>>, Vec<&Report<'_>>) =
                reports.iter().partition(|report| report.is_scenario());
            let documents =
                |reports: Vec<&Report<'_>>| -> Vec<Value> { reports.into_iter().map(Report::document).collect() };
            let (scenarios, tests) = (documents(scenarios), documents(tests));
            let document = json!({"success": failed == 0, "failed": failed, "scenarios": scenarios, "tests": tests});
            output::json(&document)?;
        }
        Output::Text => {
            output::data(&reports.iter().map(Report::text).collect::<String>())?;
            let noun = if reports.iter().all(Report::is_scenario) {
                "scenario"
            } else {
                "test"
            };
            output::note(&format!("{}: {failed} failed", counted(reports.len(), noun)));
        }
    }
    Ok(if failed > 0 { Exit::Failed } else { Exit::Done })
}
