//! How much open work a database holds, and how large it is: for metrics.
//!
//! Each count walks a partial index that holds nothing else, so it grows with what is open, never with what has ended.

use sprag_core::time::Timestamp;

use super::columns::{column, instant, limit, number, numbered};
use super::session::Session;
use crate::records::ExecutionStatus;
use crate::traits::{Error, FileBytes, OpenCounts, QueuedCount, counted};

const OPEN_EXECUTIONS: &str =
    "SELECT status, count(*) FROM execution WHERE status <= 2 GROUP BY status ORDER BY status";

const QUEUED_ACTIONS: &str =
    "SELECT line, count(*), min(run_at) FROM action WHERE status = 1 GROUP BY line ORDER BY line";

const DEAD_LETTERS: &str = "SELECT count(*) FROM action WHERE status = 5";

/// Each count ends at `$1` rows of its partial index. That of open actions begins with the shard.
pub(super) const OPEN_COUNTS: &str = "\
    SELECT (SELECT count(*) FROM (SELECT 1 FROM execution WHERE status = 0 LIMIT $1::bigint) AS one), \
    (SELECT count(*) FROM (SELECT 1 FROM execution WHERE status = 1 LIMIT $1::bigint) AS one), \
    (SELECT count(*) FROM (SELECT 1 FROM execution WHERE status = 2 LIMIT $1::bigint) AS one), \
    (SELECT count(*) FROM (SELECT 1 FROM action WHERE status = 1 LIMIT $1::bigint) AS one), \
    (SELECT min(run_at) FROM (SELECT run_at FROM action WHERE status = 1 LIMIT $1::bigint) AS one), \
    (SELECT count(*) FROM (SELECT 1 FROM shard CROSS JOIN LATERAL (SELECT 1 FROM action \
    WHERE action.shard = shard.id AND status = 2 LIMIT $1::bigint) AS own LIMIT $1::bigint) AS one), \
    (SELECT count(*) FROM (SELECT 1 FROM shard CROSS JOIN LATERAL (SELECT 1 FROM action \
    WHERE action.shard = shard.id AND status = 3 LIMIT $1::bigint) AS own LIMIT $1::bigint) AS one), \
    (SELECT count(*) FROM (SELECT 1 FROM action WHERE status = 5 LIMIT $1::bigint) AS one), \
    (SELECT count(*) FROM (SELECT 1 FROM plan WHERE status = 1 LIMIT $1::bigint) AS one)";

/// How much is open, each counted up to a bound.
pub(super) async fn open_counts(session: &Session, most: usize) -> Result<OpenCounts, Error> {
    let read = |row: &tokio_postgres::Row| {
        let count = |column| Ok::<_, Error>(counted(number::<i64, _>(row, column)?, most));
        Ok(OpenCounts {
            running: count(0)?,
            paused: count(1)?,
            failed: count(2)?,
            queued: count(3)?,
            oldest_queued: column::<Option<i64>>(row, 4)?.map(Timestamp::from_millis),
            attempts: count(5)?,
            retrying: count(6)?,
            dead: count(7)?,
            approvals: count(8)?,
        })
    };
    let found = session
        .first(OPEN_COUNTS, &[&limit(most.saturating_add(1))], read)
        .await?;
    found.ok_or_else(|| Error::Failed {
        detail: "the database counted nothing".to_owned(),
    })
}

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
