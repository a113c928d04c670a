//! The audit's chains.

use sprag_core::integrity::audit::{Decision, Entry, Head};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::columns::{bound, column, digest, instant, limit, number, page, page_rows, row_bytes};
use super::part::{StatementPart, Text};
use super::session::{Session, list as values};
use crate::page::{Page, Paged};
use crate::traits::{AuditKey, Error, ShardId};

const INSERT: Text = Text::new(
    "new_audit AS (INSERT INTO audit (chain, sequence, at, principal, verb, target, reason, address, refused, before, after, \
    previous, hash) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], \
    $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::bytea[], $13::bytea[]))",
);

/// The server sends only the rows that fit. `$6` is what a row counts for besides its texts.
const LIST: &str = "\
    SELECT chain, sequence, at, principal, verb, target, reason, address, refused, before, after, previous, hash, continues \
    FROM (SELECT *, sum(bytes) OVER listed AS total, lead(true, 1, false) OVER listed AS continues FROM (SELECT *, \
    $6::int + octet_length(concat(principal, verb, target, reason, address, refused, before, after)) AS bytes FROM audit \
    WHERE (at, chain, sequence) < ($1, $2, $3) ORDER BY at DESC, chain DESC, sequence DESC LIMIT $4::bigint) AS found \
    WINDOW listed AS (ORDER BY at DESC, chain DESC, sequence DESC)) AS page \
    WHERE total <= $5 OR total = bytes ORDER BY at DESC, chain DESC, sequence DESC LIMIT $4::bigint - 1";

/// The same for one chain.
const CHAIN: &str = "\
    SELECT chain, sequence, at, principal, verb, target, reason, address, refused, before, after, previous, hash, continues \
    FROM (SELECT *, sum(bytes) OVER listed AS total, lead(true, 1, false) OVER listed AS continues FROM (SELECT *, \
    $5::int + octet_length(concat(principal, verb, target, reason, address, refused, before, after)) AS bytes FROM audit \
    WHERE chain = $1 AND sequence < $2 ORDER BY sequence DESC LIMIT $3::bigint) AS found \
    WINDOW listed AS (ORDER BY sequence DESC)) AS page \
    WHERE total <= $4 OR total = bytes ORDER BY sequence DESC LIMIT $3::bigint - 1";

const HEADS: &str = "\
    SELECT newest.chain, newest.sequence, newest.at, newest.hash FROM shard, LATERAL (SELECT chain, sequence, at, hash \
    FROM audit WHERE chain = shard.id ORDER BY sequence DESC LIMIT 1) AS newest ORDER BY newest.chain";

/// Adds entries.
pub(super) fn insert<'a>(records: &[&'a Entry]) -> StatementPart<'a> {
    StatementPart::new(
        INSERT,
        vec![
            values(records, |record| i64::from(record.shard)),
            values(records, |record| bound(record.sequence)),
            values(records, |record| record.at.as_millis()),
            values(records, |record| record.decision.principal.as_str()),
            values(records, |record| record.decision.verb.as_str()),
            values(records, |record| record.decision.target.as_str()),
            values(records, |record| record.decision.reason.as_deref()),
            values(records, |record| record.decision.address.as_deref()),
            values(records, |record| record.decision.refused.as_deref()),
            values(records, |record| record.decision.before.as_deref()),
            values(records, |record| record.decision.after.as_deref()),
            values(records, |record| record.previous.as_slice()),
            values(records, |record| record.hash.as_slice()),
        ],
    )
}

/// Entries of all chains, newest first.
pub(super) async fn list(
    session: &Session,
    Page { after, limit: most }: &Page<AuditKey>,
) -> Result<Paged<Entry, AuditKey>, Error> {
    let AuditKey { at, shard, sequence } = after.unwrap_or(AuditKey::END);
    let parameters: [&(dyn ToSql + Sync); 6] = [
        &at.as_millis(),
        &i64::from(shard.0),
        &bound(sequence),
        &page_rows(*most),
        &limit(most.bytes),
        &row_bytes(),
    ];
    page(&session.rows(LIST, &parameters).await?, read, AuditKey::of)
}

/// Entries of one chain, newest first.
pub(super) async fn chain(
    session: &Session,
    shard: ShardId,
    Page { after, limit: most }: &Page<AuditKey>,
) -> Result<Paged<Entry, AuditKey>, Error> {
    let AuditKey { sequence, .. } = after.unwrap_or(AuditKey::END);
    let parameters: [&(dyn ToSql + Sync); 5] = [
        &i64::from(shard.0),
        &bound(sequence),
        &page_rows(*most),
        &limit(most.bytes),
        &row_bytes(),
    ];
    page(&session.rows(CHAIN, &parameters).await?, read, AuditKey::of)
}

/// The newest entry of every chain that has one.
pub(super) async fn heads(session: &Session) -> Result<Vec<Head>, Error> {
    session
        .all(HEADS, &[], |row| {
            Ok(Head {
                shard: number::<i64, _>(row, 0)?,
                sequence: number::<i64, _>(row, 1)?,
                at: instant(row, 2)?,
                hash: digest(row, 3)?,
            })
        })
        .await
}

fn read(row: &Row) -> Result<Entry, Error> {
    Ok(Entry {
        shard: number::<i64, _>(row, 0)?,
        sequence: number::<i64, _>(row, 1)?,
        at: instant(row, 2)?,
        decision: Decision {
            principal: column(row, 3)?,
            verb: column(row, 4)?,
            target: column(row, 5)?,
            reason: column(row, 6)?,
            address: column(row, 7)?,
            refused: column(row, 8)?,
            before: column(row, 9)?,
            after: column(row, 10)?,
        },
        previous: digest(row, 11)?,
        hash: digest(row, 12)?,
    })
}
