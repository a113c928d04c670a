//! The server itself: is it there, is it ready, what are its bounds.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use sprag_core::document::source::DEFINITION_BYTES_MAX;
use sprag_core::ids::NodeId;
use sprag_core::machine::schema;
use sprag_core::time::Timestamp;
use sprag_engine::Limits;
use sprag_store::nodes::{Node, Shard, View};
use sprag_wire as wire;

use super::pages;
use crate::access::caller::Who;
use crate::access::rule::{ADMIN, Rule, VIEWER};
use crate::app::App;
use crate::handlers::reply::{Answer, ok};
use crate::openapi::{Operation, Route, Success, at, text};
use crate::problem::shown::shown;
use crate::problem::{Code, Problem, page};
use crate::request::body::{Body, NoFields};
use crate::request::path::Path;
use crate::request::query::{LIMIT_MAX, Nothing, Query, WAIT_MAX};

/// The group of the server itself.
pub(crate) const RESOURCE: &str = "system";

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/healthz").get(Rule::Public, healthy).is(Operation::lenient(
            RESOURCE,
            "showHealth",
            "Check that the server answers",
        )
        .answers::<wire::Health>(200, "The server answers.")),
        at("/readyz").get(Rule::Public, ready).is(Operation::lenient(
            RESOURCE,
            "showReadiness",
            "Check that the engine accepts requests and the store can be read",
        )
        .answers::<wire::Health>(200, "The server is ready.")
        .refuses([Code::NotReady])),
        at("/errors/{code}")
            .get(Rule::Public, error_page)
            .is(
                Operation::lenient(pages::RESOURCE, "showError", "Return the page of an error code")
                    .path("code", text(), "The code.")
                    .gives(Success::of(
                        200,
                        "The page, in Markdown.",
                        "text/markdown; charset=utf-8",
                        text(),
                    ))
                    .refuses([Code::RouteUnknown]),
            ),
        at("/v1/system").get(VIEWER, show).is(Operation::new(
            RESOURCE,
            "showSystem",
            "Show version, store, limits and nodes of the server",
        )
        .answers::<wire::System>(200, "The server.")),
        at("/v1/system/clock").put(ADMIN, accept_clock).is(Operation::new(
            RESOURCE,
            "acceptClock",
            "Accept the clock, so that retention continues after a clock jump",
        )
        .body::<NoFields>()
        .answers::<wire::System>(200, "The server.")
        .writes()
        .audited()),
        at("/v1/schemas/machine")
            .get(VIEWER, machine_schema)
            .is(machine_schema_operation()),
    ]
}

fn machine_schema_operation() -> Operation {
    let schema = json!({ "type": "object", "required": ["$schema", "$ref", "$defs"] });
    Operation::new(
        pages::RESOURCE,
        "showMachineSchema",
        "Return the JSON Schema of a machine file",
    )
    .gives(Success::of(200, "The schema.", "application/schema+json", schema))
}

fn well(status: wire::HealthStatus, notes: Vec<wire::Note>) -> wire::Health {
    wire::Health { status, notes }
}

/// The nodes that share the database, as this one sees them.
fn cluster(me: NodeId, view: &View, now: Timestamp) -> wire::Cluster {
    let owned = |id| view.shards.iter().filter(|shard| shard.owner == Some(id)).count();
    let node = |node: &Node| wire::Node {
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
    let shard = |shard: &Shard| wire::Shard {
        id: shard.id.0,
        owner: shard.owner,
        epoch: shard.epoch,
    };
    wire::Cluster {
        node: me,
        lag: now.since(view.now),
        nodes: view.nodes.iter().map(node).collect(),
        shards: view.shards.iter().map(shard).collect(),
    }
}

fn bounds(limits: Limits, body_bytes: usize) -> wire::Bounds {
    let Limits {
        message_bytes,
        variables_bytes,
        json_depth,
        microsteps,
        inbox,
        history_page,
    } = limits;
    wire::Bounds {
        body_bytes,
        definition_bytes: DEFINITION_BYTES_MAX,
        message_bytes,
        variables_bytes,
        json_depth,
        microsteps,
        inbox,
        history_page,
        list_page: LIMIT_MAX,
        wait: u64::try_from(WAIT_MAX.as_millis()).unwrap_or(u64::MAX),
    }
}

/// `GET /healthz`: the process answers.
pub(crate) async fn healthy() -> Response {
    ok(&well(wire::HealthStatus::Ok, Vec::new()))
}

/// `GET /readyz`: the lane answers and the store can be read.
pub(crate) async fn ready(State(app): State<App>) -> Answer {
    let not_ready = |refusal: sprag_engine::requests::Refusal| Problem::new(Code::NotReady, refusal.detail);
    app.engine.operate().queue_in_memory().await.map_err(not_ready)?;
    app.engine
        .read()
        .execution_by_key(String::new(), String::new())
        .await
        .map_err(not_ready)?;
    Ok(ok(&well(wire::HealthStatus::Ready, app.engine.read().notes())))
}

/// `GET /errors/{code}`: the page that a problem's `type` leads to.
pub(crate) async fn error_page(Path(code): Path<String>) -> Answer {
    match page(&code) {
        Some(page) => Ok(([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], page).into_response()),
        None => Err(Problem::new(
            Code::RouteUnknown,
            format!("there is no error code `{}`; `/errors` lists all codes", shown(&code)),
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
    Who(asker): Who,
    Body(NoFields {}): Body<NoFields>,
) -> Answer {
    app.engine.operate().accept_clock(&asker).await?;
    Ok(system(&app))
}

/// The nodes that share the database, where several can.
pub(crate) fn known_cluster(app: &App) -> Option<wire::Cluster> {
    let whereabouts = app.engine.whereabouts()?;
    Some(cluster(whereabouts.me(), &*whereabouts.view()?, app.engine.now()))
}

fn system(app: &App) -> Response {
    ok(&wire::System {
        version: env!("CARGO_PKG_VERSION").into(),
        store: app.settings.store.clone(),
        limits: bounds(app.engine.limits(), app.settings.body_bytes),
        notes: app.engine.read().notes(),
        cluster: known_cluster(app),
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
