//! Inboxes: input that waits until its execution takes it.

use sprag_core::ids::ExecutionId;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::columns::{Id, bound, column, id_at, number, page_rows};
use super::part::{StatementPart, Text};
use super::session::{Session, list};
use crate::page::{Page, Paged, paged};
use crate::records::InboxEntry;
use crate::traits::Error;

const INSERT: Text = Text::new(
    "new_inputs AS (INSERT INTO inbox (execution, position, body) \
    SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bytea[]))",
);

const DELETE: Text = Text::new(
    "gone_inputs AS (DELETE FROM inbox USING unnest($1::uuid[], $2::bigint[]) AS gone (execution, position) \
    WHERE inbox.execution = gone.execution AND inbox.position = gone.position)",
);

const OF: &str = "\
    SELECT execution, position, body FROM inbox WHERE execution = ANY($1::uuid[]) ORDER BY execution, position";

const LENGTH: &str = "SELECT count(*) FROM inbox WHERE execution = $1";

/// Walks the inboxes that hold something, in the order of their executions, no further than it must.
pub(super) const DEFERRED: &str = "\
    SELECT waiting.execution FROM \
    (SELECT DISTINCT execution FROM inbox WHERE execution > $2 ORDER BY execution) AS waiting \
    WHERE (SELECT status = 0 AND shard = $1 FROM execution WHERE execution.id = waiting.execution) \
    ORDER BY waiting.execution LIMIT $3";

/// Adds inputs.
pub(super) fn insert<'a>(records: &[&'a InboxEntry]) -> StatementPart<'a> {
    StatementPart::new(
        INSERT,
        vec![
            list(records, |record| Id::from(record.execution)),
            list(records, |record| bound(record.position)),
            list(records, |record| record.body.as_slice()),
        ],
    )
}

/// Deletes inputs, as far as they are still there.
pub(super) fn delete<'a>(places: &[(ExecutionId, u64)]) -> StatementPart<'a> {
    StatementPart::new(
        DELETE,
        vec![
            list(places, |(execution, _)| Id::from(*execution)),
            list(places, |(_, position)| bound(*position)),
        ],
    )
}

/// The inboxes of executions, by position.
pub(super) async fn of(session: &Session, executions: &[ExecutionId]) -> Result<Vec<InboxEntry>, Error> {
    let wanted: Vec<Id> = executions.iter().copied().map(Id::from).collect();
    session.all(OF, &[&wanted], read).await
}

/// How many inputs wait for an execution.
pub(super) async fn length(session: &Session, execution: ExecutionId) -> Result<u64, Error> {
    let found = session
        .first(LENGTH, &[&Id::from(execution)], |row| number::<i64, _>(row, 0))
        .await?;
    Ok(found.unwrap_or(0))
}

/// Running executions with input in their inbox, by id.
pub(super) async fn deferred(
    session: &Session,
    shard: i16,
    Page { after, limit }: &Page<ExecutionId>,
) -> Result<Paged<ExecutionId, ExecutionId>, Error> {
    let after = after.map_or(Id::FIRST, Id::from);
    let values: [&(dyn ToSql + Sync); 3] = [&shard, &after, &page_rows(*limit)];
    let found = session.all(DEFERRED, &values, |row| id_at(row, 0)).await?;
    paged(found.into_iter().map(Ok), *limit, |id| *id)
}

fn read(row: &Row) -> Result<InboxEntry, Error> {
    Ok(InboxEntry {
        execution: id_at(row, 0)?,
        position: number::<i64, _>(row, 1)?,
        body: column(row, 2)?,
    })
}
