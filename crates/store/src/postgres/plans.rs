//! Plans: written once, and decided about until they end.

use sprag_core::ids::WorkflowId;
use sprag_core::text::is_storable;
use sprag_core::time::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::columns::{
    self, Id, as_wanted, column, digest, id_at, instant, number, numbered, page_rows, row_bytes, shard,
};
use super::part::{StatementPart, Text};
use super::search::{Filter, Listed};
use super::session::{Session, list};
use crate::page::{Page, Paged, paged};
use crate::records::{Plan, WorkflowStatus};
use crate::traits::{DuePlan, Error, OPEN_PLANS_MAX, OpenPlan, PlanQuery, Proposals, WaitingPlan};

/// What was proposed stays as it is: only what was decided about it changes.
const PUT: Text = Text::new(
    "put_plans AS (INSERT INTO plan (id, created_at, updated_at, decide_by, shard, status, risk, urgency, name, proposer, \
    ticket, digest, content, document, body) \
    SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::smallint[], $6::smallint[], \
    $7::smallint[], $8::smallint[], $9::text[], $10::text[], $11::text[], $12::bytea[], $13::bytea[], $14::bytea[], \
    $15::bytea[]) ON CONFLICT (id) DO UPDATE SET status = excluded.status, updated_at = excluded.updated_at, \
    decide_by = excluded.decide_by, body = excluded.body)",
);

const LIST: Listed = Listed {
    columns: "id, digest, content, name, proposer, ticket, risk, urgency, created_at, document, status, updated_at, \
              decide_by, body",
    table: "plan",
    bytes: "octet_length(document) + octet_length(body)",
};

pub(super) const GET: &str = "\
    SELECT id, digest, content, name, proposer, ticket, risk, urgency, created_at, document, status, updated_at, \
    decide_by, body FROM plan WHERE id = ANY($1::uuid[])";

/// The server sends only the rows that fit. `$5` is what a row counts for besides its unbounded columns.
const WAITING: &str = "\
    SELECT id, digest, content, name, proposer, ticket, risk, urgency, created_at, document, status, updated_at, \
    decide_by, body, continues \
    FROM (SELECT *, sum(bytes) OVER listed AS total, lead(true, 1, false) OVER listed AS continues FROM \
    (SELECT *, $5::int + octet_length(document) + octet_length(body) AS bytes FROM plan \
    WHERE status = 1 AND (urgency, id) > ($1, $2) ORDER BY urgency, id LIMIT $3::bigint) AS found \
    WINDOW listed AS (ORDER BY urgency, id)) AS page \
    WHERE total <= $4 OR total = bytes ORDER BY urgency, id LIMIT $3::bigint - 1";

pub(super) const OPEN: &str = "\
    SELECT wanted.proposer, open.id, open.status, open.content FROM unnest($1::text[]) AS wanted (proposer) \
    CROSS JOIN LATERAL (SELECT id, status, content FROM plan WHERE plan.proposer = wanted.proposer \
    AND plan.status <= 2 ORDER BY id DESC LIMIT $2) AS open ORDER BY wanted.proposer, open.id DESC";

pub(super) const DUE: &str = "\
    SELECT id, decide_by FROM plan WHERE shard = $1 AND decide_by IS NOT NULL AND decide_by <= $2 \
    AND (decide_by, id) > ($3, $4) ORDER BY decide_by, id LIMIT $5";

/// Writes plans, or what was decided about them.
pub(super) fn put<'a>(records: &[&'a Plan], shards: u32) -> StatementPart<'a> {
    StatementPart::new(
        PUT,
        vec![
            list(records, |record| Id::from(record.id)),
            list(records, |record| record.created_at.as_millis()),
            list(records, |record| record.updated_at.as_millis()),
            list(records, |record| record.decide_by.map(Timestamp::as_millis)),
            list(records, |record| shard(record.id.slot(), shards)),
            list(records, |record| record.status as i16),
            list(records, |record| i16::from(record.risk)),
            list(records, |record| i16::from(record.urgency)),
            list(records, |record| record.name.as_str()),
            list(records, |record| record.proposer.as_str()),
            list(records, |record| record.ticket.as_deref()),
            list(records, |record| record.digest.as_slice()),
            list(records, |record| record.content.as_slice()),
            list(records, |record| record.document.as_slice()),
            list(records, |record| record.body.as_slice()),
        ],
    )
}

/// Plans, in the order in which they are wanted.
pub(super) async fn get(session: &Session, ids: &[WorkflowId]) -> Result<Vec<Plan>, Error> {
    let wanted: Vec<Id> = ids.iter().copied().map(Id::from).collect();
    let found = session.all(GET, &[&wanted], read).await?;
    Ok(as_wanted(ids, &found, |plan| &plan.id))
}

/// The open plans of principals, newest first.
pub(super) async fn proposals(session: &Session, proposers: &[String]) -> Result<Vec<Proposals>, Error> {
    // The server would refuse the whole question for one text that it cannot hold.
    let storable: Vec<&String> = proposers.iter().filter(|proposer| is_storable(proposer)).collect();
    let read = |row: &Row| {
        let open = OpenPlan {
            plan: id_at(row, 1)?,
            status: numbered(row, 2, &WorkflowStatus::ALL)?,
            content: digest(row, 3)?,
        };
        Ok((column::<String>(row, 0)?, open))
    };
    let found = session
        .all(OPEN, &[&storable, &columns::limit(OPEN_PLANS_MAX)], read)
        .await?;
    let of = |proposer: &String| Proposals {
        proposer: proposer.clone(),
        open: found
            .iter()
            .filter(|(found, _)| found == proposer)
            .map(|(_, open)| *open)
            .collect(),
    };
    Ok(proposers.iter().map(of).collect())
}

/// Plans that expire unless somebody decides, earliest first.
pub(super) async fn due(
    session: &Session,
    shard: i16,
    until: Timestamp,
    Page { after, limit }: &Page<(Timestamp, WorkflowId)>,
) -> Result<Paged<DuePlan, (Timestamp, WorkflowId)>, Error> {
    let (at, id) = after.map_or((i64::MIN, Id::FIRST), |(at, id)| (at.as_millis(), id.into()));
    let values: [&(dyn ToSql + Sync); 5] = [&shard, &until.as_millis(), &at, &id, &page_rows(*limit)];
    let read = |row: &Row| {
        Ok(DuePlan {
            plan: id_at(row, 0)?,
            decide_by: instant(row, 1)?,
        })
    };
    let found = session.all(DUE, &values, read).await?;
    paged(found.into_iter().map(Ok), *limit, |due| (due.decide_by, due.plan))
}

/// Plans, newest first.
pub(super) async fn newest(session: &Session, query: &PlanQuery) -> Result<Paged<Plan, WorkflowId>, Error> {
    let PlanQuery {
        status,
        proposer,
        ticket,
        name,
        page: Page { after, limit },
    } = query;
    let texts = [proposer, ticket, name];
    if texts.into_iter().flatten().any(|text| !is_storable(text)) {
        return Ok(Paged::default());
    }
    let mut filter = Filter::new(&LIST);
    filter.given("proposer = ", proposer.as_deref(), &Type::TEXT);
    filter.given("ticket = ", ticket.as_deref(), &Type::TEXT);
    filter.given("name = ", name.as_deref(), &Type::TEXT);
    filter.given("id < ", after.map(Id::from), &Type::UUID);
    if let Some(status) = status {
        filter.condition(&format!("status = {}", *status as u8));
    }
    let found = filter.newest(session, *limit).await?;
    columns::page(&found, read, |plan| plan.id)
}

/// Plans that wait for a person, most urgent first.
pub(super) async fn waiting(
    session: &Session,
    Page { after, limit }: &Page<WaitingPlan>,
) -> Result<Paged<Plan, WaitingPlan>, Error> {
    let (urgency, id) = after.map_or((0, Id::FIRST), |after| (i16::from(after.urgency), after.plan.into()));
    let values: [&(dyn ToSql + Sync); 5] = [
        &urgency,
        &id,
        &page_rows(*limit),
        &columns::limit(limit.bytes),
        &row_bytes(),
    ];
    columns::page(&session.rows(WAITING, &values).await?, read, WaitingPlan::of)
}

fn read(row: &Row) -> Result<Plan, Error> {
    let decide_by: Option<i64> = column(row, 12)?;
    Ok(Plan {
        id: id_at(row, 0)?,
        digest: digest(row, 1)?,
        content: digest(row, 2)?,
        name: column(row, 3)?,
        proposer: column(row, 4)?,
        ticket: column(row, 5)?,
        risk: number::<i16, _>(row, 6)?,
        urgency: number::<i16, _>(row, 7)?,
        created_at: instant(row, 8)?,
        document: column(row, 9)?,
        status: numbered(row, 10, &WorkflowStatus::ALL)?,
        updated_at: instant(row, 11)?,
        decide_by: decide_by.map(Timestamp::from_millis),
        body: column(row, 13)?,
    })
}
