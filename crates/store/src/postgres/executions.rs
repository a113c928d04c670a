//! Executions.
//!
//! Machine, key, tags and time of creation never change: an update that names others finds no row, and is refused.

use sprag_core::ids::ExecutionId;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::columns::{
    Id, as_wanted, bound, column, execution_id, execution_status, instant, number, read_tags, shard, tags,
};
use super::search::Filter;
use super::session::{Call, Session, count, list};
use crate::records::Execution;
use crate::traits::{Error, ExecutionQuery, Variables};

const INSERT: &str = "\
    INSERT INTO execution \
    (id, shard, machine, version, key, status, sequence, created_at, updated_at, tags, body, variables) \
    SELECT * FROM unnest($1::uuid[], $2::smallint[], $3::text[], $4::bigint[], $5::text[], $6::smallint[], \
    $7::bigint[], $8::bigint[], $9::bigint[], $10::text[], $11::bytea[], $12::bytea[])";

/// Variables that did not change are not sent, and stay where they are. A value that stays leaves its indexes alone. What
/// must be as it was is compared in a way that tempts the planner to no index but that of the id.
pub(super) const UPDATE: &str = "\
    WITH changed AS (UPDATE execution AS old SET version = new.version, status = new.status, \
    sequence = new.sequence, updated_at = new.updated_at, body = new.body, \
    variables = coalesce(new.variables, old.variables) \
    FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::bigint[], $7::smallint[], \
    $8::bigint[], $9::bigint[], $10::bytea[], $11::bytea[]) \
    AS new (id, machine, key, created_at, tags, version, status, sequence, updated_at, body, variables) \
    WHERE old.id = new.id AND old.machine IS NOT DISTINCT FROM new.machine AND old.key IS NOT DISTINCT FROM new.key \
    AND old.created_at = new.created_at AND old.tags IS NOT DISTINCT FROM new.tags RETURNING 1) \
    SELECT CASE WHEN count(*) = $12::bigint THEN 0 \
    ELSE sprag_refuse('SPR01', 'an execution that must be there is not') END FROM changed";

const INSERT_TAGS: &str = "\
    INSERT INTO execution_tag (tag, execution) SELECT DISTINCT * FROM unnest($1::text[], $2::uuid[])";

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

const LIST: &str = select!("");

pub(super) const HOLDERS: &str = "\
    SELECT wanted.machine, wanted.key, execution.id FROM unnest($1::text[], $2::text[]) AS wanted (machine, key) \
    JOIN execution ON execution.machine = wanted.machine AND execution.key = wanted.key \
    AND execution.key IS NOT NULL AND execution.status <= 2";

/// Adds executions.
pub(super) fn insert<'a>(records: &[&'a Execution], shards: u32) -> Call<'a> {
    Call::new(
        INSERT,
        vec![
            list(records, |record| Id::from(record.id)),
            list(records, |record| shard(record.id.slot(), shards)),
            list(records, |record| record.machine.as_str()),
            list(records, |record| i64::from(record.version)),
            list(records, |record| record.key.as_deref()),
            list(records, |record| record.status as i16),
            list(records, |record| bound(record.sequence)),
            list(records, |record| record.created_at.as_millis()),
            list(records, |record| record.updated_at.as_millis()),
            list(records, |record| tags(&record.tags)),
            list(records, |record| record.body.as_slice()),
            list(records, |record| record.variables.as_slice()),
        ],
    )
}

/// The tags of new executions, where there are any.
pub(super) fn insert_tags<'a>(records: &[&'a Execution]) -> Option<Call<'a>> {
    let tags: Vec<(&'a str, Id)> = records
        .iter()
        .flat_map(|record| record.tags.iter().map(|tag| (tag.as_str(), Id::from(record.id))))
        .collect();
    (!tags.is_empty()).then(|| Call::new(INSERT_TAGS, vec![list(&tags, |tag| tag.0), list(&tags, |tag| tag.1)]))
}

/// Writes executions as they are now, their variables only where they changed.
pub(super) fn update<'a>(records: &[(&'a Execution, Variables)]) -> Call<'a> {
    Call::new(
        UPDATE,
        vec![
            list(records, |(record, _)| Id::from(record.id)),
            list(records, |(record, _)| record.machine.as_str()),
            list(records, |(record, _)| record.key.as_deref()),
            list(records, |(record, _)| record.created_at.as_millis()),
            list(records, |(record, _)| tags(&record.tags)),
            list(records, |(record, _)| i64::from(record.version)),
            list(records, |(record, _)| record.status as i16),
            list(records, |(record, _)| bound(record.sequence)),
            list(records, |(record, _)| record.updated_at.as_millis()),
            list(records, |(record, _)| record.body.as_slice()),
            list(records, |(record, written)| match written {
                Variables::Changed => Some(record.variables.as_slice()),
                Variables::Unchanged => None,
            }),
            count(records),
        ],
    )
}

/// Executions, in the order in which they are wanted.
pub(super) async fn get(session: &Session, ids: &[ExecutionId]) -> Result<Vec<Execution>, Error> {
    let wanted: Vec<Id> = ids.iter().copied().map(Id::from).collect();
    let found = session.all(GET, &[&wanted], read).await?;
    Ok(as_wanted(ids, &found, |execution| &execution.id))
}

/// The open executions that hold keys.
pub(super) async fn holders(
    session: &Session,
    keys: &[(String, String)],
) -> Result<Vec<((String, String), ExecutionId)>, Error> {
    let (machines, wanted): (Vec<&str>, Vec<&str>) = keys.iter().map(|(machine, key)| (&**machine, &**key)).unzip();
    let found = session
        .all(HOLDERS, &[&machines, &wanted], |row| {
            Ok(((column(row, 0)?, column(row, 1)?), execution_id(row, 2)?))
        })
        .await?;
    Ok(as_wanted(keys, &found, |(key, _)| key))
}

/// Executions, newest first.
pub(super) async fn newest(session: &Session, query: &ExecutionQuery) -> Result<Vec<Execution>, Error> {
    let ExecutionQuery {
        machine,
        status,
        key,
        before,
        limit,
    } = query;
    let mut filter = Filter::new(LIST);
    filter.given("machine = ", machine.as_deref(), &Type::TEXT);
    filter.given("key = ", key.as_deref(), &Type::TEXT);
    filter.given("id < ", before.map(Id::from), &Type::UUID);
    if let Some(status) = status {
        // Written out, because only then does the planner see that a partial index holds it.
        filter.condition(&format!("status = {}", *status as u8));
    }
    let found = filter.newest(session, *limit).await?;
    found.iter().map(read).collect()
}

fn read(row: &Row) -> Result<Execution, Error> {
    Ok(Execution {
        id: execution_id(row, 0)?,
        machine: column(row, 1)?,
        version: number::<i64, _>(row, 2)?,
        key: column(row, 3)?,
        status: execution_status(row, 4)?,
        sequence: number::<i64, _>(row, 5)?,
        created_at: instant(row, 6)?,
        updated_at: instant(row, 7)?,
        tags: read_tags(row, 8)?,
        body: column(row, 9)?,
        variables: column(row, 10)?,
    })
}
