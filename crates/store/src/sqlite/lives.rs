//! Lives of processes on this file.

use rusqlite::{Connection, params};

use super::columns::{Column, one_row, row};
use crate::records::ProcessRun;

pub(super) const PUT: &str = "\
    INSERT INTO life (started_at, seen_at) VALUES (?1, ?2) \
    ON CONFLICT (started_at) DO UPDATE SET seen_at = excluded.seen_at";

pub(super) const LAST: &str = "SELECT started_at, seen_at FROM life ORDER BY started_at DESC LIMIT 1";

/// Records that a process is alive.
pub(super) fn put(connection: &Connection, record: &ProcessRun) -> rusqlite::Result<()> {
    let ProcessRun { started_at, seen_at } = record;
    one_row(
        connection
            .prepare_cached(PUT)?
            .execute(params![Column(*started_at), Column(*seen_at)])?,
    )
}

/// The newest life.
pub(super) fn last(connection: &Connection) -> rusqlite::Result<Option<ProcessRun>> {
    row(connection, LAST, params![], |row| {
        Ok(ProcessRun {
            started_at: row.get::<_, Column<_>>(0)?.0,
            seen_at: row.get::<_, Column<_>>(1)?.0,
        })
    })
}
