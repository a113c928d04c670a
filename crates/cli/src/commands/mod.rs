//! The commands, by noun and verb.

mod action;
mod agent;
mod approval;
mod audit;
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
mod load;
mod machine;
mod mcp;
mod migrate;
mod one;
mod op;
mod overview;
mod registry;
mod restore;
mod search;
mod service;
mod supervise;
mod switch;
mod system;
mod testing;
mod token;
pub(crate) mod up;
mod workflow;

use std::future::Future;

use clap::CommandFactory as _;

pub(crate) use self::explain::accepted_messages;
pub(crate) use self::registry::registry;
pub(crate) use self::service::supervisors;
use crate::completion;
use crate::failure::Exit;
use crate::logging::Logs;
use crate::output::{self, Output};

const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  the command failed
  2  usage error or invalid input
Commands with more codes list them in their help. With --output json, errors
are JSON on stderr.

Examples:
  sprag up --demo                start a server with examples
  sprag exec list                list the executions of the server
  sprag explain order/118        explain why an execution waits

Set the server of a command with --server URL or SPRAG_SERVER.";

/// Run state machines that act on the world, and never lose a step.
#[derive(Debug, clap::Parser)]
#[command(name = "sprag", version, after_help = EXIT_CODES, arg_required_else_help = true)]
pub(crate) struct Sprag {
    /// Output format: text or json
    #[arg(
        long,
        global = true,
        display_order = 900,
        value_enum,
        default_value_t,
        hide_possible_values = true,
        value_name = "FORMAT"
    )]
    output: Output,
    /// Show full tables, even on a narrow terminal
    #[arg(long, global = true, display_order = 901)]
    wide: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Create a starter project: machine, configuration, services
    #[command(after_help = "Examples:\n  sprag init orders")]
    Init(init::Arguments),
    /// Start a server
    #[command(
        after_help = "Examples:\n  sprag up --demo\n  sprag up --store sqlite:./orders.db --services services.yaml\n  sprag up --check --config staging.toml\n  SPRAG_STORE=postgres://sprag@localhost/sprag sprag up"
    )]
    Up(up::Arguments),
    /// Keep services running
    Supervise(supervise::Arguments),
    /// List and control supervised services
    #[command(subcommand)]
    Service(service::Command),
    /// Check, apply, draw, simulate, test and compare machines
    #[command(subcommand)]
    Machine(machine::Command),
    /// Start executions, send messages, show progress
    #[command(subcommand)]
    Exec(exec::Command),
    /// List and control actions
    #[command(subcommand)]
    Action(action::Command),
    /// List and settle dead letters
    #[command(subcommand)]
    Dlq(dlq::Command),
    /// Apply and list operations that can be proposed
    #[command(subcommand)]
    Op(op::Command),
    /// Propose, approve and run workflows of operations
    #[command(subcommand)]
    Workflow(workflow::Command),
    /// List what waits for approval
    #[command(subcommand)]
    Approval(approval::Command),
    /// Set and release kill switches
    #[command(subcommand)]
    Switch(switch::Command),
    /// List and override limits
    #[command(subcommand)]
    Limit(limit::Command),
    /// List decisions, and check that none was changed
    #[command(subcommand)]
    Audit(audit::Command),
    /// Serve the catalog of operations to AI agents (MCP)
    Mcp(mcp::Arguments),
    /// Run an agent, which performs load tests for controllers
    #[command(mut_arg("server", |server| server.help("Register with this server as its agent")))]
    Agent(agent::Arguments),
    /// Run load tests on agents, and report on them
    #[command(subcommand)]
    Load(load::Command),
    /// Back up a running server
    #[command(after_help = "Examples:\n  sprag backup --to sprag-2026-11-15.db")]
    Backup(backup::Arguments),
    /// Restore a backup to a stopped server's store
    Restore(restore::Arguments),
    /// Move a stopped server's file to PostgreSQL
    Migrate(migrate::Arguments),
    /// List and control bulk jobs
    #[command(subcommand)]
    Job(job::Command),
    /// Create, list and revoke tokens
    #[command(subcommand)]
    Token(token::Command),
    /// Explain why an execution or action waits, and what to do
    #[command(after_help = "Examples:\n  sprag explain order/118\n  sprag explain act_01m7kydswteqea2dygh6x7t50q")]
    Explain(explain::Arguments),
    /// Show what is wrong, ranked, and how much is open
    #[command(after_help = "Examples:\n  sprag overview")]
    Overview(overview::Arguments),
    /// Find a record by its id, key, name or path
    #[command(after_help = "Examples:\n  sprag search order-118\n  sprag search exe_01m7")]
    Search(search::Arguments),
    /// Show version, store, nodes and limits of a server
    #[command(after_help = "Examples:\n  sprag system\n  sprag system --accept-clock")]
    System(system::Arguments),
    /// Show the configuration of a server
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
            Command::Up(_) | Command::Agent(_) => Logs::Server,
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
            Command::Machine(command) => command.run(output),
            Command::Exec(command) => complete(command.run(output)),
            Command::Action(command) => command.run(output),
            Command::Dlq(command) => complete(command.run(output)),
            Command::Op(command) => complete(command.run(output)),
            Command::Workflow(command) => complete(command.run(output)),
            Command::Approval(command) => complete(command.run(output)),
            Command::Switch(command) => complete(command.run(output)),
            Command::Limit(command) => complete(command.run(output)),
            Command::Audit(command) => complete(command.run(output)),
            Command::Mcp(arguments) => mcp::run(&arguments, output),
            Command::Agent(arguments) => agent::run(&arguments, output),
            Command::Load(command) => command.run(output),
            Command::Backup(arguments) => complete(backup::run(&arguments, output)),
            Command::Restore(arguments) => restore::run(&arguments, output),
            Command::Migrate(arguments) => migrate::run(&arguments, output),
            Command::Job(command) => complete(command.run(output)),
            Command::Token(command) => complete(command.run(output)),
            Command::Explain(arguments) => complete(explain::run(&arguments, output)),
            Command::Overview(arguments) => complete(overview::run(&arguments, output)),
            Command::Search(arguments) => complete(search::run(&arguments, output)),
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
