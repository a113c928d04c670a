//! `api_call`: a call of a service that the operator configured.
//!
//! The service says where calls go and who makes them; an action adds path, query and body. A token that is needed is
//! fetched once for everybody, refreshed before it dies, and fetched anew once when the service does not accept it.
//! Tokens are in memory alone, and masked in whatever leaves the runner.
//!
//! What a service's entry names is reached as it is: it is the operator's word. A token endpoint that stands in a
//! definition goes through the outbound guard.

mod authentication;
mod config;
mod endpoint;
mod services;
mod session;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::Value;
use sprag_core::action::outcome::{Outcome, Probe};
use sprag_core::action::runner::{Attempt, BoxFuture, ConfigProblem, Permission, Runner};

use crate::http::Client;
use crate::http::oauth::Tokens;
use crate::registry::config::{is_within, refused};
use crate::secrets::Secrets;
use crate::webhook;
use services::Services;
use session::Session;
use sprag_core::document::Stage;

pub use services::{Options, OptionsError, ServiceOptions};

/// Where a secret may appear: in what is sent. The rest is compared and shown.
const SECRETS: [&str; 8] = [
    "/endpoint",
    "/headers",
    "/query",
    "/payload",
    "/body",
    "/authentication",
    "/lookup/endpoint",
    "/lookup/headers",
];

const TYPE: &str = "api_call";

/// How a runner that ends early says so.
type Stop = Box<Outcome>;

/// Runs `api_call` actions.
pub struct ApiCall {
    services: Services,
    secrets: Arc<Secrets>,
    tokens: Tokens,
    /// For token endpoints that a definition names.
    guarded: Client,
    /// For what the operator names.
    trusted: Client,
}

impl ApiCall {
    /// A runner that knows what the configuration says. `trusted` reaches the operator's services. The error is the
    /// first of what [`ApiCall::check`] finds.
    pub fn new(
        options: &Options,
        secrets: Arc<Secrets>,
        guarded: Client,
        trusted: Client,
    ) -> Result<Self, OptionsError> {
        let (services, errors) = services::read(options);
        if let Some(error) = errors.into_iter().next() {
            return Err(error);
        }
        Ok(Self {
            services,
            secrets,
            tokens: Tokens::default(),
            guarded,
            trusted,
        })
    }

    /// Everything wrong with the options.
    pub fn check(options: &Options) -> Vec<OptionsError> {
        services::read(options).1
    }

    /// Names become things: the address, the credentials.
    async fn prepare<'a>(&'a self, attempt: Attempt<'a>) -> Result<Session<'a>, Stop> {
        let config = config::read(attempt.config, Stage::Rendered, &self.services)
            .map_err(|problems| Box::new(refused(&problems)))?;
        let service = config.service.fill(&self.secrets).await?;
        Ok(Session::new(self, attempt, config, service))
    }

    async fn call(&self, attempt: Attempt<'_>) -> Outcome {
        match self.prepare(attempt).await {
            Ok(mut session) => {
                let outcome = session.call().await.map_or_else(|stop| *stop, Outcome::Done);
                outcome.masked(&session.redactor())
            }
            Err(stop) => *stop,
        }
    }

    async fn ask(&self, attempt: Attempt<'_>) -> Probe {
        match self.prepare(attempt).await {
            Ok(mut session) => {
                let probe = session.ask().await;
                probe.masked(&session.redactor())
            }
            Err(_) => Probe::Unclear,
        }
    }

    fn base_of(&self, config: &Value) -> Option<&str> {
        self.services.get(config.get("service")?.as_str()?)?.plain_base()
    }
}

impl Runner for ApiCall {
    fn types(&self) -> &[&str] {
        &[TYPE]
    }

    fn validate(&self, _kind: &str, config: &Value) -> Vec<ConfigProblem> {
        config::check(config, &self.services)
    }

    fn takes_secret(&self, _kind: &str, pointer: &str) -> bool {
        is_within(pointer, &SECRETS)
    }

    fn warnings(&self, _kind: &str, config: &Value) -> Vec<ConfigProblem> {
        self.guarded.warnings(config, &["/authentication/tokenEndpoint"])
    }

    fn permissions(&self, _kind: &str, config: &Value) -> Vec<Permission> {
        let service = match self.base_of(config) {
            Some(base) => webhook::network(base),
            None => config.get("service").and_then(Value::as_str).map(|name| Permission {
                scope: "network".to_owned(),
                object: format!("service {name}"),
            }),
        };
        let token_endpoint = config.pointer("/authentication/tokenEndpoint").and_then(Value::as_str);
        service
            .into_iter()
            .chain(token_endpoint.and_then(webhook::network))
            .collect()
    }

    fn destination(&self, _kind: &str, config: &Value) -> Option<String> {
        webhook::destination(self.base_of(config)?)
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(self.call(attempt))
    }

    fn probe<'a>(&'a self, attempt: Attempt<'a>) -> Option<BoxFuture<'a, Probe>> {
        attempt.config.get("lookup").filter(|lookup| !lookup.is_null())?;
        Some(Box::pin(self.ask(attempt)))
    }
}
