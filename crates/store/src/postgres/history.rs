//! Histories: dense, append-only.

use std::collections::HashMap;

use sprag_core::ids::ExecutionId;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::columns::{self, Id, bound, column, instant, limit, number, page_rows, row_bytes};
use super::part::{StatementPart, Text};
use super::rows::{Columns, RowTable, rows};
use super::session::{Session, list};
use crate::page::{Page, Paged};
use crate::records::HistoryEntry;
use crate::traits::Error;

const TABLE: RowTable = RowTable {
    row: "history_row",
    columns: &[
        ("execution", "uuid"),
        ("sequence", "bigint"),
        ("at", "bigint"),
        ("body", "bytea"),
    ],
};

const BEGIN: Text = Text {
    rows: Some(&TABLE),
    ..Text::new("begun AS (INSERT INTO history ({columns}) SELECT * FROM {rows} AS new)")
};

/// The entries before those that do not follow another of the same commit must be there.
pub(super) const APPEND: Text = Text {
    rows: Some(&TABLE),
    with: "appended AS (INSERT INTO history ({columns}) SELECT * FROM {rows} AS new)",
    refusals: "\
    WHEN EXISTS (SELECT 1 FROM unnest($2::uuid[], $3::bigint[]) AS before (execution, sequence) \
    WHERE NOT EXISTS (SELECT 1 FROM history \
    WHERE history.execution = before.execution AND history.sequence = before.sequence)) \
    THEN sprag_refuse('SPR01', 'a history would have a gap') ",
};

/// The server sends only the rows that fit. `$5` is what a row counts for besides its body.
const PAGE: &str = "\
    SELECT sequence, at, body, continues FROM (SELECT sequence, at, body, bytes, \
    sum(bytes) OVER listed AS total, lead(true, 1, false) OVER listed AS continues \
    FROM (SELECT sequence, at, body, $5::int + octet_length(body) AS bytes FROM history \
    WHERE execution = $1 AND sequence > $2 ORDER BY sequence LIMIT $3::bigint) AS found \
    WINDOW listed AS (ORDER BY sequence)) AS page \
    WHERE total <= $4 OR total = bytes ORDER BY sequence LIMIT $3::bigint - 1";

/// The same, newest first.
pub(super) const PAGE_BACK: &str = "\
    SELECT sequence, at, body, continues FROM (SELECT sequence, at, body, bytes, \
    sum(bytes) OVER listed AS total, lead(true, 1, false) OVER listed AS continues \
    FROM (SELECT sequence, at, body, $5::int + octet_length(body) AS bytes FROM history \
    WHERE execution = $1 AND sequence < $2 ORDER BY sequence DESC LIMIT $3::bigint) AS found \
    WINDOW listed AS (ORDER BY sequence DESC)) AS page \
    WHERE total <= $4 OR total = bytes ORDER BY sequence DESC LIMIT $3::bigint - 1";

/// Adds the next entries of histories. One that would leave a gap before it is refused.
pub(super) fn append<'a>(records: &[&'a HistoryEntry]) -> StatementPart<'a> {
    let mut newest: HashMap<ExecutionId, i64> = HashMap::new();
    let mut before = Vec::new();
    for record in records {
        let sequence = bound(record.sequence);
        let known = newest.insert(record.execution, sequence).unwrap_or(0);
        let needed = sequence - 1;
        if known != needed {
            before.push((record.execution, needed));
        }
    }
    let row = |record: &&HistoryEntry, row: &mut Columns<'_>| {
        row.put("execution", Id::from(record.execution))
            .put("sequence", bound(record.sequence))
            .put("at", record.at.as_millis())
            .put("body", record.body.as_slice());
    };
    let mut values = rows(&TABLE, records, row);
    if before.is_empty() {
        return StatementPart::of(BEGIN, records.len(), values);
    }
    values.push(list(&before, |(execution, _)| Id::from(*execution)));
    values.push(list(&before, |(_, sequence)| *sequence));
    StatementPart::of(APPEND, records.len(), values)
}

/// A page of a history, oldest first.
pub(super) async fn page(
    session: &Session,
    execution: ExecutionId,
    wanted: &Page<u64>,
) -> Result<Paged<HistoryEntry, u64>, Error> {
    read_page(session, PAGE, execution, bound(wanted.after.unwrap_or(0)), wanted).await
}

/// A page of a history, newest first.
pub(super) async fn page_back(
    session: &Session,
    execution: ExecutionId,
    wanted: &Page<u64>,
) -> Result<Paged<HistoryEntry, u64>, Error> {
    let before = bound(wanted.after.unwrap_or(u64::MAX));
    read_page(session, PAGE_BACK, execution, before, wanted).await
}

async fn read_page(
    session: &Session,
    sql: &'static str,
    execution: ExecutionId,
    from: i64,
    Page { after: _, limit: most }: &Page<u64>,
) -> Result<Paged<HistoryEntry, u64>, Error> {
    let values: [&(dyn ToSql + Sync); 5] = [
        &Id::from(execution),
        &from,
        &page_rows(*most),
        &limit(most.bytes),
        &row_bytes(),
    ];
    let read = |row: &Row| {
        Ok(HistoryEntry {
            execution,
            sequence: number::<i64, _>(row, 0)?,
            at: instant(row, 1)?,
            body: column(row, 2)?,
        })
    };
    columns::page(&session.rows(sql, &values).await?, read, |entry| entry.sequence)
}
