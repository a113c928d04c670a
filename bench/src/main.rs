//! Speed, measured in one run on one machine: Sprag, the bare probe that is its ceiling, and the peers.
//!
//! `make bench` runs everything and prints a table; a single work runs with `sprag-bench w1`. Commit is durable in every
//! figure, what completed is counted at the other side, and a count that does not agree fails the run.

mod bare;
mod bare_database;
mod contender;
mod embedded;
mod figures;
mod flood;
mod goals;
mod http;
mod load;
mod prefill;
mod probe_server;
mod process;
mod report;
mod run;
mod samples;
mod steps;
mod stopwatch;
mod supervision;
mod target;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;

use crate::work::{Scale, Work};

/// As in the server, for the engine as a library and for the probe beside it.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Measures Sprag beside the bare probe and its peers.
#[derive(Debug, Parser)]
#[command(name = "sprag-bench")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Where the results go as JSON
    #[arg(long, global = true, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Small counts and one round: shows that everything runs, its figures mean little
    #[arg(long, global = true)]
    short: bool,
    /// Sprag and the probe only
    #[arg(long, global = true)]
    without_peers: bool,
    /// How often each is measured [default: 3, or 1 with --short]
    #[arg(long, global = true, value_name = "N")]
    rounds: Option<usize>,
}

#[derive(Clone, Debug, Subcommand)]
enum Command {
    /// Every work
    All,
    /// One noop action an execution, over HTTP
    W1,
    /// The same with the engine as a library
    Embedded,
    /// Five noop actions in a row through five states
    W2,
    /// One at a time, from request to completed
    W3,
    /// Many timers due within a few seconds: how late they are
    W4,
    /// From process start to the first completed execution; memory and size
    W5,
    /// The pure function alone
    W6,
    /// W1 with an HTTP call as its action
    Webhook,
    /// W1 in a file full of closed executions, and of queued actions
    Growth,
    /// W1, W2, W3 and W1 beside queued actions, in a database
    Postgres,
    /// Load tests: the rate on one server, latency with stalls, agents that start together
    Load,
    /// Supervision: ticks at several sizes, a crowd of workers, real processes
    Supervision,
    /// Nothing is measured: a file full of closed executions, for those who measure reading
    #[command(hide = true)]
    Fill { count: u64, file: PathBuf },
    /// The bare probe as a server, on a file or in a database
    #[command(hide = true)]
    ServeProbe { database: Option<String> },
    /// What the webhooks call
    #[command(hide = true)]
    ServeTarget,
    /// A server with a queue that stalls
    #[command(hide = true)]
    ServeStalls,
    /// One measurement of ticks
    #[command(hide = true)]
    TickWorkers {
        workers: u64,
        seconds: u64,
        mood: supervision::ticks::Mood,
    },
    /// One measurement of a crowd
    #[command(hide = true)]
    Crowd { workers: u64 },
    /// What supervisors supervise
    #[command(hide = true)]
    Listen { port: u16 },
}

impl Command {
    fn works(&self) -> Vec<Work> {
        match self {
            Self::All => Work::ALL.to_vec(),
            Self::W1 => vec![Work::W1],
            Self::Embedded => vec![Work::W1, Work::Embedded],
            Self::W2 => vec![Work::W2],
            Self::W3 => vec![Work::W3],
            Self::W4 => vec![Work::W4],
            Self::W5 => vec![Work::W5],
            Self::W6 => vec![Work::W6],
            Self::Webhook => vec![Work::Webhook],
            Self::Growth => vec![Work::Empty, Work::Closed, Work::Queued],
            Self::Postgres => Work::ON_POSTGRES.to_vec(),
            Self::Supervision => Work::SUPERVISION.to_vec(),
            Self::Load => Work::LOAD.to_vec(),
            Self::Fill { .. }
            | Self::ServeProbe { .. }
            | Self::ServeTarget
            | Self::ServeStalls
            | Self::TickWorkers { .. }
            | Self::Crowd { .. }
            | Self::Listen { .. } => Vec::new(),
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let end = match &arguments.command {
        Command::Fill { count, file } => prefill::mixed(file, *count),
        Command::ServeProbe { database } => probe_server::serve(database.as_deref()),
        Command::ServeTarget => target::serve(),
        Command::ServeStalls => load::stalls::serve(),
        Command::TickWorkers { workers, seconds, mood } => supervision::ticks::measure(*workers, *seconds, *mood),
        Command::Crowd { workers } => supervision::crowd::measure(*workers),
        Command::Listen { port } => supervision::processes::listen(*port),
        command => measure(&arguments, &command.works()),
    };
    match end {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &Arguments, works: &[Work]) -> anyhow::Result<()> {
    let scale = if arguments.short {
        Scale::Short
    } else {
        Scale::from_environment()
    };
    let plan = run::Plan {
        works: works.to_vec(),
        scale,
        rounds: arguments.rounds.unwrap_or(scale.rounds()),
        peers: !arguments.without_peers,
    };
    let results = run::run(&plan)?;
    report::print(&plan, &results);
    if let Some(file) = &arguments.json {
        report::save(&plan, &results, file)?;
        println!("\nsaved in {}", file.display());
    }
    Ok(())
}
