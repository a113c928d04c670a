//! The audit's chains.

use rusqlite::{Connection, Row, params};
use sprag_core::integrity::audit::{Decision, Entry, Head};
use sprag_core::time::Timestamp;

use super::columns::{Column, bound, one_row, page, page_rows, rows};
use crate::page::{Page, Paged};
use crate::traits::{AuditKey, ShardId};

pub(super) const INSERT: &str = "\
    INSERT INTO audit (chain, sequence, at, principal, verb, target, reason, address, refused, before, after, previous, hash) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";

pub(super) const LIST: &str = "\
    SELECT chain, sequence, at, principal, verb, target, reason, address, refused, before, after, previous, hash \
    FROM audit WHERE (at, chain, sequence) < (?1, ?2, ?3) ORDER BY at DESC, chain DESC, sequence DESC LIMIT ?4";

pub(super) const CHAIN: &str = "\
    SELECT chain, sequence, at, principal, verb, target, reason, address, refused, before, after, previous, hash \
    FROM audit WHERE chain = ?1 AND sequence < ?2 ORDER BY sequence DESC LIMIT ?3";

pub(super) const HEADS: &str = "\
    SELECT chain, sequence, at, hash FROM shard JOIN audit ON chain = shard.id \
    AND sequence = (SELECT max(newest.sequence) FROM audit AS newest WHERE newest.chain = shard.id) ORDER BY chain";

/// Adds an entry.
pub(super) fn insert(connection: &Connection, record: &Entry) -> rusqlite::Result<()> {
    let Entry {
        shard,
        sequence,
        at,
        decision,
        previous,
        hash,
    } = record;
    let Decision {
        principal,
        verb,
        target,
        reason,
        address,
        refused,
        before,
        after,
    } = decision;
    let at = Column(*at);
    let params = params![
        shard, sequence, at, principal, verb, target, reason, address, refused, before, after, previous, hash
    ];
    one_row(connection.prepare_cached(INSERT)?.execute(params)?)
}

/// Entries of all chains, newest first.
pub(super) fn list(
    connection: &Connection,
    Page { after, limit }: &Page<AuditKey>,
) -> rusqlite::Result<Paged<Entry, AuditKey>> {
    let after = after.unwrap_or(AuditKey::END);
    let at = Column(after.at);
    let params = params![at, after.shard.0, bound(after.sequence), page_rows(*limit)];
    page(connection, LIST, params, *limit, read, AuditKey::of)
}

/// Entries of one chain, newest first.
pub(super) fn chain(
    connection: &Connection,
    shard: ShardId,
    Page { after, limit }: &Page<AuditKey>,
) -> rusqlite::Result<Paged<Entry, AuditKey>> {
    let after = after.unwrap_or(AuditKey::END);
    let params = params![shard.0, bound(after.sequence), page_rows(*limit)];
    page(connection, CHAIN, params, *limit, read, AuditKey::of)
}

/// The newest entry of every chain that has one.
pub(super) fn heads(connection: &Connection) -> rusqlite::Result<Vec<Head>> {
    rows(connection, HEADS, [], |row| {
        Ok(Head {
            shard: row.get(0)?,
            sequence: row.get(1)?,
            at: row.get::<_, Column<Timestamp>>(2)?.0,
            hash: row.get(3)?,
        })
    })
}

fn read(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry {
        shard: row.get(0)?,
        sequence: row.get(1)?,
        at: row.get::<_, Column<Timestamp>>(2)?.0,
        decision: Decision {
            principal: row.get(3)?,
            verb: row.get(4)?,
            target: row.get(5)?,
            reason: row.get(6)?,
            address: row.get(7)?,
            refused: row.get(8)?,
            before: row.get(9)?,
            after: row.get(10)?,
        },
        previous: row.get(11)?,
        hash: row.get(12)?,
    })
}
