//! `sprag load`: load tests on agents, run by this command or by a server.

mod agents;
mod plan;
mod report;
mod run;
mod show;
mod start;
mod watch;

use sprag_wire::{Load, Page};

use super::list::{self, Page as ListPage};
use super::one::{Changed, One};
use crate::client::Remote;
use crate::completion::words;
use crate::failure::Exit;
use crate::output::Output;

/// What load tests are called in the API.
const LOADS: &str = "loads";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Run a load plan on agents
    Run(run::Arguments),
    /// Write a report that compares finished runs
    #[command(after_help = "Examples:\n  sprag load report runs/monday runs/tuesday --to compare.html")]
    Report(report::Arguments),
    /// Start a load test that a server runs
    #[command(after_help = "Examples:\n  sprag load start plan.yaml --agents a1,a2 --server http://127.0.0.1:7400")]
    Start(start::Arguments),
    /// List the load tests of a server
    #[command(after_help = "Examples:\n  sprag load list --status running")]
    List(ListArguments),
    /// Show a load test of a server: its figures or its result
    #[command(
        after_help = "Examples:\n  sprag load show act_01m7kydswteqea2dygh6x7t50q",
        mut_arg("id", |id| id.help("The id of the load test"))
    )]
    Show(One),
    /// Follow a load test of a server until it ends
    Watch(watch::Arguments),
    /// Abort a load test of a server on all its agents
    #[command(
        after_help = "Examples:\n  sprag load abort act_01m7kydswteqea2dygh6x7t50q --reason \"wrong target\"",
        mut_arg("id", |id| id.help("The id of the load test"))
    )]
    Abort(Changed),
    /// List the agents that registered with a server
    #[command(after_help = "Examples:\n  sprag load agents --server http://127.0.0.1:7400")]
    Agents(Remote),
}

/// Which load tests.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArguments {
    /// Only load tests with this status
    #[arg(long, add = words(sprag_wire::ActionStatus::WORDS))]
    status: Option<String>,
    #[command(flatten)]
    page: ListPage,
    #[command(flatten)]
    remote: Remote,
}

impl Command {
    pub(crate) fn run(self, output: Output) -> anyhow::Result<Exit> {
        match self {
            Self::Run(arguments) => run::run(&arguments, output),
            Self::Report(arguments) => report::run(&arguments, output),
            Self::Start(arguments) => super::complete(start::run(&arguments, output)),
            Self::List(arguments) => super::complete(list_loads(&arguments, output)),
            Self::Show(one) => super::complete(show_load(&one, output)),
            Self::Watch(arguments) => super::complete(watch::run(&arguments, output)),
            Self::Abort(changed) => super::complete(changed.ask(LOADS, "abort", output, show::load)),
            Self::Agents(remote) => super::complete(agents::run(&remote, output)),
        }
    }
}

async fn list_loads(arguments: &ListArguments, output: Output) -> anyhow::Result<Exit> {
    let ListArguments { status, page, remote } = arguments;
    let document = page.fetch(&remote.client()?, &[LOADS], &[("status", status)]).await?;
    list::show(output, &document, |loads: &Page<Load>| show::loads(&loads.data))?;
    Ok(Exit::Done)
}

async fn show_load(one: &One, output: Output) -> anyhow::Result<Exit> {
    let document = one.remote.client()?.get(&[LOADS, &one.id]).send().await?;
    output.show(&document, show::load)?;
    Ok(Exit::Done)
}
