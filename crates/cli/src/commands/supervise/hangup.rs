//! SIGHUP has the file of services read again, where it does not mean that the terminal went away.

use std::io::{self, IsTerminal as _};

use sprag_server::Workers;
use tokio::signal::unix::{SignalKind, signal};

/// Reloads with each SIGHUP, for as long as it is polled. On a terminal nothing is changed: the signal ends the process,
/// and its services are adopted by the next one.
pub(in crate::commands) fn hangups(workers: Workers) -> io::Result<impl Future<Output = ()> + Send> {
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
                let places = not.findings.iter();
                let places: Vec<String> = places.map(|finding| format!("{finding:?}")).collect();
                tracing::error!(
                    detail = not.detail,
                    ?places,
                    "the file of services is not followed; everything goes on"
                );
            }
        }
    })
}
