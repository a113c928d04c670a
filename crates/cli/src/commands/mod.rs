//! The commands, by noun and verb.

mod action;
mod backup;
mod completions;
mod config;
mod dlq;
mod exec;
mod explain;
mod init;
mod job;
mod limit;
mod list;
mod machine;
mod migrate;
mod one;
mod restore;
mod service;
mod supervise;
mod switch;
mod system;
mod up;

use std::future::Future;

use clap::CommandFactory as _;

pub(crate) use self::explain::accepted_messages;
pub(crate) use self::machine::Known;
pub(crate) use self::service::supervisors;
use crate::completion;
use crate::failure::Exit;
use crate::logging::Logs;
use crate::output::{self, Output};

const EXIT_CODES: &str = "\
Exit codes:
  0  it did what it was asked
  1  it could not
  2  it was asked wrongly: usage, or input that is not valid
Commands with more of them say so in their own help. With --output json an error is JSON on stderr.

Start a server with `sprag up`; every command that speaks to one takes --server URL or SPRAG_SERVER.";

/// Runs state machines that act on the world, and never lose a step.
#[derive(Debug, clap::Parser)]
#[command(name = "sprag", version, after_help = EXIT_CODES, arg_required_else_help = true)]
pub(crate) struct Sprag {
    /// How data is shown: text or json
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        hide_possible_values = true,
        value_name = "FORMAT"
    )]
    output: Output,
    /// Show tables as wide as they are, also on a narrow terminal
    #[arg(long, global = true)]
    wide: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Write a machine, its scenarios, a configuration and services to begin with
    Init(init::Arguments),
    /// Start a server
    Up(up::Arguments),
    /// Keep services running
    Supervise(supervise::Arguments),
    /// See and steer supervised services
    #[command(subcommand)]
    Service(service::Command),
    /// Check, apply, draw, simulate, test and compare machines
    #[command(subcommand)]
    Machine(machine::Command),
    /// Start executions, send them messages, see what they do
    #[command(subcommand)]
    Exec(exec::Command),
    /// See and steer actions
    #[command(subcommand)]
    Action(action::Command),
    /// See and settle dead letters
    #[command(subcommand)]
    Dlq(dlq::Command),
    /// Hold everything, a machine, a type or an action, and let it go on
    #[command(subcommand)]
    Switch(switch::Command),
    /// See and override how many attempts run at once, and per time
    #[command(subcommand)]
    Limit(limit::Command),
    /// Take a backup of a running server
    Backup(backup::Arguments),
    /// Put a backup in the place of a stopped server's store
    Restore(restore::Arguments),
    /// Move what a stopped server's file holds into a database
    Migrate(migrate::Arguments),
    /// See and steer bulk jobs
    #[command(subcommand)]
    Job(job::Command),
    /// Say why an execution or an action is not moving, and what would free it
    Explain(explain::Arguments),
    /// Show what a server is and how it runs
    System(system::Arguments),
    /// The configuration of a server
    #[command(subcommand)]
    Config(config::Command),
    /// Print a completion script for a shell
    Completions(completions::Arguments),
    /// Complete a command line; completion scripts run it
    #[command(name = "__complete", hide = true)]
    Complete(completion::Arguments),
}

impl Sprag {
    /// How data and errors are shown.
    pub(crate) fn output(&self) -> Output {
        self.output
    }

    /// How much this command logs.
    pub(crate) fn logs(&self) -> Logs {
        match self.command {
            Command::Up(_) => Logs::Server,
            Command::Supervise(ref arguments) => arguments.logs(self.output),
            _ => Logs::Command,
        }
    }

    /// Does what was asked.
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let Self { output, wide, command } = self;
        if wide {
            output::be_wide();
        }
        match command {
            Command::Init(arguments) => init::run(&arguments, output),
            Command::Up(arguments) => up::run(&arguments, output),
            Command::Supervise(arguments) => supervise::run(&arguments, output),
            Command::Service(command) => complete(command.run(output)),
            Command::Machine(command) => complete(command.run(output)),
            Command::Exec(command) => complete(command.run(output)),
            Command::Action(command) => command.run(output),
            Command::Dlq(command) => complete(command.run(output)),
            Command::Switch(command) => complete(command.run(output)),
            Command::Limit(command) => complete(command.run(output)),
            Command::Backup(arguments) => complete(backup::run(&arguments, output)),
            Command::Restore(arguments) => restore::run(&arguments, output),
            Command::Migrate(arguments) => migrate::run(&arguments, output),
            Command::Job(command) => complete(command.run(output)),
            Command::Explain(arguments) => complete(explain::run(&arguments, output)),
            Command::System(arguments) => complete(system::run(&arguments, output)),
            Command::Config(command) => command.run(output),
            Command::Completions(arguments) => completions::run(&arguments),
            Command::Complete(arguments) => completion::run(arguments, Self::command()),
        }
    }
}

/// Runs a command that speaks to a server, on this thread.
fn complete(command: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(command)
}
