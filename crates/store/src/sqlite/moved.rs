//! The mark of a file whose contents were moved to a database: where to, and when.
//!
//! It has a table of its own, which no schema's step makes: only a file that was moved has it. A server that is started
//! on such a file would repeat every effect that is still to happen in the database, so it is refused.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, params};
use sprag_core::time::Timestamp;

use super::migrations;
use super::open_error::OpenError;

/// The table, which is moved nowhere itself.
pub(super) const TABLE: &str = "moved";

const IS_THERE: &str = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'moved'";

/// Makes the table.
pub(super) const CREATE: &str = "\
    CREATE TABLE IF NOT EXISTS moved \
    (id INTEGER NOT NULL PRIMARY KEY CHECK (id = 0), place TEXT NOT NULL, moved_at INTEGER NOT NULL) STRICT";

const PUT: &str = "INSERT OR REPLACE INTO moved (id, place, moved_at) VALUES (0, ?1, ?2)";

const GET: &str = "SELECT place, moved_at FROM moved";

const FORGET: &str = "DROP TABLE IF EXISTS moved";

/// Where a file's contents went, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MoveRecord {
    /// The database, without its password.
    pub(crate) to: String,
    /// When.
    pub(crate) at: Timestamp,
}

/// Marks the file, durably; a mark that is there is replaced.
pub(super) fn put(connection: &mut Connection, moved: &MoveRecord) -> rusqlite::Result<()> {
    let MoveRecord { to, at } = moved;
    let transaction = connection.transaction()?;
    transaction.execute_batch(CREATE)?;
    transaction.execute(PUT, params![to, at.as_millis()])?;
    transaction.commit()
}

/// The mark, if the file has one.
pub(super) fn get(connection: &Connection) -> rusqlite::Result<Option<MoveRecord>> {
    let tables: i64 = connection.query_row(IS_THERE, [], |row| row.get(0))?;
    if tables == 0 || !migrations::is_ours(connection)? {
        return Ok(None);
    }
    let found = connection.query_row(GET, [], |row| {
        Ok(MoveRecord {
            to: row.get(0)?,
            at: Timestamp::from_millis(row.get(1)?),
        })
    });
    found.optional()
}

/// Takes the mark away.
pub(super) fn forget(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(FORGET)
}

/// Refuses a file that has the mark.
pub(super) fn refuse(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    match get(connection).map_err(|problem| OpenError::from_sqlite(path, problem))? {
        None => Ok(()),
        Some(MoveRecord { to, at }) => Err(OpenError::Moved {
            path: path.to_owned(),
            to,
            at,
        }),
    }
}
