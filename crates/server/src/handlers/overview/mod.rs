//! The first page: how everything stands, and what is wrong.
//!
//! Everything it shows is bounded and at most about a second old. [`problems`] says what is wrong.

mod problems;

use std::time::Duration;

use axum::extract::State;
use sprag_engine::read::queue::LinesInMemory;
use sprag_engine::requests::{Code as RequestCode, Refusal};
use sprag_wire::{self as wire, Waiting, WaitingFor};

use self::problems::Found;
use crate::access::rule::VIEWER;
use crate::app::App;
use crate::handlers::reply::{Answer, ok};
use crate::handlers::system;
use crate::handlers::workers::views::IntoWire as _;
use crate::openapi::{Operation, Route, at};
use crate::request::query::{Nothing, Query};

/// How long the lane may take to answer: the page does not wait for an engine that is stuck.
const LANE_MAX: Duration = Duration::from_millis(500);
/// Switches and nodes that are shown.
const SHOWN_MAX: usize = 100;

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/v1/overview").get(VIEWER, show).is(Operation::new(
            system::RESOURCE,
            "showOverview",
            "Show what is wrong, ranked, and how much is open",
        )
        .answers::<wire::Overview>(200, "How everything stands.")
        .reads()),
    ]
}

/// `GET /v1/overview`
pub(crate) async fn show(State(app): State<App>, Query(Nothing): Query<Nothing>) -> Answer {
    let read = app.engine.read();
    let look_up = app.engine.look_up();
    let (standing, groups) = (look_up.standing().await?, look_up.letter_groups().await?);
    let lane = within(async { app.engine.operate().queue_in_memory().await }).await;
    let switches = within(async { app.engine.operate().switches().await }).await;
    let mut switches = switches.unwrap_or_default();
    switches.truncate(SHOWN_MAX);
    let workers = workers(&app).await;
    let mut nodes = system::known_cluster(&app).map_or_else(Vec::new, |cluster| cluster.nodes);
    nodes.truncate(SHOWN_MAX);
    let circuits = lane.as_ref().map_or_else(Vec::new, circuits);
    let (troubles, counts) = workers.map_or_else(Default::default, |(troubles, counts)| (troubles, Some(counts)));
    let problems = problems::ranked(&Found {
        now: app.engine.now(),
        is_stuck: lane.is_none(),
        standing: &standing,
        groups: &groups,
        switches: &switches,
        circuits: &circuits,
        nodes: &nodes,
        troubles: &troubles,
        notes: &read.notes(),
    });
    let count = problems::count;
    let open = &standing.counts;
    Ok(ok(&wire::Overview {
        at: app.engine.now(),
        problems,
        executions: wire::OpenExecutions {
            running: count(open.running),
            paused: count(open.paused),
            failed: count(open.failed),
        },
        actions: wire::OpenActions {
            queued: count(open.queued),
            oldest_queued_at: open.oldest_queued,
            running: count(open.attempts),
            retrying: count(open.retrying),
        },
        dead_letters: wire::OpenDeadLetters {
            open: count(open.dead),
            recent: problems::recent(&groups),
            groups: wire::Count {
                count: u64::try_from(groups.groups.len()).unwrap_or(u64::MAX),
                more: groups.more,
            },
        },
        approvals: count(open.approvals),
        switches,
        circuits,
        nodes,
        workers: counts,
    }))
}

/// What the lane answers; none from one that is stuck.
async fn within<T>(answer: impl Future<Output = Result<T, Refusal>>) -> Option<T> {
    let refused = |refusal: &Refusal| refusal.code != RequestCode::ShuttingDown;
    match tokio::time::timeout(LANE_MAX, answer).await {
        Ok(Ok(answer)) => Some(answer),
        Ok(Err(refusal)) => {
            if refused(&refusal) {
                tracing::debug!(detail = refusal.detail, "overview without the lane");
            }
            None
        }
        Err(_) => None,
    }
}

/// The destinations that queues wait for.
fn circuits(lane: &LinesInMemory) -> Vec<wire::OpenCircuit> {
    let open = lane.lines.values().filter_map(|line| match &line.waiting {
        Some(Waiting::Waiting {
            reason: WaitingFor::Circuit,
            object,
            until,
            ..
        }) => Some(wire::OpenCircuit {
            destination: object.clone(),
            until: *until,
        }),
        _ => None,
    });
    let mut open: Vec<wire::OpenCircuit> = open.collect();
    open.sort_by(|one, other| one.destination.cmp(&other.destination));
    open.dedup_by(|one, other| one.destination == other.destination);
    open.truncate(SHOWN_MAX);
    open
}

/// What is wrong with workers, and how many are well; none where nothing is supervised.
async fn workers(app: &App) -> Option<(Vec<sprag_supervisor::Trouble>, wire::WorkerCounts)> {
    let handle = &app.workers.get()?.handle;
    let (troubles, counts) = (handle.troubles().await.ok()?, handle.counts().await.ok()?);
    Some((troubles, counts.into_wire()))
}
