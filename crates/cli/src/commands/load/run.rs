//! `sprag load run`.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use sprag_agent::controller::{self, ClientTls, Connect, Ending, Error, Finished, NotReady, Options, RunResult, Stop};
use sprag_core::clock::System;
use sprag_core::time::Timestamp;
use sprag_core::time::duration::Millis;
use tokio::sync::mpsc;

use super::plan;
use super::show::{self, Screen};
use crate::commands::agent::token;
use crate::commands::up::Signals;
use crate::failure::{Exit, Failure};
use crate::input;
use crate::output::{self, Output};

const AFTER_HELP: &str = "\
All agents start at the same instant. The figures come from merged histograms.
See docs/load.md for the format of plans.

Exit codes:
  0    the run is complete and the thresholds hold
  1    the command failed
  2    usage error, or a plan that is not valid
  3    an agent is not ready, failed or is lost
  4    a threshold does not hold
  130  SIGINT ended the run; a second one ends the command at once
  143  SIGTERM ended the run

Examples:
  sprag load run plan.yaml --agents 127.0.0.1:7402 --output-dir runs/1
  sprag load run plan.yaml --agents a:7402,b:7402 --tls-ca agents.pem \\
    --tls-cert controller.pem --tls-key controller.key";

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// The load plan, YAML or JSON
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    /// Addresses of the agents, with commas between them
    #[arg(long, value_name = "HOST:PORT", required = true, value_delimiter = ',')]
    agents: Vec<String>,
    /// What actions meet: mocks (the scenarios) or real
    #[arg(long, value_name = "TARGET", value_parser = ["mocks", "real"], hide_possible_values = true)]
    target: Option<String>,
    /// Folder for the result, report and time series
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
    /// Time until the start
    #[arg(long, value_name = "TIME", default_value = "5s")]
    start_in: String,
    /// Use TLS, and trust this authority for agents
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Certificate chain of the controller, PEM
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls_ca"])]
    tls_cert: Option<PathBuf>,
    /// Private key of the controller, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// File with the token of the agents
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// Runs the plan, and shows what came of it.
pub(crate) fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let (plan, document) = plan::read(&arguments.plan, arguments.target.as_deref())?;
    let text = document.to_string();
    let options = options(arguments)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let finished = runtime.block_on(async {
        let (stop, stops) = mpsc::channel(1);
        let mut signals = Signals::listen()?;
        tokio::spawn(async move {
            let _ = stop.send(stop_of(signals.next().await)).await;
            let second = stop_of(signals.next().await);
            std::process::exit(exit_of(Ending::Stopped(second)).code().into());
        });
        let mut screen = Screen::new(output == Output::Text);
        let finished = controller::run(&options, (&plan, &text), &mut screen, stops).await;
        screen.end();
        anyhow::Ok(finished)
    })?;
    let Finished { result, ending } = match finished {
        Ok(finished) => finished,
        Err(Error::Stopped(why)) => return Ok(exit_of(Ending::Stopped(why))),
        Err(error) => return Err(refused(error)),
    };
    report(&result, output)?;
    if let Some(folder) = &arguments.output_dir {
        output::note(&format!("report written to {}", folder.join("report.html").display()));
    }
    Ok(exit_of(ending))
}

fn report(result: &RunResult, output: Output) -> anyhow::Result<()> {
    match output {
        Output::Text => output::data(&show::result(result)),
        Output::Json => output::json(&json!(result)),
    }
}

fn options(arguments: &Arguments) -> Result<Options, Failure> {
    let start_in = Millis::parse(&arguments.start_in).map_err(|error| Failure::invalid(error.to_string()))?;
    let start_in = std::time::Duration::from_millis(start_in.get());
    if !(MIN_START..=MAX_START).contains(&start_in) {
        let detail = format!("`--start-in {}` is not from 2s to 60s", arguments.start_in);
        return Err(Failure::invalid(detail).note("agents accept start times up to 60 s ahead"));
    }
    let bytes = |path: &PathBuf| input::text(path).map(String::into_bytes);
    let identity = match (&arguments.tls_cert, &arguments.tls_key) {
        (Some(certificate), Some(key)) => Some((bytes(certificate)?, bytes(key)?)),
        _ => None,
    };
    let tls = match &arguments.tls_ca {
        Some(authority) => Some(ClientTls {
            authority: bytes(authority)?,
            identity,
        }),
        None => None,
    };
    Ok(Options {
        connect: Connect {
            tls,
            token: arguments.token_file.as_deref().map(token).transpose()?,
            ..Connect::default()
        },
        start_in,
        output: arguments.output_dir.clone(),
        ..Options::new(arguments.agents.clone(), Arc::new(System::start(Timestamp::default())))
    })
}

/// Agents must be READY one second before the start.
const MIN_START: std::time::Duration = std::time::Duration::from_secs(2);
/// Agents accept no start time that is further ahead.
const MAX_START: std::time::Duration = std::time::Duration::from_mins(1);

fn refused(error: Error) -> anyhow::Error {
    match error {
        Error::Plan(_) | Error::NotReady(NotReady::Refused(..)) => {
            Failure::invalid(error.to_string()).code("load-plan-invalid").into()
        }
        Error::NotReady(_) => Failure::agent(error.to_string()).code("agent-not-ready").into(),
        Error::Stopped(_) | Error::Output(_) => error.into(),
    }
}

fn stop_of(signal: &str) -> Stop {
    if signal == "SIGTERM" {
        Stop::Terminated
    } else {
        Stop::Interrupted
    }
}

fn exit_of(ending: Ending) -> Exit {
    match ending {
        Ending::Good => Exit::Done,
        Ending::Agents => Exit::AgentFailed,
        Ending::Threshold => Exit::ThresholdBroken,
        Ending::Stopped(Stop::Interrupted) => Exit::Interrupted,
        Ending::Stopped(Stop::Terminated) => Exit::Terminated,
        // Only a server stops a run like this.
        Ending::Stopped(Stop::Cancelled | Stop::OutOfTime) => Exit::Failed,
    }
}
