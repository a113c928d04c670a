//! How much open work a file holds, and how large it is: for metrics.
//!
//! Each count walks a partial index that holds nothing else, so it grows with what is open, never with what has ended.

use std::ffi::OsString;
use std::fs::metadata;
use std::path::Path;

use rusqlite::{Connection, params};
use sprag_core::time::Timestamp;

use super::columns::{Column, limit, row, rows};
use crate::records::ExecutionStatus;
use crate::traits::{FileBytes, OpenCounts, QueuedCount, counted};

pub(super) const OPEN_EXECUTIONS: &str =
    "SELECT status, count(*) FROM execution WHERE status <= 2 GROUP BY status ORDER BY status";

pub(super) const QUEUED_ACTIONS: &str =
    "SELECT line, count(*), min(run_at) FROM action WHERE status = 1 GROUP BY line ORDER BY line";

pub(super) const DEAD_LETTERS: &str = "SELECT count(*) FROM action WHERE status = 5";

/// Each count ends at `?1` rows of its partial index.
pub(super) const OPEN_COUNTS: &str = "\
    SELECT (SELECT count(*) FROM (SELECT 1 FROM execution INDEXED BY execution_open WHERE status = 0 AND status <= 2 LIMIT ?1)), \
    (SELECT count(*) FROM (SELECT 1 FROM execution INDEXED BY execution_open WHERE status = 1 AND status <= 2 LIMIT ?1)), \
    (SELECT count(*) FROM (SELECT 1 FROM execution INDEXED BY execution_open WHERE status = 2 AND status <= 2 LIMIT ?1)), \
    (SELECT count(*) FROM (SELECT 1 FROM action INDEXED BY action_ready WHERE status = 1 LIMIT ?1)), \
    (SELECT min(run_at) FROM (SELECT run_at FROM action INDEXED BY action_ready WHERE status = 1 LIMIT ?1)), \
    (SELECT count(*) FROM (SELECT 1 FROM action INDEXED BY action_open WHERE status = 2 AND status <= 3 LIMIT ?1)), \
    (SELECT count(*) FROM (SELECT 1 FROM action INDEXED BY action_open WHERE status = 3 AND status <= 3 LIMIT ?1)), \
    (SELECT count(*) FROM (SELECT 1 FROM action INDEXED BY action_dead WHERE status = 5 LIMIT ?1)), \
    (SELECT count(*) FROM (SELECT 1 FROM plan INDEXED BY plan_waiting WHERE status = 1 LIMIT ?1))";

/// How much is open, each counted up to a bound.
pub(super) fn open_counts(connection: &Connection, most: usize) -> rusqlite::Result<OpenCounts> {
    let found = row(connection, OPEN_COUNTS, params![limit(most.saturating_add(1))], |row| {
        let count = |column| Ok::<_, rusqlite::Error>(counted(row.get(column)?, most));
        Ok(OpenCounts {
            running: count(0)?,
            paused: count(1)?,
            failed: count(2)?,
            queued: count(3)?,
            oldest_queued: row.get::<_, Option<i64>>(4)?.map(Timestamp::from_millis),
            attempts: count(5)?,
            retrying: count(6)?,
            dead: count(7)?,
            approvals: count(8)?,
        })
    })?;
    found.ok_or(rusqlite::Error::QueryReturnedNoRows)
}

/// Open executions by status.
pub(super) fn open_executions(connection: &Connection) -> rusqlite::Result<Vec<(ExecutionStatus, u64)>> {
    rows(connection, OPEN_EXECUTIONS, params![], |row| {
        Ok((row.get::<_, Column<_>>(0)?.0, row.get(1)?))
    })
}

/// Queued actions by queue.
pub(super) fn queued_actions(connection: &Connection) -> rusqlite::Result<Vec<QueuedCount>> {
    rows(connection, QUEUED_ACTIONS, params![], |row| {
        Ok(QueuedCount {
            queue: row.get(0)?,
            count: row.get(1)?,
            oldest: row.get::<_, Column<_>>(2)?.0,
        })
    })
}

/// Dead letters that wait for a person.
pub(super) fn dead_letters(connection: &Connection) -> rusqlite::Result<u64> {
    Ok(row(connection, DEAD_LETTERS, params![], |row| row.get(0))?.unwrap_or(0))
}

/// The sizes of the file and of its log; what is not there has none.
pub(super) fn file_bytes(connection: &Connection) -> FileBytes {
    let Some(path) = connection.path() else {
        return FileBytes::default();
    };
    let size = |path: &Path| metadata(path).map_or(0, |found| found.len());
    let mut log = OsString::from(path);
    log.push("-wal");
    FileBytes {
        main: size(Path::new(path)),
        log: size(Path::new(&log)),
    }
}
