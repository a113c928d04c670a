//! Histories: dense, append-only.

use std::collections::HashMap;
use std::sync::LazyLock;

use rusqlite::{Connection, params};
use sprag_core::ids::ExecutionId;

use super::bulk::Insert;
use super::columns::{self, Column, bound, one_row, page_rows, row};
use crate::page::{Page, Paged};
use crate::records::HistoryEntry;

static APPEND: LazyLock<Insert> = LazyLock::new(|| Insert::into("history", &["execution", "sequence", "at", "body"]));

/// Asked beside the insert, where memory does not say it: in one statement, `SQLite` would go through a table of its own
/// for every entry.
pub(super) const HAS: &str = "SELECT 1 FROM history WHERE execution = ?1 AND sequence = ?2";

pub(super) const PAGE: &str = "\
    SELECT sequence, at, body FROM history WHERE execution = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3";

pub(super) const PAGE_BACK: &str = "\
    SELECT sequence, at, body FROM history WHERE execution = ?1 AND sequence < ?2 ORDER BY sequence DESC LIMIT ?3";

/// How many histories the writer remembers the end of.
const ENDS_MAX: usize = 4_096;

/// Where histories end that were written lately, so that the next entry of each is known to follow without a look. What was
/// rolled back or deleted must be forgotten.
#[derive(Debug, Default)]
pub(super) struct HistoryEnds {
    // Looked up by id only, never iterated: the random seed of the map decides nothing.
    newest: HashMap<ExecutionId, u64>,
}

impl HistoryEnds {
    /// Knows nothing any more.
    pub(super) fn forget(&mut self) {
        self.newest.clear();
    }

    /// Whether the entry before this one is there, or this one is the first; it is the newest from now on.
    fn follows(&mut self, connection: &Connection, entry: &HistoryEntry) -> rusqlite::Result<bool> {
        let HistoryEntry {
            execution, sequence, ..
        } = entry;
        let Some(before) = sequence.checked_sub(1) else {
            return Ok(false);
        };
        if before > 0 && self.newest.insert(*execution, *sequence) != Some(before) {
            return Ok(row(connection, HAS, params![execution.to_bytes(), before], |_| Ok(()))?.is_some());
        }
        self.newest.insert(*execution, *sequence);
        Ok(true)
    }
}

/// Adds the next entries. One that would leave a gap before it changes no row.
pub(super) fn append(
    connection: &Connection,
    ends: &mut HistoryEnds,
    records: &[&HistoryEntry],
) -> rusqlite::Result<()> {
    // Between calls only: within one, an entry may follow one that is not inserted yet.
    if ends.newest.len() >= ENDS_MAX {
        ends.forget();
    }
    for record in records {
        if !ends.follows(connection, record)? {
            return one_row(0);
        }
    }
    APPEND.all(connection, records, |places, record| {
        let HistoryEntry {
            execution,
            sequence,
            at,
            body,
        } = record;
        places.put(execution.to_bytes())?;
        places.put(sequence)?;
        places.put(Column(*at))?;
        places.put(body)
    })
}

/// A page of a history, oldest first.
pub(super) fn page(
    connection: &Connection,
    execution: ExecutionId,
    wanted: &Page<u64>,
) -> rusqlite::Result<Paged<HistoryEntry, u64>> {
    read_page(connection, PAGE, execution, bound(wanted.after.unwrap_or(0)), wanted)
}

/// A page of a history, newest first.
pub(super) fn page_back(
    connection: &Connection,
    execution: ExecutionId,
    wanted: &Page<u64>,
) -> rusqlite::Result<Paged<HistoryEntry, u64>> {
    read_page(
        connection,
        PAGE_BACK,
        execution,
        bound(wanted.after.unwrap_or(u64::MAX)),
        wanted,
    )
}

fn read_page(
    connection: &Connection,
    sql: &str,
    execution: ExecutionId,
    from: i64,
    Page { after: _, limit }: &Page<u64>,
) -> rusqlite::Result<Paged<HistoryEntry, u64>> {
    columns::page(
        connection,
        sql,
        params![execution.to_bytes(), from, page_rows(*limit)],
        *limit,
        |row| {
            Ok(HistoryEntry {
                execution,
                sequence: row.get(0)?,
                at: row.get::<_, Column<_>>(1)?.0,
                body: row.get(2)?,
            })
        },
        |entry| entry.sequence,
    )
}
