//! The workload `http`: one request after the other over kept connections.
//!
//! The outbound guard checks every address that the agent connects to. A response counts once its body has arrived.

use std::sync::Arc;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Method};
use sprag_core::action::runner::BoxFuture;
use sprag_runners::http::outbound::Guard;
use sprag_runners::http::tls_config;
use url::Url;

use crate::text::causes;

use super::Workload;
use crate::plan::HttpCall;

/// Requests of one kind.
pub(super) struct Requests {
    client: Client,
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Option<String>,
}

impl Requests {
    /// Checks the address and makes the client.
    pub(super) async fn new(call: &HttpCall, guard: &Guard) -> Result<Self, String> {
        let HttpCall {
            url,
            method,
            headers,
            body,
        } = call;
        let url = reachable("http.url", url, guard).await?;
        Ok(Self {
            client: client(guard)?,
            method: method
                .parse()
                .map_err(|_| format!("`http.method`: `{method}` is not a method"))?,
            headers: header_map(headers)?,
            body: body.clone(),
            url,
        })
    }

    async fn request(&self) -> Result<(), String> {
        let mut request = self
            .client
            .request(self.method.clone(), self.url.clone())
            .headers(self.headers.clone());
        if let Some(body) = &self.body {
            request = request.body(body.clone());
        }
        let mut response = request.send().await.map_err(described)?;
        let status = response.status();
        // An unread body would cost its connection.
        while response.chunk().await.map_err(described)?.is_some() {}
        if status.is_success() {
            Ok(())
        } else {
            Err(format!("status {}", status.as_u16()))
        }
    }
}

impl Workload for Requests {
    fn perform(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(self.request())
    }
}

/// The address of a key, if the guard lets the agent connect to it.
pub(super) async fn reachable(key: &str, address: &str, guard: &Guard) -> Result<Url, String> {
    let url = Url::parse(address).map_err(|error| format!("`{key}`: `{address}` is not an address: {error}"))?;
    let host = url
        .host_str()
        .ok_or_else(|| format!("`{key}`: `{address}` has no host"))?;
    let port = url.port_or_known_default().unwrap_or(80);
    let checked = guard.check_tcp(host, port).await;
    checked.map_err(|error| format!("`{key}`: {error}"))?;
    Ok(url)
}

/// An error with its causes, and without the address: that may hold a secret.
pub(super) fn described(error: reqwest::Error) -> String {
    causes(&error.without_url())
}

pub(super) fn client(guard: &Guard) -> Result<Client, String> {
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
        .user_agent(concat!("sprag/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| format!("the HTTP client could not be built: {error}"))
}

fn header_map(headers: &[(String, String)]) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let unusable = || format!("`http.headers`: `{name}` cannot be sent");
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unusable())?;
        map.append(key, HeaderValue::from_str(value).map_err(|_| unusable())?);
    }
    Ok(map)
}
