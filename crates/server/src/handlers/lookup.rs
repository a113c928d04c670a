//! What people look up: any id, key or name, and what is due when.

use axum::extract::State;
use sprag_core::access::Role;
use sprag_core::ids::ExecutionId;
use sprag_core::time::Timestamp;
use sprag_store::records::TimerKey;
use sprag_store::traits::TimerPosition;
use sprag_wire as wire;

use crate::access::caller::Who;
use crate::access::rule::VIEWER;
use crate::app::App;
use crate::handlers::reply::{Answer, ok};
use crate::handlers::system;
use crate::openapi::{Operation, Route, Shape, at};
use crate::problem::{Code, FieldError, Problem};
use crate::request::query::{FromParams, Page, Params, Query, Rows};

/// The longest text to search for, in characters: a key.
const QUERY_CHARACTERS_MAX: usize = 512;
/// Hits of an answer.
const HITS_MAX: usize = 50;
/// How far ahead timers are listed, unless asked, in milliseconds.
const AHEAD_MILLIS: u64 = 3_600_000;

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    let query = serde_json::json!({ "type": "string", "minLength": 1, "maxLength": QUERY_CHARACTERS_MAX });
    vec![
        at("/v1/search").get(VIEWER, search).is(Operation::new(
            system::RESOURCE,
            "search",
            "Find any record by its id, key, name or path, or by how that begins",
        )
        .query("q", query, "What to search for. Required.")
        .answers::<wire::SearchResult>(200, "The hits: exact ones first.")
        .reads()),
        at("/v1/schedules").get(VIEWER, schedules).is(Operation::new(
            system::RESOURCE,
            "listSchedules",
            "List the schedules of all executions with their next and missed occurrences, earliest first",
        )
        .paged()
        .answers::<wire::Page<wire::ScheduledAction>>(200, "The schedules.")
        .reads()),
        at("/v1/timers").get(VIEWER, timers).is(Operation::new(
            system::RESOURCE,
            "listTimers",
            "List the timers of all executions that are due, earliest first",
        )
        .query(
            "before",
            Shape::of::<Timestamp>(),
            "Only timers that are due before this time. Default: in an hour.",
        )
        .paged()
        .answers::<wire::Page<wire::DueTimer>>(200, "The timers.")
        .reads()),
    ]
}

pub(crate) struct SearchParams(Option<String>);

impl FromParams for SearchParams {
    const KNOWN: &'static [&'static str] = &["q"];

    fn read(params: &mut Params) -> Self {
        Self(params.parsed("q", |text| {
            let text = text.trim();
            let is_long = text.chars().count() > QUERY_CHARACTERS_MAX;
            match (text.is_empty(), is_long) {
                (true, _) => Err("it is empty; enter an id, a key or a name".to_owned()),
                (_, true) => Err(format!("it is longer than {QUERY_CHARACTERS_MAX} characters")),
                _ => Ok(text.to_owned()),
            }
        }))
    }
}

/// `GET /v1/search`: whatever a text may mean.
pub(crate) async fn search(
    State(app): State<App>,
    Who(asker): Who,
    Query(SearchParams(query)): Query<SearchParams>,
) -> Answer {
    let query = query.ok_or_else(missing)?;
    let mut hits = app.engine.look_up().search(query.clone()).await?;
    if asker.caller.may(Role::Admin) {
        hits.extend(app.engine.look_up().found_tokens(&query));
    }
    hits.extend(workers(&app, &query).await);
    hits.sort_by_key(|hit| !hit.exact);
    let more = hits.len() > HITS_MAX;
    hits.truncate(HITS_MAX);
    Ok(ok(&wire::SearchResult {
        query,
        data: hits,
        more,
    }))
}

fn missing() -> Problem {
    let detail = "query parameter `q` is missing; add what to search for";
    Problem::new(Code::QueryInvalid, detail).with_errors(vec![FieldError {
        pointer: "?q".to_owned(),
        detail: detail.to_owned(),
    }])
}

/// The workers whose path, or its last part, begins with a text. A supervisor that has stopped has none.
async fn workers(app: &App, query: &str) -> Vec<wire::SearchHit> {
    let Some(workers) = app.workers.get() else {
        return Vec::new();
    };
    let list = workers.handle.list().await.unwrap_or_default();
    let is_meant =
        |path: &str| path.starts_with(query) || path.rsplit('/').next().is_some_and(|name| name.starts_with(query));
    let found = list.iter().filter(|worker| is_meant(&worker.path)).take(HITS_MAX);
    found
        .map(|worker| wire::SearchHit {
            kind: wire::HitKind::Worker,
            id: worker.path.to_string(),
            title: worker.path.to_string(),
            exact: *worker.path == *query,
            parent: None,
            status: Some(worker.state.to_owned()),
            machine: None,
        })
        .collect()
}

pub(crate) struct TimersParams {
    before: Option<Timestamp>,
    page: Page,
}

impl FromParams for TimersParams {
    const KNOWN: &'static [&'static str] = &["before", "limit", "cursor"];

    fn read(params: &mut Params) -> Self {
        Self {
            before: params.id("before"),
            page: params.page("timers"),
        }
    }
}

/// `GET /v1/timers`: what is due.
pub(crate) async fn timers(State(app): State<App>, Query(params): Query<TimersParams>) -> Answer {
    let TimersParams { before, page } = params;
    let until = before.unwrap_or_else(|| app.engine.now().plus(AHEAD_MILLIS));
    let (wanted, room, rows) = (wanted(&page)?, app.flight.page().await?, Rows::default());
    let found = app.engine.look_up().timers_until(until, wanted, rows.writer()).await?;
    Ok(page.answer(&rows, found.next.map(Position), room))
}

pub(crate) struct SchedulesParams(Page);

impl FromParams for SchedulesParams {
    const KNOWN: &'static [&'static str] = &["limit", "cursor"];

    fn read(params: &mut Params) -> Self {
        Self(params.page("schedules"))
    }
}

/// `GET /v1/schedules`: what is triggered when.
pub(crate) async fn schedules(State(app): State<App>, Query(SchedulesParams(page)): Query<SchedulesParams>) -> Answer {
    let (wanted, room, rows) = (wanted(&page)?, app.flight.page().await?, Rows::default());
    let found = app.engine.look_up().schedules(wanted, rows.writer()).await?;
    Ok(page.answer(&rows, found.next.map(Position), room))
}

fn wanted(page: &Page) -> Result<sprag_store::Page<TimerPosition>, Problem> {
    let after = page.after::<Position>()?.map(|Position(position)| position);
    Ok(sprag_store::Page::new(after, page.limit()))
}

/// Where a timer is in the order of due times, as the text of a cursor.
struct Position(TimerPosition);

impl std::fmt::Display for Position {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self((at, key)) = self;
        let TimerKey {
            execution,
            visit,
            index,
        } = key;
        write!(formatter, "{}.{execution}.{visit}.{index}", at.as_millis())
    }
}

impl std::str::FromStr for Position {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.splitn(4, '.');
        let mut part = || parts.next().ok_or(());
        let at = Timestamp::from_millis(part()?.parse().map_err(|_| ())?);
        let execution: ExecutionId = part()?.parse().map_err(|_| ())?;
        let visit = part()?.parse().map_err(|_| ())?;
        let index = part()?.parse().map_err(|_| ())?;
        Ok(Self((
            at,
            TimerKey {
                execution,
                visit,
                index,
            },
        )))
    }
}
