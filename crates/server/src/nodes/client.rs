//! The way to other nodes. What goes this way carries the nodes' secret, so it goes only to a node whose certificate is
//! checked, to this machine, or through a network that the operator trusts.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::uri::{Authority, PathAndQuery, Scheme, Uri};
use axum::http::{HeaderValue, Response, StatusCode};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::access::auth::PlainText;
use crate::listen::{Loaded, Look, TlsError, Trust, client_config, is_readable};
use crate::nodes::forward::TOKEN;
use crate::problem::shown::cause;

/// How long a connection to another node may take.
const CONNECT_MAX: Duration = Duration::from_millis(1_800);
/// How long a node may take to say who it is.
const IDENTITY_MAX: Duration = Duration::from_secs(10);
/// The largest such answer, in bytes.
const IDENTITY_BYTES_MAX: usize = 1 << 20;

/// A client of other nodes. Cheap to clone: connections are shared and kept.
#[derive(Clone)]
pub struct NodeClient {
    client: Client<Connector, Body>,
    tls: Arc<Loaded<ClientConfig>>,
}

impl fmt::Debug for NodeClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NodeClient").finish_non_exhaustive()
    }
}

impl NodeClient {
    /// Nothing is connected before it is needed.
    pub fn new(trust: &Trust, plain_text: PlainText) -> Result<Self, TlsError> {
        let mut http = HttpConnector::new();
        http.set_connect_timeout(Some(CONNECT_MAX));
        http.set_nodelay(true);
        http.enforce_http(false);
        let made_of = trust.clone();
        let tls = Loaded::new("certificates for other nodes", trust.files(), move || {
            client_config(&made_of)
        })?;
        let tls = Arc::new(tls);
        let connector = Connector {
            http,
            tls: Arc::clone(&tls),
            plain_text,
        };
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self { client, tls })
    }

    /// What is read again when its files change.
    pub(crate) fn files(&self) -> Arc<dyn Look> {
        self.tls.clone()
    }

    /// Sends a request that [`at`] addressed.
    pub(crate) async fn send(&self, request: Request) -> Result<Response<Incoming>, String> {
        self.client.request(request).await.map_err(|error| cause(&error))
    }

    /// The id of the node that answers there; none if it is no node.
    pub async fn identity(&self, advertise: &str, token: &str) -> Result<Option<String>, String> {
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = at(advertise, PathAndQuery::from_static("/v1/system"))?;
        request.headers_mut().insert(TOKEN, shown(token)?);
        let exchange = async {
            let answer = self.send(request).await?;
            let status = answer.status();
            if status != StatusCode::OK {
                return Err(format!("it answered {status}"));
            }
            let body = to_bytes(Body::new(answer.into_body()), IDENTITY_BYTES_MAX).await;
            body.map_err(|error| error.to_string())
        };
        let body = tokio::time::timeout(IDENTITY_MAX, exchange).await;
        let body = body.map_err(|_| "it did not answer in time".to_owned())??;
        let system = serde_json::from_slice::<serde_json::Value>(&body);
        let system = system.map_err(|error| error.to_string())?;
        Ok(system["cluster"]["node"].as_str().map(str::to_owned))
    }
}

/// A path at another node.
pub(crate) fn at(advertise: &str, path: PathAndQuery) -> Result<Uri, String> {
    let not_there = || format!("`{advertise}` is not the address of a node");
    let base: Uri = advertise.parse().map_err(|_| not_there())?;
    let authority: Authority = base.authority().cloned().ok_or_else(not_there)?;
    let scheme = base.scheme().cloned().unwrap_or(Scheme::HTTP);
    let uri = Uri::builder().scheme(scheme).authority(authority);
    uri.path_and_query(path).build().map_err(|_| not_there())
}

/// What a node shows another.
pub(crate) fn shown(token: &str) -> Result<HeaderValue, String> {
    let mut value = HeaderValue::from_str(token).map_err(|_| "the nodes' token is not valid in a header".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

/// Connects, and encrypts where the address says so.
#[derive(Clone)]
struct Connector {
    http: HttpConnector,
    tls: Arc<Loaded<ClientConfig>>,
    plain_text: PlainText,
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        if self.plain_text == PlainText::Refused && is_readable(&uri.to_string()) {
            let authority = uri.authority().map_or("", Authority::as_str);
            let refused = format!(
                "others could read the nodes' secret on its way to `{authority}`; advertise an https address, or trust the network \
                 with `plainText = \"accept\"` in `[auth]`"
            );
            return Box::pin(std::future::ready(Err(refused.into())));
        }
        let mut connector = HttpsConnector::from((self.http.clone(), self.tls.current()));
        let connecting = connector.call(uri);
        Box::pin(async move {
            let connected = tokio::time::timeout(CONNECT_MAX, connecting).await;
            connected.unwrap_or_else(|_| Err("the connection took too long".into()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_secret_does_not_leave_the_machine_in_plain_text_unless_the_network_is_trusted() {
        for (advertise, readable) in [
            ("http://127.0.0.1:7400", false),
            ("http://[::1]:7400", false),
            ("http://localhost:7400", false),
            ("https://10.0.0.1:7400", false),
            ("http://10.0.0.1:7400", true),
            ("http://node1.example.com:7400", true),
            ("10.0.0.1:7400", true),
        ] {
            let uri = at(advertise, PathAndQuery::from_static("/v1/system")).unwrap();
            assert_eq!(is_readable(&uri.to_string()), readable, "{advertise}");
        }
        let client = NodeClient::new(&Trust::default(), PlainText::Refused).unwrap();
        // An address for documentation (RFC 5737): nobody is there, and nothing is tried.
        let refused = client.identity("http://192.0.2.1:7400", "secret").await.unwrap_err();
        assert!(refused.contains("advertise an https address"), "{refused}");
    }
}
