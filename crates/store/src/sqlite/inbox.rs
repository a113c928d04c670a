//! Inboxes: input that waits until its execution takes it.

use rusqlite::{Connection, params};
use sprag_core::ids::ExecutionId;

use super::columns::{Column, one_row, row, rows};
use super::executions;
use crate::page::{Page, Paged, paged};
use crate::records::InboxEntry;

pub(super) const INSERT: &str = "INSERT INTO inbox (execution, position, body) VALUES (?1, ?2, ?3)";

pub(super) const DELETE: &str = "DELETE FROM inbox WHERE execution = ?1 AND position = ?2";

pub(super) const OF: &str = "SELECT position, body FROM inbox WHERE execution = ?1 ORDER BY position";

pub(super) const LENGTH: &str = "SELECT count(*) FROM inbox WHERE execution = ?1";

pub(super) const NEXT_EXECUTION: &str = "SELECT execution FROM inbox WHERE execution > ?1 ORDER BY execution LIMIT 1";

/// Adds an input.
pub(super) fn insert(connection: &Connection, record: &InboxEntry) -> rusqlite::Result<()> {
    let InboxEntry {
        execution,
        position,
        body,
    } = record;
    one_row(
        connection
            .prepare_cached(INSERT)?
            .execute(params![execution.to_bytes(), position, body])?,
    )
}

/// Deletes an input, if it is still there.
pub(super) fn delete(connection: &Connection, execution: ExecutionId, position: u64) -> rusqlite::Result<()> {
    connection
        .prepare_cached(DELETE)?
        .execute(params![execution.to_bytes(), position])?;
    Ok(())
}

/// The inbox of an execution, by position.
pub(super) fn of(connection: &Connection, execution: ExecutionId) -> rusqlite::Result<Vec<InboxEntry>> {
    rows(connection, OF, params![execution.to_bytes()], |row| {
        Ok(InboxEntry {
            execution,
            position: row.get(0)?,
            body: row.get(1)?,
        })
    })
}

/// How many inputs wait for an execution.
pub(super) fn length(connection: &Connection, execution: ExecutionId) -> rusqlite::Result<u64> {
    Ok(row(connection, LENGTH, params![execution.to_bytes()], |row| row.get(0))?.unwrap_or(0))
}

/// Running executions with input in their inbox, by id. Hops from one execution to the next, however full each inbox
/// is.
pub(super) fn deferred(
    connection: &Connection,
    Page { after, limit }: &Page<ExecutionId>,
) -> rusqlite::Result<Paged<ExecutionId, ExecutionId>> {
    let mut found = Vec::new();
    let mut next = next_execution(connection, *after)?;
    while let Some(execution) = next
        && found.len() < limit.rows_to_read()
    {
        if executions::is_running(connection, execution)? {
            found.push(execution);
        }
        next = next_execution(connection, Some(execution))?;
    }
    paged(found.into_iter().map(Ok), *limit, |id| *id)
}

/// An empty blob sorts before every id.
fn next_execution(connection: &Connection, after: Option<ExecutionId>) -> rusqlite::Result<Option<ExecutionId>> {
    let after = after.map(ExecutionId::to_bytes);
    let after = after.as_ref().map_or(&[][..], |id| &id[..]);
    row(connection, NEXT_EXECUTION, params![after], |row| {
        Ok(row.get::<_, Column<_>>(0)?.0)
    })
}
