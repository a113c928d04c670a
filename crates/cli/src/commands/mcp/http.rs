//! MCP over HTTP, for several agents: each request brings its own token, which this program passes on and does not keep.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use sprag_engine::requests::operations::CheckHosts;
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::agent::{Agent, NotAdmitted};
use super::handler::Handler;
use crate::client::Client;
use crate::commands::up::{Signals, not_listening};
use crate::config::Settings;
use crate::failure::{Exit, Failure};
use crate::output::{self, Output};

/// Where clients connect.
const PATH: &str = "/mcp";
/// The largest request.
const BODY_BYTES_MAX: usize = 1024 * 1024;
/// How long requests may take to end after a signal.
const DRAIN: Duration = Duration::from_secs(5);

/// Serves clients until a signal.
pub(super) async fn serve(
    listen: SocketAddr,
    settings: &Settings,
    client: Client,
    hosts: Arc<CheckHosts>,
    output: Output,
) -> anyhow::Result<Exit> {
    settings.auth.check(listen, None).map_err(not_listening)?;
    // Never the token of this process: a client that sends no token has none.
    let client = client.with_token(None);
    match Agent::enter_or_answer(client.clone()).await {
        Err(NotAdmitted::Here(failure) | NotAdmitted::Unanswered(failure)) => return Err(failure.into()),
        Ok(_) | Err(NotAdmitted::ByServer(_)) => {}
    }
    let mut signals = Signals::listen()?;
    let taken = |error| Failure::new(format!("cannot listen on `{listen}`: {error}"));
    let listener = TcpListener::bind(listen).await.map_err(taken)?;
    let address = listener.local_addr().map_err(taken)?;
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_BYTES_MAX)
        .with_allowed_hosts(names(address, &settings.hosts))
        .enforce_origin_validation();
    let stop = config.cancellation_token.clone();
    let handler = Handler::for_requests(hosts);
    let service = StreamableHttpService::new(
        move || Ok(handler.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    let router = Router::new()
        .route_service(PATH, service)
        .layer(middleware::from_fn_with_state(client, enter));
    let url = format!("http://{address}{PATH}");
    match output {
        Output::Text => output::line(&format!("agents connect to {url}"))?,
        Output::Json => output::line(&json!({ "url": url }).to_string())?,
    };
    let stopped = stop.clone();
    let serving = axum::serve(listener, router).with_graceful_shutdown(async move { stopped.cancelled().await });
    let mut serving = tokio::spawn(serving.into_future());
    let signal = tokio::select! {
        biased;
        signal = signals.next() => signal,
        ended = &mut serving => return Err(Failure::new(format!("the server ended: {ended:?}")).into()),
    };
    stop.cancel();
    // A stream that stays open ends with the process.
    let _ = timeout(DRAIN, serving).await;
    Ok(if signal == "SIGTERM" {
        Exit::Terminated
    } else {
        Exit::Done
    })
}

/// The names by which clients may address it.
fn names(address: SocketAddr, more: &[String]) -> Vec<String> {
    let own = [
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        "::1".to_owned(),
        address.ip().to_string(),
    ];
    own.into_iter().chain(more.iter().cloned()).collect()
}

/// Lets a request in with its agent, or says what the server says about its token.
async fn enter(State(client): State<Client>, mut request: Request, next: Next) -> Response {
    let agent = match bearer(request.headers()) {
        Ok(token) => Agent::enter_or_answer(client.with_token(token)).await,
        Err(failure) => Err(NotAdmitted::Here(failure)),
    };
    match agent {
        Ok(agent) => {
            request.extensions_mut().insert(Arc::new(agent));
            next.run(request).await
        }
        Err(NotAdmitted::ByServer(answer)) => {
            let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_GATEWAY);
            refused(status, &answer.document)
        }
        Err(NotAdmitted::Here(failure)) => refused(StatusCode::FORBIDDEN, &json!({"detail": failure.to_string()})),
        Err(NotAdmitted::Unanswered(failure)) => {
            refused(StatusCode::BAD_GATEWAY, &json!({"detail": failure.to_string()}))
        }
    }
}

fn refused(status: StatusCode, document: &Value) -> Response {
    let mut response = (
        status,
        [(header::CONTENT_TYPE, "application/problem+json")],
        document.to_string(),
    )
        .into_response();
    if status == StatusCode::UNAUTHORIZED {
        let scheme = header::HeaderValue::from_static("Bearer");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
    }
    response
}

/// The token of a request.
fn bearer(headers: &HeaderMap) -> Result<Option<String>, Failure> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => return Ok(None),
        (Some(value), None) => value,
        (Some(_), Some(_)) => return Err(Failure::new("`Authorization` is given more than once")),
    };
    let text = value.to_str().ok().and_then(|text| text.split_once(' '));
    match text.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")) {
        Some((_, token)) => Ok(Some(token.to_owned())),
        None => Err(Failure::new("`Authorization` must have the form `Bearer sprag_…`")),
    }
}
