//! Machine versions.

use sprag_core::text::is_storable;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::columns::{self, as_wanted, column, digest, instant, limit, number, page_rows, row_bytes};
use super::part::{StatementPart, Text};
use super::session::{Session, list};
use crate::page::{Page, Paged};
use crate::records::MachineVersion;
use crate::traits::Error;

const INSERT: Text = Text::new(
    "new_versions AS (INSERT INTO machine_version (machine, version, digest, definition, created_at) \
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bigint[]))",
);

pub(super) const EXPECT_NEWEST: Text = Text {
    rows: None,
    with: "",
    refusals: "\
    WHEN EXISTS (SELECT 1 FROM unnest($1::text[], $2::bigint[]) AS expected (machine, version) \
    JOIN machine_version AS newer ON newer.machine = expected.machine AND newer.version > expected.version) \
    THEN sprag_refuse_outdated($1, $2) ",
};

const GET: &str = "\
    SELECT machine, version, digest, definition, created_at FROM machine_version WHERE machine = $1 AND version = $2";

const GET_NEWEST: &str = "\
    SELECT machine, version, digest, definition, created_at FROM machine_version WHERE machine = $1 \
    ORDER BY version DESC LIMIT 1";

pub(super) const NEWEST: &str = "\
    SELECT wanted.machine, newest.version FROM unnest($1::text[]) AS wanted (machine) \
    CROSS JOIN LATERAL (SELECT version FROM machine_version WHERE machine_version.machine = wanted.machine \
    ORDER BY version DESC LIMIT 1) AS newest";

pub(super) const VERSIONS: &str = "\
    SELECT stored.machine, stored.version, stored.digest, stored.definition, stored.created_at \
    FROM unnest($1::text[], $2::bigint[]) AS wanted (machine, version) \
    JOIN machine_version AS stored ON stored.machine = wanted.machine AND stored.version = wanted.version";

pub(super) const BY_DIGEST: &str = "\
    SELECT wanted.machine, wanted.digest, highest.version \
    FROM unnest($1::text[], $2::bytea[]) AS wanted (machine, digest) \
    CROSS JOIN LATERAL (SELECT version FROM machine_version \
    WHERE machine_version.machine = wanted.machine AND machine_version.digest = wanted.digest \
    ORDER BY version DESC LIMIT 1) AS highest";

const WITH_DIGEST: &str = "\
    SELECT version FROM machine_version WHERE machine = $1 AND digest = $2 ORDER BY version DESC LIMIT 1";

/// Without those that were made of plans, whose names begin with `workflow/`. The server sends only the rows that fit. `$4` is
/// what a row counts for besides its definition.
const LIST: &str = "\
    SELECT machine, version, digest, definition, created_at, continues \
    FROM (SELECT machine, version, digest, definition, created_at, bytes, \
    sum(bytes) OVER listed AS total, lead(true, 1, false) OVER listed AS continues FROM (SELECT machine, version, digest, definition, created_at, $4::int + octet_length(definition) AS bytes \
    FROM machine_version AS listed WHERE machine > $1 AND (machine < 'workflow/' OR machine >= 'workflow0') \
    AND version = (SELECT max(version) FROM machine_version WHERE machine = listed.machine) \
    ORDER BY machine LIMIT $2::bigint) AS found WINDOW listed AS (ORDER BY machine)) AS page \
    WHERE total <= $3 OR total = bytes ORDER BY machine LIMIT $2::bigint - 1";

/// The same of the versions of one machine, newest first.
pub(super) const NEWEST_FIRST: &str = "\
    SELECT machine, version, digest, definition, created_at, continues \
    FROM (SELECT machine, version, digest, definition, created_at, bytes, \
    sum(bytes) OVER listed AS total, lead(true, 1, false) OVER listed AS continues \
    FROM (SELECT machine, version, digest, definition, created_at, $5::int + octet_length(definition) AS bytes \
    FROM machine_version WHERE machine = $1 AND version < $2 ORDER BY version DESC LIMIT $3::bigint) AS found \
    WINDOW listed AS (ORDER BY version DESC)) AS page \
    WHERE total <= $4 OR total = bytes ORDER BY version DESC LIMIT $3::bigint - 1";

/// Adds versions.
pub(super) fn insert<'a>(records: &[&'a MachineVersion]) -> StatementPart<'a> {
    StatementPart::new(
        INSERT,
        vec![
            list(records, |record| record.machine.as_str()),
            list(records, |record| i64::from(record.version)),
            list(records, |record| record.digest.as_slice()),
            list(records, |record| record.definition.as_slice()),
            list(records, |record| record.created_at.as_millis()),
        ],
    )
}

/// Refuses decisions that were taken on versions which are not the newest.
pub(super) fn expect_newest<'a>(expected: &[(&'a str, u32)]) -> StatementPart<'a> {
    let machines = list(expected, |(machine, _)| *machine);
    let versions = list(expected, |(_, version)| i64::from(*version));
    StatementPart::new(EXPECT_NEWEST, vec![machines, versions])
}

/// One version.
pub(super) async fn get(session: &Session, machine: &str, version: u32) -> Result<Option<MachineVersion>, Error> {
    if !is_storable(machine) {
        return Ok(None);
    }
    session.first(GET, &[&machine, &i64::from(version)], read).await
}

/// The newest version.
pub(super) async fn get_newest(session: &Session, machine: &str) -> Result<Option<MachineVersion>, Error> {
    if !is_storable(machine) {
        return Ok(None);
    }
    session.first(GET_NEWEST, &[&machine], read).await
}

/// The numbers of the newest versions, of those machines that there are.
pub(super) async fn newest(session: &Session, machines: &[String]) -> Result<Vec<(String, u32)>, Error> {
    // The server would refuse the whole question for one text that it cannot hold.
    let storable: Vec<&String> = machines.iter().filter(|machine| is_storable(machine)).collect();
    let found = session
        .all(NEWEST, &[&storable], |row| {
            Ok((column(row, 0)?, number::<i64, _>(row, 1)?))
        })
        .await?;
    Ok(as_wanted(machines, &found, |(machine, _)| machine))
}

/// Machine versions, in the order in which they are wanted.
pub(super) async fn versions(session: &Session, wanted: &[(String, u32)]) -> Result<Vec<MachineVersion>, Error> {
    // The server would refuse the whole question for one text that it cannot hold.
    let storable = wanted.iter().filter(|(machine, _)| is_storable(machine));
    let (machines, numbers): (Vec<&str>, Vec<i64>) = storable
        .map(|(machine, version)| (&**machine, i64::from(*version)))
        .unzip();
    let found = session
        .all(VERSIONS, &[&machines, &numbers], |row| {
            let version = read(row)?;
            Ok(((version.machine.clone(), version.version), version))
        })
        .await?;
    let ordered = as_wanted(wanted, &found, |(key, _)| key);
    Ok(ordered.into_iter().map(|(_, version)| version).collect())
}

/// The highest version with each digest, in the order in which they are wanted.
pub(super) async fn by_digest(
    session: &Session,
    wanted: &[(String, [u8; 32])],
) -> Result<Vec<((String, [u8; 32]), u32)>, Error> {
    // The server would refuse the whole question for one text that it cannot hold.
    let storable = wanted.iter().filter(|(machine, _)| is_storable(machine));
    let (machines, digests): (Vec<&str>, Vec<&[u8]>) = storable
        .map(|(machine, digest)| (&**machine, digest.as_slice()))
        .unzip();
    let found = session
        .all(BY_DIGEST, &[&machines, &digests], |row| {
            Ok(((column(row, 0)?, digest(row, 1)?), number::<i64, _>(row, 2)?))
        })
        .await?;
    Ok(as_wanted(wanted, &found, |(key, _)| key))
}

/// The highest version with this digest.
pub(super) async fn with_digest(session: &Session, machine: &str, digest: &[u8; 32]) -> Result<Option<u32>, Error> {
    let digest = digest.as_slice();
    session
        .first(WITH_DIGEST, &[&machine, &digest], |row| number::<i64, _>(row, 0))
        .await
}

/// A page of the newest versions of machines, by name. Every name comes after the empty one.
pub(super) async fn page(
    session: &Session,
    Page { after, limit: most }: &Page<String>,
) -> Result<Paged<MachineVersion, String>, Error> {
    let after = after.as_deref().unwrap_or_default();
    let values: [&(dyn ToSql + Sync); 4] = [&after, &page_rows(*most), &limit(most.bytes), &row_bytes()];
    columns::page(&session.rows(LIST, &values).await?, read, |version| {
        version.machine.clone()
    })
}

/// A page of the versions of a machine, newest first.
pub(super) async fn newest_first(
    session: &Session,
    machine: &str,
    Page { after, limit: most }: &Page<u32>,
) -> Result<Paged<MachineVersion, u32>, Error> {
    if !is_storable(machine) {
        return Ok(Paged::default());
    }
    let before = after.map_or(i64::MAX, i64::from);
    let values: [&(dyn ToSql + Sync); 5] = [&machine, &before, &page_rows(*most), &limit(most.bytes), &row_bytes()];
    columns::page(&session.rows(NEWEST_FIRST, &values).await?, read, |row| row.version)
}

fn read(row: &Row) -> Result<MachineVersion, Error> {
    Ok(MachineVersion {
        machine: column(row, 0)?,
        version: number::<i64, _>(row, 1)?,
        digest: digest(row, 2)?,
        definition: column(row, 3)?,
        created_at: instant(row, 4)?,
    })
}
