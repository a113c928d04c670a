//! `sprag supervise FILE`: services kept running, until it is asked to stop.

mod alarms;
mod check;
mod deliver;
mod hangup;
mod services;
mod show;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sprag_core::clock::{Clock, System};
use sprag_core::time::Timestamp;
use sprag_server::Server;
use sprag_supervisor::ShutdownOutcome;
use tokio::sync::oneshot;

pub(super) use self::alarms::Alarms;
pub(super) use self::check::load;
use self::deliver::Delivery;
pub(super) use self::hangup::hangups;
use self::services::Stopped;
pub(super) use self::services::{Running, STATE, ServicesSource};
use crate::commands::up::{Signals, not_listening};
use crate::config::ConfigFile;
use crate::failure::{Exit, Failure};
use crate::logging::Logs;
use crate::output::{self, Output};
use crate::privacy;

const EXIT_CODES: &str = "\
Exit codes:
  0  every service stopped in time; with --check, the file is valid and
     everything can start
  1  the command failed, or a second signal ended it at once; with --check, a
     program, folder or user is missing on this machine
  2  usage error or invalid file
  3  a service did not stop in time, and Sprag killed it; the log names it

Examples:
  sprag supervise services.yaml --check
  sprag supervise services.yaml --state /var/lib/sprag/services.db";

/// Threads for what waits for the disk: as many starts and ends of processes at once. Each holds memory of its own, so
/// they are few and go soon.
const BLOCKING_THREADS_MAX: usize = 16;
/// How long one waits for something to do.
const BLOCKING_THREAD_IDLE: Duration = Duration::from_secs(1);
/// How long what is left of the runtime has to end.
const RUNTIME_END: Duration = Duration::from_millis(500);
/// How long alerts that are being delivered have to end; what is left is delivered by the next start.
const DELIVER: Duration = Duration::from_secs(2);

const CONFIG_HELP: &str = "Configuration file with [[alerts]]\n[default: SPRAG_CONFIG, or sprag.toml]";

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES, mut_arg("config", |arg| arg.help(CONFIG_HELP)))]
pub(crate) struct Arguments {
    /// The services file, YAML or JSON
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Check the file, print the plan and exit
    #[arg(long)]
    check: bool,
    /// State file. The folder of the logs has the same name,{n}with the ending .d [default: ./sprag-services.db]
    #[arg(long, value_name = "PATH", default_value = STATE, hide_default_value = true)]
    state: PathBuf,
    /// Address of the API
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7401")]
    listen: SocketAddr,
    #[command(flatten)]
    config: ConfigFile,
}

impl Arguments {
    /// On a terminal the table says what happens, and only trouble is logged beside it. Elsewhere the log is of one kind with
    /// what is shown: plain lines, or JSON.
    pub(crate) fn logs(&self, output: Output) -> Logs {
        if self.check || output::is_terminal() {
            return Logs::Command;
        }
        match output {
            Output::Text => Logs::Lines,
            Output::Json => Logs::Server,
        }
    }
}

/// Supervises until it is asked to stop.
pub(crate) fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    privacy::start();
    let source = check::load(&arguments.file, &arguments.state)?;
    if arguments.check {
        return check::show(&source, output);
    }
    let delivery = Delivery::prepare(arguments.config.path(), &arguments.state)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .thread_keep_alive(BLOCKING_THREAD_IDLE)
        .build()?;
    let end = runtime.block_on(serve(arguments, source, delivery, output));
    runtime.shutdown_timeout(RUNTIME_END);
    end
}

async fn serve(
    arguments: &Arguments,
    source: ServicesSource,
    delivery: Option<Delivery>,
    output: Output,
) -> anyhow::Result<Exit> {
    // From here on a signal is a request, not the end of the process.
    let mut signals = Signals::listen()?;
    let clock: Arc<dyn Clock> = Arc::new(System::start(Timestamp::default()));
    let mut running = Running::start(source, &clock, None).await?;
    let delivering = delivery.map(Delivery::start).transpose()?;
    if let Some((alarms, _)) = &delivering {
        running.tell(alarms.clone());
    }
    let server = Server::bind_supervision(arguments.listen, running.workers.clone(), clock.now())
        .await
        .map_err(not_listening)?;
    show::banner(server.address(), &arguments.state, output)?;
    let showing = tokio::spawn(show::follow(running.workers.handle.clone(), Arc::clone(&clock), output));
    let hangups = tokio::spawn(hangups(running.workers.clone(), arguments.file.clone())?);
    let (stop, stopped) = oneshot::channel::<()>();
    let mut serving = tokio::spawn(server.run(async {
        // Dropping the sender means the same.
        let _ = stopped.await;
    }));
    let failed = tokio::select! {
        biased;
        signal = signals.next() => {
            tracing::info!(signal, "stop requested, stopping services, children first");
            None
        }
        end = &mut serving => Some(end),
    };
    tokio::spawn(async move {
        let signal = signals.next().await;
        tracing::warn!(
            signal,
            "second stop requested, exiting at once; the next start adopts running services"
        );
        std::process::exit(Exit::Failed.code().into());
    });
    hangups.abort();
    let stopped = running.stop().await;
    if let Some((_, engine)) = delivering {
        engine.shutdown(DELIVER).await;
    }
    drop(stop);
    showing.abort();
    match failed {
        Some(Ok(Err(error))) => Err(error.into()),
        Some(_) => Err(Failure::new("the server stopped by itself").into()),
        None => {
            let _ = serving.await;
            Ok(finish(&stopped))
        }
    }
}

/// How the process ends.
fn finish(stopped: &Stopped) -> Exit {
    for path in &stopped.killed {
        output::note(&format!("{path} did not stop in time, so Sprag killed it"));
    }
    match &stopped.outcome {
        ShutdownOutcome::Clean if stopped.killed.is_empty() => {
            tracing::info!("stopped");
            Exit::Done
        }
        ShutdownOutcome::Clean => Exit::Unclean,
        ShutdownOutcome::Unclean { cuts } => {
            for cut in cuts {
                let name = if cut.path.is_empty() {
                    "the whole tree"
                } else {
                    &cut.path
                };
                output::note(&format!("{name} did not stop in time: {:?}", cut.why));
            }
            Exit::Unclean
        }
    }
}
