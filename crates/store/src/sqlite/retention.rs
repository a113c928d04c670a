//! Old executions: found by walking ids, which are in the order of time, and deleted whole.

use rusqlite::{Connection, Row, params};
use sprag_core::ids::ExecutionId;
use sprag_core::time::Timestamp;

use super::columns::{Column, one_row, page, page_rows};
use crate::page::{Page, Paged};
use crate::records::workflow_machine;
use crate::traits::{Aged, first_after};

/// Walks the ids only as far as they can be old enough. The numbers are those of the statuses: executions from 3 on are
/// closed, actions up to 3 are open and 5 is dead.
pub(super) const AGED: &str = "\
    SELECT id, sequence, status >= 3 AND updated_at <= ?3 AND NOT EXISTS \
    (SELECT 1 FROM action WHERE action.execution = old.id AND (action.status <= 3 OR action.status = 5)) \
    FROM execution AS old WHERE id > ?1 AND id < ?2 ORDER BY id LIMIT ?4";

/// The closed execution itself comes first: without it nothing else is deleted.
pub(super) const DELETE: &str = "DELETE FROM execution WHERE id = ?1 AND status >= 3";

/// The tags go first: they are found by those of the rows that they belong to.
pub(super) const DELETE_TAGS: [&str; 2] = [
    "DELETE FROM execution_tag WHERE execution = ?1 AND tag IN \
     (SELECT tag.value FROM execution, json_each(execution.tags) AS tag WHERE execution.id = ?1)",
    "DELETE FROM action_tag WHERE (tag, action) IN \
     (SELECT tag.value, action.id FROM action, json_each(action.tags) AS tag WHERE action.execution = ?1)",
];

/// Plans go before the actions that some of them are about.
pub(super) const DELETE_PLANS: [&str; 2] = [
    "DELETE FROM plan WHERE id = ?1",
    "DELETE FROM plan WHERE id IN (SELECT id FROM action WHERE execution = ?1)",
];

/// What was made of an approved plan, to run it once.
pub(super) const DELETE_MACHINE: &str = "DELETE FROM machine_version WHERE machine = ?1";

/// Everything that belongs to an execution.
pub(super) const DELETE_BELONGINGS: [&str; 6] = [
    "DELETE FROM execution_variables WHERE execution = ?1",
    "DELETE FROM history WHERE execution = ?1",
    "DELETE FROM action WHERE execution = ?1",
    "DELETE FROM timer WHERE execution = ?1",
    "DELETE FROM inbox WHERE execution = ?1",
    "DELETE FROM receipt WHERE execution = ?1",
];

/// Old executions, oldest first. An empty blob sorts before every id.
pub(super) fn aged(
    connection: &Connection,
    before: Timestamp,
    Page { after, limit }: &Page<ExecutionId>,
) -> rusqlite::Result<Paged<Aged, ExecutionId>> {
    let after = after.map(ExecutionId::to_bytes);
    let after = after.as_ref().map_or(&[][..], |id| &id[..]);
    let end = first_after(before).to_bytes();
    let params = params![after, end, Column(before), page_rows(*limit)];
    let read = |row: &Row<'_>| {
        Ok(Aged {
            execution: row.get::<_, Column<_>>(0)?.0,
            entries: row.get(1)?,
            goes: row.get(2)?,
        })
    };
    page(connection, AGED, params, *limit, read, |aged| aged.execution)
}

/// Deletes a closed execution with all that belongs to it.
pub(super) fn delete(connection: &Connection, id: ExecutionId) -> rusqlite::Result<()> {
    for statement in DELETE_TAGS {
        connection.prepare_cached(statement)?.execute(params![id.to_bytes()])?;
    }
    one_row(connection.prepare_cached(DELETE)?.execute(params![id.to_bytes()])?)?;
    for statement in DELETE_PLANS {
        connection.prepare_cached(statement)?.execute(params![id.to_bytes()])?;
    }
    connection
        .prepare_cached(DELETE_MACHINE)?
        .execute(params![workflow_machine(id)])?;
    for statement in DELETE_BELONGINGS {
        connection.prepare_cached(statement)?.execute(params![id.to_bytes()])?;
    }
    Ok(())
}
