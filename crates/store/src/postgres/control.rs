//! What lives in the control shard and is small: facts, and the lives of processes.

use sprag_core::text::is_storable;
use tokio_postgres::Row;

use super::columns::{column, instant};
use super::part::{StatementPart, Text};
use super::session::{Session, list};
use crate::records::{Fact, FactKind, ProcessRun};
use crate::traits::Error;

const PUT_FACTS: Text = Text::new(
    "put_facts AS (INSERT INTO fact (kind, key, body) SELECT * FROM unnest($1::smallint[], $2::text[], $3::bytea[]) \
    ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body)",
);

const DELETE_FACTS: Text = Text::new(
    "gone_facts AS (DELETE FROM fact USING unnest($1::smallint[], $2::text[]) AS gone (kind, key) \
    WHERE fact.kind = gone.kind AND fact.key = gone.key)",
);

const OF: &str = "SELECT key, body FROM fact WHERE kind = $1 ORDER BY key";

const GET: &str = "SELECT key, body FROM fact WHERE kind = $1 AND key = $2";

const PUT_LIVES: Text = Text::new(
    "put_lives AS (INSERT INTO life (started_at, seen_at) SELECT * FROM unnest($1::bigint[], $2::bigint[]) \
    ON CONFLICT (started_at) DO UPDATE SET seen_at = excluded.seen_at)",
);

const LAST_LIFE: &str = "SELECT started_at, seen_at FROM life ORDER BY started_at DESC LIMIT 1";

/// Adds or changes facts.
pub(super) fn put_facts<'a>(records: &[&'a Fact]) -> StatementPart<'a> {
    StatementPart::new(
        PUT_FACTS,
        vec![
            list(records, |record| record.kind as i16),
            list(records, |record| record.key.as_str()),
            list(records, |record| record.body.as_slice()),
        ],
    )
}

/// Deletes facts, as far as they are still there.
pub(super) fn delete_facts<'a>(keys: &[(FactKind, &'a str)]) -> StatementPart<'a> {
    StatementPart::new(
        DELETE_FACTS,
        vec![list(keys, |(kind, _)| *kind as i16), list(keys, |(_, key)| *key)],
    )
}

/// All facts of a kind, by key.
pub(super) async fn facts(session: &Session, kind: FactKind) -> Result<Vec<Fact>, Error> {
    session.all(OF, &[&(kind as i16)], |row| read(kind, row)).await
}

/// One fact.
pub(super) async fn fact(session: &Session, kind: FactKind, key: &str) -> Result<Option<Fact>, Error> {
    if !is_storable(key) {
        return Ok(None);
    }
    session.first(GET, &[&(kind as i16), &key], |row| read(kind, row)).await
}

/// Records that processes are alive.
pub(super) fn put_lives<'a>(records: &[&'a ProcessRun]) -> StatementPart<'a> {
    StatementPart::new(
        PUT_LIVES,
        vec![
            list(records, |record| record.started_at.as_millis()),
            list(records, |record| record.seen_at.as_millis()),
        ],
    )
}

/// The newest life.
pub(super) async fn last_run(session: &Session) -> Result<Option<ProcessRun>, Error> {
    session
        .first(LAST_LIFE, &[], |row| {
            Ok(ProcessRun {
                started_at: instant(row, 0)?,
                seen_at: instant(row, 1)?,
            })
        })
        .await
}

fn read(kind: FactKind, row: &Row) -> Result<Fact, Error> {
    Ok(Fact {
        kind,
        key: column(row, 0)?,
        body: column(row, 1)?,
    })
}
