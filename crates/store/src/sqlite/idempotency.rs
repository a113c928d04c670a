//! The answers to requests with an `Idempotency-Key`. A row is there until it expires, and a little longer.

use rusqlite::{Connection, params};
use sprag_core::time::Timestamp;

use super::columns::{Column, limit, one_row, row, rows};
use super::errors::classify;
use crate::records::{Idempotency, Scope};
use crate::traits::Error;

pub(super) const PUT: &str = "\
    INSERT INTO idempotency (scope, digest, answer, expires_at) VALUES (?1, ?2, ?3, ?4) \
    ON CONFLICT (scope) DO UPDATE SET digest = excluded.digest, answer = excluded.answer, \
    expires_at = excluded.expires_at";

pub(super) const INSERT: &str = "\
    INSERT INTO idempotency (scope, digest, answer, expires_at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (scope) DO NOTHING";

pub(super) const DELETE: &str = "DELETE FROM idempotency WHERE scope = ?1";

pub(super) const GET: &str = "SELECT digest, answer, expires_at FROM idempotency WHERE scope = ?1";

pub(super) const FIRST_TO_EXPIRE: &str =
    "SELECT expires_at, scope FROM idempotency ORDER BY expires_at, scope LIMIT ?1";

/// Adds an answer, in the place of one that expired.
pub(super) fn put(connection: &Connection, record: &Idempotency) -> rusqlite::Result<()> {
    one_row(write(connection, PUT, record)?)
}

/// Adds an answer, unless there is one already.
pub(super) fn insert(connection: &Connection, record: &Idempotency) -> Result<(), Error> {
    match write(connection, INSERT, record).map_err(|problem| classify(&problem))? {
        0 => Err(Error::Answered),
        _ => Ok(()),
    }
}

fn write(connection: &Connection, sql: &str, record: &Idempotency) -> rusqlite::Result<usize> {
    let Idempotency {
        scope: Scope(scope),
        digest,
        answer,
        expires_at,
    } = record;
    connection
        .prepare_cached(sql)?
        .execute(params![scope, digest, answer, Column(*expires_at)])
}

/// Deletes an answer, if it is still there.
pub(super) fn delete(connection: &Connection, Scope(scope): Scope) -> rusqlite::Result<()> {
    connection.prepare_cached(DELETE)?.execute(params![scope])?;
    Ok(())
}

/// One answer.
pub(super) fn get(connection: &Connection, scope: Scope) -> rusqlite::Result<Option<Idempotency>> {
    row(connection, GET, params![scope.0], |row| {
        Ok(Idempotency {
            scope,
            digest: row.get(0)?,
            answer: row.get(1)?,
            expires_at: row.get::<_, Column<_>>(2)?.0,
        })
    })
}

/// The answers that expire first, earliest first.
pub(super) fn first_to_expire(connection: &Connection, max: usize) -> rusqlite::Result<Vec<(Timestamp, Scope)>> {
    rows(connection, FIRST_TO_EXPIRE, params![limit(max)], |row| {
        Ok((row.get::<_, Column<_>>(0)?.0, Scope(row.get(1)?)))
    })
}
