//! Facts of the control shard.

use rusqlite::{Connection, params};

use super::columns::{one_row, row, rows};
use crate::records::{Fact, FactKind};

pub(super) const PUT: &str = "\
    INSERT INTO fact (kind, key, body) VALUES (?1, ?2, ?3) \
    ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body";

pub(super) const DELETE: &str = "DELETE FROM fact WHERE kind = ?1 AND key = ?2";

pub(super) const OF: &str = "SELECT key, body FROM fact WHERE kind = ?1 ORDER BY key";

pub(super) const GET: &str = "SELECT key, body FROM fact WHERE kind = ?1 AND key = ?2";

/// Adds or changes a fact.
pub(super) fn put(connection: &Connection, record: &Fact) -> rusqlite::Result<()> {
    let Fact { kind, key, body } = record;
    one_row(
        connection
            .prepare_cached(PUT)?
            .execute(params![*kind as u8, key, body])?,
    )
}

/// Deletes a fact, if it is still there.
pub(super) fn delete(connection: &Connection, kind: FactKind, key: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(DELETE)?.execute(params![kind as u8, key])?;
    Ok(())
}

/// All facts of a kind, by key.
pub(super) fn of(connection: &Connection, kind: FactKind) -> rusqlite::Result<Vec<Fact>> {
    rows(connection, OF, params![kind as u8], |row| {
        Ok(Fact {
            kind,
            key: row.get(0)?,
            body: row.get(1)?,
        })
    })
}

/// One fact.
pub(super) fn get(connection: &Connection, kind: FactKind, key: &str) -> rusqlite::Result<Option<Fact>> {
    row(connection, GET, params![kind as u8, key], |row| {
        Ok(Fact {
            kind,
            key: row.get(0)?,
            body: row.get(1)?,
        })
    })
}
