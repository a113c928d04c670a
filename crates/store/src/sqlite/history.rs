//! Histories: dense, append-only.

use rusqlite::{Connection, params};
use sprag_core::ids::ExecutionId;

use super::columns::{Column, bound, limit, one_row, rows};
use crate::records::HistoryEntry;

/// Appends nothing unless the entry before it is there, so a gap shows as a write that changed no row.
pub(super) const APPEND: &str = "\
    INSERT INTO history (execution, sequence, at, body) SELECT ?1, ?2, ?3, ?4 \
    WHERE ?2 = 1 OR EXISTS (SELECT 1 FROM history WHERE execution = ?1 AND sequence = ?2 - 1)";

pub(super) const PAGE: &str = "\
    SELECT sequence, at, body FROM history WHERE execution = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3";

/// Adds the next entry.
pub(super) fn append(connection: &Connection, record: &HistoryEntry) -> rusqlite::Result<()> {
    let HistoryEntry {
        execution,
        sequence,
        at,
        body,
    } = record;
    let params = params![execution.to_bytes(), sequence, Column(*at), body];
    one_row(connection.prepare_cached(APPEND)?.execute(params)?)
}

/// A page of a history, oldest first.
pub(super) fn page(
    connection: &Connection,
    execution: ExecutionId,
    after: u64,
    max: usize,
) -> rusqlite::Result<Vec<HistoryEntry>> {
    rows(
        connection,
        PAGE,
        params![execution.to_bytes(), bound(after), limit(max)],
        |row| {
            Ok(HistoryEntry {
                execution,
                sequence: row.get(0)?,
                at: row.get::<_, Column<_>>(1)?.0,
                body: row.get(2)?,
            })
        },
    )
}
