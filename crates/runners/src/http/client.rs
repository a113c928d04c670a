//! Sending, and saying what may have left when it fails.

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::redirect::Policy;
use serde_json::{Value, json};
use sprag_core::action::error::{ActionError, kind};
use sprag_core::action::outcome::{Failure, Outcome};
use sprag_core::action::runner::ConfigProblem;
use sprag_core::clock::Clock;
use sprag_core::time::Timestamp;
use tokio::time::{Instant, timeout_at};

use super::body::{self, Body, BodyEnd};
use super::reply::Reply;
use super::request::Request;
use super::wire::{Came, Exchange, Script, Wire};
use super::{retry_after, tls};
use crate::http::outbound::{Guard, GuardError, OptionsError};

/// How long a connection may take to open, name look-up and TLS included. There is one pool for each, and a request
/// uses the longest that is shorter than its own time: so when a request's time is up, its connection was open, and
/// something may have left.
const CONNECT_MILLIS: [u64; 6] = [10_000, 5_000, 2_000, 1_000, 400, 150];
/// The same for requests that have even less time; only these may be unknown although no connection opened.
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
    /// The guard of a detour could not be made.
    #[error(transparent)]
    Outbound(#[from] OptionsError),
}

/// The guarded HTTP client. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Client {
    guard: Guard,
    clock: Arc<dyn Clock>,
    transport: Transport,
    wire: Wire,
}

/// Where requests go.
#[derive(Clone)]
enum Transport {
    Network(Arc<Pools>),
    Scripted(Arc<dyn Script>),
}

/// What arrived of a reply.
struct Arrived {
    status: u16,
    headers: HeaderMap,
    body: Body,
}

/// Why a request got no reply.
enum Unanswered {
    /// The guard stopped it.
    Refused(Box<Outcome>),
    /// It could not be made of its parts.
    Unmade(String),
    /// No connection opened.
    NoConnection(Why),
    /// The connection was open, and no reply came.
    Broken(Why),
    /// The time was up.
    Late(Duration),
}

/// Why a connection failed.
enum Why {
    TooSlow,
    Failed(String),
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

impl Pools {
    fn new(guard: &Guard) -> Result<Self, BuildError> {
        let tls = tls::config()?;
        let mut longer = Vec::with_capacity(CONNECT_MILLIS.len());
        for connect in CONNECT_MILLIS.map(Duration::from_millis) {
            longer.push(Pool {
                connect,
                client: build(connect, guard, &tls)?,
            });
        }
        let shortest = build(Duration::from_millis(CONNECT_MILLIS_MIN), guard, &tls)?;
        Ok(Self { longer, shortest })
    }

    fn pool(&self, timeout: Duration) -> &reqwest::Client {
        let longest = self.longer.iter().find(|pool| pool.connect < timeout);
        longest.map_or(&self.shortest, |pool| &pool.client)
    }

    async fn send(&self, request: Request, deadline: Instant) -> Result<Arrived, Unanswered> {
        let Request {
            method,
            url,
            headers,
            body,
            timeout,
        } = request;
        let mut builder = self.pool(timeout).request(method, url).headers(headers);
        if let Some(body) = body {
            builder = builder.body(body);
        }
        let mut response = match timeout_at(deadline, builder.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(unanswered(&error)),
            Err(_) => return Err(Unanswered::Late(timeout)),
        };
        let body = body::read(&mut response, deadline).await;
        Ok(Arrived {
            status: response.status().as_u16(),
            headers: std::mem::take(response.headers_mut()),
            body,
        })
    }
}

impl Client {
    /// A client that reaches what `guard` lets it. `clock` is asked when a reply names a date.
    pub fn new(guard: Guard, clock: Arc<dyn Clock>) -> Result<Self, BuildError> {
        Self::over(guard, clock, Wire::default())
    }

    /// The same, over this wire.
    pub fn over(guard: Guard, clock: Arc<dyn Clock>, wire: Wire) -> Result<Self, BuildError> {
        let transport = match &wire.script {
            Some(script) => Transport::Scripted(Arc::clone(script)),
            // The guard still judges the address that a request names. The server of the detour is this process's own.
            None if wire.detour.is_some() => Transport::Network(Arc::new(Pools::new(&Guard::unguarded()?)?)),
            None => Transport::Network(Arc::new(Pools::new(&guard)?)),
        };
        Ok(Self {
            guard,
            clock,
            transport,
            wire,
        })
    }

    /// What lint says of the addresses that a configuration names outright and that this client does not reach.
    pub(crate) fn warnings(&self, config: &Value, pointers: &[&str]) -> Vec<ConfigProblem> {
        let warning = |pointer: &&str| self.guard.warning(config, pointer);
        pointers.iter().filter_map(warning).collect()
    }

    /// Engine time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Sends the request once and reads the reply. The error is the attempt's outcome: not done until the connection
    /// stood, unknown from then on.
    pub async fn send(&self, request: Request) -> Result<Reply, Box<Outcome>> {
        let Some(observer) = &self.wire.observer else {
            return self.exchange(request).await;
        };
        let started = Instant::now();
        let sent = request.clone();
        let came = self.exchange(request).await;
        observer.exchanged(Exchange {
            request: &sent,
            came: came.as_ref().map_err(AsRef::as_ref),
            took: started.elapsed(),
        });
        came
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

    async fn exchange(&self, mut request: Request) -> Result<Reply, Box<Outcome>> {
        self.guard
            .check_url(&request.url)
            .map_err(|error| Box::new(error.outcome()))?;
        let started = Instant::now();
        let deadline = started + request.timeout;
        let host = request.url.host_str().unwrap_or_default().to_owned();
        if let Some(detour) = &self.wire.detour {
            request.url = detour.lead(&request);
        }
        let arrived = match &self.transport {
            Transport::Network(pools) => pools.send(request, deadline).await,
            Transport::Scripted(script) => scripted(script.as_ref(), &request, deadline).await,
        };
        let Arrived { status, headers, body } = arrived.map_err(|why| Box::new(why.outcome(&host)))?;
        let retry_after = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        Ok(Reply {
            status,
            retry_after: retry_after.and_then(|text| retry_after::parse(text, self.clock.now())),
            headers,
            body,
            elapsed: started.elapsed(),
        })
    }
}

/// What a script lets arrive until the deadline.
async fn scripted(script: &dyn Script, request: &Request, deadline: Instant) -> Result<Arrived, Unanswered> {
    let answer = script.answer(request);
    let is_connecting = matches!(answer.came, Came::NoConnection(_));
    if tokio::time::timeout_at(deadline, tokio::time::sleep(answer.delay))
        .await
        .is_err()
    {
        return Err(if is_connecting {
            Unanswered::NoConnection(Why::TooSlow)
        } else {
            Unanswered::Late(request.timeout)
        });
    }
    match answer.came {
        Came::Reply {
            status,
            headers,
            body,
            is_cut,
        } => {
            let end = if is_cut {
                BodyEnd::Cut("the connection was cut".to_owned())
            } else {
                BodyEnd::Whole
            };
            Ok(Arrived {
                status,
                headers,
                body: Body::of(&body, end),
            })
        }
        Came::NoConnection(how) => Err(Unanswered::NoConnection(Why::Failed(how))),
        Came::Broken(how) => Err(Unanswered::Broken(Why::Failed(how))),
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

/// Why the network gave no reply.
fn unanswered(error: &reqwest::Error) -> Unanswered {
    if let Some(refused) = guard_error(error) {
        return Unanswered::Refused(Box::new(refused.outcome()));
    }
    let how = describe(error);
    if error.is_builder() {
        return Unanswered::Unmade(how);
    }
    let why = if error.is_timeout() {
        Why::TooSlow
    } else {
        Why::Failed(how)
    };
    if error.is_connect() {
        Unanswered::NoConnection(why)
    } else {
        Unanswered::Broken(why)
    }
}

impl Unanswered {
    /// The outcome of a request to `host` that got no reply.
    fn outcome(self, host: &str) -> Outcome {
        let failure =
            |kind, message: String| Failure::new(ActionError::new(kind, message).with_details(json!({"host": host})));
        match self {
            Self::Refused(outcome) => *outcome,
            Self::Unmade(how) => Outcome::NotDone(failure(
                kind::INVALID_CONFIGURATION,
                format!("the request cannot be made: {how}"),
            )),
            Self::NoConnection(Why::TooSlow) => {
                Outcome::NotDone(failure(kind::TIMEOUT, format!("no connection to `{host}` in time")))
            }
            Self::NoConnection(Why::Failed(how)) => Outcome::NotDone(failure(
                kind::NETWORK_ERROR,
                format!("no connection to `{host}`: {how}"),
            )),
            Self::Broken(Why::TooSlow) => {
                Outcome::Unknown(failure(kind::TIMEOUT, format!("`{host}` did not answer in time")))
            }
            Self::Broken(Why::Failed(how)) => Outcome::Unknown(failure(
                kind::NETWORK_ERROR,
                format!("the connection to `{host}` broke: {how}"),
            )),
            Self::Late(timeout) => Outcome::Unknown(failure(
                kind::TIMEOUT,
                format!("`{host}` did not answer within {} ms", timeout.as_millis()),
            )),
        }
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
