//! Live streams: where they begin, and what refuses them before they do.

use axum::extract::{FromRef as _, FromRequestParts, State};
use axum::http::request::Parts;
use sprag_core::document::source::nearest;
use sprag_core::ids::ExecutionId;
use sprag_wire::HintKind;

use super::{executions, system};
use crate::access::rule::VIEWER;
use crate::app::App;
use crate::handlers::reply::Answer;
use crate::handlers::workers::Shared;
use crate::handlers::workers::handlers::{self as workers, LogRange, Named};
use crate::nodes::owner::{self, OwnerFirst};
use crate::openapi::{Operation, Route, Success, at, text, whole};
use crate::problem::shown::shown;
use crate::problem::{Code, FieldError, Problem};
use crate::request::path::Id;
use crate::request::query::{FromParams, Params, Query};
use crate::streams::filter::{Filter, NAMES_MAX};
use crate::streams::{Following, Hinting, LogFollowing, LogStart};

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/v1/stream").get(VIEWER, hints).is(hints_operation()),
        at("/v1/executions/{id}/stream")
            .get(VIEWER, follow)
            .is(follow_operation())
            .owner_first(OwnerFirst::Watched(owner::execution)),
        at("/v1/workers/{path}/logs/stream")
            .get(VIEWER, follow_log)
            .is(log_operation()),
    ]
}

fn hints_operation() -> Operation {
    Operation::new(
        system::RESOURCE,
        "hintChanges",
        "Stream hints about changed records of all nodes, as server-sent events",
    )
    .query(
        "kind",
        text(),
        "Only hints of these kinds, with commas between them, such as `execution,deadLetter`.",
    )
    .query(
        "id",
        text(),
        "Only hints about these records, with commas between them. The id of an execution includes its actions.",
    )
    .gives(Success::of(
        200,
        "Events, until the client closes the connection.",
        "text/event-stream",
        text(),
    ))
    .reads()
    .refuses([Code::TooManyStreams])
}

fn follow_operation() -> Operation {
    executions::one(executions::operation(
        "followExecution",
        "Stream the history and all new events of an execution, as server-sent events",
    ))
    .query("after", whole(0), "Only after this sequence.")
    .header(
        "Last-Event-ID",
        whole(0),
        "The same as `after`, sent by a client that reconnects. It overrides `after`.",
    )
    .gives(Success::of(
        200,
        "Events, until the execution closes.",
        "text/event-stream",
        text(),
    ))
    .refuses([Code::LastEventIdInvalid, Code::TooManyStreams])
}

/// The header in which a reader that comes back says what it has seen.
const LAST_EVENT_ID: &str = "last-event-id";

/// `after`: the sequence of the last entry that the reader has.
pub(crate) struct After(Option<u64>);

impl FromParams for After {
    const KNOWN: &'static [&'static str] = &["after"];

    fn read(params: &mut Params) -> Self {
        Self(params.whole("after", 0, u64::MAX))
    }
}

/// The `Last-Event-ID` of a request, if it has one.
pub(crate) struct LastEventId(Option<u64>);

impl FromRequestParts<App> for LastEventId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _app: &App) -> Result<Self, Problem> {
        let mut given = parts.headers.get_all(LAST_EVENT_ID).iter();
        let Some(value) = given.next() else {
            return Ok(Self(None));
        };
        let text = String::from_utf8_lossy(value.as_bytes());
        match text.trim().parse() {
            Ok(sequence) if given.next().is_none() => Ok(Self(Some(sequence))),
            _ => Err(invalid(&text)),
        }
    }
}

fn invalid(text: &str) -> Problem {
    let detail = format!(
        "`Last-Event-ID: {}` is not the id of an event; send the `id` of the last event that you received, once",
        shown(text)
    );
    let error = FieldError {
        pointer: "Last-Event-ID".to_owned(),
        detail: detail.clone(),
    };
    Problem::new(Code::LastEventIdInvalid, detail).with_errors(vec![error])
}

/// `GET /v1/executions/{id}/stream`: its history from the beginning, or after what the reader has, and then live.
pub(crate) async fn follow(
    State(app): State<App>,
    Id(id): Id<ExecutionId>,
    Query(After(after)): Query<After>,
    LastEventId(last): LastEventId,
) -> Answer {
    // A browser that comes back repeats the address, `after` and all: what it saw since stands in the header.
    let after = last.or(after).unwrap_or(0);
    Ok(Following::open(app, id, after).await?.response())
}

fn log_operation() -> Operation {
    workers::one("followWorkerLogs", "Stream the log of a worker, as server-sent events")
        .query("lines", whole(0), "Begin with this many last lines. Default: 100.")
        .query("after", whole(0), "Begin after this `offset`.")
        .header(
            "Last-Event-ID",
            whole(0),
            "The same as `after`, sent by a client that reconnects. It overrides `after`.",
        )
        .gives(Success::of(
            200,
            "Events, until the client closes the connection.",
            "text/event-stream",
            text(),
        ))
        .refuses([Code::LastEventIdInvalid, Code::TooManyStreams])
}

/// `GET /v1/workers/{path}/logs/stream`: the last lines, or what follows an offset, and then live.
pub(crate) async fn follow_log(
    State(app): State<App>,
    Named(path): Named,
    Query(LogRange { lines, after }): Query<LogRange>,
    LastEventId(last): LastEventId,
) -> Answer {
    let start = match last.or(after) {
        Some(offset) => LogStart::After(offset),
        None => LogStart::Lines(lines.unwrap_or(workers::LINES)),
    };
    let shared = Shared::from_ref(&app);
    let log = shared.log(&path).await?;
    Ok(LogFollowing::open(app, log, start)?.response())
}

/// `kind` and `id`: which hints.
pub(crate) struct HintParams(Filter);

impl FromParams for HintParams {
    const KNOWN: &'static [&'static str] = &["kind", "id"];

    fn read(params: &mut Params) -> Self {
        let kinds = params.parsed("kind", |text| text.split(',').map(kind).collect());
        let ids = params.parsed("id", |text| {
            let ids: Vec<String> = text.split(',').map(str::to_owned).collect();
            let is_right = ids.len() <= NAMES_MAX && !ids.iter().any(String::is_empty);
            is_right
                .then_some(ids)
                .ok_or_else(|| format!("list 1 to {NAMES_MAX} ids with commas between them"))
        });
        Self(Filter {
            kinds: kinds.unwrap_or_default(),
            ids: ids.unwrap_or_default(),
        })
    }
}

fn kind(text: &str) -> Result<HintKind, String> {
    match HintKind::of(text) {
        HintKind::Other(unknown) => {
            let near = match nearest(&unknown, HintKind::WORDS.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known are {}", HintKind::WORDS.join(", ")),
            };
            Err(format!("`{}` is not a kind; {near}", shown(&unknown)))
        }
        kind => Ok(kind),
    }
}

/// `GET /v1/stream`: hints at what changes, from now on.
pub(crate) async fn hints(State(app): State<App>, Query(HintParams(filter)): Query<HintParams>) -> Answer {
    Ok(Hinting::open(app, filter)?.response())
}
