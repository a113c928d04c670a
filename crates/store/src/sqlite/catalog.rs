//! The catalog: subjects and operations by kind, name and version.

use rusqlite::{Connection, Row, params};

use super::columns::{Column, one_row, page, page_rows, row, rows};
use crate::page::{Page, Paged};
use crate::records::{CatalogKind, CatalogVersion};

pub(super) const INSERT: &str = "\
    INSERT INTO catalog_version (kind, name, version, digest, definition, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

pub(super) const GET: &str = "\
    SELECT kind, name, version, digest, definition, created_at FROM catalog_version \
    WHERE kind = ?1 AND name = ?2 AND version = ?3";

pub(super) const GET_NEWEST: &str = "\
    SELECT kind, name, version, digest, definition, created_at FROM catalog_version WHERE kind = ?1 AND name = ?2 \
    ORDER BY version DESC LIMIT 1";

/// The newest versions of everything. A catalog is read whole.
pub(super) const ALL: &str = "\
    SELECT kind, name, version, digest, definition, created_at FROM catalog_version AS listed WHERE version = \
    (SELECT max(version) FROM catalog_version WHERE kind = listed.kind AND name = listed.name) ORDER BY kind, name";

pub(super) const LIST: &str = "\
    SELECT kind, name, version, digest, definition, created_at FROM catalog_version AS listed \
    WHERE kind = ?1 AND name > ?2 \
    AND version = (SELECT max(version) FROM catalog_version WHERE kind = listed.kind AND name = listed.name) \
    ORDER BY name LIMIT ?3";

/// Adds a version.
pub(super) fn insert(connection: &Connection, record: &CatalogVersion) -> rusqlite::Result<()> {
    let CatalogVersion {
        kind,
        name,
        version,
        digest,
        definition,
        created_at,
    } = record;
    let params = params![*kind as u8, name, version, digest, definition, Column(*created_at)];
    one_row(connection.prepare_cached(INSERT)?.execute(params)?)
}

/// One version, or the newest.
pub(super) fn get(
    connection: &Connection,
    kind: CatalogKind,
    name: &str,
    version: Option<u32>,
) -> rusqlite::Result<Option<CatalogVersion>> {
    match version {
        Some(version) => row(connection, GET, params![kind as u8, name, version], read),
        None => row(connection, GET_NEWEST, params![kind as u8, name], read),
    }
}

/// The newest versions of everything, by kind and name.
pub(super) fn all(connection: &Connection) -> rusqlite::Result<Vec<CatalogVersion>> {
    rows(connection, ALL, params![], read)
}

/// The newest versions of one kind, by name. Every name comes after the empty one.
pub(super) fn list(
    connection: &Connection,
    kind: CatalogKind,
    Page { after, limit }: &Page<String>,
) -> rusqlite::Result<Paged<CatalogVersion, String>> {
    let params = params![kind as u8, after.as_deref().unwrap_or_default(), page_rows(*limit)];
    page(connection, LIST, params, *limit, read, |row| row.name.clone())
}

fn read(row: &Row<'_>) -> rusqlite::Result<CatalogVersion> {
    Ok(CatalogVersion {
        kind: row.get::<_, Column<_>>(0)?.0,
        name: row.get(1)?,
        version: row.get(2)?,
        digest: row.get(3)?,
        definition: row.get(4)?,
        created_at: row.get::<_, Column<_>>(5)?.0,
    })
}
