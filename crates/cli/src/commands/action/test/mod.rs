//! `sprag action test`: a rehearsal of action definitions, by the code that performs them in earnest.

mod exchanges;
mod report;
mod secrets;
mod stage;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use self::report::Report;
use self::stage::World;
use super::subject::{self, Read, Unusable};
use crate::commands::machine::findings::{self, counted};
use crate::failure::{Exit, Failure};
use crate::output::{self, Output};

const AFTER_HELP: &str = "\
FILE is an action test file: it has `action` (or `machine` and `actionId`) and
`tests`. Or it is an action definition; then one test runs, in which every
reply is a success. Time is simulated, so delays take no time. See
docs/actions/testing.md.

Exits with 0 if every test passes, 1 if one fails, 2 if a file is not valid.

Examples:
  sprag action test charge.yaml
  sprag action test charge.yaml --sandbox staging";

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// Action definitions, or action test files; YAML or JSON
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Send real requests, with `sprag.NAME.toml`
    #[arg(long, value_name = "NAME")]
    sandbox: Option<String>,
    /// The configuration file.
    #[arg(
        long,
        env = "SPRAG_CONFIG",
        hide_env = true,
        value_name = "FILE",
        help = "Configuration file, without --sandbox\n[default: SPRAG_CONFIG, as in FILE, or sprag.toml]"
    )]
    config: Option<PathBuf>,
}

/// Runs all tests of all files. Files are read and checked before anything runs.
pub(crate) fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments { files, sandbox, config } = arguments;
    let (world, config) = match sandbox {
        Some(name) => (World::Sandbox, Some(configuration_of(name)?)),
        None => (World::Scripted, config.clone()),
    };
    let mut all = Vec::new();
    for path in files {
        match subject::read(path, config.as_deref()) {
            Ok(read) => all.push(read),
            Err(Unusable::Findings(path, found)) if output == Output::Json => {
                let problems: Vec<Value> = found.iter().map(|one| findings::document(&path, one)).collect();
                let validation = json!({"problems": problems});
                let document = json!({"success": false, "failed": 0, "validation": validation, "tests": []});
                output::json(&document)?;
                return Ok(Exit::Invalid);
            }
            Err(unusable) => return Err(unusable.failure()),
        }
    }
    // A paused clock jumps from one thing to wait for to the next. It is paused from its beginning, so that no part
    // of a millisecond is left over.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(world == World::Scripted)
        .build()?;
    let reports = runtime.block_on(rehearse(&all, world))?;
    show(&reports, output)
}

async fn rehearse(files: &[Read], world: World) -> anyhow::Result<Vec<Report>> {
    let mut reports = Vec::new();
    for read in files {
        for test in &read.file.tests {
            reports.push(stage::rehearse(read, test, world).await?);
        }
    }
    Ok(reports)
}

/// The configuration of a sandbox.
fn configuration_of(name: &str) -> Result<PathBuf, Failure> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(Failure::invalid(format!("`{name}` is no name of a sandbox"))
            .note("use letters, digits, `-` and `_`: NAME stands for sprag.NAME.toml"));
    }
    let file = PathBuf::from(format!("sprag.{name}.toml"));
    if Path::new(&file).is_file() {
        return Ok(file);
    }
    Err(Failure::invalid(format!("there is no `{}` here", file.display()))
        .note("write one with the services and providers of your test systems"))
}

fn show(reports: &[Report], output: Output) -> anyhow::Result<Exit> {
    let failed = reports.iter().filter(|report| !report.passed()).count();
    match output {
        Output::Json => {
            let documents: Vec<Value> = reports.iter().map(Report::document).collect();
            let document = json!({"success": failed == 0, "failed": failed, "tests": documents});
            output::json(&document)?;
        }
        Output::Text => {
            output::data(&reports.iter().map(Report::text).collect::<String>())?;
            output::note(&format!("{}: {failed} failed", counted(reports.len(), "test")));
        }
    }
    Ok(if failed > 0 { Exit::Failed } else { Exit::Done })
}
