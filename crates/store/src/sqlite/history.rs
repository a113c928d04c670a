//! Histories: dense, append-only.

use rusqlite::{Connection, params};
use sprag_core::ids::ExecutionId;

use super::columns::{Column, bound, limit, one_row, row, rows};
use crate::records::HistoryEntry;

pub(super) const APPEND: &str = "INSERT INTO history (execution, sequence, at, body) VALUES (?1, ?2, ?3, ?4)";

/// Asked beside the insert: in one statement, `SQLite` would go through a table of its own for every entry.
pub(super) const HAS: &str = "SELECT 1 FROM history WHERE execution = ?1 AND sequence = ?2";

pub(super) const PAGE: &str = "\
    SELECT sequence, at, body FROM history WHERE execution = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3";

/// Adds the next entry. One that would leave a gap before it changes no row.
pub(super) fn append(connection: &Connection, record: &HistoryEntry) -> rusqlite::Result<()> {
    let HistoryEntry {
        execution,
        sequence,
        at,
        body,
    } = record;
    if !follows(connection, *execution, *sequence)? {
        return one_row(0);
    }
    let params = params![execution.to_bytes(), sequence, Column(*at), body];
    one_row(connection.prepare_cached(APPEND)?.execute(params)?)
}

/// Whether the entry before this one is there, or this one is the first.
fn follows(connection: &Connection, execution: ExecutionId, sequence: u64) -> rusqlite::Result<bool> {
    match sequence.checked_sub(1) {
        None => Ok(false),
        Some(0) => Ok(true),
        Some(before) => Ok(row(connection, HAS, params![execution.to_bytes(), before], |_| Ok(()))?.is_some()),
    }
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
