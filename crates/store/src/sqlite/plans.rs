//! Plans: written once, and decided about until they end.

use rusqlite::{Connection, Row, params};
use sprag_core::ids::WorkflowId;
use sprag_core::time::Timestamp;

use super::columns::{Column, limit, one_row, page, page_rows, row, rows};
use super::filter::Filter;
use crate::page::{Page, Paged};
use crate::records::Plan;
use crate::traits::{DuePlan, OPEN_PLANS_MAX, OpenPlan, PlanQuery, Proposals, WaitingPlan};

/// What was proposed stays as it is: only what was decided about it changes.
pub(super) const PUT: &str = "\
    INSERT INTO plan (id, digest, content, name, proposer, ticket, risk, urgency, created_at, document, status, \
    updated_at, decide_by, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) \
    ON CONFLICT (id) DO UPDATE SET status = excluded.status, updated_at = excluded.updated_at, \
    decide_by = excluded.decide_by, body = excluded.body";

/// Lists begin with it.
const LIST: &str = "\
    SELECT id, digest, content, name, proposer, ticket, risk, urgency, created_at, document, status, updated_at, \
    decide_by, body FROM plan";

pub(super) const GET: &str = "\
    SELECT id, digest, content, name, proposer, ticket, risk, urgency, created_at, document, status, updated_at, \
    decide_by, body FROM plan WHERE id = ?1";

/// Without the hint the planner takes the index of the status and sorts.
pub(super) const WAITING: &str = "\
    SELECT id, digest, content, name, proposer, ticket, risk, urgency, created_at, document, status, updated_at, \
    decide_by, body FROM plan INDEXED BY plan_waiting WHERE status = 1 AND (urgency, id) > (?1, ?2) ORDER BY urgency, id LIMIT ?3";

pub(super) const OPEN: &str =
    "SELECT id, status, content FROM plan WHERE proposer = ?1 AND status <= 2 ORDER BY id DESC LIMIT ?2";

pub(super) const DUE: &str = "\
    SELECT id, decide_by FROM plan WHERE decide_by IS NOT NULL AND decide_by <= ?1 AND (decide_by, id) > (?2, ?3) \
    ORDER BY decide_by, id LIMIT ?4";

/// Writes a plan, or what was decided about it.
pub(super) fn put(connection: &Connection, record: &Plan) -> rusqlite::Result<()> {
    let Plan {
        id,
        digest,
        content,
        name,
        proposer,
        ticket,
        risk,
        urgency,
        created_at,
        document,
        status,
        updated_at,
        decide_by,
        body,
    } = record;
    let params = params![
        id.to_bytes(),
        digest,
        content,
        name,
        proposer,
        ticket,
        risk,
        urgency,
        Column(*created_at),
        document,
        *status as u8,
        Column(*updated_at),
        decide_by.map(Column),
        body
    ];
    one_row(connection.prepare_cached(PUT)?.execute(params)?)
}

/// One plan.
pub(super) fn get(connection: &Connection, id: WorkflowId) -> rusqlite::Result<Option<Plan>> {
    row(connection, GET, params![id.to_bytes()], read)
}

/// The open plans of a principal, newest first.
pub(super) fn proposals(connection: &Connection, proposer: &str) -> rusqlite::Result<Proposals> {
    let read = |row: &Row<'_>| {
        Ok(OpenPlan {
            plan: row.get::<_, Column<_>>(0)?.0,
            status: row.get::<_, Column<_>>(1)?.0,
            content: row.get(2)?,
        })
    };
    Ok(Proposals {
        proposer: proposer.to_owned(),
        open: rows(connection, OPEN, params![proposer, limit(OPEN_PLANS_MAX)], read)?,
    })
}

/// Plans that expire unless somebody decides, earliest first. An empty blob sorts before every id.
pub(super) fn due(
    connection: &Connection,
    until: Timestamp,
    Page { after, limit }: &Page<(Timestamp, WorkflowId)>,
) -> rusqlite::Result<Paged<DuePlan, (Timestamp, WorkflowId)>> {
    let (at, id) = after.unzip();
    let at = at.unwrap_or(Timestamp::from_millis(i64::MIN));
    let id = id.map(WorkflowId::to_bytes);
    let id = id.as_ref().map_or(&[][..], |id| &id[..]);
    let params = params![Column(until), Column(at), id, page_rows(*limit)];
    let read = |row: &Row<'_>| {
        Ok(DuePlan {
            plan: row.get::<_, Column<_>>(0)?.0,
            decide_by: row.get::<_, Column<_>>(1)?.0,
        })
    };
    page(connection, DUE, params, *limit, read, |due| (due.decide_by, due.plan))
}

/// Plans, newest first.
pub(super) fn list(connection: &Connection, query: &PlanQuery) -> rusqlite::Result<Paged<Plan, WorkflowId>> {
    let before = query.page.after.map(WorkflowId::to_bytes);
    filter(query, before.as_ref()).newest(connection, query.page.limit, read, |plan| plan.id)
}

/// The conditions of a query.
pub(super) fn filter<'a>(query: &'a PlanQuery, before: Option<&'a [u8; 16]>) -> Filter<'a> {
    let PlanQuery {
        status,
        proposer,
        ticket,
        name,
        page: _,
    } = query;
    let mut filter = Filter::new(LIST);
    filter.given("proposer = ?", proposer.as_ref());
    filter.given("ticket = ?", ticket.as_ref());
    filter.given("name = ?", name.as_ref());
    filter.given("id < ?", before);
    if let Some(status) = status {
        filter.condition(&format!("status = {}", *status as u8));
    }
    filter
}

/// Plans that wait for a person, most urgent first.
pub(super) fn waiting(
    connection: &Connection,
    Page { after, limit }: &Page<WaitingPlan>,
) -> rusqlite::Result<Paged<Plan, WaitingPlan>> {
    let id = after.map(|after| after.plan.to_bytes());
    let id = id.as_ref().map_or(&[][..], |id| &id[..]);
    let params = params![after.map_or(0, |after| after.urgency), id, page_rows(*limit)];
    page(connection, WAITING, params, *limit, read, WaitingPlan::of)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Plan> {
    Ok(Plan {
        id: row.get::<_, Column<_>>(0)?.0,
        digest: row.get(1)?,
        content: row.get(2)?,
        name: row.get(3)?,
        proposer: row.get(4)?,
        ticket: row.get(5)?,
        risk: row.get(6)?,
        urgency: row.get(7)?,
        created_at: row.get::<_, Column<_>>(8)?.0,
        document: row.get(9)?,
        status: row.get::<_, Column<_>>(10)?.0,
        updated_at: row.get::<_, Column<_>>(11)?.0,
        decide_by: row.get::<_, Option<Column<_>>>(12)?.map(|Column(at)| at),
        body: row.get(13)?,
    })
}
