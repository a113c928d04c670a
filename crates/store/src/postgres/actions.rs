//! Actions: the table is the queue.
//!
//! Execution, machine, action id, tags and time of creation never change: an update that names others finds no row, and is
//! refused. The numbers in the statements are those of `sprag_core::action::Status`; they are written out, because only
//! then does the planner see that a partial index holds them.

use sprag_core::ids::{ActionId, ExecutionId, Slot};
use sprag_core::text::is_storable;
use sprag_core::time::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::columns::{
    self, Id, as_wanted, column, id_at, instant, limit, number, page_rows, read_tags, row_bytes, shard, tags,
};
use super::part::{StatementPart, Text};
use super::rows::{Columns, RowTable, rows};
use super::search::{Filter, Listed};
use super::session::{Session, count, list};
use crate::page::{Page, PageLimit, Paged, paged};
use crate::records::Action;
use crate::traits::{ActionQuery, DueAction, Error, OpenAction, ReadyKey, ReadyRef};

const TABLE: RowTable = RowTable {
    row: "action_row",
    columns: &[
        ("id", "uuid"),
        ("execution", "uuid"),
        ("run_at", "bigint"),
        ("created_at", "bigint"),
        ("shard", "smallint"),
        ("status", "smallint"),
        ("priority", "smallint"),
        ("machine", "text"),
        ("action_id", "text"),
        ("kind", "text"),
        ("line", "text"),
        ("error_kind", "text"),
        ("tags", "text"),
        ("body", "bytea"),
        ("fingerprint", "text"),
        ("died_at", "bigint"),
    ],
};

const INSERT: Text = Text {
    rows: Some(&TABLE),
    ..Text::new("new_actions AS (INSERT INTO action ({columns}) SELECT * FROM {rows} AS new)")
};

pub(super) const UPDATE: Text = Text {
    rows: Some(&TABLE),
    with: "\
    changed_actions AS (UPDATE action AS old SET kind = new.kind, status = new.status, line = new.line, \
    priority = new.priority, run_at = new.run_at, error_kind = new.error_kind, body = new.body, \
    fingerprint = new.fingerprint, died_at = new.died_at FROM {rows} AS new \
    WHERE old.id = new.id AND old.execution IS NOT DISTINCT FROM new.execution \
    AND old.machine IS NOT DISTINCT FROM new.machine AND old.action_id IS NOT DISTINCT FROM new.action_id \
    AND old.created_at = new.created_at AND old.tags IS NOT DISTINCT FROM new.tags RETURNING 1)",
    refusals: "\
    WHEN (SELECT count(*) FROM changed_actions) <> $2::bigint \
    THEN sprag_refuse('SPR01', 'an action that must be there is not') ",
};

const INSERT_TAGS: Text = Text::new(
    "new_action_tags AS (INSERT INTO action_tag (tag, action) SELECT DISTINCT * FROM unnest($1::text[], $2::uuid[]))",
);

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, execution, machine, action_id, kind, status, line, priority, run_at, created_at, ",
            "error_kind, tags, body, fingerprint, died_at FROM action",
            $rest
        )
    };
}

pub(super) const GET: &str = select!(" WHERE id = ANY($1::uuid[])");

/// One execution and one status after another, so that each is one place of the index and never a walk along all that is
/// open.
pub(super) const OPEN_OF: &str = "\
    SELECT found.* FROM unnest($1::uuid[], $2::smallint[]) AS wanted (execution, shard) \
    CROSS JOIN (VALUES (0::smallint), (1), (2), (3)) AS open (status) CROSS JOIN LATERAL \
    (SELECT id, execution, machine, action_id, kind, status, line, priority, run_at, created_at, error_kind, tags, body, \
    fingerprint, died_at FROM action WHERE action.shard = wanted.shard AND action.execution = wanted.execution \
    AND action.status = open.status AND action.status <= 3 OFFSET 0) AS found ORDER BY found.id";

/// The same for readers, with the newest of each execution and status that fit into so many rows and bytes. The shard
/// comes from the execution's row, because the index begins with it.
pub(super) const OPEN_WORK: &str = "\
    SELECT found.* FROM execution AS wanted CROSS JOIN (VALUES (0::smallint), (1), (2), (3)) AS open (status) \
    CROSS JOIN LATERAL (SELECT id, execution, machine, action_id, kind, status, line, priority, run_at, created_at, \
    error_kind, tags, body, fingerprint, died_at FROM (SELECT *, sum(bytes) OVER (ORDER BY id DESC) AS total \
    FROM (SELECT *, $4 + octet_length(body) AS bytes FROM action WHERE action.shard = wanted.shard \
    AND action.execution = wanted.id AND action.status = open.status AND action.status <= 3 ORDER BY id DESC LIMIT $2) \
    AS newest) AS summed WHERE total <= $3 OR total = bytes) AS found WHERE wanted.id = ANY($1::uuid[])";

/// Actions in a list, each with what it counts for on a page.
const LIST: Listed = Listed {
    columns: "id, execution, machine, action_id, kind, status, line, priority, run_at, created_at, error_kind, tags, body, \
        fingerprint, died_at",
    table: "action",
    bytes: "octet_length(body)",
};

pub(super) const READY_AFTER: &str = "\
    SELECT priority, run_at, id, execution FROM action \
    WHERE status = 1 AND shard = $1 AND line = $2 AND priority = $3 AND (run_at, id) > ($4, $5) \
    ORDER BY run_at, id LIMIT $6";

pub(super) const READY_BELOW: &str = "\
    SELECT priority, run_at, id, execution FROM action \
    WHERE status = 1 AND shard = $1 AND line = $2 AND priority < $3 ORDER BY priority DESC, run_at, id LIMIT $4";

/// Hops from one queue to the next, however deep each is.
pub(super) const LINES: &str = "\
    WITH RECURSIVE hop AS (\
    (SELECT line FROM action WHERE status = 1 AND shard = $1 ORDER BY line LIMIT 1) \
    UNION ALL SELECT (SELECT next.line FROM action AS next WHERE next.status = 1 AND next.shard = $1 \
    AND next.line > hop.line ORDER BY next.line LIMIT 1) FROM hop WHERE hop.line IS NOT NULL) \
    SELECT line FROM hop WHERE line IS NOT NULL ORDER BY line";

pub(super) const DUE: &str = "\
    SELECT id, execution, run_at FROM action \
    WHERE status IN (0, 3) AND shard = $1 AND run_at <= $2 AND (run_at, id) > ($3, $4) ORDER BY run_at, id LIMIT $5";

pub(super) const RUNNING: &str = "\
    SELECT id, execution, run_at FROM action \
    WHERE status = 2 AND status <= 3 AND shard = $1 AND id > $2 ORDER BY id LIMIT $3";

pub(super) const OPEN: &str = "\
    SELECT execution, id FROM action \
    WHERE status = $2 AND status <= 3 AND shard = $1 AND (execution, id) > ($3, $4) ORDER BY execution, id LIMIT $5";

/// Adds actions.
pub(super) fn insert<'a>(records: &[&'a Action], shards: u32) -> StatementPart<'a> {
    let row = move |record: &&Action, row: &mut Columns<'_>| put(row, record, shards);
    StatementPart::of(INSERT, records.len(), rows(&TABLE, records, row))
}

fn put(row: &mut Columns<'_>, record: &Action, shards: u32) {
    row.put("id", Id::from(record.id))
        .put("execution", Id::from(record.execution))
        .put("run_at", record.run_at.as_millis())
        .put("created_at", record.created_at.as_millis())
        .put("shard", shard(record.execution.slot(), shards))
        .put("status", i16::from(record.status))
        .put("priority", i16::from(record.priority))
        .put("machine", record.machine.as_str())
        .put("action_id", record.action_id.as_str())
        .put("kind", record.kind.as_str())
        .put("line", record.line.as_str())
        .put("error_kind", record.error_kind.as_deref())
        .put("tags", tags(&record.tags))
        .put("body", record.body.as_slice())
        .put("fingerprint", record.fingerprint.as_deref())
        .put("died_at", record.died_at.map(Timestamp::as_millis));
}

/// The tags of new actions, where there are any.
pub(super) fn insert_tags<'a>(records: &[&'a Action]) -> Option<StatementPart<'a>> {
    let tags: Vec<(&'a str, Id)> = records
        .iter()
        .flat_map(|record| record.tags.iter().map(|tag| (tag.as_str(), Id::from(record.id))))
        .collect();
    (!tags.is_empty())
        .then(|| StatementPart::new(INSERT_TAGS, vec![list(&tags, |tag| tag.0), list(&tags, |tag| tag.1)]))
}

/// Writes actions as they are now.
pub(super) fn update<'a>(records: &[&'a Action], shards: u32) -> StatementPart<'a> {
    let row = move |record: &&Action, row: &mut Columns<'_>| put(row, record, shards);
    let mut values = rows(&TABLE, records, row);
    values.push(count(records));
    StatementPart::of(UPDATE, records.len(), values)
}

/// Only the ids are looked at. Bytes 7 and 8 of an id are its slot.
pub(super) const OF_SLOT: &str = "\
    SELECT id FROM (SELECT id FROM action WHERE id <= $1 ORDER BY id DESC LIMIT $2::bigint) AS walked \
    WHERE substring(uuid_send(id) from 7 for 2) = $3 ORDER BY id DESC";

/// Actions of a slot, newest first, among so many up to an id.
pub(super) async fn of_slot(
    session: &Session,
    slot: Slot,
    up_to: ActionId,
    scan: usize,
) -> Result<Vec<ActionId>, Error> {
    let slot = slot.0.to_be_bytes();
    let values: [&(dyn ToSql + Sync); 3] = [&Id::from(up_to), &limit(scan), &slot.as_slice()];
    session.all(OF_SLOT, &values, |row| id_at(row, 0)).await
}

/// Actions, in the order in which they are wanted.
pub(super) async fn get(session: &Session, ids: &[ActionId]) -> Result<Vec<Action>, Error> {
    let wanted: Vec<Id> = ids.iter().copied().map(Id::from).collect();
    let found = session.all(GET, &[&wanted], read).await?;
    Ok(as_wanted(ids, &found, |action| &action.id))
}

/// The first of some actions, newest first, as many as fit into so many bytes.
pub(super) async fn page(session: &Session, ids: &[ActionId], bytes: usize) -> Result<Vec<Action>, Error> {
    let wanted: Vec<Id> = ids.iter().copied().map(Id::from).collect();
    LIST.of(session, wanted, bytes).await?.iter().map(read).collect()
}

/// The open actions of executions, by id.
pub(super) async fn open_of(session: &Session, executions: &[ExecutionId], shards: u32) -> Result<Vec<Action>, Error> {
    let wanted: Vec<Id> = executions.iter().copied().map(Id::from).collect();
    let homes: Vec<i16> = executions.iter().map(|id| shard(id.slot(), shards)).collect();
    session.all(OPEN_OF, &[&wanted, &homes], read).await
}

/// The open actions of executions, as many of each execution and status as a limit allows.
pub(super) async fn open_work(
    session: &Session,
    executions: &[ExecutionId],
    PageLimit { rows, bytes }: PageLimit,
) -> Result<Vec<Action>, Error> {
    let wanted: Vec<Id> = executions.iter().copied().map(Id::from).collect();
    let values: [&(dyn ToSql + Sync); 4] = [&wanted, &limit(rows), &limit(bytes), &row_bytes()];
    session.all(OPEN_WORK, &values, read).await
}

/// Queued actions of a queue in the order they are served. Two ranges of the index: what is left of the priority that
/// the last page ended in, then all lower ones.
pub(super) async fn ready(
    session: &Session,
    shard: i16,
    queue: &str,
    Page { after, limit }: &Page<ReadyKey>,
) -> Result<Paged<ReadyRef, ReadyKey>, Error> {
    let max = limit.rows_to_read();
    let found = match after {
        Some(after) => ready_after(session, shard, queue, after, max).await?,
        None => ready_below(session, shard, queue, i16::from(u8::MAX) + 1, max).await?,
    };
    paged(found.into_iter().map(Ok), *limit, |ready| ready.key)
}

async fn ready_after(
    session: &Session,
    shard: i16,
    queue: &str,
    after: &ReadyKey,
    max: usize,
) -> Result<Vec<ReadyRef>, Error> {
    let ReadyKey {
        priority,
        run_at,
        action,
    } = after;
    let priority = i16::from(*priority);
    let mut found = session
        .all(
            READY_AFTER,
            &[
                &shard,
                &queue,
                &priority,
                &run_at.as_millis(),
                &Id::from(*action),
                &limit(max),
            ],
            read_ready,
        )
        .await?;
    if found.len() < max {
        let left = max - found.len();
        found.extend(ready_below(session, shard, queue, priority, left).await?);
    }
    Ok(found)
}

async fn ready_below(
    session: &Session,
    shard: i16,
    queue: &str,
    priority: i16,
    max: usize,
) -> Result<Vec<ReadyRef>, Error> {
    session
        .all(READY_BELOW, &[&shard, &queue, &priority, &limit(max)], read_ready)
        .await
}

/// The queues that hold queued actions.
pub(super) async fn queues(session: &Session, shard: i16) -> Result<Vec<String>, Error> {
    session.all(LINES, &[&shard], |row| column(row, 0)).await
}

/// Scheduled and retrying actions that are due, earliest first.
pub(super) async fn due(
    session: &Session,
    shard: i16,
    until: Timestamp,
    Page { after, limit }: &Page<(Timestamp, ActionId)>,
) -> Result<Paged<DueAction, (Timestamp, ActionId)>, Error> {
    let (at, id) = after.map_or((i64::MIN, Id::FIRST), |(at, id)| (at.as_millis(), id.into()));
    let values: [&(dyn ToSql + Sync); 5] = [&shard, &until.as_millis(), &at, &id, &page_rows(*limit)];
    let found = session.all(DUE, &values, read_due).await?;
    paged(found.into_iter().map(Ok), *limit, |due| (due.run_at, due.action))
}

/// Actions whose attempt was under way, by id.
pub(super) async fn running(
    session: &Session,
    shard: i16,
    Page { after, limit }: &Page<ActionId>,
) -> Result<Paged<DueAction, ActionId>, Error> {
    let after = after.map_or(Id::FIRST, Id::from);
    let values: [&(dyn ToSql + Sync); 3] = [&shard, &after, &page_rows(*limit)];
    let found = session.all(RUNNING, &values, read_due).await?;
    paged(found.into_iter().map(Ok), *limit, |running| running.action)
}

/// Actions in an open status, by execution and id.
pub(super) async fn open(
    session: &Session,
    shard: i16,
    status: u8,
    Page { after, limit }: &Page<OpenAction>,
) -> Result<Paged<OpenAction, OpenAction>, Error> {
    let (execution, action) = after.map_or((Id::FIRST, Id::FIRST), |after| {
        (after.execution.into(), after.action.into())
    });
    let values: [&(dyn ToSql + Sync); 5] = [&shard, &i16::from(status), &execution, &action, &page_rows(*limit)];
    let found = session.all(OPEN, &values, read_open).await?;
    paged(found.into_iter().map(Ok), *limit, |open| *open)
}

/// Actions, newest first.
pub(super) async fn newest(session: &Session, query: &ActionQuery) -> Result<Paged<Action, ActionId>, Error> {
    let ActionQuery {
        execution,
        machine,
        action_id,
        kind,
        status,
        error_kind,
        page: Page { after, limit },
    } = query;
    let texts = [machine, action_id, kind, error_kind];
    if texts.into_iter().flatten().any(|text| !is_storable(text)) {
        return Ok(Paged::default());
    }
    let mut filter = Filter::new(&LIST);
    filter.given("execution = ", execution.map(Id::from), &Type::UUID);
    filter.given("machine = ", machine.as_deref(), &Type::TEXT);
    filter.given("action_id = ", action_id.as_deref(), &Type::TEXT);
    filter.given("kind = ", kind.as_deref(), &Type::TEXT);
    filter.given("error_kind = ", error_kind.as_deref(), &Type::TEXT);
    filter.given("id < ", after.map(Id::from), &Type::UUID);
    if let Some(status) = status {
        filter.condition(&format!("status = {status}"));
    }
    let found = filter.newest(session, *limit).await?;
    columns::page(&found, read, |action| action.id)
}

fn read(row: &Row) -> Result<Action, Error> {
    Ok(Action {
        id: id_at(row, 0)?,
        execution: id_at(row, 1)?,
        machine: column(row, 2)?,
        action_id: column(row, 3)?,
        kind: column(row, 4)?,
        status: number::<i16, _>(row, 5)?,
        line: column(row, 6)?,
        priority: number::<i16, _>(row, 7)?,
        run_at: instant(row, 8)?,
        created_at: instant(row, 9)?,
        error_kind: column(row, 10)?,
        tags: read_tags(row, 11)?,
        body: column(row, 12)?,
        fingerprint: column(row, 13)?,
        died_at: column::<Option<i64>>(row, 14)?.map(Timestamp::from_millis),
    })
}

fn read_ready(row: &Row) -> Result<ReadyRef, Error> {
    let key = ReadyKey {
        priority: number::<i16, _>(row, 0)?,
        run_at: instant(row, 1)?,
        action: id_at(row, 2)?,
    };
    Ok(ReadyRef {
        key,
        execution: id_at(row, 3)?,
    })
}

fn read_open(row: &Row) -> Result<OpenAction, Error> {
    Ok(OpenAction {
        execution: id_at(row, 0)?,
        action: id_at(row, 1)?,
    })
}

fn read_due(row: &Row) -> Result<DueAction, Error> {
    Ok(DueAction {
        action: id_at(row, 0)?,
        execution: id_at(row, 1)?,
        run_at: instant(row, 2)?,
    })
}
