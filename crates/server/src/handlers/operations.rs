//! The catalog of operations: apply, list, show.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use sprag_engine::OperationsHandle;
use sprag_engine::requests;
use sprag_engine::requests::operations::{AppliedDocument, CatalogApplied};
use sprag_store::Page as StorePage;
use sprag_store::records::CatalogKind;
use sprag_wire as wire;

use crate::access::rule::{AUTHOR, VIEWER};
use crate::app::App;
use crate::handlers::reply::{Answer, accepted, made, ok};
use crate::openapi::{Operation, Route, at, text, words};
use crate::problem::Problem;
use crate::request::body::Definition;
use crate::request::once::{Once, answered};
use crate::request::path::Path;
use crate::request::query::{FromParams, Nothing, Page, Params, Query, Rows};

/// The group.
pub(crate) const RESOURCE: &str = "operations";

fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
}

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/v1/operations")
            .get(VIEWER, list)
            .is(
                operation("listOperations", "List the catalog by name, with the newest versions")
                    .query(
                        "kind",
                        words(&Listed::ALL.map(Listed::word)),
                        "What to list. Default: `operation`.",
                    )
                    .paged()
                    .answers::<wire::Page<wire::CatalogEntry>>(200, "The entries.")
                    .reads(),
            )
            .post(AUTHOR, apply)
            .is(apply_operation()),
        at("/v1/operations/{id}").get(VIEWER, show).is(operation(
            "showOperation",
            "Show an operation with its document",
        )
        .path("id", text(), "The name of the operation.")
        .answers::<wire::CatalogEntry>(200, "The operation.")
        .reads()
        .refuses([requests::Code::OperationUnknown])),
    ]
}

fn apply_operation() -> Operation {
    operation("applyOperations", "Apply a catalog file: all of its documents, or none")
        .catalog_file()
        .answers::<wire::Page<wire::AppliedDocument>>(201, "The documents with their versions.")
        .answers::<wire::Page<wire::AppliedDocument>>(200, "Every document is the newest version. Nothing changed.")
        .answers::<wire::Workflow>(
            202,
            "A document makes an operation weaker: another principal must approve it first.",
        )
        .located()
        .writes()
        .once()
        .refuses([requests::Code::DefinitionInvalid])
}

/// What a list of the catalog holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listed {
    /// What people applied.
    Stored(CatalogKind),
    /// What every server has.
    Builtin,
}

impl Listed {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [
        Self::Stored(CatalogKind::Operation),
        Self::Stored(CatalogKind::Subject),
        Self::Builtin,
    ];

    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Stored(kind) => kind.word(),
            Self::Builtin => "builtin",
        }
    }
}

pub(crate) struct ListParams {
    listed: Listed,
    page: Page,
}

impl FromParams for ListParams {
    const KNOWN: &'static [&'static str] = &["kind", "limit", "cursor"];

    fn read(params: &mut Params) -> Self {
        let listed = params.word("kind", &Listed::ALL, Listed::word);
        Self {
            listed: listed.unwrap_or(Listed::Stored(CatalogKind::Operation)),
            page: params.page("operations"),
        }
    }
}

/// `GET /v1/operations`: the newest version of everything of a kind, by name.
pub(crate) async fn list(State(app): State<App>, Query(params): Query<ListParams>) -> Answer {
    let ListParams { listed, page } = params;
    let Listed::Stored(kind) = listed else {
        return Ok(ok(&page.part(OperationsHandle::builtin_operations())?));
    };
    let (after, room, rows) = (page.after::<String>()?, app.flight.page().await?, Rows::default());
    let found = app
        .engine
        .operations()
        .catalog(kind, StorePage::new(after, page.limit()), rows.writer())
        .await?;
    Ok(page.answer(&rows, found.next, room))
}

/// `GET /v1/operations/{id}`: the newest version, with its document.
pub(crate) async fn show(State(app): State<App>, Path(id): Path<String>, Query(Nothing): Query<Nothing>) -> Answer {
    Ok(ok(&app.engine.operations().operation(id).await?))
}

/// `POST /v1/operations`: keeps new versions of all documents, or nothing. What makes an operation weaker waits for approval.
pub(crate) async fn apply(
    State(app): State<App>,
    Query(Nothing): Query<Nothing>,
    once: Once,
    definition: Definition,
) -> Answer {
    let engine = app.engine.clone();
    let file = app
        .apart(move || engine.operations().lint_catalog(&definition.text, definition.format))
        .await?;
    if !file.is_sound() {
        return Err(Problem::of_findings(file.findings));
    }
    let replied = once.engine.operations().apply_catalog(file, &once.asker).await;
    let is_waiting = |applied: &CatalogApplied| applied.workflow;
    let workflow = replied.answer.as_ref().ok().and_then(is_waiting);
    let Some(id) = workflow else {
        return Ok(answered(replied, applied));
    };
    let view = app.engine.operations().workflow(id).await?;
    Ok(answered(replied, |_| accepted(format!("/v1/workflows/{id}"), &view)))
}

fn applied(applied: CatalogApplied) -> Response {
    let is_new = applied.documents.iter().any(|document| document.created);
    let shown = |document: AppliedDocument| wire::AppliedDocument {
        kind: wire::CatalogKind::of(&document.kind),
        id: document.id,
        version: document.version,
        created: document.created,
    };
    let documents: Vec<wire::AppliedDocument> = applied.documents.into_iter().map(shown).collect();
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    made(status, &wire::Page::whole(documents))
}
