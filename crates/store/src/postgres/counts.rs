//! How much open work a database holds, and how large it is: for metrics.
//!
//! Each count walks a partial index that holds nothing else, so it grows with what is open, never with what has ended.

use super::columns::{column, instant, number, numbered};
use super::session::Session;
use crate::records::ExecutionStatus;
use crate::traits::{Error, FileBytes, QueuedCount};

const OPEN_EXECUTIONS: &str =
    "SELECT status, count(*) FROM execution WHERE status <= 2 GROUP BY status ORDER BY status";

const QUEUED_ACTIONS: &str =
    "SELECT line, count(*), min(run_at) FROM action WHERE status = 1 GROUP BY line ORDER BY line";

const DEAD_LETTERS: &str = "SELECT count(*) FROM action WHERE status = 5";

const BYTES: &str = "SELECT pg_database_size(current_database())";

/// Open executions by status.
pub(super) async fn open_executions(session: &Session) -> Result<Vec<(ExecutionStatus, u64)>, Error> {
    session
        .all(OPEN_EXECUTIONS, &[], |row| {
            Ok((numbered(row, 0, &ExecutionStatus::ALL)?, number::<i64, _>(row, 1)?))
        })
        .await
}

/// Queued actions by queue.
pub(super) async fn queued_actions(session: &Session) -> Result<Vec<QueuedCount>, Error> {
    session
        .all(QUEUED_ACTIONS, &[], |row| {
            Ok(QueuedCount {
                queue: column(row, 0)?,
                count: number::<i64, _>(row, 1)?,
                oldest: instant(row, 2)?,
            })
        })
        .await
}

/// Dead letters that wait for a person.
pub(super) async fn dead_letters(session: &Session) -> Result<u64, Error> {
    let found = session.first(DEAD_LETTERS, &[], |row| number::<i64, _>(row, 0)).await?;
    Ok(found.unwrap_or(0))
}

/// The size of the database. The server's log is not the database's own.
pub(super) async fn file_bytes(session: &Session) -> Result<FileBytes, Error> {
    let found = session.first(BYTES, &[], |row| number::<i64, _>(row, 0)).await?;
    Ok(FileBytes {
        main: found.unwrap_or(0),
        log: 0,
    })
}
