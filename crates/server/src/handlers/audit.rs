//! The audit: what principals decided, and the ends of its chains.

use axum::extract::State;
use sprag_core::filter::{Condition, Resource};
use sprag_wire as wire;

use crate::app::App;
use crate::handlers::reply::{Answer, ok};
use crate::request::query::{FromParams, Nothing, Page, Params, Query, Rows};

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
