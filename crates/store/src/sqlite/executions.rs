//! Executions, and their variables once these outgrow the row.
//!
//! Machine, key, tags and time of creation never change: an update that names others finds no row.

use std::sync::LazyLock;

use rusqlite::{Connection, Row, Statement, params};
use sprag_core::ids::ExecutionId;

use super::bulk::{Insert, Places};
use super::columns::{Column, limit, one_row, row, rows};
use super::filter::Filter;
use crate::page::Paged;
use crate::records::{Execution, ExecutionStatus};
use crate::traits::{ExecutionQuery, KeyHolder, Variables};

/// Variables up to this size live in the execution's row, so that a small execution is one row.
pub(super) const VARIABLES_INLINE_MAX: usize = 2 * 1024;

static INSERT: LazyLock<Insert> = LazyLock::new(|| {
    let columns = [
        "id",
        "machine",
        "version",
        "key",
        "status",
        "sequence",
        "created_at",
        "updated_at",
        "tags",
        "body",
        "variables",
    ];
    Insert::into("execution", &columns)
});

/// `SQLite` rewrites the whole row in any case; unchanged variables are copied there, not sent again.
pub(super) const UPDATE: &str = "\
    UPDATE execution SET version = ?3, status = ?5, sequence = ?6, updated_at = ?8, body = ?10, \
    variables = iif(?12, ?11, variables) \
    WHERE id = ?1 AND machine = ?2 AND key IS ?4 AND created_at = ?7 AND tags IS ?9";

/// The same for an execution that stays what it is. A statement that names `status` takes the execution out of every index
/// that knows it and puts it back in, and most steps of an execution leave it running.
pub(super) const UPDATE_STAYING: &str = "\
    UPDATE execution SET version = ?3, sequence = ?6, updated_at = ?8, body = ?10, \
    variables = iif(?12, ?11, variables) \
    WHERE id = ?1 AND machine = ?2 AND key IS ?4 AND created_at = ?7 AND tags IS ?9 AND status = ?5";

pub(super) const PUT_TAG: &str = "INSERT OR IGNORE INTO execution_tag (tag, execution) VALUES (?1, ?2)";

pub(super) const PUT_LARGE_VARIABLES: &str = "\
    INSERT INTO execution_variables (execution, variables) VALUES (?1, ?2) \
    ON CONFLICT (execution) DO UPDATE SET variables = excluded.variables";

pub(super) const DELETE_LARGE_VARIABLES: &str = "DELETE FROM execution_variables WHERE execution = ?1";

/// Large variables are looked up only where the execution's row has none.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, machine, version, key, status, sequence, created_at, updated_at, tags, body, ",
            "coalesce(variables, (SELECT variables FROM execution_variables WHERE execution = execution.id)) ",
            "FROM execution",
            $rest
        )
    };
}

pub(super) const GET: &str = select!(" WHERE id = ?1");

const LIST: &str = select!("");

pub(super) const HOLDER: &str = "\
    SELECT id FROM execution WHERE machine = ?1 AND key = ?2 AND key IS NOT NULL AND status <= 2";

/// The caller drops those beyond the prefix.
pub(super) const KEYS: &str = "\
    SELECT key, id, machine, status FROM execution INDEXED BY execution_by_key \
    WHERE key >= ?1 AND key IS NOT NULL ORDER BY key, id LIMIT ?2";

pub(super) const STATUS: &str = "SELECT status FROM execution WHERE id = ?1";

pub(super) const IS_RUNNING: &str = "SELECT 1 FROM execution WHERE id = ?1 AND status = 0";

/// Adds executions.
pub(super) fn insert(connection: &Connection, records: &[&Execution]) -> rusqlite::Result<()> {
    INSERT.all(connection, records, |places, record| {
        bind(places, record, small(&record.variables))
    })?;
    for record in records {
        for tag in &record.tags {
            connection
                .prepare_cached(PUT_TAG)?
                .execute(params![tag, record.id.to_bytes()])?;
        }
        if small(&record.variables).is_none() {
            put_large_variables(connection, record.id, &record.variables)?;
        }
    }
    Ok(())
}

/// The columns of a record, in the order of `INSERT`; updates begin with the same.
fn bind(places: &mut Places<'_, '_>, record: &Execution, variables: Option<&[u8]>) -> rusqlite::Result<()> {
    let Execution {
        id,
        machine,
        version,
        key,
        status,
        sequence,
        created_at,
        updated_at,
        body,
        variables: _,
        tags,
    } = record;
    places.put(id.to_bytes())?;
    places.put(machine)?;
    places.put(version)?;
    places.put(key)?;
    places.put(*status as u8)?;
    places.put(sequence)?;
    places.put(Column(*created_at))?;
    places.put(Column(*updated_at))?;
    places.put(Column(tags.as_slice()))?;
    places.put(body)?;
    places.put(variables)
}

/// Writes executions as they are now, their variables only when they changed.
pub(super) fn update(connection: &Connection, records: &[(&Execution, Variables)]) -> rusqlite::Result<()> {
    let mut staying = connection.prepare_cached(UPDATE_STAYING)?;
    for (record, written) in records {
        update_one(connection, &mut staying, record, *written)?;
        match (written, small(&record.variables)) {
            (Variables::Unchanged, _) => {}
            (Variables::Changed, None) => put_large_variables(connection, record.id, &record.variables)?,
            (Variables::Changed, Some(_)) => delete_large_variables(connection, record.id)?,
        }
    }
    Ok(())
}

fn update_one(
    connection: &Connection,
    staying: &mut Statement<'_>,
    record: &Execution,
    written: Variables,
) -> rusqlite::Result<()> {
    let changed = written == Variables::Changed;
    let write = |statement: &mut Statement<'_>| {
        let mut places = Places::of(statement);
        bind(&mut places, record, small(&record.variables).filter(|_| changed))?;
        places.put(changed)?;
        places.run()
    };
    if record.status.is_open() && write(staying)? == 1 {
        return Ok(());
    }
    one_row(write(&mut *connection.prepare_cached(UPDATE)?)?)
}

/// The variables, if they belong into the execution's row.
fn small(variables: &[u8]) -> Option<&[u8]> {
    (variables.len() <= VARIABLES_INLINE_MAX).then_some(variables)
}

fn put_large_variables(connection: &Connection, id: ExecutionId, variables: &[u8]) -> rusqlite::Result<()> {
    one_row(
        connection
            .prepare_cached(PUT_LARGE_VARIABLES)?
            .execute(params![id.to_bytes(), variables])?,
    )
}

fn delete_large_variables(connection: &Connection, id: ExecutionId) -> rusqlite::Result<()> {
    connection
        .prepare_cached(DELETE_LARGE_VARIABLES)?
        .execute(params![id.to_bytes()])?;
    Ok(())
}

/// One execution.
pub(super) fn get(connection: &Connection, id: ExecutionId) -> rusqlite::Result<Option<Execution>> {
    row(connection, GET, params![id.to_bytes()], read)
}

/// The open execution that holds a key.
pub(super) fn holder(connection: &Connection, machine: &str, key: &str) -> rusqlite::Result<Option<ExecutionId>> {
    row(connection, HOLDER, params![machine, key], |row| {
        Ok(row.get::<_, Column<_>>(0)?.0)
    })
}

/// Executions whose keys begin with a text, by key and id.
pub(super) fn keys_with_prefix(connection: &Connection, prefix: &str, most: usize) -> rusqlite::Result<Vec<KeyHolder>> {
    let mut found = rows(connection, KEYS, params![prefix, limit(most)], |row| {
        Ok(KeyHolder {
            key: row.get(0)?,
            execution: row.get::<_, Column<_>>(1)?.0,
            machine: row.get(2)?,
            status: row.get::<_, Column<_>>(3)?.0,
        })
    })?;
    found.retain(|holder| holder.key.starts_with(prefix));
    Ok(found)
}

/// The status of an execution.
pub(super) fn status(connection: &Connection, id: ExecutionId) -> rusqlite::Result<Option<ExecutionStatus>> {
    row(connection, STATUS, params![id.to_bytes()], |row| {
        Ok(row.get::<_, Column<_>>(0)?.0)
    })
}

/// Whether an execution takes input.
pub(super) fn is_running(connection: &Connection, id: ExecutionId) -> rusqlite::Result<bool> {
    Ok(row(connection, IS_RUNNING, params![id.to_bytes()], |_| Ok(()))?.is_some())
}

/// Executions, newest first.
pub(super) fn list(connection: &Connection, query: &ExecutionQuery) -> rusqlite::Result<Paged<Execution, ExecutionId>> {
    let before = query.page.after.map(ExecutionId::to_bytes);
    filter(query, before.as_ref()).newest(connection, query.page.limit, read, |execution| execution.id)
}

/// The conditions of a query. Statuses are written out, because only then does the planner see that a partial index
/// holds them.
pub(super) fn filter<'a>(query: &'a ExecutionQuery, before: Option<&'a [u8; 16]>) -> Filter<'a> {
    let ExecutionQuery {
        machine,
        status,
        key,
        page: _,
    } = query;
    let mut filter = Filter::new(LIST);
    filter.given("machine = ?", machine.as_ref());
    filter.given("key = ?", key.as_ref());
    filter.given("id < ?", before);
    if let Some(status) = status {
        filter.condition(&format!("status = {}", *status as u8));
        if status.is_open() {
            filter.condition("status <= 2");
        }
    }
    filter
}

fn read(row: &Row<'_>) -> rusqlite::Result<Execution> {
    Ok(Execution {
        id: row.get::<_, Column<_>>(0)?.0,
        machine: row.get(1)?,
        version: row.get(2)?,
        key: row.get(3)?,
        status: row.get::<_, Column<_>>(4)?.0,
        sequence: row.get(5)?,
        created_at: row.get::<_, Column<_>>(6)?.0,
        updated_at: row.get::<_, Column<_>>(7)?.0,
        tags: row.get::<_, Column<_>>(8)?.0,
        body: row.get(9)?,
        variables: row.get(10)?,
    })
}
