//! Timers. A row is there as long as its timer may still fire.

use sprag_core::ids::ExecutionId;
use sprag_core::time::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::columns::{Id, bound, column, id_at, instant, number, page_rows, shard};
use super::part::{StatementPart, Text};
use super::session::{Session, list};
use crate::page::{Page, Paged, paged};
use crate::records::{Timer, TimerKey};
use crate::traits::{Error, TimerPosition};

const PUT: Text = Text::new(
    "put_timers AS (INSERT INTO timer (execution, visit, timer_index, shard, due_at, schedule) \
    SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::integer[], $4::smallint[], $5::bigint[], $6::text[]) \
    ON CONFLICT (execution, visit, timer_index) DO UPDATE SET due_at = excluded.due_at, schedule = excluded.schedule)",
);

pub(super) const DELETE: Text = Text::new(
    "gone_timers AS (DELETE FROM timer \
    USING unnest($1::uuid[], $2::bigint[], $3::integer[]) AS gone (execution, visit, timer_index) \
    WHERE timer.execution = gone.execution AND timer.visit = gone.visit AND timer.timer_index = gone.timer_index)",
);

pub(super) const OF: &str = "\
    SELECT execution, visit, timer_index, due_at, schedule FROM timer WHERE execution = ANY($1::uuid[]) \
    ORDER BY execution, visit, timer_index";

pub(super) const DUE: &str = "\
    SELECT execution, visit, timer_index, due_at, schedule FROM timer \
    WHERE shard = $1 AND due_at <= $2 AND (due_at, execution, visit, timer_index) > ($3, $4, $5, $6) \
    ORDER BY due_at, execution, visit, timer_index LIMIT $7";

/// The earliest of every shard, by the index of [`DUE`], then the earliest of all.
pub(super) const UNTIL: &str = "\
    SELECT due.execution, due.visit, due.timer_index, due.due_at, due.schedule FROM shard CROSS JOIN LATERAL (\
    SELECT execution, visit, timer_index, due_at, schedule FROM timer \
    WHERE timer.shard = shard.id AND due_at <= $1 AND (due_at, execution, visit, timer_index) > ($2, $3, $4, $5) \
    ORDER BY due_at, execution, visit, timer_index LIMIT $6) AS due \
    ORDER BY due.due_at, due.execution, due.visit, due.timer_index LIMIT $6";

/// The partial index holds no other timers.
pub(super) const SCHEDULES: &str = "\
    SELECT execution, visit, timer_index, due_at, schedule FROM timer \
    WHERE schedule IS NOT NULL AND due_at <= $1 AND (due_at, execution, visit, timer_index) > ($2, $3, $4, $5) \
    ORDER BY due_at, execution, visit, timer_index LIMIT $6";

/// Adds or moves timers.
pub(super) fn put<'a>(records: &[&'a Timer], shards: u32) -> StatementPart<'a> {
    StatementPart::new(
        PUT,
        vec![
            list(records, |record| Id::from(record.key.execution)),
            list(records, |record| bound(record.key.visit)),
            list(records, |record| i32::from(record.key.index)),
            list(records, |record| shard(record.key.execution.slot(), shards)),
            list(records, |record| record.due_at.as_millis()),
            list(records, |record| record.schedule.as_deref()),
        ],
    )
}

/// Deletes timers, as far as they are still there.
pub(super) fn delete<'a>(keys: &[TimerKey]) -> StatementPart<'a> {
    StatementPart::new(
        DELETE,
        vec![
            list(keys, |key| Id::from(key.execution)),
            list(keys, |key| bound(key.visit)),
            list(keys, |key| i32::from(key.index)),
        ],
    )
}

/// The timers of executions, by key.
pub(super) async fn of(session: &Session, executions: &[ExecutionId]) -> Result<Vec<Timer>, Error> {
    let wanted: Vec<Id> = executions.iter().copied().map(Id::from).collect();
    session.all(OF, &[&wanted], read).await
}

/// Timers that are due, earliest first.
pub(super) async fn due(
    session: &Session,
    shard: i16,
    until: Timestamp,
    Page { after, limit }: &Page<TimerPosition>,
) -> Result<Paged<Timer, TimerPosition>, Error> {
    let (at, execution, visit, index) = position(after.as_ref());
    let values: [&(dyn ToSql + Sync); 7] = [
        &shard,
        &until.as_millis(),
        &at,
        &execution,
        &visit,
        &index,
        &page_rows(*limit),
    ];
    let found = session.all(DUE, &values, read).await?;
    paged(found.into_iter().map(Ok), *limit, |timer| (timer.due_at, timer.key))
}

/// Timers of all shards that are due by an instant, earliest first.
pub(super) async fn until(
    session: &Session,
    until: Timestamp,
    wanted: &Page<TimerPosition>,
) -> Result<Paged<Timer, TimerPosition>, Error> {
    of_all_shards(session, UNTIL, until, wanted).await
}

/// Schedules of all shards, by their next occurrence.
pub(super) async fn schedules(
    session: &Session,
    wanted: &Page<TimerPosition>,
) -> Result<Paged<Timer, TimerPosition>, Error> {
    of_all_shards(session, SCHEDULES, Timestamp::MAX, wanted).await
}

async fn of_all_shards(
    session: &Session,
    sql: &'static str,
    until: Timestamp,
    Page { after, limit }: &Page<TimerPosition>,
) -> Result<Paged<Timer, TimerPosition>, Error> {
    let (at, execution, visit, index) = position(after.as_ref());
    let values: [&(dyn ToSql + Sync); 6] = [&until.as_millis(), &at, &execution, &visit, &index, &page_rows(*limit)];
    let found = session.all(sql, &values, read).await?;
    paged(found.into_iter().map(Ok), *limit, |timer| (timer.due_at, timer.key))
}

/// The columns of a position; before every timer without one.
fn position(after: Option<&TimerPosition>) -> (i64, Id, i64, i32) {
    after.map_or((i64::MIN, Id::FIRST, 0, 0), |(at, key)| {
        let TimerKey {
            execution,
            visit,
            index,
        } = *key;
        (at.as_millis(), execution.into(), bound(visit), i32::from(index))
    })
}

fn read(row: &Row) -> Result<Timer, Error> {
    let key = TimerKey {
        execution: id_at(row, 0)?,
        visit: number::<i64, _>(row, 1)?,
        index: number::<i32, _>(row, 2)?,
    };
    Ok(Timer {
        key,
        due_at: instant(row, 3)?,
        schedule: column(row, 4)?,
    })
}
