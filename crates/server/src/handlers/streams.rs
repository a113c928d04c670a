//! Live streams: where they begin, and what refuses them before they do.

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use sprag_core::ids::ExecutionId;

use super::{executions, system};
use crate::access::rule::VIEWER;
use crate::app::App;
use crate::handlers::reply::Answer;
use crate::nodes::owner::{self, OwnerFirst};
use crate::openapi::{Operation, Route, Success, at, text, whole};
use crate::problem::shown::shown;
use crate::problem::{Code, FieldError, Problem};
use crate::request::path::Id;
use crate::request::query::{FromParams, Nothing, Params, Query};
use crate::streams::{Following, Hinting};

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/v1/stream").get(VIEWER, hints).is(hints_operation()),
        at("/v1/executions/{id}/stream")
            .get(VIEWER, follow)
            .is(follow_operation())
            .owner_first(OwnerFirst::Watched(owner::execution)),
    ]
}

fn hints_operation() -> Operation {
    Operation::new(
        system::RESOURCE,
        "hintChanges",
        "Stream hints about changed records, as server-sent events",
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

/// `GET /v1/stream`: hints at what changes, from now on.
pub(crate) async fn hints(State(app): State<App>, Query(Nothing): Query<Nothing>) -> Answer {
    Ok(Hinting::open(app)?.response())
}
