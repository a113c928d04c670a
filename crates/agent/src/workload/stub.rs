//! A stub server: it answers the requests of actions as their scenarios say, over real connections of this host.
//!
//! Each request asks its action's script for the next reply, and goes to the address under which the stub serves that reply once.
//! So the stub knows nothing about actions, and an action's script is used in order.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::iter;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use sprag_core::ids::scatter;
use sprag_core::machine::testing::{Cut, Ending, Mock, Reply, Script, Taken};
use sprag_runners::http::{self, Detour};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use url::Url;

use crate::plan::Scenario;

/// Replies that wait for their request at most; a request beyond finds none.
const REPLIES_MAX: usize = 200_000;

/// From one try to accept a connection to the next.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// The script of one action.
pub(super) type SharedScript = Arc<Mutex<Script>>;

tokio::task_local! {
    static SCRIPT: SharedScript;
}

/// Performs something whose requests are answered by this script.
pub(super) async fn within<T>(script: SharedScript, work: impl Future<Output = T>) -> T {
    SCRIPT.scope(script, work).await
}

/// The outcome of a whole attempt, if the script has one now.
pub(super) fn ending(script: &SharedScript) -> Option<Taken<Ending>> {
    locked(script).ending()
}

/// The scenarios of a plan.
pub(super) struct Scenarios {
    seed: u64,
    /// Each with the sum of the weights up to it.
    mocks: Vec<(u64, Vec<Mock>)>,
}

impl Scenarios {
    pub(super) fn new(scenarios: &[Scenario], seed: u64) -> Self {
        let mut sum = 0;
        let mocks = scenarios.iter().map(|scenario| {
            sum += u64::from(scenario.weight);
            (sum, scenario.mock.clone())
        });
        Self {
            seed,
            mocks: mocks.collect(),
        }
    }

    /// Which scenario the action of this number meets. The seed and the number alone decide.
    pub(super) fn draw(&self, number: u64) -> usize {
        let total = self.mocks.last().map_or(1, |(sum, _)| (*sum).max(1));
        let drawn = scatter(scatter(self.seed).wrapping_add(number)) % total;
        self.mocks.partition_point(|(sum, _)| *sum <= drawn)
    }

    /// The script of the action of this number.
    pub(super) fn script(&self, number: u64) -> SharedScript {
        let mock = self.mocks.get(self.draw(number)).map(|(_, mock)| mock.clone());
        Arc::new(Mutex::new(Script::new(mock.unwrap_or_default())))
    }
}

/// The server. It stops with its last owner.
pub(super) struct Stub {
    address: SocketAddr,
    /// Bound and not listening: connections to it are refused.
    refusing: (SocketAddr, TcpSocket),
    replies: Arc<Mutex<Replies>>,
    next: AtomicU64,
    serving: AbortHandle,
}

type Replies = BTreeMap<u64, Taken<Reply>>;

impl Stub {
    /// Listens on a free port of this host.
    pub(super) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let socket = TcpSocket::new_v4()?;
        socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        let replies: Arc<Mutex<Replies>> = Arc::default();
        let serving = tokio::spawn(serve(listener, Arc::clone(&replies)));
        Ok(Self {
            address,
            refusing: (socket.local_addr()?, socket),
            replies,
            next: AtomicU64::new(1),
            serving: serving.abort_handle(),
        })
    }

    /// Serves a reply once, at the address that is returned.
    fn plan(&self, reply: Taken<Reply>) -> Url {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut replies = locked(&self.replies);
        if replies.len() == REPLIES_MAX {
            replies.pop_first();
        }
        replies.insert(number, reply);
        at(self.address, number)
    }
}

impl Detour for Stub {
    fn lead(&self, request: &http::Request) -> Url {
        let drawn = SCRIPT.try_with(|script| locked(script).reply(request.url.as_str()));
        match drawn {
            Ok(Ok(taken)) if taken.what.cut != Some(Cut::Connect) => self.plan(taken),
            // The script cuts the connection, or has no reply to this address.
            Ok(_) => at(self.refusing.0, 0),
            // Actions share what they fetch outside of them: a token.
            Err(_) => self.plan(token()),
        }
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// The address of a reply.
fn at(address: SocketAddr, number: u64) -> Url {
    let text = format!("http://{address}/{number}");
    Url::parse(&text).unwrap_or_else(|error| unreachable!("`{text}` is an address: {error}"))
}

fn token() -> Taken<Reply> {
    Taken {
        number: 1,
        delay: 0,
        what: Reply {
            status: 200,
            headers: BTreeMap::new(),
            body: json!({"access_token": "stub", "token_type": "Bearer", "expires_in": 3_600}),
            cut: None,
        },
    }
}

async fn serve(listener: TcpListener, replies: Arc<Mutex<Replies>>) {
    let mut connections = JoinSet::new();
    loop {
        // Without a free descriptor there is no new connection, until one is closed.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_AGAIN).await;
            continue;
        };
        connections.spawn(connection(stream, Arc::clone(&replies)));
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(stream: TcpStream, replies: Arc<Mutex<Replies>>) {
    // Only a delay of small packets is at stake.
    let _ = stream.set_nodelay(true);
    let answer = service_fn(move |request: Request<Incoming>| {
        let number = request.uri().path().trim_start_matches('/').parse().unwrap_or_default();
        let reply = locked(&replies).remove(&number);
        answered(request, reply)
    });
    // A connection that a scenario cuts ends with an error.
    let _ = Builder::new().serve_connection(TokioIo::new(stream), answer).await;
}

/// The body of a reply; an error cuts the connection inside it.
type Body = StreamBody<futures_util::stream::Iter<std::vec::IntoIter<io::Result<Frame<Bytes>>>>>;

async fn answered(request: Request<Incoming>, reply: Option<Taken<Reply>>) -> io::Result<Response<Body>> {
    // The client may still be sending.
    let _ = request.into_body().collect().await;
    let Some(Taken { delay, what, .. }) = reply else {
        return Ok(response(StatusCode::NOT_FOUND, Bytes::new(), None));
    };
    tokio::time::sleep(Duration::from_millis(delay)).await;
    let Reply {
        status,
        headers,
        body,
        cut,
    } = what;
    if cut == Some(Cut::Request) {
        return Err(io::ErrorKind::ConnectionAborted.into());
    }
    let is_json = !matches!(body, Value::Null | Value::String(_));
    let bytes = match body {
        Value::Null => Bytes::new(),
        Value::String(text) => text.into(),
        other => other.to_string().into(),
    };
    let mut response = response(StatusCode::from_u16(status).unwrap_or_default(), bytes, cut);
    if is_json {
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
    }
    for (name, value) in &headers {
        // What no header can be is left out: a server could not have sent it.
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    Ok(response)
}

fn response(status: StatusCode, body: Bytes, cut: Option<Cut>) -> Response<Body> {
    let length = body.len() + usize::from(cut.is_some());
    let mut frames = vec![Ok(Frame::data(body))];
    if cut.is_some() {
        frames.push(Err(io::ErrorKind::ConnectionAborted.into()));
    }
    let mut response = Response::new(StreamBody::new(iter(frames)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_LENGTH, length.into());
    response
}

/// A task that panicked while it held the lock left whole entries behind.
fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
