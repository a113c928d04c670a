//! Machine versions.

use rusqlite::{Connection, Row, params};

use super::columns::{Column, one_row, page, page_rows, row};
use super::errors::classify;
use crate::page::{Page, Paged};
use crate::records::MachineVersion;
use crate::traits::Error;

pub(super) const INSERT: &str = "\
    INSERT INTO machine_version (machine, version, digest, definition, created_at) VALUES (?1, ?2, ?3, ?4, ?5)";

pub(super) const GET: &str = "\
    SELECT machine, version, digest, definition, created_at FROM machine_version WHERE machine = ?1 AND version = ?2";

pub(super) const GET_NEWEST: &str = "\
    SELECT machine, version, digest, definition, created_at FROM machine_version WHERE machine = ?1 \
    ORDER BY version DESC LIMIT 1";

pub(super) const NEWEST: &str = "\
    SELECT version FROM machine_version WHERE machine = ?1 ORDER BY version DESC LIMIT 1";

pub(super) const WITH_DIGEST: &str = "\
    SELECT version FROM machine_version WHERE machine = ?1 AND digest = ?2 ORDER BY version DESC LIMIT 1";

/// Without those that were made of plans, whose names begin with `workflow/`.
pub(super) const LIST: &str = "\
    SELECT machine, version, digest, definition, created_at FROM machine_version AS listed \
    WHERE machine > ?1 AND (machine < 'workflow/' OR machine >= 'workflow0') AND version = (SELECT max(version) FROM machine_version WHERE machine = listed.machine) \
    ORDER BY machine LIMIT ?2";

pub(super) const VERSIONS: &str = "\
    SELECT machine, version, digest, definition, created_at FROM machine_version WHERE machine = ?1 AND version < ?2 \
    ORDER BY version DESC LIMIT ?3";

/// Adds a version.
pub(super) fn insert(connection: &Connection, record: &MachineVersion) -> rusqlite::Result<()> {
    let MachineVersion {
        machine,
        version,
        digest,
        definition,
        created_at,
    } = record;
    let params = params![machine, version, digest, definition, Column(*created_at)];
    one_row(connection.prepare_cached(INSERT)?.execute(params)?)
}

/// One version.
pub(super) fn get(connection: &Connection, machine: &str, version: u32) -> rusqlite::Result<Option<MachineVersion>> {
    row(connection, GET, params![machine, version], read)
}

/// The newest version.
pub(super) fn get_newest(connection: &Connection, machine: &str) -> rusqlite::Result<Option<MachineVersion>> {
    row(connection, GET_NEWEST, params![machine], read)
}

/// The number of the newest version.
pub(super) fn newest(connection: &Connection, machine: &str) -> rusqlite::Result<Option<u32>> {
    row(connection, NEWEST, params![machine], |row| row.get(0))
}

/// The highest version with this digest.
pub(super) fn with_digest(connection: &Connection, machine: &str, digest: &[u8; 32]) -> rusqlite::Result<Option<u32>> {
    row(connection, WITH_DIGEST, params![machine, digest], |row| row.get(0))
}

/// Refuses a decision that was taken on a version which is not the newest.
pub(super) fn expect_newest(connection: &Connection, machine: &str, version: u32) -> Result<(), Error> {
    match newest(connection, machine).map_err(|problem| classify(&problem))? {
        Some(newest) if newest > version => Err(Error::Outdated {
            machine: machine.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// The newest versions of machines, by name. Every name comes after the empty one.
pub(super) fn list(
    connection: &Connection,
    Page { after, limit }: &Page<String>,
) -> rusqlite::Result<Paged<MachineVersion, String>> {
    let params = params![after.as_deref().unwrap_or_default(), page_rows(*limit)];
    page(connection, LIST, params, *limit, read, |row| row.machine.clone())
}

/// The versions of a machine, newest first.
pub(super) fn versions(
    connection: &Connection,
    machine: &str,
    Page { after, limit }: &Page<u32>,
) -> rusqlite::Result<Paged<MachineVersion, u32>> {
    let before = after.map_or(i64::MAX, i64::from);
    let params = params![machine, before, page_rows(*limit)];
    page(connection, VERSIONS, params, *limit, read, |row| row.version)
}

fn read(row: &Row<'_>) -> rusqlite::Result<MachineVersion> {
    Ok(MachineVersion {
        machine: row.get(0)?,
        version: row.get(1)?,
        digest: row.get(2)?,
        definition: row.get(3)?,
        created_at: row.get::<_, Column<_>>(4)?.0,
    })
}
