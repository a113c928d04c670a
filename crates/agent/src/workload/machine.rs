//! The workload `machine`: starts an execution on a Sprag server, and waits for its end.

use std::sync::Arc;

use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use serde_json::{Value, json};
use sprag_core::action::runner::BoxFuture;
use sprag_runners::http::outbound::Guard;
use sprag_runners::http::tls_config;
use url::Url;

use super::http::{USER_AGENT, reachable};
use super::{Stateless, User, Workload};
use crate::plan::MachineStart;
use crate::text::causes;

/// Where executions are started. The server waits for an end before it answers.
const START: &str = "/v1/executions?wait=30s";

/// Executions of one machine.
pub(super) struct Executions {
    client: Client,
    server: Url,
    start: Url,
    body: String,
}

impl Executions {
    /// Checks the address and makes the client.
    pub(super) async fn new(start: &MachineStart, guard: &Guard) -> Result<Self, String> {
        let MachineStart {
            server,
            machine,
            variables,
        } = start;
        let server = reachable("machine.server", server, guard).await?;
        Ok(Self {
            client: client(guard)?,
            start: path(&server, START)?,
            server,
            body: json!({"machine": machine, "variables": variables}).to_string(),
        })
    }

    async fn run(&self) -> Result<(), String> {
        let started = self
            .client
            .post(self.start.clone())
            .header("content-type", "application/json");
        let started = started.body(self.body.clone());
        let mut execution = document(started.send().await.map_err(described)?).await?;
        loop {
            let text = |name: &str| execution[name].as_str().unwrap_or_default();
            match text("status") {
                "completed" => return Ok(()),
                "failed" | "cancelled" | "" => return Err(format!("the execution is `{}`", text("status"))),
                _ => {}
            }
            let url = path(&self.server, &format!("/v1/executions/{}?wait=30s", text("id")))?;
            let waited = self.client.get(url).send().await;
            execution = document(waited.map_err(described)?).await?;
        }
    }
}

impl Workload for Executions {
    fn user(self: Arc<Self>) -> Box<dyn User> {
        Box::new(self)
    }
}

impl Stateless for Executions {
    fn perform_one(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(self.run())
    }
}

/// An error with its causes, and without the address: that may hold a secret.
fn described(error: reqwest::Error) -> String {
    causes(&error.without_url())
}

fn client(guard: &Guard) -> Result<Client, String> {
    let tls = tls_config().map_err(|error| format!("TLS could not be set up: {error}"))?;
    Client::builder()
        .tls_backend_preconfigured(tls)
        .dns_resolver(Arc::new(guard.clone()))
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .http1_only()
        .pool_max_idle_per_host(usize::MAX)
        .user_agent(USER_AGENT)
        .build()
        .map_err(|error| format!("the HTTP client could not be built: {error}"))
}

fn path(server: &Url, path: &str) -> Result<Url, String> {
    server
        .join(path)
        .map_err(|error| format!("`machine.server`: `{server}` is not an address: {error}"))
}

/// The document of a good answer; of another one, its status and its code.
async fn document(response: Response) -> Result<Value, String> {
    let status = response.status();
    let body = response.bytes().await.map_err(described)?;
    let document: Value = serde_json::from_slice(&body).unwrap_or_default();
    if status.is_success() {
        return Ok(document);
    }
    let code = document["code"].as_str().unwrap_or("no code");
    Err(format!("status {}: {code}", status.as_u16()))
}
