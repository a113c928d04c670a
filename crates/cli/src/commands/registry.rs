//! The runners of a server: the standard ones, and the controller of load tests.

use std::sync::Arc;

use sprag_agent::durable::{self, LoadRunner, Loads};
use sprag_core::clock::Clock;
use sprag_runners::secrets::Secrets;
use sprag_runners::{Error, Options, Registry};

/// The runners with these options. Load tests appear in `loads` while they run.
pub(crate) fn registry(
    (standard, agents): (&Options, &durable::Options),
    loads: Loads,
    clock: Arc<dyn Clock>,
    secrets: Arc<Secrets>,
) -> Result<Registry, Error> {
    let mut registry = Registry::standard(standard, Arc::clone(&clock), Arc::clone(&secrets))?;
    let runner = LoadRunner::new(loads, agents.clone(), &standard.outbound, secrets, clock)?;
    registry.insert(runner);
    Ok(registry)
}
