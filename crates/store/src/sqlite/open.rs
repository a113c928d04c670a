//! Opening a database file.
//!
//! In this order: the directory must exist on a local filesystem, the lock must be free, the file is created if it is
//! missing and its name flushed, the schema is brought up to date. Nothing is read or written before the lock is held.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::backup::Copying;
use super::errors::classify;
use super::filesystem;
use super::identity::Files;
use super::keeper::OpenFile;
use super::lock::Lock;
use super::mark;
use super::migrations;
use super::moved;
use super::open_error::OpenError;
use super::reader::ReadPool;
use super::writer::Writer;
use crate::page::ReadKind;
use crate::pool::ReaderPool;
use crate::private;
use crate::traits::Error;

/// Only a checkpoint and a reader that meets it ever wait for each other.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// All statements of the code, and the queries that differ in their conditions.
const STATEMENTS_MAX: usize = 128;

/// Settings that are stored in the file. The page size counts only before the first table.
const FILE_SETTINGS: &str = "\
    PRAGMA page_size = 4096; \
    PRAGMA journal_mode = WAL;";

/// Settings of the writer. FULL flushes the log in every commit; the writer copies the log back itself, so that it
/// sees a failed flush; after a long log, at most 64 MiB of its file are kept. The cache is 16 MiB: a commit that
/// splits a page walks all of it, and what falls out of it the system still has.
const WRITER_SETTINGS: &str = "\
    PRAGMA synchronous = FULL; \
    PRAGMA fullfsync = ON; \
    PRAGMA checkpoint_fullfsync = ON; \
    PRAGMA wal_autocheckpoint = 0; \
    PRAGMA journal_size_limit = 67108864; \
    PRAGMA cache_size = -16384;";

/// Settings of a reader.
const READER_SETTINGS: &str = "PRAGMA query_only = ON;";

/// The cache of a connection that reads by id: 8 MiB.
const POINT_CACHE: &str = "PRAGMA cache_size = -8192;";

/// The cache of a connection that scans: 2 MiB. It passes over most pages once, and what falls out of it the system still has.
const SCAN_CACHE: &str = "PRAGMA cache_size = -2048;";

/// Settings of every connection. No memory mapping: there an unreadable page would kill the process instead of being
/// an error. No foreign keys: the engine decides what belongs together, and the hot path should not pay for a check.
const SETTINGS: &str = "\
    PRAGMA foreign_keys = OFF; \
    PRAGMA trusted_schema = OFF; \
    PRAGMA cell_size_check = ON; \
    PRAGMA mmap_size = 0; \
    PRAGMA temp_store = MEMORY;";

/// Where the database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The file; created if it is missing. Its directory must exist.
    pub path: PathBuf,
}

/// An open database.
#[derive(Debug)]
pub struct Store {
    /// For the lane.
    pub writer: Writer,
    /// For everybody else.
    pub readers: ReadPool,
}

/// What an operator insists on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Insists {
    /// Nothing.
    No,
    /// To open a file whose contents were moved to another store.
    Moved,
    /// To open a file without the log that it needs.
    LogLost,
}

/// Opens the database, creating the file or bringing its schema up to date where needed. One that was moved to another store is
/// refused, and left as it is; so is one whose write-ahead log is missing.
pub fn open(options: &Options) -> Result<Store, OpenError> {
    open_as(options, Insists::No)
}

/// The same, for an operator who insists on a database that was moved: what is still to happen in the other will happen here too.
pub fn open_moved(options: &Options) -> Result<Store, OpenError> {
    open_as(options, Insists::Moved)
}

/// The same, for an operator who insists on a database whose log is lost, and with it the newest commits.
pub fn open_without_log(options: &Options) -> Result<Store, OpenError> {
    open_as(options, Insists::LogLost)
}

fn open_as(options: &Options, insists: Insists) -> Result<Store, OpenError> {
    let path = locate(&options.path)?;
    let system = |problem| OpenError::from_system(&path, problem);
    let sqlite = |problem| OpenError::from_sqlite(&path, problem);
    let lock = take(&path, insists == Insists::LogLost)?;
    let mut connection = connect_writer(&path)?;
    if insists != Insists::Moved {
        moved::refuse(&connection, &path)?;
    }
    migrations::migrate(&mut connection, &path)?;
    let keeper = connect_writer(&path)?;
    leave_log(&connection).map_err(sqlite)?;
    arm(&keeper).map_err(sqlite)?;
    let readers = ReaderPool::new(|kind| open_reader(&path, kind))?;
    let files = Files::of(&path).map_err(system)?;
    let file = Arc::new(OpenFile::keep(keeper, files, lock).map_err(system)?);
    let copying = Arc::new(Copying::default());
    let writer = Writer::new(connection, Some(Arc::clone(&file)), Arc::clone(&copying)).map_err(sqlite)?;
    Ok(Store {
        writer,
        readers: ReadPool::new(readers, path, file, copying),
    })
}

/// Takes the lock of a file, and creates the file if it is missing. One that lacks its log is refused unless that is `accepted`.
pub(super) fn take(path: &Path, accepted: bool) -> Result<Lock, OpenError> {
    let system = |problem| OpenError::from_system(path, problem);
    let mut lock = Lock::take(path)?;
    create(path, directory_of(path)).map_err(system)?;
    lock.hold_file()?;
    if !accepted && mark::lacks_log(path).map_err(system)? {
        return Err(OpenError::LogMissing { path: path.to_owned() });
    }
    Ok(lock)
}

/// Has the file say that it needs its log from now on. A disk that is full or cannot be written says so with the first commit.
fn arm(connection: &Connection) -> rusqlite::Result<()> {
    match mark::copy_back(connection) {
        Err(problem) if matches!(classify(&problem), Error::Disk { .. } | Error::Corrupt { .. }) => Err(problem),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Has a connection leave the log alone when it closes: only the keeper knows whether the log is still this file's.
fn leave_log(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(())
}

/// The absolute path, on a filesystem that can be trusted.
pub(super) fn locate(path: &Path) -> Result<PathBuf, OpenError> {
    let path = resolve(path)?;
    let kind =
        filesystem::network_kind(directory_of(&path)).map_err(|problem| OpenError::from_system(&path, problem))?;
    match kind {
        Some(kind) => Err(OpenError::NetworkFilesystem { path, kind }),
        None => Ok(path),
    }
}

/// Where the file is.
pub(super) fn directory_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// The absolute path without links, so that all names of one file lead to one lock.
fn resolve(path: &Path) -> Result<PathBuf, OpenError> {
    let refuse = |problem| OpenError::from_system(path, problem);
    match path.canonicalize() {
        Ok(found) if found.is_dir() => return Err(refuse(io::ErrorKind::IsADirectory.into())),
        Ok(found) => return Ok(found),
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => {}
        Err(problem) => return Err(refuse(problem)),
    }
    let name = path
        .file_name()
        .ok_or_else(|| refuse(io::ErrorKind::IsADirectory.into()))?;
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    Ok(directory.canonicalize().map_err(refuse)?.join(name))
}

/// Creates the file if it is missing, and flushes its name. `SQLite` flushes the names of its logs, not of this file.
/// A file that exists is not touched: closing it again would free the locks that `SQLite` holds on it.
fn create(path: &Path, directory: &Path) -> io::Result<()> {
    match private::options().write(true).create_new(true).open(path) {
        Ok(file) => {
            file.sync_all()?;
            File::open(directory)?.sync_all()
        }
        Err(problem) if problem.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(problem) => Err(problem),
    }
}

/// The writer's connection, with the schema brought up to date.
pub(super) fn open_writer(path: &Path) -> Result<Connection, OpenError> {
    let mut connection = connect_writer(path)?;
    migrations::migrate(&mut connection, path)?;
    Ok(connection)
}

/// A connection that writes, on a file that exists.
pub(super) fn connect_writer(path: &Path) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    connect(path, flags, &[FILE_SETTINGS, WRITER_SETTINGS]).map_err(|problem| OpenError::from_sqlite(path, problem))
}

/// A connection that only reads.
pub(super) fn open_reader(path: &Path, kind: ReadKind) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let cache = match kind {
        ReadKind::Point => POINT_CACHE,
        ReadKind::Scan => SCAN_CACHE,
    };
    let opened = connect(path, flags, &[READER_SETTINGS, cache]).and_then(|connection| {
        leave_log(&connection)?;
        Ok(connection)
    });
    opened.map_err(|problem| OpenError::from_sqlite(path, problem))
}

fn connect(path: &Path, flags: OpenFlags, settings: &[&str]) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    connection.execute_batch(SETTINGS)?;
    for batch in settings {
        connection.execute_batch(batch)?;
    }
    Ok(connection)
}
