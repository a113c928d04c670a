//! The answers to requests with an `Idempotency-Key`. A row is there until it expires, and a little longer.

use sprag_core::time::Timestamp;
use tokio_postgres::Row;

use super::columns::{as_wanted, column, digest, instant, limit, shard};
use super::part::{StatementPart, Text};
use super::session::{Session, Value, list};
use crate::records::{Idempotency, Scope};
use crate::traits::Error;

const PUT: Text = Text::new(
    "put_answers AS (INSERT INTO idempotency (scope, shard, digest, answer, expires_at) \
    SELECT * FROM unnest($1::bytea[], $2::smallint[], $3::bytea[], $4::bytea[], $5::bigint[]) \
    ON CONFLICT (scope) DO UPDATE SET digest = excluded.digest, answer = excluded.answer, \
    expires_at = excluded.expires_at)",
);

/// A scope that is there already violates [`PRIMARY_KEY`].
const INSERT: Text = Text::new(
    "new_answers AS (INSERT INTO idempotency (scope, shard, digest, answer, expires_at) \
    SELECT * FROM unnest($1::bytea[], $2::smallint[], $3::bytea[], $4::bytea[], $5::bigint[]))",
);

/// What says that a scope has an answer already.
pub(super) const PRIMARY_KEY: &str = "idempotency_pkey";

const DELETE: Text = Text::new("gone_answers AS (DELETE FROM idempotency WHERE scope = ANY($1::bytea[]))");

const GET: &str = "SELECT scope, digest, answer, expires_at FROM idempotency WHERE scope = ANY($1::bytea[])";

pub(super) const FIRST_TO_EXPIRE: &str =
    "SELECT expires_at, scope FROM idempotency WHERE shard = $1 ORDER BY expires_at, scope LIMIT $2";

/// Adds answers, in the place of those that expired.
pub(super) fn put<'a>(records: &[&'a Idempotency], shards: u32) -> StatementPart<'a> {
    StatementPart::new(PUT, values(records, shards))
}

/// Adds answers to requests that no other node has answered.
pub(super) fn insert<'a>(records: &[&'a Idempotency], shards: u32) -> StatementPart<'a> {
    StatementPart::new(INSERT, values(records, shards))
}

fn values<'a>(records: &[&'a Idempotency], shards: u32) -> Vec<Value<'a>> {
    vec![
        list(records, |record| record.scope.0.as_slice()),
        list(records, |record| shard(record.scope.slot(), shards)),
        list(records, |record| record.digest.as_slice()),
        list(records, |record| record.answer.as_slice()),
        list(records, |record| record.expires_at.as_millis()),
    ]
}

/// Deletes answers, as far as they are still there.
pub(super) fn delete<'a>(scopes: &[Scope]) -> StatementPart<'a> {
    let scopes: Vec<Vec<u8>> = scopes.iter().map(|scope| scope.0.to_vec()).collect();
    StatementPart::new(DELETE, vec![Box::new(scopes) as Value<'a>])
}

/// Answers, in the order in which they are wanted.
pub(super) async fn get(session: &Session, scopes: &[Scope]) -> Result<Vec<Idempotency>, Error> {
    let wanted: Vec<&[u8]> = scopes.iter().map(|scope| scope.0.as_slice()).collect();
    let found = session.all(GET, &[&wanted], read).await?;
    Ok(as_wanted(scopes, &found, |record| &record.scope))
}

/// The answers that expire first, earliest first.
pub(super) async fn first_to_expire(
    session: &Session,
    shard: i16,
    max: usize,
) -> Result<Vec<(Timestamp, Scope)>, Error> {
    session
        .all(FIRST_TO_EXPIRE, &[&shard, &limit(max)], |row| {
            Ok((instant(row, 0)?, Scope(digest(row, 1)?)))
        })
        .await
}

fn read(row: &Row) -> Result<Idempotency, Error> {
    Ok(Idempotency {
        scope: Scope(digest(row, 0)?),
        digest: digest(row, 1)?,
        answer: column(row, 2)?,
        expires_at: instant(row, 3)?,
    })
}
