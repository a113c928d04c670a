//! The server itself: is it there, is it ready, what are its bounds.

use std::time::Duration;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use sprag_core::ids::NodeId;
use sprag_core::machine::schema;
use sprag_core::source::DEFINITION_BYTES_MAX;
use sprag_core::time::Timestamp;
use sprag_engine::{Limits, Note};
use sprag_store::nodes::{Node, Shard, View};

use crate::app::App;
use crate::body::{Body, NoFields};
use crate::handlers::WHO;
use crate::path::Path;
use crate::problem::{Code, Problem, page};
use crate::query::{LIMIT_MAX, Nothing, Query, WAIT_MAX};
use crate::reply::{Answer, ok};
use crate::shown::shown;

/// How a server answers that it is well.
#[derive(Serialize)]
struct Health {
    status: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<Note>,
}

impl Health {
    fn well(status: &'static str) -> Self {
        let notes = Vec::new();
        Self { status, notes }
    }
}

/// The server as `GET /v1/system` shows it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SystemView<'a> {
    version: &'static str,
    store: &'a str,
    limits: LimitsView,
    /// What an operator should know.
    notes: Vec<Note>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<ClusterView>,
}

/// The nodes that share the database, as this one sees them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClusterView {
    /// This node.
    node: NodeId,
    /// Milliseconds since its last heartbeat.
    lag: u64,
    nodes: Vec<NodeView>,
    shards: Vec<ShardView>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeView {
    id: NodeId,
    advertise: String,
    version: String,
    alive: bool,
    /// About to leave: what it has is handed over.
    leaving: bool,
    joined_at: Timestamp,
    lease_until: Timestamp,
    /// How many shards it owns.
    shards: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShardView {
    id: u32,
    owner: Option<NodeId>,
    epoch: u64,
}

impl ClusterView {
    fn of(me: NodeId, view: &View, now: Timestamp) -> Self {
        let owned = |id| view.shards.iter().filter(|shard| shard.owner == Some(id)).count();
        let node = |node: &Node| NodeView {
            id: node.id,
            advertise: node.advertise.clone(),
            version: node.version.clone(),
            // Not as of the last heartbeat: a node that hears nothing must not show others as alive for ever.
            alive: node.is_alive(now),
            leaving: node.is_leaving,
            joined_at: node.joined_at,
            lease_until: node.lease_until,
            shards: owned(node.id),
        };
        let shard = |shard: &Shard| ShardView {
            id: shard.id.0,
            owner: shard.owner,
            epoch: shard.epoch,
        };
        Self {
            node: me,
            lag: now.since(view.now),
            nodes: view.nodes.iter().map(node).collect(),
            shards: view.shards.iter().map(shard).collect(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LimitsView {
    body_bytes: usize,
    definition_bytes: usize,
    message_bytes: usize,
    variables_bytes: usize,
    json_depth: usize,
    microsteps: u32,
    inbox: usize,
    history_page: usize,
    list_page: usize,
    #[serde(serialize_with = "millis")]
    wait: Duration,
}

fn millis<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

impl LimitsView {
    fn of(limits: Limits, body_bytes: usize) -> Self {
        let Limits {
            message_bytes,
            variables_bytes,
            json_depth,
            microsteps,
            inbox,
            history_page,
        } = limits;
        Self {
            body_bytes,
            definition_bytes: DEFINITION_BYTES_MAX,
            message_bytes,
            variables_bytes,
            json_depth,
            microsteps,
            inbox,
            history_page,
            list_page: LIMIT_MAX,
            wait: WAIT_MAX,
        }
    }
}

/// `GET /healthz`: the process answers.
pub(crate) async fn healthy() -> Response {
    ok(&Health::well("ok"))
}

/// `GET /readyz`: the lane answers and the store can be read.
pub(crate) async fn ready(State(app): State<App>) -> Answer {
    let not_ready = |refusal: sprag_engine::command::Refusal| Problem::new(Code::NotReady, refusal.detail);
    app.engine.queue_in_memory().await.map_err(not_ready)?;
    app.engine
        .execution_by_key(String::new(), String::new())
        .await
        .map_err(not_ready)?;
    let status = "ready";
    let notes = app.engine.notes();
    Ok(ok(&Health { status, notes }))
}

/// `GET /errors/{code}`: the page that a problem's `type` leads to.
pub(crate) async fn error_page(Path(code): Path<String>) -> Answer {
    match page(&code) {
        Some(page) => Ok(([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], page).into_response()),
        None => Err(Problem::new(
            Code::RouteUnknown,
            format!("there is no error code `{}`", shown(&code)),
        )),
    }
}

/// `GET /v1/system`
pub(crate) async fn show(State(app): State<App>, Query(Nothing): Query<Nothing>) -> Response {
    system(&app)
}

/// `PUT /v1/system/clock`: a person says that the clock is right.
pub(crate) async fn accept_clock(
    State(app): State<App>,
    Query(Nothing): Query<Nothing>,
    Body(NoFields): Body<NoFields>,
) -> Answer {
    app.engine.accept_clock(WHO.to_owned()).await?;
    Ok(system(&app))
}

fn system(app: &App) -> Response {
    let limits = LimitsView::of(app.engine.limits(), app.settings.body_bytes);
    let whereabouts = app.engine.whereabouts();
    let cluster = whereabouts.and_then(|known| Some((known.me(), known.view()?)));
    let cluster = cluster.map(|(me, view)| ClusterView::of(me, &view, app.engine.now()));
    ok(&SystemView {
        version: env!("CARGO_PKG_VERSION"),
        store: &app.settings.store,
        limits,
        notes: app.engine.notes(),
        cluster,
    })
}

/// `GET /v1/schemas/machine`: for editors.
pub(crate) async fn machine_schema(Query(Nothing): Query<Nothing>) -> Response {
    (
        [(header::CONTENT_TYPE, "application/schema+json")],
        schema().to_string(),
    )
        .into_response()
}
