//! Old executions: found by walking ids, which are in the order of time, and deleted whole.

use sprag_core::ids::ExecutionId;

use super::columns::{Id, column, execution_id, limit, number};
use super::session::{Call, Session, count, list};
use crate::traits::{Aged, AgedPage, Error, first_after};

/// Walks the ids only as far as they can be old enough. The numbers are those of the statuses: executions from 3 on are
/// closed, actions up to 3 are open and 5 is dead. Those of other shards are passed over: an index by shard would be one
/// more for every execution to write, for work that is in no hurry.
pub(super) const AGED: &str = "\
    SELECT id, sequence, status >= 3 AND updated_at <= $4 AND NOT EXISTS \
    (SELECT 1 FROM action WHERE action.execution = old.id AND (action.status <= 3 OR action.status = 5)) \
    FROM execution AS old WHERE id > $2 AND id < $3 AND shard = $1 ORDER BY id LIMIT $5";

/// The tags go first: they are found by those of the rows that they belong to.
const DELETE_TAGS: [&str; 2] = [
    "DELETE FROM execution_tag USING execution, jsonb_array_elements_text(execution.tags::jsonb) AS tag (value) \
     WHERE execution.id = ANY($1::uuid[]) AND execution_tag.tag = tag.value AND execution_tag.execution = execution.id",
    "DELETE FROM action_tag USING action, jsonb_array_elements_text(action.tags::jsonb) AS tag (value) \
     WHERE action.execution = ANY($1::uuid[]) AND action_tag.tag = tag.value AND action_tag.action = action.id",
];

/// Without every one of the closed executions nothing is deleted.
const DELETE: &str = "\
    WITH gone AS (DELETE FROM execution WHERE id = ANY($1::uuid[]) AND status >= 3 RETURNING 1) \
    SELECT CASE WHEN count(*) = $2::bigint THEN 0 \
    ELSE sprag_refuse('SPR01', 'an execution that is to be deleted is open or not there') END FROM gone";

/// Everything that belongs to executions.
const DELETE_BELONGINGS: [&str; 5] = [
    "DELETE FROM history WHERE execution = ANY($1::uuid[])",
    "DELETE FROM action WHERE execution = ANY($1::uuid[])",
    "DELETE FROM timer WHERE execution = ANY($1::uuid[])",
    "DELETE FROM inbox WHERE execution = ANY($1::uuid[])",
    "DELETE FROM receipt WHERE execution = ANY($1::uuid[])",
];

/// Old executions, oldest first.
pub(super) async fn aged(session: &Session, shard: i16, page: &AgedPage) -> Result<Vec<Aged>, Error> {
    let AgedPage {
        before,
        after,
        limit: max,
    } = page;
    let after = after.map_or(Id::FIRST, Id::from);
    let end = Id::from(first_after(*before));
    session
        .all(
            AGED,
            &[&shard, &after, &end, &before.as_millis(), &limit(*max)],
            |row| {
                Ok(Aged {
                    execution: execution_id(row, 0)?,
                    entries: number::<i64, _>(row, 1)?,
                    goes: column(row, 2)?,
                })
            },
        )
        .await
}

/// Deletes closed executions with all that belongs to them.
pub(super) fn delete<'a>(ids: &[ExecutionId]) -> Vec<Call<'a>> {
    let those = || list(ids, |id| Id::from(*id));
    let tags = DELETE_TAGS.into_iter().map(|sql| Call::new(sql, vec![those()]));
    let itself = Call::new(DELETE, vec![those(), count(ids)]);
    let belongings = DELETE_BELONGINGS.into_iter().map(|sql| Call::new(sql, vec![those()]));
    tags.chain([itself]).chain(belongings).collect()
}
