//! SIGHUP has the file of services read again, where it does not mean that the terminal went away.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use sprag_server::Workers;
use tokio::signal::unix::{SignalKind, signal};

use crate::commands::machine::findings;

/// Reloads with each SIGHUP, for as long as it is polled. On a terminal nothing is changed: the signal ends the process,
/// and its services are adopted by the next one.
pub(in crate::commands) fn hangups(workers: Workers, file: PathBuf) -> io::Result<impl Future<Output = ()> + Send> {
    let signals = if io::stdin().is_terminal() {
        None
    } else {
        Some(signal(SignalKind::hangup())?)
    };
    Ok(async move {
        let Some(mut signals) = signals else {
            return std::future::pending().await;
        };
        while signals.recv().await.is_some() {
            if let Err(not) = workers.reload.reload().await {
                tracing::error!(
                    reason = not.detail,
                    "services file not reloaded, the previous one stays in force"
                );
                for finding in &not.findings {
                    // As `--check` says it, on one line.
                    let text = findings::text(&file, finding);
                    let lines: Vec<&str> = text.lines().map(str::trim).collect();
                    tracing::error!("{}", lines.join("; "));
                }
            }
        }
    })
}
