//! Histories: dense, append-only.

use std::collections::HashMap;

use sprag_core::ids::ExecutionId;

use super::columns::{Id, bound, column, instant, limit, number};
use super::session::{Call, Session, Value, count, list};
use crate::records::HistoryEntry;
use crate::traits::Error;

/// An entry is added if the one before it is there, or comes with it, or it is the first.
pub(super) const APPEND: &str = "\
    WITH added AS (INSERT INTO history (execution, sequence, at, body) \
    SELECT execution, sequence, at, body FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bytea[], $5::boolean[]) \
    AS new (execution, sequence, at, body, follows) \
    WHERE sequence = 1 OR follows OR EXISTS (SELECT 1 FROM history AS before \
    WHERE before.execution = new.execution AND before.sequence = new.sequence - 1 AND new.sequence > 1) RETURNING 1) \
    SELECT CASE WHEN count(*) = $6::bigint THEN 0 \
    ELSE sprag_refuse('SPR01', 'a history would have a gap') END FROM added";

const PAGE: &str = "\
    SELECT sequence, at, body FROM history WHERE execution = $1 AND sequence > $2 ORDER BY sequence LIMIT $3";

/// Adds the next entries of histories. One that would leave a gap before it is refused.
pub(super) fn append<'a>(records: &[&'a HistoryEntry]) -> Call<'a> {
    let mut newest: HashMap<ExecutionId, u64> = HashMap::new();
    let follows: Vec<bool> = records
        .iter()
        .map(|record| {
            let before = newest.insert(record.execution, record.sequence);
            before.is_some_and(|before| before.checked_add(1) == Some(record.sequence))
        })
        .collect();
    Call::new(
        APPEND,
        vec![
            list(records, |record| Id::from(record.execution)),
            list(records, |record| bound(record.sequence)),
            list(records, |record| record.at.as_millis()),
            list(records, |record| record.body.as_slice()),
            Box::new(follows) as Value<'a>,
            count(records),
        ],
    )
}

/// A page of a history, oldest first.
pub(super) async fn page(
    session: &Session,
    execution: ExecutionId,
    after: u64,
    max: usize,
) -> Result<Vec<HistoryEntry>, Error> {
    session
        .all(PAGE, &[&Id::from(execution), &bound(after), &limit(max)], |row| {
            Ok(HistoryEntry {
                execution,
                sequence: number::<i64, _>(row, 0)?,
                at: instant(row, 1)?,
                body: column(row, 2)?,
            })
        })
        .await
}
