//! Old executions: found by walking ids, which are in the order of time, and deleted whole.

use sprag_core::ids::ExecutionId;
use sprag_core::time::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::columns::{Id, column, id_at, number, page_rows};
use super::part::{StatementPart, Text};
use super::session::{Session, Value, count, list};
use crate::page::{Page, Paged, paged};
use crate::records::workflow_machine;
use crate::traits::{Aged, Error, first_after};

/// Walks the ids only as far as they can be old enough. The numbers are those of the statuses: executions from 3 on are
/// closed, actions up to 3 are open and 5 is dead. Those of other shards are passed over: an index by shard would be one
/// more for every execution to write, for work that is in no hurry.
pub(super) const AGED: &str = "\
    SELECT id, sequence, status >= 3 AND updated_at <= $4 AND NOT EXISTS \
    (SELECT 1 FROM action WHERE action.execution = old.id AND (action.status <= 3 OR action.status = 5)) \
    FROM execution AS old WHERE id > $2 AND id < $3 AND shard = $1 ORDER BY id LIMIT $5";

/// Executions with everything that belongs to them; without every one of them closed, nothing. Tags are found by those of the
/// rows that they belong to, which are still there for them: all of a statement sees what was before it.
pub(super) const DELETE: Text = Text {
    rows: None,
    with: "\
    gone_executions AS (DELETE FROM execution WHERE id = ANY($1::uuid[]) AND status >= 3 RETURNING 1), \
    their_tags AS (DELETE FROM execution_tag \
    USING execution, jsonb_array_elements_text(execution.tags::jsonb) AS tag (value) \
    WHERE execution.id = ANY($1::uuid[]) AND execution_tag.tag = tag.value AND execution_tag.execution = execution.id), \
    their_action_tags AS (DELETE FROM action_tag \
    USING action, jsonb_array_elements_text(action.tags::jsonb) AS tag (value) \
    WHERE action.execution = ANY($1::uuid[]) AND action_tag.tag = tag.value AND action_tag.action = action.id), \
    their_plans AS (DELETE FROM plan WHERE id = ANY($1::uuid[])), \
    their_approvals AS (DELETE FROM plan USING action WHERE action.execution = ANY($1::uuid[]) AND plan.id = action.id), \
    their_machines AS (DELETE FROM machine_version WHERE machine = ANY($3::text[])), \
    their_histories AS (DELETE FROM history WHERE execution = ANY($1::uuid[])), \
    their_actions AS (DELETE FROM action WHERE execution = ANY($1::uuid[])), \
    their_timers AS (DELETE FROM timer WHERE execution = ANY($1::uuid[])), \
    their_inputs AS (DELETE FROM inbox WHERE execution = ANY($1::uuid[])), \
    their_receipts AS (DELETE FROM receipt WHERE execution = ANY($1::uuid[]))",
    refusals: "\
    WHEN (SELECT count(*) FROM gone_executions) <> $2::bigint \
    THEN sprag_refuse('SPR01', 'an execution that is to be deleted is open or not there') ",
};

/// Old executions, oldest first.
pub(super) async fn aged(
    session: &Session,
    shard: i16,
    before: Timestamp,
    Page { after, limit }: &Page<ExecutionId>,
) -> Result<Paged<Aged, ExecutionId>, Error> {
    let after = after.map_or(Id::FIRST, Id::from);
    let end = Id::from(first_after(before));
    let values: [&(dyn ToSql + Sync); 5] = [&shard, &after, &end, &before.as_millis(), &page_rows(*limit)];
    let found = session.all(AGED, &values, read).await?;
    paged(found.into_iter().map(Ok), *limit, |aged| aged.execution)
}

fn read(row: &Row) -> Result<Aged, Error> {
    Ok(Aged {
        execution: id_at(row, 0)?,
        entries: number::<i64, _>(row, 1)?,
        goes: column(row, 2)?,
    })
}

/// Deletes closed executions with all that belongs to them.
pub(super) fn delete<'a>(ids: &[ExecutionId]) -> StatementPart<'a> {
    StatementPart::new(
        DELETE,
        vec![
            list(ids, |id| Id::from(*id)),
            count(ids),
            Box::new(ids.iter().copied().map(workflow_machine).collect::<Vec<String>>()) as Value<'a>,
        ],
    )
}
