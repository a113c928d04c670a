//! The audit of a database file, read without a server: of a copy, of a backup, or of the file of a running server.
//!
//! Nothing is written, locked or brought up to date. A file without a log beside it is read as it is on disk.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use sprag_core::integrity::audit::Entry;

use super::backup::beside;
use super::columns::rows;
use super::errors::classify;
use super::{OpenError, audit, migrations};
use crate::page::{Page, Paged};
use crate::traits::{AuditKey, Error, ShardId};

const HAS_AUDIT: &str = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'audit'";

const CHAINS: &str = "SELECT DISTINCT chain FROM audit ORDER BY chain";

/// A database file of which only the audit is read.
#[derive(Debug)]
pub struct AuditFile {
    connection: Connection,
    has_audit: bool,
}

impl AuditFile {
    /// Opens a database file of Sprag's.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let sqlite = |problem| OpenError::from_sqlite(path, problem);
        let connection = connect(path).map_err(sqlite)?;
        if !migrations::is_ours(&connection).map_err(sqlite)? {
            return Err(OpenError::ForeignDatabase { path: path.to_owned() });
        }
        let found: Vec<i64> = rows(&connection, HAS_AUDIT, [], |row| row.get(0)).map_err(sqlite)?;
        Ok(Self {
            connection,
            has_audit: !found.is_empty(),
        })
    }

    /// The shards whose chains have an entry.
    pub fn shards(&self) -> Result<Vec<ShardId>, Error> {
        if !self.has_audit {
            return Ok(Vec::new());
        }
        let found = rows(&self.connection, CHAINS, [], |row| row.get(0).map(ShardId));
        found.map_err(|problem| classify(&problem))
    }

    /// Entries of one chain, newest first.
    pub fn chain(&self, shard: ShardId, page: &Page<AuditKey>) -> Result<Paged<Entry, AuditKey>, Error> {
        audit::chain(&self.connection, shard, page).map_err(|problem| classify(&problem))
    }
}

/// A connection that writes nothing. The log of a file says what the file lacks; without one there is nothing to wait for,
/// and no file may appear beside a copy that is only looked at.
fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let log: PathBuf = beside(path, "-wal");
    if log.exists() {
        return Connection::open_with_flags(path, flags);
    }
    let uri = format!("file:{}?immutable=1", escaped(path));
    Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)
}

/// A path within an address.
fn escaped(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}
