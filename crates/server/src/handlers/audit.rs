//! The audit: what principals decided, and the ends of its chains.

use axum::extract::State;
use sprag_core::filter::{Condition, Resource};
use sprag_wire as wire;

use crate::access::rule::VIEWER;
use crate::app::App;
use crate::handlers::reply::{Answer, ok};
use crate::openapi::{Operation, Route, at};
use crate::request::query::{FromParams, Nothing, Page, Params, Query, Rows};

/// The group.
pub(crate) const RESOURCE: &str = "audit";

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/v1/audit").get(VIEWER, list).is(Operation::new(
            RESOURCE,
            "listAudit",
            "List decisions of principals, newest first",
        )
        .filtered()
        .paged()
        .answers::<wire::Page<wire::AuditEntry>>(200, "The entries.")
        .reads()),
        at("/v1/audit/heads").get(VIEWER, heads).is(Operation::new(
            RESOURCE,
            "showAuditHeads",
            "Show the ends of the audit's chains, to keep them elsewhere",
        )
        .answers::<wire::AuditHeads>(200, "The heads.")
        .reads()),
    ]
}

/// Which entries.
pub(crate) struct ListParams {
    condition: Condition,
    page: Page,
}

impl FromParams for ListParams {
    const KNOWN: &'static [&'static str] = &["filter", "limit", "cursor"];

    fn read(params: &mut Params) -> Self {
        Self {
            condition: params.filter(Resource::Audit),
            page: params.page("audit"),
        }
    }
}

/// `GET /v1/audit`: newest first.
pub(crate) async fn list(State(app): State<App>, Query(params): Query<ListParams>) -> Answer {
    let ListParams { condition, page } = params;
    let (after, room, rows) = (page.after()?, app.flight.page().await?, Rows::default());
    let mut write = rows.writer();
    let show = move |entry| write(wire::AuditEntry::from(entry));
    let found = app.engine.read().audit(condition, after, page.limit(), show).await?;
    Ok(page.answer(&rows, found.next, room))
}

/// `GET /v1/audit/heads`: keep them elsewhere, and a chain that was cut off is found.
pub(crate) async fn heads(State(app): State<App>, Query(Nothing): Query<Nothing>) -> Answer {
    let heads = app.engine.read().audit_heads().await?.into_iter();
    Ok(ok(&wire::AuditHeads {
        at: app.engine.now(),
        heads: heads.map(wire::AuditHead::from).collect(),
    }))
}
