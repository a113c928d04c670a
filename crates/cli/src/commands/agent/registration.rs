//! Registers an agent with a server, and renews the registration for as long as the agent runs.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;
use sprag_agent::durable::is_address;
use tokio::time::sleep;

use crate::client::{Client, Remote};
use crate::failure::Failure;

/// How often the agent renews: a registration counts for three times as long.
const RENEW_EVERY: Duration = Duration::from_secs(5);

/// What an agent tells a server about itself.
pub(super) struct Registration {
    client: Client,
    name: String,
    address: String,
}

impl Registration {
    /// None unless the command line names a server.
    pub(super) fn of(
        remote: &Remote,
        name: Option<String>,
        advertise: Option<String>,
        listens: SocketAddr,
    ) -> Result<Option<Self>, Failure> {
        if !remote.is_named() {
            return Ok(None);
        }
        if advertise.is_none() && listens.ip().is_unspecified() {
            let detail = format!("`{listens}` is no address at which a server can reach the agent");
            return Err(Failure::invalid(detail).note("add --advertise HOST:PORT"));
        }
        let address = advertise.unwrap_or_else(|| listens.to_string());
        if !is_address(&address) {
            let detail = format!("`--advertise {address}` is not an address");
            return Err(Failure::invalid(detail).note("write HOST:PORT"));
        }
        Ok(Some(Self {
            client: remote.client()?,
            name: name.unwrap_or_else(|| address.clone()),
            address,
        }))
    }

    /// Registers again and again. Returns only if the server refuses the agent; a server that does not answer may come back.
    pub(super) async fn keep(self) -> Failure {
        let body = json!({ "name": self.name, "address": self.address });
        let mut is_registered = None;
        loop {
            match self.client.post(&["agents"]).json(&body).send().await {
                Ok(_) => {
                    if is_registered != Some(true) {
                        tracing::info!(name = self.name, address = self.address, "registered with the server");
                    }
                    is_registered = Some(true);
                }
                Err(failure) if failure.is_refusal() => return failure,
                Err(failure) => {
                    if is_registered != Some(false) {
                        tracing::warn!(error = %failure, "not registered, trying again");
                    }
                    is_registered = Some(false);
                }
            }
            sleep(RENEW_EVERY).await;
        }
    }
}
