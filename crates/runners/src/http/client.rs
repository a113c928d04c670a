//! Sending, and saying what may have left when it fails.

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::RETRY_AFTER;
use reqwest::redirect::Policy;
use serde_json::json;
use sprag_core::action::error::{ActionError, kind};
use sprag_core::action::outcome::{Failure, Outcome};
use sprag_core::clock::Clock;
use sprag_core::time::Timestamp;
use tokio::time::{Instant, timeout_at};

use super::reply::Reply;
use super::request::Request;
use super::{body, retry_after, tls};
use crate::outbound::{Guard, GuardError};

/// How long a connection may take to stand, name look-up and TLS included. There is one pool for each, and a request
/// uses the longest that is shorter than its own time: so when a request's time is up, its connection stood, and
/// something may have left.
const CONNECT_MILLIS: [u64; 6] = [10_000, 5_000, 2_000, 1_000, 400, 150];
/// The same for requests that have even less time; only these may be unknown although no connection stood.
const CONNECT_MILLIS_MIN: u64 = 50;
/// An unused connection is closed after this. Common servers keep one for five seconds: ours is gone before theirs, so
/// that a request rarely meets a connection that the server is just closing, which would be an unknown outcome.
const IDLE: Duration = Duration::from_secs(3);
/// Unused connections kept for one destination.
const IDLE_PER_HOST_MAX: usize = 256;
const USER_AGENT: &str = concat!("sprag/", env!("CARGO_PKG_VERSION"));

/// Why there can be no client.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// TLS could not be set up.
    #[error("TLS could not be set up")]
    Tls(#[from] rustls::Error),
    /// The client could not be built.
    #[error("the HTTP client could not be built")]
    Client(#[from] reqwest::Error),
}

/// The guarded HTTP client. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Client {
    guard: Guard,
    clock: Arc<dyn Clock>,
    pools: Arc<Pools>,
}

struct Pools {
    /// Longest first.
    longer: Vec<Pool>,
    shortest: reqwest::Client,
}

struct Pool {
    connect: Duration,
    client: reqwest::Client,
}

impl Client {
    /// A client that reaches what `guard` lets it. `clock` is asked when a reply names a date.
    pub fn new(guard: Guard, clock: Arc<dyn Clock>) -> Result<Self, BuildError> {
        let tls = tls::config()?;
        let mut longer = Vec::with_capacity(CONNECT_MILLIS.len());
        for connect in CONNECT_MILLIS.map(Duration::from_millis) {
            longer.push(Pool {
                connect,
                client: build(connect, &guard, &tls)?,
            });
        }
        let shortest = build(Duration::from_millis(CONNECT_MILLIS_MIN), &guard, &tls)?;
        Ok(Self {
            pools: Arc::new(Pools { longer, shortest }),
            guard,
            clock,
        })
    }

    /// Engine time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Sends the request once and reads the reply. The error is the attempt's outcome: not done until the connection
    /// stood, unknown from then on.
    pub async fn send(&self, request: Request) -> Result<Reply, Box<Outcome>> {
        let Request {
            method,
            url,
            headers,
            body,
            timeout,
        } = request;
        self.guard.check_url(&url).map_err(|error| Box::new(error.outcome()))?;
        let started = Instant::now();
        let deadline = started + timeout;
        let host = url.host_str().unwrap_or_default().to_owned();
        let mut builder = self.pool(timeout).request(method, url).headers(headers);
        if let Some(body) = body {
            builder = builder.body(body);
        }
        let mut response = match timeout_at(deadline, builder.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(Box::new(failed(&error, &host))),
            Err(_) => return Err(Box::new(late(&host, timeout))),
        };
        let body = body::read(&mut response, deadline).await;
        let retry_after = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok());
        Ok(Reply {
            status: response.status().as_u16(),
            retry_after: retry_after.and_then(|text| retry_after::parse(text, self.clock.now())),
            headers: std::mem::take(response.headers_mut()),
            body,
            elapsed: started.elapsed(),
        })
    }

    /// The same within what is left until `deadline`, whatever time the request itself has.
    pub async fn send_by(&self, mut request: Request, deadline: Instant) -> Result<Reply, Box<Outcome>> {
        request.timeout = deadline.saturating_duration_since(Instant::now());
        if request.timeout.is_zero() {
            let message = "the time was up before the call could be sent";
            return Err(Box::new(Outcome::not_done(kind::TIMEOUT, message)));
        }
        self.send(request).await
    }

    fn pool(&self, timeout: Duration) -> &reqwest::Client {
        let longest = self.pools.longer.iter().find(|pool| pool.connect < timeout);
        longest.map_or(&self.pools.shortest, |pool| &pool.client)
    }
}

fn build(connect: Duration, guard: &Guard, tls: &rustls::ClientConfig) -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder()
        .dns_resolver(Arc::new(guard.clone()))
        .tls_backend_preconfigured(tls.clone())
        .connect_timeout(connect)
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(IDLE_PER_HOST_MAX)
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .http1_only()
        .user_agent(USER_AGENT)
        .build()
}

fn late(host: &str, timeout: Duration) -> Outcome {
    let message = format!("`{host}` did not answer within {} ms", timeout.as_millis());
    Outcome::Unknown(Failure::new(
        ActionError::new(kind::TIMEOUT, message).with_details(json!({"host": host})),
    ))
}

/// The outcome of a request that got no reply.
fn failed(error: &reqwest::Error, host: &str) -> Outcome {
    if let Some(refused) = guard_error(error) {
        return refused.outcome();
    }
    let failure = |kind, message| Failure::new(ActionError::new(kind, message).with_details(json!({"host": host})));
    let how = describe(error);
    if error.is_builder() {
        return Outcome::NotDone(failure(
            kind::INVALID_CONFIGURATION,
            format!("the request cannot be made: {how}"),
        ));
    }
    match (error.is_connect(), error.is_timeout()) {
        (true, true) => Outcome::NotDone(failure(kind::TIMEOUT, format!("no connection to `{host}` in time"))),
        (true, false) => Outcome::NotDone(failure(
            kind::NETWORK_ERROR,
            format!("no connection to `{host}`: {how}"),
        )),
        (false, true) => Outcome::Unknown(failure(kind::TIMEOUT, format!("`{host}` did not answer in time"))),
        (false, false) => Outcome::Unknown(failure(
            kind::NETWORK_ERROR,
            format!("the connection to `{host}` broke: {how}"),
        )),
    }
}

/// The guard's own word, if it was the guard that stopped the connection.
fn guard_error(error: &reqwest::Error) -> Option<&GuardError> {
    let mut source = error.source();
    while let Some(error) = source {
        if let Some(refused) = error.downcast_ref::<GuardError>() {
            return Some(refused);
        }
        source = error.source();
    }
    None
}

/// The innermost reason: the outer ones only say that something failed, and name the URL, which may hold secrets.
pub(super) fn describe(error: &reqwest::Error) -> String {
    let mut reason: &dyn StdError = match error.source() {
        Some(source) => source,
        None => return "for a reason the client did not give".to_owned(),
    };
    while let Some(source) = reason.source() {
        reason = source;
    }
    reason.to_string()
}
