//! The workload `http`: requests over one kept connection of each user.
//!
//! The outbound guard resolves and checks the host for each connection, and the connection goes to a checked address. A response
//! counts once its body has arrived.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{HOST, HeaderMap, HeaderName, HeaderValue, USER_AGENT as USER_AGENT_HEADER};
use hyper::{Method, Request, Uri, Version};
use rustls::pki_types::ServerName;
use sprag_core::action::runner::BoxFuture;
use sprag_runners::http::outbound::Guard;
use sprag_runners::http::tls_config;
use tokio_rustls::TlsConnector;
use url::Url;

use super::connection::{Connection, Target};
use super::{User, Workload};
use crate::plan::{HttpCall, Protocol};

/// How agents introduce themselves.
pub(super) const USER_AGENT: &str = concat!("sprag/", env!("CARGO_PKG_VERSION"));

/// Requests of one kind.
pub(super) struct Requests {
    target: Target,
    /// Ready to be sent over HTTP/1.1: with the path alone, and the host in a header.
    one: Request<Full<Bytes>>,
    /// Ready to be sent over HTTP/2: with the whole address.
    two: Request<Full<Bytes>>,
}

/// Sends requests over a connection of its own.
struct Sender {
    requests: Arc<Requests>,
    connection: Option<Connection>,
}

impl Requests {
    /// Checks the address and makes the request.
    pub(super) async fn new(call: &HttpCall, guard: &Guard) -> Result<Self, String> {
        let HttpCall {
            url,
            method,
            protocol,
            headers,
            body,
        } = call;
        let url = reachable("http.url", url, guard).await?;
        let method: Method = method
            .parse()
            .map_err(|_| format!("`http.method`: `{method}` is not a method"))?;
        let headers = header_map(headers)?;
        let body = Full::new(Bytes::from(body.clone().unwrap_or_default()));
        let whole: Uri = url
            .as_str()
            .parse()
            .map_err(|_| format!("`http.url`: `{url}` cannot be sent"))?;
        let mut two = Request::new(body.clone());
        *two.version_mut() = Version::HTTP_2;
        *two.method_mut() = method.clone();
        *two.headers_mut() = headers.clone();
        let mut one = Request::new(body);
        *one.method_mut() = method;
        *one.headers_mut() = headers;
        let path = whole.path_and_query().map_or("/", |path| path.as_str());
        *one.uri_mut() = path
            .parse()
            .map_err(|_| format!("`http.url`: `{path}` cannot be sent"))?;
        let host = whole.authority().map(|authority| authority.as_str().to_owned());
        let host = HeaderValue::from_str(&host.unwrap_or_default());
        if !one.headers().contains_key(HOST) {
            let host = host.map_err(|_| format!("`http.url`: the host of `{url}` cannot be sent"))?;
            one.headers_mut().insert(HOST, host);
        }
        *two.uri_mut() = whole;
        let target = target(&url, *protocol, guard)?;
        Ok(Self { target, one, two })
    }
}

fn target(url: &Url, protocol: Protocol, guard: &Guard) -> Result<Target, String> {
    let host = url.host_str().unwrap_or_default().to_owned();
    Ok(Target {
        guard: guard.clone(),
        port: url.port_or_known_default().unwrap_or(80),
        tls: match url.scheme() {
            "https" => Some(tls(&host, protocol)?),
            _ => None,
        },
        protocol,
        host,
    })
}

/// TLS to a host, which may offer the versions of HTTP that the plan allows.
fn tls(host: &str, protocol: Protocol) -> Result<(TlsConnector, ServerName<'static>), String> {
    let mut config = tls_config().map_err(|error| format!("TLS could not be set up: {error}"))?;
    let offers: &[&[u8]] = match protocol {
        Protocol::Auto => &[b"h2", b"http/1.1"],
        Protocol::Http1 => &[b"http/1.1"],
        Protocol::Http2 => &[b"h2"],
    };
    config.alpn_protocols = offers.iter().map(|offer| offer.to_vec()).collect();
    let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let name = ServerName::try_from(bare).map_err(|_| format!("`http.url`: `{host}` is not a name for TLS"))?;
    Ok((TlsConnector::from(Arc::new(config)), name))
}

impl Sender {
    async fn request(&mut self) -> Result<(), String> {
        // A server may have closed the connection meanwhile, which is no failure of an operation.
        let mut kept = self.connection.take();
        if let Some(connection) = &mut kept
            && !connection.is_usable().await
        {
            kept = None;
        }
        // An operation that is cut takes its connection with it: the rest of the response could follow.
        let mut connection = match kept {
            Some(connection) => connection,
            None => Connection::open(&self.requests.target).await?,
        };
        let request = if connection.is_http2() {
            &self.requests.two
        } else {
            &self.requests.one
        };
        let status = connection.send(request.clone()).await?;
        self.connection = Some(connection);
        if status.is_success() {
            Ok(())
        } else {
            Err(format!("status {}", status.as_u16()))
        }
    }
}

impl Workload for Requests {
    fn user(self: Arc<Self>) -> Box<dyn User> {
        Box::new(Sender {
            requests: self,
            connection: None,
        })
    }
}

impl User for Sender {
    fn perform(&mut self) -> BoxFuture<'_, Result<(), String>> {
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

fn header_map(headers: &[(String, String)]) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let unusable = || format!("`http.headers`: `{name}` cannot be sent");
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unusable())?;
        map.append(key, HeaderValue::from_str(value).map_err(|_| unusable())?);
    }
    if !map.contains_key(USER_AGENT_HEADER) {
        map.insert(USER_AGENT_HEADER, HeaderValue::from_static(USER_AGENT));
    }
    Ok(map)
}
