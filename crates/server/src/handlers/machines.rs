//! Machines: apply, lint, show.

use std::sync::Arc;

use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use sprag_core::access::ScopeKind;
use sprag_core::machine::Loaded;
use sprag_engine::requests::{self, Applied, Apply, Refusal};
use sprag_store::records::MachineVersion;
use sprag_wire as wire;

use crate::access::rule::{AUTHOR, VIEWER};
use crate::access::scope::{Asker, Target};
use crate::app::App;
use crate::handlers::reply::{Answer, created, ok};
use crate::openapi::{Operation, Route, at, text, version};
use crate::problem::shown::shown;
use crate::problem::{LISTED_MAX, Problem};
use crate::request::body::{Definition, FromFields};
use crate::request::etag::{IfMatch, IfNoneMatch, tagged, unchanged};
use crate::request::once::{Once, answered};
use crate::request::path::Path;
use crate::request::query::{FromParams, Nothing, Page, Params, Query, Rows};

/// The group.
pub(crate) const RESOURCE: &str = "machines";

fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
}

/// An operation on one machine.
pub(super) fn one(id: &'static str, summary: &'static str) -> Operation {
    operation(id, summary)
        .path("id", text(), "The name of the machine.")
        .reads()
        .refuses([requests::Code::MachineUnknown, requests::Code::VersionUnknown])
}

/// An operation that takes machines, sent or kept.
pub(super) fn of_source<B: FromFields>(id: &'static str, summary: &'static str) -> Operation {
    operation(id, summary).body::<B>().changes_nothing().reads().refuses([
        requests::Code::DefinitionInvalid,
        requests::Code::MachineUnknown,
        requests::Code::VersionUnknown,
    ])
}

fn shows(operation: Operation) -> Operation {
    operation
        .answers::<wire::Machine>(200, "The version with its definition.")
        .tagged()
        .if_changed()
}

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/v1/machines")
            .get(VIEWER, list)
            .is(
                operation("listMachines", "List machines with their newest versions, by name")
                    .paged()
                    .answers::<wire::Page<wire::MachineSummary>>(200, "The machines.")
                    .reads(),
            )
            .post(AUTHOR, apply)
            .is(apply_operation())
            .about(Target::Handler),
        at("/v1/machines/lint")
            .post(AUTHOR, lint)
            .is(operation("lintMachine", "Lint a machine file; store nothing")
                .definition()
                .answers::<wire::Linted>(200, "The findings.")
                .changes_nothing())
            .get(VIEWER, show_verb)
            .is(show_verb_operation("showMachineLint"))
            .about(Target::Handler),
        at("/v1/machines/{id}")
            .get(VIEWER, show)
            .is(shows(one("showMachine", "Show the newest version of a machine"))),
        at("/v1/machines/{id}/versions").get(VIEWER, versions).is(one(
            "listMachineVersions",
            "List the versions of a machine, newest first",
        )
        .paged()
        .answers::<wire::Page<wire::MachineSummary>>(200, "The versions.")),
        at("/v1/machines/{id}/counts").get(VIEWER, counts).is(one(
            "countMachineExecutions",
            "Count the open executions of a machine by state and version, up to 10,000",
        )
        .answers::<wire::MachineCounts>(200, "The counts.")),
        at("/v1/machines/{id}/versions/{version}")
            .get(VIEWER, show_version)
            .is(shows(one("showMachineVersion", "Show one version of a machine").path(
                "version",
                version(),
                "The version.",
            ))),
    ]
}

fn apply_operation() -> Operation {
    operation("applyMachine", "Apply a machine file as a new version")
        .definition()
        .answers::<wire::Applied>(201, "The new version. New executions use it.")
        .located()
        .tagged()
        .answers::<wire::Applied>(200, "The newest version has the same content. Nothing changed.")
        .tagged()
        .writes()
        .once()
        .audited()
        .if_match()
        .if_none()
        .refuses([requests::Code::DefinitionInvalid])
}

/// A machine whose name is that of a route.
pub(super) fn show_verb_operation(id: &'static str) -> Operation {
    operation(id, "Show the machine with this name")
        .alias()
        .answers::<wire::Machine>(200, "The machine.")
        .tagged()
        .if_changed()
        .reads()
        .refuses([requests::Code::MachineUnknown, requests::Code::VersionUnknown])
}

pub(crate) struct ListParams {
    page: Page,
}

impl FromParams for ListParams {
    const KNOWN: &'static [&'static str] = &["limit", "cursor"];

    fn read(params: &mut Params) -> Self {
        Self {
            page: params.page("machines"),
        }
    }
}

/// `GET /v1/machines`: every machine with its newest version, by name.
pub(crate) async fn list(State(app): State<App>, Query(ListParams { page }): Query<ListParams>) -> Answer {
    let (after, room, rows) = (page.after()?, app.flight.page().await?, Rows::default());
    let found = app.engine.read().machines(after, page.limit(), rows.writer()).await?;
    Ok(page.answer(&rows, found.next, room))
}

/// `POST /v1/machines`: keeps a new version, unless the newest one has the same digest; with `If-Match` only if the
/// newest version is still the one that was seen.
pub(crate) async fn apply(
    State(app): State<App>,
    caller: Asker,
    Query(Nothing): Query<Nothing>,
    IfMatch(matches): IfMatch,
    once: Once,
    definition: Definition,
) -> Answer {
    let loaded = load(&app, definition).await?;
    let Some(machine) = loaded.machine else {
        return Err(Problem::of_findings(loaded.findings));
    };
    caller.covers(ScopeKind::Machine, &machine.id)?;
    let machine = Arc::new(machine);
    Ok(answered(once.ask(Apply { machine, matches }).await, applied))
}

fn applied(applied: Applied) -> Response {
    let is_new = applied.created;
    let view = wire::Applied::from(applied);
    let location = format!("/v1/machines/{}/versions/{}", view.id, view.version);
    let shown = if is_new { created(location, &view) } else { ok(&view) };
    tagged(u64::from(view.version), shown)
}

/// `POST /v1/machines/lint`: everything wrong or doubtful; nothing is kept.
pub(crate) async fn lint(State(app): State<App>, Query(Nothing): Query<Nothing>, definition: Definition) -> Answer {
    let Loaded { machine, mut findings } = load(&app, definition).await?;
    let truncated = findings.len() > LISTED_MAX;
    findings.truncate(LISTED_MAX);
    Ok(ok(&wire::Linted {
        valid: machine.is_some(),
        permissions: machine.map_or_else(Vec::new, |machine| app.engine.read().permissions(&machine)),
        findings: findings.into_iter().map(Into::into).collect(),
        truncated,
    }))
}

/// Loads a definition that was sent.
pub(super) async fn load(app: &App, definition: Definition) -> Result<Loaded, Problem> {
    let engine = app.engine.clone();
    app.apart(move || engine.lint(&definition.text, definition.format))
        .await
}

/// `GET /v1/machines/{id}`: the newest version.
pub(crate) async fn show(
    State(app): State<App>,
    Path(id): Path<String>,
    seen: IfNoneMatch,
    Query(Nothing): Query<Nothing>,
) -> Answer {
    whole(&app, app.engine.read().machine(id, None).await?, &seen).await
}

/// `GET` of a machine whose name is also a verb: `lint`, `simulate` or `diff`.
pub(crate) async fn show_verb(
    State(app): State<App>,
    uri: Uri,
    seen: IfNoneMatch,
    Query(Nothing): Query<Nothing>,
) -> Answer {
    let id = uri.path().rsplit('/').next().unwrap_or_default();
    whole(&app, app.engine.read().machine(id.to_owned(), None).await?, &seen).await
}

pub(crate) struct VersionsParams {
    page: Page,
}

impl FromParams for VersionsParams {
    const KNOWN: &'static [&'static str] = &["limit", "cursor"];

    fn read(params: &mut Params) -> Self {
        Self {
            page: params.page("versions"),
        }
    }
}

/// `GET /v1/machines/{id}/versions`: newest first.
pub(crate) async fn versions(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(VersionsParams { page }): Query<VersionsParams>,
) -> Answer {
    let (after, room, rows) = (page.after()?, app.flight.page().await?, Rows::default());
    let look_up = app.engine.look_up();
    let found = look_up.machine_versions(id, after, page.limit(), rows.writer()).await?;
    Ok(page.answer(&rows, found.next, room))
}

/// `GET /v1/machines/{id}/counts`: how its open executions stand.
pub(crate) async fn counts(State(app): State<App>, Path(id): Path<String>, Query(Nothing): Query<Nothing>) -> Answer {
    Ok(ok(&app.engine.look_up().machine_counts(id).await?))
}

/// `GET /v1/machines/{id}/versions/{version}`
pub(crate) async fn show_version(
    State(app): State<App>,
    Path((id, version)): Path<(String, String)>,
    seen: IfNoneMatch,
    Query(Nothing): Query<Nothing>,
) -> Answer {
    let Ok(version) = version.parse() else {
        let detail = format!(
            "machine `{}` has no version `{}`; use another version, or omit it for the newest",
            shown(&id),
            shown(&version)
        );
        return Err(Refusal::new(requests::Code::VersionUnknown, detail).into());
    };
    whole(&app, app.engine.read().machine(id, Some(version)).await?, &seen).await
}

/// A version never changes, so its number is its tag.
async fn whole(app: &App, row: MachineVersion, seen: &IfNoneMatch) -> Result<Response, Problem> {
    let version = u64::from(row.version);
    if seen.has(version) {
        return Ok(unchanged(version));
    }
    Ok(tagged(version, ok(&app.engine.read().shown_machine(row).await?)))
}
