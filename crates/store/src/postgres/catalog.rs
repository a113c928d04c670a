//! The catalog: subjects and operations by kind, name and version.

use sprag_core::text::is_storable;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::columns::{self, column, digest, instant, limit, number, numbered, page_rows, row_bytes};
use super::part::{StatementPart, Text};
use super::session::{Session, list};
use crate::page::{Page, Paged};
use crate::records::{CatalogKind, CatalogVersion};
use crate::traits::Error;

const INSERT: Text = Text::new(
    "new_catalog_versions AS (INSERT INTO catalog_version (kind, name, version, digest, definition, created_at) \
    SELECT * FROM unnest($1::smallint[], $2::text[], $3::bigint[], $4::bytea[], $5::bytea[], $6::bigint[]))",
);

const GET: &str = "\
    SELECT kind, name, version, digest, definition, created_at FROM catalog_version \
    WHERE kind = $1 AND name = $2 AND version = $3";

const GET_NEWEST: &str = "\
    SELECT kind, name, version, digest, definition, created_at FROM catalog_version WHERE kind = $1 AND name = $2 \
    ORDER BY version DESC LIMIT 1";

/// The newest versions of everything. A catalog is read whole.
const ALL: &str = "\
    SELECT kind, name, version, digest, definition, created_at FROM catalog_version AS listed WHERE version = \
    (SELECT max(version) FROM catalog_version WHERE kind = listed.kind AND name = listed.name) ORDER BY kind, name";

/// The server sends only the rows that fit. `$5` is what a row counts for besides its definition.
const LIST: &str = "\
    SELECT kind, name, version, digest, definition, created_at, continues \
    FROM (SELECT kind, name, version, digest, definition, created_at, bytes, \
    sum(bytes) OVER listed AS total, lead(true, 1, false) OVER listed AS continues FROM \
    (SELECT kind, name, version, digest, definition, created_at, $5::int + octet_length(definition) AS bytes \
    FROM catalog_version AS listed WHERE kind = $1 AND name > $2 \
    AND version = (SELECT max(version) FROM catalog_version WHERE kind = listed.kind AND name = listed.name) \
    ORDER BY name LIMIT $3::bigint) AS found WINDOW listed AS (ORDER BY name)) AS page \
    WHERE total <= $4 OR total = bytes ORDER BY name LIMIT $3::bigint - 1";

/// Adds versions.
pub(super) fn insert<'a>(records: &[&'a CatalogVersion]) -> StatementPart<'a> {
    StatementPart::new(
        INSERT,
        vec![
            list(records, |record| record.kind as i16),
            list(records, |record| record.name.as_str()),
            list(records, |record| i64::from(record.version)),
            list(records, |record| record.digest.as_slice()),
            list(records, |record| record.definition.as_slice()),
            list(records, |record| record.created_at.as_millis()),
        ],
    )
}

/// One version, or the newest.
pub(super) async fn get(
    session: &Session,
    kind: CatalogKind,
    name: &str,
    version: Option<u32>,
) -> Result<Option<CatalogVersion>, Error> {
    if !is_storable(name) {
        return Ok(None);
    }
    match version {
        Some(version) => {
            let values: [&(dyn ToSql + Sync); 3] = [&(kind as i16), &name, &i64::from(version)];
            session.first(GET, &values, read).await
        }
        None => session.first(GET_NEWEST, &[&(kind as i16), &name], read).await,
    }
}

/// The newest versions of everything, by kind and name.
pub(super) async fn all(session: &Session) -> Result<Vec<CatalogVersion>, Error> {
    session.all(ALL, &[], read).await
}

/// The newest versions of one kind, by name. Every name comes after the empty one.
pub(super) async fn page(
    session: &Session,
    kind: CatalogKind,
    Page { after, limit: most }: &Page<String>,
) -> Result<Paged<CatalogVersion, String>, Error> {
    let after = after.as_deref().unwrap_or_default();
    let values: [&(dyn ToSql + Sync); 5] = [
        &(kind as i16),
        &after,
        &page_rows(*most),
        &limit(most.bytes),
        &row_bytes(),
    ];
    columns::page(&session.rows(LIST, &values).await?, read, |version| {
        version.name.clone()
    })
}

fn read(row: &Row) -> Result<CatalogVersion, Error> {
    Ok(CatalogVersion {
        kind: numbered(row, 0, &CatalogKind::ALL)?,
        name: column(row, 1)?,
        version: number::<i64, _>(row, 2)?,
        digest: digest(row, 3)?,
        definition: column(row, 4)?,
        created_at: instant(row, 5)?,
    })
}
