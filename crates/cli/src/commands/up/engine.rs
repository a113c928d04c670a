//! The engine of a server, with everything it cannot do without.

use std::sync::Arc;

use sprag_core::action::BoxFuture;
use sprag_core::clock::Clock as _;
use sprag_core::ids::{NodeId, Slot};
use sprag_engine::lane::member;
use sprag_engine::{Engine, Options, Requirements, SecretSource};
use sprag_runners::Registry;
use sprag_runners::secrets::{SecretError, Secrets};
use sprag_server::{HttpPeers, NodeClient};

use super::store::Opened;
use crate::failure::{Exit, Failure};

/// What an engine is made of.
pub(in crate::commands) struct Parts {
    pub(in crate::commands) store: Opened,
    /// Where other nodes on the same store reach this one.
    pub(in crate::commands) advertise: String,
    /// Where it is, so that it need not wait for one that was there before it.
    pub(in crate::commands) place: Option<String>,
    pub(in crate::commands) registry: Registry,
    pub(in crate::commands) secrets: Arc<Secrets>,
    pub(in crate::commands) options: Options,
    /// The way to other nodes.
    pub(in crate::commands) client: Option<NodeClient>,
}

/// Starts the engine on this runtime.
pub(in crate::commands) fn start(parts: Parts) -> Result<Engine, Failure> {
    let Parts {
        store,
        advertise,
        place,
        registry,
        secrets,
        options,
        client,
    } = parts;
    let id = NodeId::compose(store.clock.now(), Slot::default(), entropy());
    let requirements = Requirements {
        store: store.lane,
        readers: store.readers,
        clock: store.clock,
        entropy: Box::new(entropy),
        secrets: Arc::new(Asked(secrets)),
    };
    let builder = Engine::builder(requirements).options(options);
    let builder = match store.nodes {
        Some(nodes) => {
            let mut options = member::Options::new(id, advertise, env!("CARGO_PKG_VERSION"), token());
            options.place = place;
            let builder = builder.member(options, nodes);
            client.into_iter().fold(builder, |builder, client| {
                builder.peers(Arc::new(HttpPeers::new(client)))
            })
        }
        None => builder,
    };
    let runners = registry.types().filter_map(|kind| registry.get(kind));
    let builder = runners.fold(builder, |builder, runner| builder.runner(Arc::clone(runner)));
    // A lane that opens reads what an earlier process left, and may wait for a database while it does.
    tokio::task::block_in_place(|| builder.start())
        .map_err(|error| Failure::new(format!("the engine does not start: {}", error.0)))
}

/// What nodes show each other, if this one is the first of all.
fn token() -> String {
    format!(
        "{:016x}{:016x}{:016x}{:016x}",
        entropy(),
        entropy(),
        entropy(),
        entropy()
    )
}

/// Random numbers. A system without them cannot be served: ids would repeat.
fn entropy() -> u64 {
    getrandom::u64().unwrap_or_else(|error| {
        tracing::error!(%error, "no entropy from the system");
        std::process::exit(Exit::Failed.code().into())
    })
}

/// The configured providers, as the engine asks them.
pub(in crate::commands) struct Asked(pub(in crate::commands) Arc<Secrets>);

impl SecretSource for Asked {
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, String>> {
        Box::pin(async move {
            match self.0.get(name).await {
                Ok(value) => Ok(Some(value)),
                Err(SecretError::Missing { .. } | SecretError::Name { .. }) => Ok(None),
                Err(error) => Err(error.to_string()),
            }
        })
    }

    fn allows(&self, machine: &str, name: &str) -> bool {
        self.0.allows(machine, name)
    }
}
