//! A tree of services, from its file to its end: alone, or inside a server.

use std::path::Path;
use std::sync::Arc;

use sprag_core::clock::Clock;
use sprag_server::Workers;
use sprag_supervisor::process::{self, Place, Services};
use sprag_supervisor::services::ServicesFile;
use sprag_supervisor::store::{Store, StoreOptions};
use sprag_supervisor::{Declaration, Options, Setup, ShutdownOutcome, Supervisor};
use tokio::task::JoinHandle;

use crate::failure::Failure;

/// Where a supervisor remembers.
pub(crate) const STATE: &str = "./sprag-services.db";

/// A tree of services at work.
pub(crate) struct Running {
    /// For the API.
    pub(crate) workers: Workers,
    ticking: JoinHandle<ShutdownOutcome>,
    reaping: JoinHandle<()>,
}

impl Running {
    /// Starts the tree. Whatever runs already is adopted, and what is not in the file any more is ended.
    pub(crate) async fn start(
        file: &ServicesFile,
        state: &Path,
        clock: &Arc<dyn Clock>,
        limit_millis: Option<u64>,
    ) -> anyhow::Result<Self> {
        let place =
            Arc::new(Place::open(state).map_err(|error| Failure::new(format!("{:#}", anyhow::Error::from(error))))?);
        let reaping = tokio::spawn(process::reap());
        let known: Vec<String> = file.walk().into_iter().map(|(path, _)| path).collect();
        for path in place.sweep(&known).await {
            tracing::info!(service = path, "not in the file any more: what was left of it is ended");
        }
        let services = Services::new(place, Arc::clone(clock)).map_err(Failure::new)?;
        let declaration = Declaration {
            children: process::children(file)?,
            rules: process::rules(&file.rules)?,
            ..Declaration::default()
        };
        let options = Options {
            shutdown_limit_millis: limit_millis,
            ..Options::default()
        };
        let store = Arc::new(open(state)?);
        let setup = Setup::new(services.registry(), Arc::clone(clock))
            .options(options)
            .store(Arc::clone(&store));
        let (supervisor, handle) = Supervisor::new(setup, declaration)?;
        Ok(Self {
            workers: Workers {
                handle,
                services,
                store,
            },
            ticking: tokio::spawn(supervisor.run()),
            reaping,
        })
    }

    /// Stops everything, children before parents. What would not stop in its time is killed.
    pub(crate) async fn stop(self) -> ShutdownOutcome {
        let Self {
            workers,
            ticking,
            reaping,
        } = self;
        workers.handle.shut_down().await;
        let outcome = ticking.await.unwrap_or(ShutdownOutcome::Unclean { cuts: Vec::new() });
        if outcome != ShutdownOutcome::Clean {
            workers.services.kill().await;
        }
        reaping.abort();
        outcome
    }
}

/// What an earlier supervisor remembered. What of it cannot be read is said and begun anew.
fn open(state: &Path) -> Result<Store, Failure> {
    let opened = Store::open(state, StoreOptions::default())
        .map_err(|error| Failure::new(format!("`{}` cannot be opened: {error}", state.display())))?;
    for malformed in &opened.malformed {
        tracing::warn!(worker = %malformed.worker, part = malformed.part, problem = malformed.problem, "not readable");
    }
    Ok(opened.store)
}
