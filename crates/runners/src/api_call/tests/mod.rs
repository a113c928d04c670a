//! The runner against servers that do as they are told.

mod calls;
mod config;
mod oauth;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use sprag_core::action::runner::BoxFuture;
use sprag_core::clock::Manual;

use super::{ApiCall, Options, ServiceOptions};
use crate::http::Client;
use crate::http::outbound::Guard;
use crate::secrets::{Provider, SecretError, Secrets};
use crate::testing::{Case, NOW, Server, client};

pub(super) const SECRET: &str = "client-secret-0123456789";
pub(super) const TOKEN: &str = "access-token-0123456789";

/// What the secrets of these tests are.
struct Known;

impl Provider for Known {
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, SecretError>> {
        let value = (name == "crm_secret").then(|| SECRET.to_owned());
        Box::pin(std::future::ready(Ok(value)))
    }

    fn place(&self, name: &str) -> String {
        format!("the tests' `{name}`")
    }
}

/// `[services.crm]`, from what it says in the file.
pub(super) fn service(written: &Value) -> Options {
    let service: ServiceOptions = serde_json::from_value(written.clone()).unwrap();
    Options {
        services: BTreeMap::from([("crm".to_owned(), service)]),
    }
}

/// A runner that knows this service. Definitions may reach nothing but the public internet.
pub(super) fn runner(written: &Value) -> ApiCall {
    let guard = Guard::new(&crate::http::outbound::Options::default()).unwrap();
    let guarded = Client::new(guard, Arc::new(Manual::new(NOW))).unwrap();
    let secrets = Arc::new(Secrets::new(vec![Box::new(Known)]));
    // `client` reaches loopback, where the operator's servers are in these tests.
    ApiCall::new(&service(written), secrets, guarded, client()).unwrap()
}

/// The service at `api`, with tokens from `tokens`.
pub(super) fn with_tokens(api: &Server, tokens: &Server) -> Value {
    json!({"baseUrl": api.url("/api"), "authentication": {
        "type": "oauth2",
        "tokenEndpoint": tokens.url("/oauth/token"),
        "clientId": "me",
        "clientSecret": "{{secrets.crm_secret}}",
        "scope": ["records.read", "records.write"],
    }})
}

/// An action that calls the service.
pub(super) fn case(more: &Value) -> Case {
    let mut config = json!({"service": "crm", "endpoint": "/records/7", "method": "PUT", "payload": {"status": "ok"}});
    for (key, value) in more.as_object().unwrap() {
        config[key] = value.clone();
    }
    Case::new("api_call", config)
}
