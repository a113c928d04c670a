//! `webhook`: any HTTP call, signed after Standard Webhooks where a secret is given.
//!
//! Every attempt of an action carries the same `Idempotency-Key`, so a receiver can tell a repeat from a second
//! wish. A request in flight is not torn up on cancellation: what left cannot be called back, and an answer says more
//! than a cut connection.

mod config;
pub(crate) mod lookup;

#[cfg(test)]
mod tests;

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::{Map, Value, json};
use sprag_core::action::outcome::{Done, Outcome, Probe, ResultEvent};
use sprag_core::action::runner::{Attempt, BoxFuture, ConfigProblem, Permission, Runner};
use sprag_core::integrity::signature;
use url::Url;

use crate::http::{self, Client, Reply, Request};
use crate::registry::config::{is_within, refused};
use crate::registry::failpoint;
use config::Config;
use sprag_core::document::Stage;

pub(crate) use config::{WebhookBody, read_body, read_headers, read_method, read_query, read_url};

/// Where a secret may appear: in what is sent. The rest is compared and shown.
const SECRETS: [&str; 9] = [
    "/url",
    "/headers",
    "/query",
    "/payload",
    "/body",
    "/secret",
    "/signingSecret",
    "/lookup/url",
    "/lookup/headers",
];

const TYPE: &str = "webhook";

/// Runs `webhook` actions.
pub struct Webhook {
    client: Client,
}

impl Webhook {
    /// A runner that calls through `client`.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    async fn call(&self, attempt: Attempt<'_>) -> Result<Done, Box<Outcome>> {
        failpoint::panic_at("webhook-panic", attempt.config);
        let config = read(attempt.config)?;
        let request = self.request(&config, &attempt)?;
        let reply = self.client.send(request).await?;
        let reply = reply.judge(config.expected.as_deref())?;
        Ok(done(&config, &reply, attempt.action_id))
    }

    fn request(&self, config: &Config, attempt: &Attempt<'_>) -> Result<Request, Box<Outcome>> {
        let mut headers = config.headers.clone();
        let body = config.body.as_ref().map(|body| body.bytes.clone());
        complete(&mut headers, attempt.idempotency_key, config.body.as_ref())?;
        trace(&mut headers, attempt)?;
        if !config.secrets.is_empty() {
            let message = signature::SignedMessage {
                id: attempt.idempotency_key,
                seconds: self.client.now().as_millis().div_euclid(1_000),
                body: body.as_deref().unwrap_or_default(),
            };
            for (name, value) in message.headers(&config.secrets) {
                add(&mut headers, name, &value)?;
            }
        }
        Ok(Request {
            method: config.method.clone(),
            url: config.url.clone(),
            headers,
            body,
            timeout: attempt.timeout,
        })
    }

    async fn ask(&self, attempt: Attempt<'_>) -> Probe {
        let Ok(config) = read(attempt.config) else {
            return Probe::Unclear;
        };
        let Some(lookup) = &config.lookup else {
            return Probe::Unclear;
        };
        match self
            .client
            .send(lookup.request(lookup.at().clone(), attempt.timeout))
            .await
        {
            Ok(reply) => lookup.answer(reply, |reply| done(&config, reply, attempt.action_id)),
            Err(_) => Probe::Unclear,
        }
    }
}

impl Runner for Webhook {
    fn types(&self) -> &[&str] {
        &[TYPE]
    }

    fn validate(&self, _kind: &str, config: &Value) -> Vec<ConfigProblem> {
        config::check(config)
    }

    fn takes_secret(&self, _kind: &str, pointer: &str) -> bool {
        is_within(pointer, &SECRETS)
    }

    fn warnings(&self, _kind: &str, config: &Value) -> Vec<ConfigProblem> {
        self.client.warnings(config, &["/url", "/lookup/url"])
    }

    fn permissions(&self, _kind: &str, config: &Value) -> Vec<Permission> {
        let lookup = config.get("lookup").unwrap_or(&Value::Null);
        [config, lookup]
            .into_iter()
            .filter_map(|part| network(part.get("url")?.as_str()?))
            .collect()
    }

    fn destination(&self, _kind: &str, config: &Value) -> Option<String> {
        destination(config.get("url")?.as_str()?)
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.call(attempt).await.map_or_else(|failed| *failed, Outcome::Done) })
    }

    fn probe<'a>(&'a self, attempt: Attempt<'a>) -> Option<BoxFuture<'a, Probe>> {
        attempt.config.get("lookup").filter(|lookup| !lookup.is_null())?;
        Some(Box::pin(self.ask(attempt)))
    }
}

fn read(config: &Value) -> Result<Config, Box<Outcome>> {
    config::read(config, Stage::Rendered).map_err(|problems| Box::new(refused(&problems)))
}

fn done(config: &Config, reply: &Reply, action_id: &str) -> Done {
    called("webhook_called", (&config.method, &config.url), reply, action_id)
}

/// Adds the headers that every call has, unless the definition gives them.
pub(crate) fn complete(
    headers: &mut HeaderMap,
    idempotency_key: &str,
    body: Option<&WebhookBody>,
) -> Result<(), Box<Outcome>> {
    add(headers, "idempotency-key", idempotency_key)?;
    match body {
        Some(body) => add(headers, "content-type", body.content_type),
        None => Ok(()),
    }
}

/// Adds the header that lets the receiver continue with the attempt's trace, unless the definition gives it. It is no part
/// of what is signed, and says nothing about which attempts are repeats: the idempotency key does.
pub(crate) fn trace(headers: &mut HeaderMap, attempt: &Attempt<'_>) -> Result<(), Box<Outcome>> {
    match attempt.control.traceparent() {
        Some(value) => add(headers, "traceparent", &value),
        None => Ok(()),
    }
}

fn add(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), Box<Outcome>> {
    let (name, value) = http::header(name, value)
        .map_err(|error| Box::new(Outcome::not_done("invalid_configuration", error.to_string())))?;
    headers.entry(name).or_insert(value);
    Ok(())
}

/// What a call that succeeded gives to the machine: its result, and an event of this kind.
pub(crate) fn called(kind: &str, (method, url): (&Method, &Url), reply: &Reply, action_id: &str) -> Done {
    let payload = json!({
        "url": shown(url),
        "method": method.as_str(),
        "statusCode": reply.status(),
        "responseTime": reply.millis(),
        "actionId": action_id,
    });
    let event = ResultEvent {
        kind: kind.to_owned(),
        payload,
    };
    Done {
        result: reply.result(),
        event: Some(event),
        cost: None,
        metadata: Map::new(),
    }
}

/// The URL without the name and password it may carry.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Both fail only for URLs without a host, which `http` URLs are not.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

/// `host:port` of a rendered URL.
pub(crate) fn destination(url: &str) -> Option<String> {
    let url = http::url(url).ok()?;
    Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?))
}

/// The permission that a URL asks for; one that is still a template is shown as it is written.
pub(crate) fn network(url: &str) -> Option<Permission> {
    let object = destination(url).or_else(|| url.contains("{{").then(|| url.to_owned()))?;
    Some(Permission {
        scope: "network".to_owned(),
        object,
    })
}
