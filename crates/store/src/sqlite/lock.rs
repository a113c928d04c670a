//! The lock file that refuses a second process.
//!
//! The operating system holds the lock for the open file, so it goes with the process however that ends; the file
//! itself stays beside its database and means nothing. `SQLite`'s own locks would let two processes write in turns.
//!
//! On Linux the database file itself is locked too, so that a second process is refused under whatever name or mount it finds the
//! file. That lock is of another kind than `SQLite`'s, and neither sees the other. Elsewhere the two kinds may be one.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::backup::beside;
use super::identity;
use super::open_error::OpenError;
use crate::private;

/// How the lock file's name ends.
const ENDING: &str = "-lock";

/// How often a lock is tried whose file was removed by its last holder just then.
const TRIES: usize = 8;

/// Held for as long as it lives.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    database: PathBuf,
    /// The database file. It must stay open until every connection is closed: closing it would free the locks that `SQLite` holds.
    opened: Option<File>,
}

impl Lock {
    /// Takes the lock of the database at `path`.
    pub(super) fn take(path: &Path) -> Result<Self, OpenError> {
        let name = beside(path, ENDING);
        for _ in 0..TRIES {
            let file = private::options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&name)
                .map_err(|problem| OpenError::from_system(path, problem))?;
            match file.try_lock() {
                // A lock on a file that has lost its name keeps no process out.
                Ok(()) if !is_named(&file, &name).map_err(|problem| OpenError::from_system(path, problem))? => {}
                Ok(()) => {
                    let database = path.to_owned();
                    let opened = None;
                    return Ok(Self { file, database, opened });
                }
                Err(TryLockError::WouldBlock) => break,
                Err(TryLockError::Error(problem)) => return Err(OpenError::from_system(path, problem)),
            }
        }
        Err(OpenError::Locked { path: path.to_owned() })
    }
}

impl Lock {
    /// Locks the database file itself, which must exist by now and must have one name. No connection to it may be open.
    pub(super) fn hold_file(&mut self) -> Result<(), OpenError> {
        let path = &self.database;
        let system = |problem| OpenError::from_system(path, problem);
        let names = identity::names(path).map_err(system)?;
        if names > 1 {
            let path = path.clone();
            return Err(OpenError::Linked { path, names });
        }
        if !cfg!(target_os = "linux") {
            return Ok(());
        }
        let file = File::open(path).map_err(system)?;
        match file.try_lock() {
            Ok(()) => {
                self.opened = Some(file);
                Ok(())
            }
            Err(TryLockError::WouldBlock) => Err(OpenError::Locked { path: path.clone() }),
            Err(TryLockError::Error(problem)) => Err(system(problem)),
        }
    }
}

impl Drop for Lock {
    /// Where no database was made, nothing is left beside it. The name goes while the lock is still held.
    fn drop(&mut self) {
        let name = beside(&self.database, ENDING);
        if !self.database.exists() && is_named(&self.file, &name).unwrap_or(false) {
            // A name that stays means nothing.
            let _ = std::fs::remove_file(name);
        }
    }
}

/// Whether an open file still has its name.
#[cfg(unix)]
fn is_named(file: &File, name: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let open = file.metadata()?;
    match std::fs::metadata(name) {
        Ok(named) => Ok((named.dev(), named.ino()) == (open.dev(), open.ino())),
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(problem) => Err(problem),
    }
}

/// A file that is open keeps its name there.
#[cfg(not(unix))]
fn is_named(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}
