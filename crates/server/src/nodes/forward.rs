//! Requests about shards that other nodes serve: passed on to the node that decides, as they came, one hop.
//!
//! A request is tried here first; only where the engine says that another node decides on it, and nothing was decided,
//! it goes there with the token that nodes show each other. A POST that has no `Idempotency-Key` is given one, so that
//! passing it on again after a broken connection acts once. What is watched rather than asked (live streams, `?wait`)
//! goes to the owner at once, because only there it is heard.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sprag_core::access::Caller;
use sprag_core::ids::{NodeId, Slot};
use sprag_engine::lane::member::{Place, Whereabouts};
use sprag_engine::requests::{Code, Refusal};
use sprag_store::ShardId;

use crate::access::gate::FromNode;
use crate::app::App;
use crate::nodes::client::{NodeClient, at, shown};
use crate::nodes::owner::{self, OwnerFor};
use crate::nodes::peers;
use crate::nodes::polls::PassedOn;
use crate::problem::{Elsewhere, Problem};
use crate::request::body::whole;
use crate::request::once;

/// What nodes show each other.
pub(crate) const TOKEN: HeaderName = HeaderName::from_static("sprag-node-token");
/// For whom a node passes a request on.
pub(crate) const CALLER: HeaderName = HeaderName::from_static("sprag-node-caller");
/// How long another node may take to begin its answer: longer than the longest `?wait`.
const ANSWER_MAX: Duration = Duration::from_secs(75);
/// How often it is looked whether the node that was asked still decides on what it was asked.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How long the owner of an execution may take to explain it: after that it is explained by what is stored.
const EXPLAIN_MAX: Duration = Duration::from_secs(2);
/// How long a request is tried before the client must retry: longer than a shard has no owner while it is handed over.
const PASS_MAX: Duration = Duration::from_secs(3);
/// How long to wait before the next try.
const TRY_PAUSE: Duration = Duration::from_millis(100);
/// Says on an answer from one node to another that it does not decide on this either.
const MOVED: HeaderName = HeaderName::from_static("sprag-moved");

/// Headers that are about a connection, not about a request or its answer.
const OF_CONNECTIONS: [HeaderName; 6] = [
    header::CONNECTION,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::TE,
    header::TRAILER,
    header::HOST,
];

/// Passes requests on to other nodes.
#[derive(Clone)]
pub(crate) struct Forwarder {
    /// None where there are no other nodes.
    client: Option<NodeClient>,
    drawn: Arc<AtomicU64>,
}

impl Forwarder {
    pub(crate) fn new(client: Option<NodeClient>) -> Self {
        Self {
            client,
            drawn: Arc::default(),
        }
    }

    /// A unique idempotency key.
    fn key(&self, whereabouts: &Whereabouts) -> Option<HeaderValue> {
        HeaderValue::from_str(&format!("{}-{}", whereabouts.me(), self.turn())).ok()
    }

    /// A number for taking turns.
    pub(crate) fn turn(&self) -> u64 {
        self.drawn.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a request to another node, as a node.
    pub(crate) async fn send(
        &self,
        advertise: &str,
        token: &str,
        (parts, body): (&Parts, Bytes),
    ) -> Result<Response, String> {
        let client = self.client.as_ref().ok_or("this server has no way to other nodes")?;
        let request = addressed(advertise, token, parts, body)?;
        let answer = tokio::time::timeout(ANSWER_MAX, client.send(request)).await;
        let answer = answer.map_err(|_| "it did not answer in time".to_owned())??;
        let (mut head, body) = answer.into_parts();
        without_connection(&mut head.headers);
        Ok(Response::from_parts(head, Body::new(body)))
    }
}

/// The same request, for another node.
fn addressed(advertise: &str, token: &str, parts: &Parts, body: Bytes) -> Result<Request, String> {
    let path = parts.uri.path_and_query().cloned();
    let mut request = Request::new(Body::from(body));
    *request.method_mut() = parts.method.clone();
    *request.uri_mut() = at(advertise, path.unwrap_or_else(|| PathAndQuery::from_static("/")))?;
    request.headers_mut().clone_from(&parts.headers);
    without_connection(request.headers_mut());
    // A page of this node's own may ask; for the other node that is a foreign origin, and this node has looked.
    request.headers_mut().remove(header::ORIGIN);
    // The token stays here: what it allows goes along.
    request.headers_mut().remove(header::AUTHORIZATION);
    request.headers_mut().insert(TOKEN, shown(token)?);
    if let Some(caller) = parts.extensions.get::<Arc<Caller>>() {
        request.headers_mut().insert(CALLER, named(caller)?);
    }
    Ok(request)
}

/// A caller, for another node.
fn named(caller: &Caller) -> Result<HeaderValue, String> {
    let caller = serde_json::to_vec(caller).map_err(|error| error.to_string())?;
    HeaderValue::from_bytes(&caller).map_err(|error| error.to_string())
}

fn without_connection(headers: &mut HeaderMap) {
    for name in OF_CONNECTIONS {
        headers.remove(name);
    }
}

/// Passes on what another node decides on. Every request comes this way, and what it may take is moved for each: what most do not
/// need is boxed.
pub(crate) async fn forward(app: &App, request: Request, next: Next) -> Response {
    match app.engine.whereabouts() {
        None => next.run(request).await,
        Some(whereabouts) => Box::pin(among_nodes(app, whereabouts, request, next)).await,
    }
}

/// The same where there may be other nodes.
async fn among_nodes(app: &App, whereabouts: &Whereabouts, mut request: Request, next: Next) -> Response {
    if request.extensions().get::<FromNode>().is_some() {
        if peers::is_internal(request.uri()) {
            return Box::pin(peers::hear(app, request)).await;
        }
        // It was passed on already: one hop is all there is.
        request.extensions_mut().insert(PassedOn);
        let mut answer = next.run(request).await;
        if answer.extensions().get::<Elsewhere>().is_some() {
            answer.headers_mut().insert(MOVED, HeaderValue::from_static("true"));
        }
        return answer;
    }
    let (mut parts, body) = request.into_parts();
    match owner::wanted(&mut parts).await {
        Some(OwnerFor::Watched(slot)) => {
            if let Place::There { shard, .. } = whereabouts.place(slot) {
                return Box::pin(pass_on(app, whereabouts, (&parts, Bytes::new(), &next), shard)).await;
            }
        }
        Some(OwnerFor::Explained(slot)) => {
            if let Some(answer) = Box::pin(by_owner(app, whereabouts, &parts, slot)).await {
                return answer;
            }
        }
        None => {}
    }
    let bytes = whole(body).await;
    try_here(app, whereabouts, (parts, bytes), next).await
}

/// Tries here first. A request that could be anywhere, on a node that has nothing, finds its place by its new key.
async fn try_here(app: &App, whereabouts: &Whereabouts, asked: (Parts, Bytes), next: Next) -> Response {
    let (mut parts, bytes) = asked;
    let mut answer = run(&next, &parts, &bytes).await;
    // Whatever else went wrong is answered as it is: something may have been decided.
    let Some(Elsewhere(mut moved)) = answer.extensions().get().copied() else {
        return answer;
    };
    let is_bare = parts.method == Method::POST && !parts.headers.contains_key(once::KEY);
    if is_bare && let Some(key) = app.forwarder.key(whereabouts) {
        parts.headers.insert(once::KEY, key);
        if moved.is_none() {
            answer = run(&next, &parts, &bytes).await;
            moved = answer.extensions().get().and_then(|Elsewhere(shard)| *shard);
        }
    }
    match moved {
        Some(shard) => Box::pin(pass_on(app, whereabouts, (&parts, bytes, &next), shard)).await,
        None => answer,
    }
}

async fn run(next: &Next, parts: &Parts, bytes: &Bytes) -> Response {
    next.clone()
        .run(Request::from_parts(parts.clone(), Body::from(bytes.clone())))
        .await
}

/// Sends a request where it is decided on. The place may change meanwhile, and become this node: it is looked up again
/// for every try.
async fn pass_on(app: &App, whereabouts: &Whereabouts, asked: (&Parts, Bytes, &Next), shard: ShardId) -> Response {
    let (parts, bytes, next) = asked;
    let mut problem = String::from("no node owns its shard at the moment");
    let mut patience = pin!(tokio::time::sleep(PASS_MAX));
    while !patience.is_elapsed() {
        match whereabouts.place_of(shard) {
            Place::There { advertise, node, .. } => {
                let token = whereabouts.view().map(|view| view.token.clone()).unwrap_or_default();
                let answer = tokio::select! {
                    biased;
                    answer = app.forwarder.send(&advertise, &token, (parts, bytes.clone())) => answer,
                    () = moved(whereabouts, shard, node) => Err("it has another owner now".to_owned()),
                };
                match answer {
                    Ok(answer) if !answer.headers().contains_key(MOVED) => return answer,
                    Ok(_) => problem = format!("shard {} is moving from one node to another", shard.0),
                    Err(error) => problem = format!("the node of shard {} cannot be reached: {error}", shard.0),
                }
            }
            Place::Here => {
                let answer = run(next, parts, &bytes).await;
                if answer.extensions().get::<Elsewhere>().is_none() {
                    return answer;
                }
            }
            Place::Nowhere { .. } => {}
        }
        tokio::select! {
            () = tokio::time::sleep(TRY_PAUSE) => {}
            () = &mut patience => {}
        }
    }
    let detail = format!("{problem}; try again in a moment");
    Problem::from(Refusal::new(Code::ShardMoved, detail)).into_response()
}

/// Waits until a node does not serve a shard any more: one that stands still would never say so. What it was asked
/// is asked elsewhere then, and acts once, because it has a key.
async fn moved(whereabouts: &Whereabouts, shard: ShardId, from: NodeId) {
    let is_there = |place| matches!(place, Place::There { node, .. } if node == from);
    while is_there(whereabouts.place_of(shard)) {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// The answer of the owner, if another node is and can be asked: it knows more than what is stored.
async fn by_owner(app: &App, whereabouts: &Whereabouts, parts: &Parts, slot: Slot) -> Option<Response> {
    let Place::There { advertise, .. } = whereabouts.place(slot) else {
        return None;
    };
    let token = whereabouts.view()?.token.clone();
    let asked = app.forwarder.send(&advertise, &token, (parts, Bytes::new()));
    let answer = tokio::time::timeout(EXPLAIN_MAX, asked).await.ok()?.ok()?;
    answer.status().is_success().then_some(answer)
}
