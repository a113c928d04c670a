//! Bulk jobs and their items.

use sprag_core::ids::JobId;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::columns::{Id, bound, column, id_at, instant, limit, number, numbered, page, page_rows, row_bytes};
use super::part::{StatementPart, Text};
use super::session::{Session, Value, list};
use crate::page::{Page, Paged};
use crate::records::{Job, JobItem, JobResult, JobStatus};
use crate::traits::Error;

const PUT: Text = Text::new(
    "put_jobs AS (INSERT INTO job (id, kind, status, created_at, updated_at, body) \
    SELECT * FROM unnest($1::uuid[], $2::text[], $3::smallint[], $4::bigint[], $5::bigint[], $6::bytea[]) \
    ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, status = excluded.status, created_at = excluded.created_at, \
    updated_at = excluded.updated_at, body = excluded.body)",
);

const DELETE: Text = Text::new("gone_jobs AS (DELETE FROM job WHERE id = ANY($1::uuid[]))");

const INSERT_ITEMS: Text = Text::new(
    "new_items AS (INSERT INTO job_item (job, number, action, result, detail) \
    SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::smallint[], $5::text[]))",
);

const DELETE_ITEMS: Text = Text::new(
    "gone_items AS (DELETE FROM job_item USING unnest($1::uuid[], $2::bigint[]) AS gone (job, up_to) \
    WHERE job_item.job = gone.job AND job_item.number <= gone.up_to)",
);

/// The server sends only the rows that fit. `$5` is what a row counts for besides its detail.
const ITEMS: &str = "\
    SELECT job, number, action, result, detail, continues \
    FROM (SELECT job, number, action, result, detail, bytes, \
    sum(bytes) OVER listed AS total, lead(true, 1, false) OVER listed AS continues FROM (SELECT job, number, action, result, detail, $5::int + coalesce(octet_length(detail), 0) AS bytes FROM job_item \
    WHERE job = $1 AND number > $2 ORDER BY number LIMIT $3::bigint) AS found \
    WINDOW listed AS (ORDER BY number)) AS page \
    WHERE total <= $4 OR total = bytes ORDER BY number LIMIT $3::bigint - 1";

const GET: &str = "SELECT id, kind, status, created_at, updated_at, body FROM job WHERE id = $1";

/// There are few jobs, so the open ones are found by looking at all.
const OPEN: &str = "SELECT id, kind, status, created_at, updated_at, body FROM job WHERE status <= 1 ORDER BY id";

const BEYOND: &str = "\
    SELECT id, kind, status, created_at, updated_at, body FROM job WHERE status > 1 ORDER BY id DESC LIMIT 1 OFFSET $1";

/// The server sends only the rows that fit. `$4` is what a row counts for besides its body.
const LIST: &str = "\
    SELECT id, kind, status, created_at, updated_at, body, continues \
    FROM (SELECT id, kind, status, created_at, updated_at, body, bytes, \
    sum(bytes) OVER listed AS total, lead(true, 1, false) OVER listed AS continues FROM (SELECT id, kind, status, created_at, updated_at, body, $4::int + octet_length(body) AS bytes FROM job \
    WHERE id < $1 ORDER BY id DESC LIMIT $2::bigint) AS found WINDOW listed AS (ORDER BY id DESC)) AS page \
    WHERE total <= $3 OR total = bytes ORDER BY id DESC LIMIT $2::bigint - 1";

/// Writes jobs as they are now.
pub(super) fn put<'a>(records: &[&'a Job]) -> StatementPart<'a> {
    StatementPart::new(
        PUT,
        vec![
            list(records, |record| Id::from(record.id)),
            list(records, |record| record.kind.as_str()),
            list(records, |record| record.status as i16),
            list(records, |record| record.created_at.as_millis()),
            list(records, |record| record.updated_at.as_millis()),
            list(records, |record| record.body.as_slice()),
        ],
    )
}

/// Adds items.
pub(super) fn insert_items<'a>(records: &[&'a JobItem]) -> StatementPart<'a> {
    StatementPart::new(
        INSERT_ITEMS,
        vec![
            list(records, |record| Id::from(record.job)),
            list(records, |record| bound(record.number)),
            list(records, |record| Id::from(record.action)),
            list(records, |record| record.result as i16),
            list(records, |record| record.detail.as_deref()),
        ],
    )
}

/// Forgets items up to a number.
pub(super) fn delete_items<'a>(gone: &[(JobId, u64)]) -> StatementPart<'a> {
    StatementPart::new(
        DELETE_ITEMS,
        vec![
            list(gone, |(job, _)| Id::from(*job)),
            list(gone, |(_, up_to)| bound(*up_to)),
        ],
    )
}

/// Forgets jobs.
pub(super) fn delete<'a>(ids: &[JobId]) -> StatementPart<'a> {
    StatementPart::new(DELETE, vec![list(ids, |id| Id::from(*id)) as Value<'a>])
}

/// One job.
pub(super) async fn get(session: &Session, id: JobId) -> Result<Option<Job>, Error> {
    session.first(GET, &[&Id::from(id)], read).await
}

/// The jobs that are not over, oldest first.
pub(super) async fn open(session: &Session) -> Result<Vec<Job>, Error> {
    session.all(OPEN, &[], read).await
}

/// The newest of those over that has `kept` newer ones.
pub(super) async fn beyond(session: &Session, kept: usize) -> Result<Option<Job>, Error> {
    session.first(BEYOND, &[&limit(kept)], read).await
}

/// Jobs, newest first.
pub(super) async fn newest(
    session: &Session,
    Page { after, limit: most }: &Page<JobId>,
) -> Result<Paged<Job, JobId>, Error> {
    let before = after.map_or(Id::LAST, Id::from);
    let values: [&(dyn ToSql + Sync); 4] = [&before, &page_rows(*most), &limit(most.bytes), &row_bytes()];
    page(&session.rows(LIST, &values).await?, read, |job| job.id)
}

/// Items of a job by number.
pub(super) async fn items(
    session: &Session,
    job: JobId,
    Page { after, limit: most }: &Page<u64>,
) -> Result<Paged<JobItem, u64>, Error> {
    let values: [&(dyn ToSql + Sync); 5] = [
        &Id::from(job),
        &bound(after.unwrap_or(0)),
        &page_rows(*most),
        &limit(most.bytes),
        &row_bytes(),
    ];
    page(&session.rows(ITEMS, &values).await?, read_item, |item| item.number)
}

fn read(row: &Row) -> Result<Job, Error> {
    Ok(Job {
        id: id_at(row, 0)?,
        kind: column(row, 1)?,
        status: numbered(row, 2, &JobStatus::ALL)?,
        created_at: instant(row, 3)?,
        updated_at: instant(row, 4)?,
        body: column(row, 5)?,
    })
}

fn read_item(row: &Row) -> Result<JobItem, Error> {
    Ok(JobItem {
        job: id_at(row, 0)?,
        number: number::<i64, _>(row, 1)?,
        action: id_at(row, 2)?,
        result: numbered(row, 3, &JobResult::ALL)?,
        detail: column(row, 4)?,
    })
}
