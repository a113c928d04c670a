//! Executions.
//!
//! Machine, key, tags and time of creation never change: an update that names others finds no row, and is refused.

use sprag_core::ids::ExecutionId;
use sprag_core::text::is_storable;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::columns::{
    self, Id, as_wanted, bound, column, id_at, instant, limit, number, numbered, read_tags, shard, tags,
};
use super::part::{StatementPart, Text};
use super::rows::{Columns, RowTable, rows};
use super::search::{Filter, Listed};
use super::session::{Session, count, list};
use crate::page::{Page, Paged};
use crate::records::{Execution, ExecutionStatus};
use crate::traits::{Error, ExecutionQuery, KeyHolder, Variables};

const TABLE: RowTable = RowTable {
    row: "execution_row",
    columns: &[
        ("id", "uuid"),
        ("sequence", "bigint"),
        ("version", "bigint"),
        ("created_at", "bigint"),
        ("updated_at", "bigint"),
        ("shard", "smallint"),
        ("status", "smallint"),
        ("machine", "text"),
        ("key", "text"),
        ("tags", "text"),
        ("body", "bytea"),
        ("variables", "bytea"),
    ],
};

const INSERT: Text = Text {
    rows: Some(&TABLE),
    ..Text::new("new_executions AS (INSERT INTO execution ({columns}) SELECT * FROM {rows} AS new)")
};

/// Variables that did not change are not sent, and stay where they are. A value that stays leaves its indexes alone. What
/// must be as it was is compared in a way that tempts the planner to no index but that of the id.
pub(super) const UPDATE: Text = Text {
    rows: Some(&TABLE),
    with: "\
    changed_executions AS (UPDATE execution AS old SET version = new.version, status = new.status, \
    sequence = new.sequence, updated_at = new.updated_at, body = new.body, \
    variables = coalesce(new.variables, old.variables) FROM {rows} AS new \
    WHERE old.id = new.id AND old.machine IS NOT DISTINCT FROM new.machine AND old.key IS NOT DISTINCT FROM new.key \
    AND old.created_at = new.created_at AND old.tags IS NOT DISTINCT FROM new.tags RETURNING 1)",
    refusals: "\
    WHEN (SELECT count(*) FROM changed_executions) <> $2::bigint \
    THEN sprag_refuse('SPR01', 'an execution that must be there is not') ",
};

const INSERT_TAGS: Text = Text::new(
    "new_execution_tags AS (INSERT INTO execution_tag (tag, execution) \
    SELECT DISTINCT * FROM unnest($1::text[], $2::uuid[]))",
);

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, machine, version, key, status, sequence, created_at, updated_at, tags, body, variables ",
            "FROM execution",
            $rest
        )
    };
}

pub(super) const GET: &str = select!(" WHERE id = ANY($1::uuid[])");

/// Executions in a list, each with what it counts for on a page.
const LIST: Listed = Listed {
    columns: "id, machine, version, key, status, sequence, created_at, updated_at, tags, body, variables",
    table: "execution",
    bytes: "octet_length(body) + octet_length(variables)",
};

/// The caller drops those beyond the prefix.
pub(super) const KEYS: &str = "\
    SELECT key, id, machine, status FROM execution WHERE key >= $1 AND key IS NOT NULL ORDER BY key, id LIMIT $2::bigint";

const STATUS: &str = "SELECT status FROM execution WHERE id = $1";

pub(super) const HOLDERS: &str = "\
    SELECT wanted.machine, wanted.key, execution.id FROM unnest($1::text[], $2::text[]) AS wanted (machine, key) \
    JOIN execution ON execution.machine = wanted.machine AND execution.key = wanted.key \
    AND execution.key IS NOT NULL AND execution.status <= 2";

/// Adds executions.
pub(super) fn insert<'a>(records: &[&'a Execution], shards: u32) -> StatementPart<'a> {
    let row = move |record: &&Execution, row: &mut Columns<'_>| put(row, record, Some(&record.variables), shards);
    StatementPart::of(INSERT, records.len(), rows(&TABLE, records, row))
}

fn put(row: &mut Columns<'_>, record: &Execution, variables: Option<&[u8]>, shards: u32) {
    row.put("id", Id::from(record.id))
        .put("sequence", bound(record.sequence))
        .put("version", i64::from(record.version))
        .put("created_at", record.created_at.as_millis())
        .put("updated_at", record.updated_at.as_millis())
        .put("shard", shard(record.id.slot(), shards))
        .put("status", record.status as i16)
        .put("machine", record.machine.as_str())
        .put("key", record.key.as_deref())
        .put("tags", tags(&record.tags))
        .put("body", record.body.as_slice())
        .put("variables", variables);
}

/// The tags of new executions, where there are any.
pub(super) fn insert_tags<'a>(records: &[&'a Execution]) -> Option<StatementPart<'a>> {
    let tags: Vec<(&'a str, Id)> = records
        .iter()
        .flat_map(|record| record.tags.iter().map(|tag| (tag.as_str(), Id::from(record.id))))
        .collect();
    (!tags.is_empty())
        .then(|| StatementPart::new(INSERT_TAGS, vec![list(&tags, |tag| tag.0), list(&tags, |tag| tag.1)]))
}

/// Writes executions as they are now, their variables only where they changed.
pub(super) fn update<'a>(records: &[(&'a Execution, Variables)], shards: u32) -> StatementPart<'a> {
    let row = move |(record, written): &(&Execution, Variables), row: &mut Columns<'_>| {
        let variables = match written {
            Variables::Changed => Some(record.variables.as_slice()),
            Variables::Unchanged => None,
        };
        put(row, record, variables, shards);
    };
    let mut values = rows(&TABLE, records, row);
    values.push(count(records));
    StatementPart::of(UPDATE, records.len(), values)
}

/// Executions, in the order in which they are wanted.
pub(super) async fn get(session: &Session, ids: &[ExecutionId]) -> Result<Vec<Execution>, Error> {
    let wanted: Vec<Id> = ids.iter().copied().map(Id::from).collect();
    let found = session.all(GET, &[&wanted], read).await?;
    Ok(as_wanted(ids, &found, |execution| &execution.id))
}

/// Executions whose keys begin with a text, by key and id.
pub(super) async fn keys_with_prefix(session: &Session, prefix: &str, most: usize) -> Result<Vec<KeyHolder>, Error> {
    if !is_storable(prefix) {
        return Ok(Vec::new());
    }
    let read = |row: &Row| {
        Ok(KeyHolder {
            key: column(row, 0)?,
            execution: id_at(row, 1)?,
            machine: column(row, 2)?,
            status: numbered(row, 3, &ExecutionStatus::ALL)?,
        })
    };
    let mut found = session.all(KEYS, &[&prefix, &limit(most)], read).await?;
    found.retain(|holder| holder.key.starts_with(prefix));
    Ok(found)
}

/// The first of some executions, newest first, as many as fit into so many bytes.
pub(super) async fn page(session: &Session, ids: &[ExecutionId], bytes: usize) -> Result<Vec<Execution>, Error> {
    let wanted: Vec<Id> = ids.iter().copied().map(Id::from).collect();
    LIST.of(session, wanted, bytes).await?.iter().map(read).collect()
}

/// The status of an execution.
pub(super) async fn status(session: &Session, id: ExecutionId) -> Result<Option<ExecutionStatus>, Error> {
    session
        .first(STATUS, &[&Id::from(id)], |row| numbered(row, 0, &ExecutionStatus::ALL))
        .await
}

/// The open executions that hold keys.
pub(super) async fn holders(
    session: &Session,
    keys: &[(String, String)],
) -> Result<Vec<((String, String), ExecutionId)>, Error> {
    // The server would refuse the whole question for one text that it cannot hold.
    let storable = keys
        .iter()
        .filter(|(machine, key)| is_storable(machine) && is_storable(key));
    let (machines, wanted): (Vec<&str>, Vec<&str>) = storable.map(|(machine, key)| (&**machine, &**key)).unzip();
    let found = session
        .all(HOLDERS, &[&machines, &wanted], |row| {
            Ok(((column(row, 0)?, column(row, 1)?), id_at(row, 2)?))
        })
        .await?;
    Ok(as_wanted(keys, &found, |(key, _)| key))
}

/// Executions, newest first.
pub(super) async fn newest(session: &Session, query: &ExecutionQuery) -> Result<Paged<Execution, ExecutionId>, Error> {
    let ExecutionQuery {
        machine,
        status,
        key,
        page: Page { after, limit },
    } = query;
    if [machine, key].into_iter().flatten().any(|text| !is_storable(text)) {
        return Ok(Paged::default());
    }
    let mut filter = Filter::new(&LIST);
    filter.given("machine = ", machine.as_deref(), &Type::TEXT);
    filter.given("key = ", key.as_deref(), &Type::TEXT);
    filter.given("id < ", after.map(Id::from), &Type::UUID);
    if let Some(status) = status {
        // Written out, because only then does the planner see that a partial index holds it.
        filter.condition(&format!("status = {}", *status as u8));
    }
    let found = filter.newest(session, *limit).await?;
    columns::page(&found, read, |execution| execution.id)
}

fn read(row: &Row) -> Result<Execution, Error> {
    Ok(Execution {
        id: id_at(row, 0)?,
        machine: column(row, 1)?,
        version: number::<i64, _>(row, 2)?,
        key: column(row, 3)?,
        status: numbered(row, 4, &ExecutionStatus::ALL)?,
        sequence: number::<i64, _>(row, 5)?,
        created_at: instant(row, 6)?,
        updated_at: instant(row, 7)?,
        tags: read_tags(row, 8)?,
        body: column(row, 9)?,
        variables: column(row, 10)?,
    })
}
