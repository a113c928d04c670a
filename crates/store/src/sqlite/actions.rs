//! Actions: the table is the queue.
//!
//! Execution, machine, action id, tags and time of creation never change: an update that names others finds no row. The
//! numbers in the statements are those of `sprag_core::action::Status`; they are written out, because only then does
//! the planner see that a partial index holds them.

use std::sync::LazyLock;

use rusqlite::{Connection, Row, params};
use sprag_core::action::Status;
use sprag_core::ids::{ActionId, ExecutionId, Slot};
use sprag_core::time::Timestamp;

use super::bulk::{Insert, Places};
use super::columns::{Column, limit, one_row, page, page_rows, row, rows};
use super::filter::Filter;
use crate::page::{Page, Paged, paged};
use crate::records::Action;
use crate::traits::{ActionQuery, DueAction, OpenAction, ReadyKey, ReadyRef};

/// The greatest number of an open status.
const OPEN_MAX: u8 = Status::Retrying as u8;

static INSERT: LazyLock<Insert> = LazyLock::new(|| {
    let columns = [
        "id",
        "execution",
        "machine",
        "action_id",
        "kind",
        "status",
        "line",
        "priority",
        "run_at",
        "created_at",
        "error_kind",
        "tags",
        "body",
        "fingerprint",
        "died_at",
    ];
    Insert::into("action", &columns)
});

pub(super) const UPDATE: &str = "\
    UPDATE action SET kind = ?5, status = ?6, line = ?7, priority = ?8, run_at = ?9, error_kind = ?11, \
    body = ?13, fingerprint = ?14, died_at = ?15 \
    WHERE id = ?1 AND execution = ?2 AND machine = ?3 AND action_id = ?4 AND created_at = ?10 \
    AND tags IS ?12";

pub(super) const PUT_TAG: &str = "INSERT OR IGNORE INTO action_tag (tag, action) VALUES (?1, ?2)";

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, execution, machine, action_id, kind, status, line, priority, run_at, created_at, error_kind, ",
            "tags, body, fingerprint, died_at FROM action",
            $rest
        )
    };
}

pub(super) const GET: &str = select!(" WHERE id = ?1");

/// Named, because the planner would rather walk all actions of the execution, which may have ended long ago.
pub(super) const OPEN_OF: &str =
    select!(" INDEXED BY action_open WHERE execution = ?1 AND status IN (0, 1, 2, 3) AND status <= 3 ORDER BY id");

const LIST: &str = select!("");

pub(super) const READY_AFTER: &str = "\
    SELECT priority, run_at, id, execution FROM action \
    WHERE status = 1 AND line = ?1 AND priority = ?2 AND (run_at, id) > (?3, ?4) ORDER BY run_at, id LIMIT ?5";

pub(super) const READY_BELOW: &str = "\
    SELECT priority, run_at, id, execution FROM action \
    WHERE status = 1 AND line = ?1 AND priority < ?2 ORDER BY priority DESC, run_at, id LIMIT ?3";

pub(super) const FIRST_LINE: &str = "SELECT line FROM action WHERE status = 1 ORDER BY line LIMIT 1";

pub(super) const NEXT_LINE: &str = "SELECT line FROM action WHERE status = 1 AND line > ?1 ORDER BY line LIMIT 1";

pub(super) const DUE: &str = "\
    SELECT id, execution, run_at FROM action \
    WHERE status IN (0, 3) AND run_at <= ?1 AND (run_at, id) > (?2, ?3) ORDER BY run_at, id LIMIT ?4";

pub(super) const RUNNING: &str = "\
    SELECT id, execution, run_at FROM action \
    WHERE status = 2 AND status <= 3 AND id > ?1 ORDER BY id LIMIT ?2";

pub(super) const OPEN: &str = "\
    SELECT execution, id FROM action \
    WHERE status = ?1 AND status <= 3 AND (execution, id) > (?2, ?3) ORDER BY execution, id LIMIT ?4";

/// Adds actions.
pub(super) fn insert(connection: &Connection, records: &[&Action]) -> rusqlite::Result<()> {
    INSERT.all(connection, records, |places, record| bind(places, record))?;
    for record in records {
        for tag in &record.tags {
            connection
                .prepare_cached(PUT_TAG)?
                .execute(params![tag, record.id.to_bytes()])?;
        }
    }
    Ok(())
}

/// The columns of a record, in the order of `INSERT`; `UPDATE` has the same.
fn bind(places: &mut Places<'_, '_>, record: &Action) -> rusqlite::Result<()> {
    let Action {
        id,
        execution,
        machine,
        action_id,
        kind,
        status,
        line,
        priority,
        run_at,
        created_at,
        error_kind,
        fingerprint,
        died_at,
        body,
        tags,
    } = record;
    places.put(id.to_bytes())?;
    places.put(execution.to_bytes())?;
    places.put(machine)?;
    places.put(action_id)?;
    places.put(kind)?;
    places.put(status)?;
    places.put(line)?;
    places.put(priority)?;
    places.put(Column(*run_at))?;
    places.put(Column(*created_at))?;
    places.put(error_kind)?;
    places.put(Column(tags.as_slice()))?;
    places.put(body)?;
    places.put(fingerprint)?;
    places.put(died_at.map(Column))
}

/// Writes actions as they are now.
pub(super) fn update(connection: &Connection, records: &[&Action]) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(UPDATE)?;
    for record in records {
        let mut places = Places::of(&mut statement);
        bind(&mut places, record)?;
        one_row(places.run()?)?;
    }
    Ok(())
}

/// Only the ids are looked at. Bytes 7 and 8 of an id are its slot.
pub(super) const OF_SLOT: &str = "\
    SELECT id FROM (SELECT id FROM action WHERE id <= ?1 ORDER BY id DESC LIMIT ?2) WHERE substr(id, 7, 2) = ?3";

/// Actions of a slot, newest first, among so many up to an id.
pub(super) fn of_slot(
    connection: &Connection,
    slot: Slot,
    up_to: ActionId,
    scan: usize,
) -> rusqlite::Result<Vec<ActionId>> {
    let params = params![up_to.to_bytes(), limit(scan), slot.0.to_be_bytes()];
    rows(connection, OF_SLOT, params, |row| Ok(row.get::<_, Column<_>>(0)?.0))
}

/// One action.
pub(super) fn get(connection: &Connection, id: ActionId) -> rusqlite::Result<Option<Action>> {
    row(connection, GET, params![id.to_bytes()], read)
}

/// The open actions of an execution, by id.
pub(super) fn open_of(connection: &Connection, execution: ExecutionId) -> rusqlite::Result<Vec<Action>> {
    rows(connection, OPEN_OF, params![execution.to_bytes()], read)
}

/// Queued actions of a queue in the order they are served. Two ranges of the index: what is left of the priority that
/// the last page ended in, then all lower ones.
pub(super) fn ready(
    connection: &Connection,
    queue: &str,
    Page { after, limit }: &Page<ReadyKey>,
) -> rusqlite::Result<Paged<ReadyRef, ReadyKey>> {
    let max = limit.rows_to_read();
    let found = match after {
        Some(after) => ready_after(connection, queue, after, max)?,
        None => ready_below(connection, queue, u16::from(u8::MAX) + 1, max)?,
    };
    paged(found.into_iter().map(Ok), *limit, |ready| ready.key)
}

fn ready_after(connection: &Connection, queue: &str, after: &ReadyKey, max: usize) -> rusqlite::Result<Vec<ReadyRef>> {
    let ReadyKey {
        priority,
        run_at,
        action,
    } = after;
    let params = params![queue, priority, Column(*run_at), action.to_bytes(), limit(max)];
    let mut found = rows(connection, READY_AFTER, params, read_ready)?;
    if found.len() < max {
        found.extend(ready_below(connection, queue, u16::from(*priority), max - found.len())?);
    }
    Ok(found)
}

fn ready_below(connection: &Connection, queue: &str, priority: u16, max: usize) -> rusqlite::Result<Vec<ReadyRef>> {
    rows(
        connection,
        READY_BELOW,
        params![queue, priority, limit(max)],
        read_ready,
    )
}

/// The queues that hold queued actions. Hops from one queue to the next, however deep each is.
pub(super) fn queues(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut lines = Vec::new();
    let mut next = row(connection, FIRST_LINE, params![], |row| row.get(0))?;
    while let Some(line) = next {
        next = row(connection, NEXT_LINE, params![line], |row| row.get(0))?;
        lines.push(line);
    }
    Ok(lines)
}

/// Scheduled and retrying actions that are due, earliest first. An empty blob sorts before every id.
pub(super) fn due(
    connection: &Connection,
    until: Timestamp,
    Page { after, limit }: &Page<(Timestamp, ActionId)>,
) -> rusqlite::Result<Paged<DueAction, (Timestamp, ActionId)>> {
    let (at, id) = after.unzip();
    let at = at.unwrap_or(Timestamp::from_millis(i64::MIN));
    let id = id.map(ActionId::to_bytes);
    let id = id.as_ref().map_or(&[][..], |id| &id[..]);
    let params = params![Column(until), Column(at), id, page_rows(*limit)];
    page(connection, DUE, params, *limit, read_due, |due| {
        (due.run_at, due.action)
    })
}

/// Actions whose attempt was under way, by id.
pub(super) fn running(
    connection: &Connection,
    Page { after, limit }: &Page<ActionId>,
) -> rusqlite::Result<Paged<DueAction, ActionId>> {
    let after = after.map(ActionId::to_bytes);
    let after = after.as_ref().map_or(&[][..], |id| &id[..]);
    let params = params![after, page_rows(*limit)];
    page(connection, RUNNING, params, *limit, read_due, |running| running.action)
}

/// Actions in an open status, by execution and id. An empty blob sorts before every id.
pub(super) fn open(
    connection: &Connection,
    status: u8,
    Page { after, limit }: &Page<OpenAction>,
) -> rusqlite::Result<Paged<OpenAction, OpenAction>> {
    let after = after.map(|OpenAction { execution, action }| (execution.to_bytes(), action.to_bytes()));
    let (execution, action) = after
        .as_ref()
        .map_or((&[][..], &[][..]), |(execution, action)| (&execution[..], &action[..]));
    let params = params![status, execution, action, page_rows(*limit)];
    page(connection, OPEN, params, *limit, read_open, |open| *open)
}

/// Actions, newest first.
pub(super) fn list(connection: &Connection, query: &ActionQuery) -> rusqlite::Result<Paged<Action, ActionId>> {
    let execution = query.execution.map(ExecutionId::to_bytes);
    let before = query.page.after.map(ActionId::to_bytes);
    filter(query, execution.as_ref(), before.as_ref()).newest(connection, query.page.limit, read, |action| action.id)
}

/// The conditions of a query.
pub(super) fn filter<'a>(
    query: &'a ActionQuery,
    execution: Option<&'a [u8; 16]>,
    before: Option<&'a [u8; 16]>,
) -> Filter<'a> {
    let ActionQuery {
        execution: _,
        machine,
        action_id,
        kind,
        status,
        error_kind,
        page: _,
    } = query;
    let mut filter = Filter::new(LIST);
    filter.given("execution = ?", execution);
    filter.given("machine = ?", machine.as_ref());
    filter.given("action_id = ?", action_id.as_ref());
    filter.given("kind = ?", kind.as_ref());
    filter.given("error_kind = ?", error_kind.as_ref());
    filter.given("id < ?", before);
    if let Some(status) = status {
        filter.condition(&format!("status = {status}"));
        if *status <= OPEN_MAX {
            filter.condition("status <= 3");
        }
    }
    filter
}

fn read(row: &Row<'_>) -> rusqlite::Result<Action> {
    Ok(Action {
        id: row.get::<_, Column<_>>(0)?.0,
        execution: row.get::<_, Column<_>>(1)?.0,
        machine: row.get(2)?,
        action_id: row.get(3)?,
        kind: row.get(4)?,
        status: row.get(5)?,
        line: row.get(6)?,
        priority: row.get(7)?,
        run_at: row.get::<_, Column<_>>(8)?.0,
        created_at: row.get::<_, Column<_>>(9)?.0,
        error_kind: row.get(10)?,
        tags: row.get::<_, Column<_>>(11)?.0,
        body: row.get(12)?,
        fingerprint: row.get(13)?,
        died_at: row.get::<_, Option<Column<_>>>(14)?.map(|column| column.0),
    })
}

fn read_ready(row: &Row<'_>) -> rusqlite::Result<ReadyRef> {
    let key = ReadyKey {
        priority: row.get(0)?,
        run_at: row.get::<_, Column<_>>(1)?.0,
        action: row.get::<_, Column<_>>(2)?.0,
    };
    Ok(ReadyRef {
        key,
        execution: row.get::<_, Column<_>>(3)?.0,
    })
}

fn read_open(row: &Row<'_>) -> rusqlite::Result<OpenAction> {
    Ok(OpenAction {
        execution: row.get::<_, Column<_>>(0)?.0,
        action: row.get::<_, Column<_>>(1)?.0,
    })
}

fn read_due(row: &Row<'_>) -> rusqlite::Result<DueAction> {
    Ok(DueAction {
        action: row.get::<_, Column<_>>(0)?.0,
        execution: row.get::<_, Column<_>>(1)?.0,
        run_at: row.get::<_, Column<_>>(2)?.0,
    })
}
