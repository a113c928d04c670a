//! Bulk jobs and their items.

use rusqlite::{Connection, Row, params};
use sprag_core::ids::JobId;

use super::columns::{Column, bound, limit, one_row, page, page_rows, row, rows};
use crate::page::{Page, Paged};
use crate::records::{Job, JobItem};

pub(super) const PUT: &str = "\
    INSERT INTO job (id, kind, status, created_at, updated_at, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
    ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, status = excluded.status, created_at = excluded.created_at, \
    updated_at = excluded.updated_at, body = excluded.body";

pub(super) const DELETE: &str = "DELETE FROM job WHERE id = ?1";

pub(super) const INSERT_ITEM: &str =
    "INSERT INTO job_item (job, number, action, result, detail) VALUES (?1, ?2, ?3, ?4, ?5)";

pub(super) const DELETE_ITEMS: &str = "DELETE FROM job_item WHERE job = ?1 AND number <= ?2";

pub(super) const ITEMS: &str = "\
    SELECT job, number, action, result, detail FROM job_item WHERE job = ?1 AND number > ?2 ORDER BY number LIMIT ?3";

pub(super) const GET: &str = "SELECT id, kind, status, created_at, updated_at, body FROM job WHERE id = ?1";

/// There are few jobs, so the open ones are found by looking at all.
pub(super) const OPEN: &str =
    "SELECT id, kind, status, created_at, updated_at, body FROM job WHERE status <= 1 ORDER BY id";

pub(super) const BEYOND: &str = "\
    SELECT id, kind, status, created_at, updated_at, body FROM job WHERE status > 1 ORDER BY id DESC LIMIT 1 OFFSET ?1";

pub(super) const LIST: &str = "\
    SELECT id, kind, status, created_at, updated_at, body FROM job WHERE id < ?1 ORDER BY id DESC LIMIT ?2";

/// Greater than every id.
const END: [u8; 17] = [u8::MAX; 17];

/// Writes a job as it is now.
pub(super) fn put(connection: &Connection, record: &Job) -> rusqlite::Result<()> {
    let Job {
        id,
        kind,
        status,
        created_at,
        updated_at,
        body,
    } = record;
    let params = params![
        id.to_bytes(),
        kind,
        *status as u8,
        Column(*created_at),
        Column(*updated_at),
        body
    ];
    one_row(connection.prepare_cached(PUT)?.execute(params)?)
}

/// Adds an item.
pub(super) fn insert_item(connection: &Connection, record: &JobItem) -> rusqlite::Result<()> {
    let JobItem {
        job,
        number,
        action,
        result,
        detail,
    } = record;
    let params = params![job.to_bytes(), number, action.to_bytes(), *result as u8, detail];
    one_row(connection.prepare_cached(INSERT_ITEM)?.execute(params)?)
}

/// Forgets items up to a number.
pub(super) fn delete_items(connection: &Connection, job: JobId, up_to: u64) -> rusqlite::Result<()> {
    connection
        .prepare_cached(DELETE_ITEMS)?
        .execute(params![job.to_bytes(), up_to])?;
    Ok(())
}

/// Forgets a job.
pub(super) fn delete(connection: &Connection, id: JobId) -> rusqlite::Result<()> {
    connection.prepare_cached(DELETE)?.execute(params![id.to_bytes()])?;
    Ok(())
}

/// One job.
pub(super) fn get(connection: &Connection, id: JobId) -> rusqlite::Result<Option<Job>> {
    row(connection, GET, params![id.to_bytes()], read)
}

/// The jobs that are not over, oldest first.
pub(super) fn open(connection: &Connection) -> rusqlite::Result<Vec<Job>> {
    rows(connection, OPEN, params![], read)
}

/// The newest of those over that has `kept` newer ones.
pub(super) fn beyond(connection: &Connection, kept: usize) -> rusqlite::Result<Option<Job>> {
    row(connection, BEYOND, params![limit(kept)], read)
}

/// Jobs, newest first.
pub(super) fn list(
    connection: &Connection,
    Page { after, limit }: &Page<JobId>,
) -> rusqlite::Result<Paged<Job, JobId>> {
    let before = after.map(JobId::to_bytes);
    let before = before.as_ref().map_or(&END[..], |id| &id[..]);
    let params = params![before, page_rows(*limit)];
    page(connection, LIST, params, *limit, read, |job| job.id)
}

/// Items of a job by number.
pub(super) fn items(
    connection: &Connection,
    job: JobId,
    Page { after, limit }: &Page<u64>,
) -> rusqlite::Result<Paged<JobItem, u64>> {
    let params = params![job.to_bytes(), bound(after.unwrap_or(0)), page_rows(*limit)];
    page(connection, ITEMS, params, *limit, read_item, |item| item.number)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Job> {
    Ok(Job {
        id: row.get::<_, Column<_>>(0)?.0,
        kind: row.get(1)?,
        status: row.get::<_, Column<_>>(2)?.0,
        created_at: row.get::<_, Column<_>>(3)?.0,
        updated_at: row.get::<_, Column<_>>(4)?.0,
        body: row.get(5)?,
    })
}

fn read_item(row: &Row<'_>) -> rusqlite::Result<JobItem> {
    Ok(JobItem {
        job: row.get::<_, Column<_>>(0)?.0,
        number: row.get(1)?,
        action: row.get::<_, Column<_>>(2)?.0,
        result: row.get::<_, Column<_>>(3)?.0,
        detail: row.get(4)?,
    })
}
