//! Timers. A row is there as long as its timer may still fire.

use rusqlite::{Connection, Row, params};
use sprag_core::ids::ExecutionId;
use sprag_core::time::Timestamp;

use super::columns::{Column, one_row, page, page_rows, rows};
use crate::page::{Page, Paged};
use crate::records::{Timer, TimerKey};
use crate::traits::TimerPosition;

pub(super) const PUT: &str = "\
    INSERT INTO timer (execution, visit, timer_index, due_at, schedule) VALUES (?1, ?2, ?3, ?4, ?5) \
    ON CONFLICT (execution, visit, timer_index) DO UPDATE SET due_at = excluded.due_at, schedule = excluded.schedule";

pub(super) const DELETE: &str = "DELETE FROM timer WHERE execution = ?1 AND visit = ?2 AND timer_index = ?3";

pub(super) const OF: &str = "\
    SELECT execution, visit, timer_index, due_at, schedule FROM timer WHERE execution = ?1 \
    ORDER BY visit, timer_index";

pub(super) const DUE: &str = "\
    SELECT execution, visit, timer_index, due_at, schedule FROM timer \
    WHERE due_at <= ?1 AND (due_at, execution, visit, timer_index) > (?2, ?3, ?4, ?5) \
    ORDER BY due_at, execution, visit, timer_index LIMIT ?6";

/// The partial index holds no other timers.
pub(super) const SCHEDULES: &str = "\
    SELECT execution, visit, timer_index, due_at, schedule FROM timer INDEXED BY timer_schedule \
    WHERE schedule IS NOT NULL AND due_at <= ?1 AND (due_at, execution, visit, timer_index) > (?2, ?3, ?4, ?5) \
    ORDER BY due_at, execution, visit, timer_index LIMIT ?6";

/// Adds or moves a timer.
pub(super) fn put(connection: &Connection, record: &Timer) -> rusqlite::Result<()> {
    let Timer {
        key: TimerKey {
            execution,
            visit,
            index,
        },
        due_at,
        schedule,
    } = record;
    let params = params![execution.to_bytes(), visit, index, Column(*due_at), schedule];
    one_row(connection.prepare_cached(PUT)?.execute(params)?)
}

/// Deletes a timer, if it is still there.
pub(super) fn delete(connection: &Connection, key: TimerKey) -> rusqlite::Result<()> {
    let TimerKey {
        execution,
        visit,
        index,
    } = key;
    connection
        .prepare_cached(DELETE)?
        .execute(params![execution.to_bytes(), visit, index])?;
    Ok(())
}

/// The timers of an execution, by key.
pub(super) fn of(connection: &Connection, execution: ExecutionId) -> rusqlite::Result<Vec<Timer>> {
    rows(connection, OF, params![execution.to_bytes()], read)
}

/// Timers that are due, earliest first.
pub(super) fn due(
    connection: &Connection,
    until: Timestamp,
    wanted: &Page<TimerPosition>,
) -> rusqlite::Result<Paged<Timer, TimerPosition>> {
    by_due_time(connection, DUE, until, wanted)
}

/// Schedules, by their next occurrence.
pub(super) fn schedules(
    connection: &Connection,
    wanted: &Page<TimerPosition>,
) -> rusqlite::Result<Paged<Timer, TimerPosition>> {
    by_due_time(connection, SCHEDULES, Timestamp::MAX, wanted)
}

/// An empty blob sorts before every id.
fn by_due_time(
    connection: &Connection,
    sql: &str,
    until: Timestamp,
    Page { after, limit }: &Page<TimerPosition>,
) -> rusqlite::Result<Paged<Timer, TimerPosition>> {
    let (at, key) = after.unzip();
    let at = at.unwrap_or(Timestamp::from_millis(i64::MIN));
    let execution = key.map(|key| key.execution.to_bytes());
    let execution = execution.as_ref().map_or(&[][..], |id| &id[..]);
    let (visit, index) = key.map_or((0, 0), |key| (key.visit, key.index));
    let params = params![Column(until), Column(at), execution, visit, index, page_rows(*limit)];
    page(connection, sql, params, *limit, read, |timer| (timer.due_at, timer.key))
}

fn read(row: &Row<'_>) -> rusqlite::Result<Timer> {
    let key = TimerKey {
        execution: row.get::<_, Column<_>>(0)?.0,
        visit: row.get(1)?,
        index: row.get(2)?,
    };
    Ok(Timer {
        key,
        due_at: row.get::<_, Column<_>>(3)?.0,
        schedule: row.get(4)?,
    })
}
