//! Copies of the whole database as of one instant, taken while the writer continues.
//!
//! A copy is made page by page inside one read transaction, so what the writer commits meanwhile is not part of it and
//! it never has to begin anew. Its file loses its name before anybody reads it: a reader that stops, or dies, leaves
//! nothing behind.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::errors::classify;
use super::facts;
use super::mark::{self, FileMark};
use super::open::open_reader;
use super::open_error::OpenError;
use crate::private;
use crate::records::Fact;
use crate::traits::Error;

/// Pages copied in one step (4 MiB): between steps other threads get their turn.
const STEP_PAGES: i32 = 1_024;

/// Settings of a copy under way: it means nothing until it is complete, so it needs neither journal nor flushes.
const COPY_SETTINGS: &str = "\
    PRAGMA journal_mode = OFF; \
    PRAGMA synchronous = OFF;";

/// One file without a log beside it.
const ONE_FILE: &str = "PRAGMA journal_mode = DELETE;";

/// Begins a read transaction and looks at something, so that the transaction has its instant.
const HOLD_INSTANT: &str = "BEGIN; SELECT epoch FROM shard LIMIT 1;";

/// What `SQLite` keeps beside a database, by how its name ends.
const LOGS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Whether a copy is being made.
#[derive(Debug, Default)]
pub(super) struct Copying(AtomicBool);

impl Copying {
    /// Whether one is under way.
    pub(super) fn is_under_way(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn during<T>(&self, copy: impl FnOnce() -> T) -> T {
        self.0.store(true, Ordering::Relaxed);
        let copied = copy();
        self.0.store(false, Ordering::Relaxed);
        copied
    }
}

/// A copy of the database at `path`, with `mark` added, open at its beginning. One at a time: the caller sees to it.
pub(super) fn snapshot(path: &Path, copying: &Copying, mark: &Fact) -> Result<File, Error> {
    let temporary = beside(path, "-backup");
    // A process that died while it copied left its file.
    remove(&temporary).map_err(|problem| failed(&problem))?;
    let copied = copying.during(|| copy(path, &temporary)).and_then(|()| {
        finish(&temporary, mark).map_err(|problem| classify(&problem))?;
        File::open(&temporary).map_err(|problem| failed(&problem))
    });
    remove(&temporary).map_err(|problem| failed(&problem))?;
    copied
}

fn copy(path: &Path, temporary: &Path) -> Result<(), Error> {
    let source = open_reader(path, crate::page::ReadKind::Scan).map_err(|problem| unopened(&problem))?;
    let copied = copy_pages(&source, temporary);
    copied.map_err(|problem| classify(&problem))
}

/// Copies what `source` sees, as of one instant, into a new file.
pub(super) fn copy_pages(source: &Connection, into: &Path) -> rusqlite::Result<()> {
    source.execute_batch(HOLD_INSTANT)?;
    // `SQLite` would let others read what it creates. What goes wrong here it says itself.
    let _ = private::create(into);
    let mut target = Connection::open(into)?;
    target.execute_batch(COPY_SETTINGS)?;
    let backup = Backup::new(source, &mut target)?;
    loop {
        match backup.step(STEP_PAGES)? {
            StepResult::Done => break,
            // No other process has the new file open, and readers are never locked out of the old one.
            _ => std::thread::yield_now(),
        }
    }
    Ok(())
}

/// Adds the mark, and makes the copy a database that is one file.
fn finish(temporary: &Path, fact: &Fact) -> rusqlite::Result<()> {
    let connection = Connection::open(temporary)?;
    connection.execute_batch(ONE_FILE)?;
    mark::put(&connection, FileMark::Whole)?;
    facts::put(&connection, fact)?;
    connection.close().map_err(|(_, problem)| problem)
}

/// Makes the database of a connection one file without logs, on disk, and closes it.
pub(super) fn settle(connection: Connection) -> rusqlite::Result<()> {
    mark::put(&connection, FileMark::Whole)?;
    connection.execute_batch(ONE_FILE)?;
    connection.close().map_err(|(_, problem)| problem)
}

/// The path of something beside the database.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Removes a database, if it is there, with its logs.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    remove_logs(path)?;
    remove_one(path)
}

/// Removes what `SQLite` keeps beside a database.
pub(super) fn remove_logs(path: &Path) -> io::Result<()> {
    LOGS.iter().try_for_each(|log| remove_one(&beside(path, log)))
}

fn remove_one(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(problem) if problem.kind() != io::ErrorKind::NotFound => Err(problem),
        _ => Ok(()),
    }
}

fn failed(problem: &io::Error) -> Error {
    match problem.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::Full,
        _ => Error::Failed {
            detail: problem.to_string(),
        },
    }
}

fn unopened(problem: &OpenError) -> Error {
    Error::Failed {
        detail: problem.to_string(),
    }
}
