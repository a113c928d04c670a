//! Putting a backup in the place of a database.
//!
//! The backup is copied beside the target, checked, brought to the newest schema, and handed to the caller to write
//! what must be there before anybody opens it. Only then does it take the target's name, in one step: at every instant
//! the target is what it was, or the whole backup. The target's lock is held all the while.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags};

use super::backup::{self, Copying};
use super::lock::Lock;
use super::mark;
use super::migrations;
use super::moved;
use super::open::{directory_of, locate, open_writer};
use super::open_error::OpenError;
use super::writer::Writer;

/// Problems that a check of a backup tells at most.
const PROBLEMS_MAX: &str = "PRAGMA integrity_check(5)";

/// What to restore.
#[derive(Clone, Copy, Debug)]
pub struct Restore<'a> {
    /// The backup.
    pub from: &'a Path,
    /// Where the database is to be.
    pub to: &'a Path,
    /// What happens to a database that is there.
    pub existing: Existing,
}

/// What happens to a database that is in the place of the restored one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and nothing is restored.
    Refuse,
    /// The restored one takes its place.
    Replace,
}

/// Why nothing was restored. The target is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// There is no such backup.
    #[error("there is no backup at `{}`; check the file name", path.display())]
    Missing {
        /// The backup.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It is a pipe, a device or a folder: to open it may block.
    #[error("`{}` is not a regular file; name the file of a backup", path.display())]
    Irregular {
        /// What was named.
        path: PathBuf,
    },
    /// A database is there already.
    #[error("a database already exists at `{}`; name another file, or replace it", path.display())]
    Exists {
        /// The target.
        path: PathBuf,
    },
    /// The backup is the database that it would replace.
    #[error("`{}` is the database itself; name another file", path.display())]
    Same {
        /// The target.
        path: PathBuf,
    },
    /// The backup is not whole.
    #[error("the backup `{}` is damaged: {detail}", path.display())]
    Damaged {
        /// The backup.
        path: PathBuf,
        /// What `SQLite` said.
        detail: String,
    },
    /// The backup has tables, views or triggers that Sprag did not make, or lacks some.
    #[error("the schema of the backup `{}` is not Sprag's: {detail}; restore an unchanged backup", path.display())]
    Schema {
        /// The backup.
        path: PathBuf,
        /// What differs.
        detail: String,
    },
    /// The backup cannot be read, or the target cannot be written.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl RestoreError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "backup-missing",
            Self::Irregular { .. } => "backup-irregular",
            Self::Exists { .. } => "store-exists",
            Self::Same { .. } => "backup-is-store",
            Self::Damaged { .. } => "corrupt",
            Self::Schema { .. } => "foreign-schema",
            Self::Open(problem) => problem.code(),
        }
    }
}

/// A restored database that has not taken its place yet. Dropped before [`Restoring::finish`], it leaves nothing.
#[derive(Debug)]
pub struct Restoring {
    writer: Option<Writer>,
    temporary: PathBuf,
    target: PathBuf,
    _lock: Lock,
}

/// Copies a backup beside its target, checks it, and brings it to the newest schema.
pub fn restore(restore: &Restore<'_>) -> Result<Restoring, RestoreError> {
    let &Restore { from, to, existing } = restore;
    let source = from.canonicalize().map_err(|source| RestoreError::Missing {
        path: from.to_owned(),
        source,
    })?;
    if !source.is_file() {
        return Err(RestoreError::Irregular { path: source });
    }
    let target = locate(to)?;
    if source == target {
        return Err(RestoreError::Same { path: target });
    }
    let mut lock = Lock::take(&target)?;
    if target.exists() {
        if existing == Existing::Refuse {
            return Err(RestoreError::Exists { path: target });
        }
        lock.hold_file()?;
    }
    let temporary = backup::beside(&target, "-restore");
    backup::remove(&temporary).map_err(|problem| OpenError::from_system(&target, problem))?;
    let mut restoring = Restoring {
        writer: None,
        temporary,
        target,
        _lock: lock,
    };
    restoring.copy(&source)?;
    Ok(restoring)
}

impl Restoring {
    /// The restored database, for what must be in it before it takes its place.
    pub fn lane(&mut self) -> Option<&mut Writer> {
        self.writer.as_mut()
    }

    /// Puts the restored database in its place, durably.
    pub fn finish(mut self) -> Result<(), RestoreError> {
        let target = self.target.clone();
        let sqlite = |problem| OpenError::from_sqlite(&target, problem);
        let system = |problem| OpenError::from_system(&target, problem);
        if let Some(writer) = self.writer.take() {
            backup::settle(writer.into_connection()).map_err(sqlite)?;
        }
        File::open(&self.temporary)
            .and_then(|file| file.sync_all())
            .map_err(system)?;
        self.settle_old();
        // A log of the old database beside the new one would be read as the new one's.
        backup::remove_logs(&target).map_err(system)?;
        fs::rename(&self.temporary, &target).map_err(system)?;
        let directory = File::open(directory_of(&target)).map_err(system)?;
        directory.sync_all().map_err(system)?;
        Ok(())
    }

    fn copy(&mut self, source: &Path) -> Result<(), RestoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let refuse = |problem| OpenError::from_sqlite(source, problem);
        if mark::lacks_log(source).map_err(|problem| OpenError::from_system(source, problem))? {
            let path = source.to_owned();
            return Err(OpenError::LogMissing { path }.into());
        }
        let connection = Connection::open_with_flags(source, flags).map_err(refuse)?;
        if !migrations::is_ours(&connection).map_err(refuse)? {
            return Err(OpenError::ForeignDatabase {
                path: source.to_owned(),
            }
            .into());
        }
        backup::copy_pages(&connection, &self.temporary).map_err(refuse)?;
        drop(connection);
        self.check(source)?;
        let connection = open_writer(&self.temporary)?;
        // A restored store holds everything until an operator looked, and serves the file no matter what became of another.
        moved::forget(&connection).map_err(refuse)?;
        let writer = Writer::new(connection, None, Arc::new(Copying::default())).map_err(refuse)?;
        self.writer = Some(writer);
        Ok(())
    }

    /// Looks at every page of the copy, and at its schema.
    fn check(&self, source: &Path) -> Result<(), RestoreError> {
        let refuse = |problem| OpenError::from_sqlite(source, problem);
        let connection = Connection::open(&self.temporary).map_err(refuse)?;
        let mut statement = connection.prepare(PROBLEMS_MAX).map_err(refuse)?;
        let found: Vec<String> = statement
            .query_map([], |row| row.get(0))
            .and_then(Iterator::collect)
            .map_err(refuse)?;
        let path = source.to_owned();
        if found != ["ok"] {
            let detail = found.join("; ");
            return Err(RestoreError::Damaged { path, detail });
        }
        let differences = migrations::compare(&connection, source)?;
        if differences.is_empty() {
            return Ok(());
        }
        let detail = differences.join(", ");
        Err(RestoreError::Schema { path, detail })
    }

    /// Folds the log of the old database into it, so that it is whole for as long as it is there. One that cannot be
    /// opened is what is being replaced for good reason.
    fn settle_old(&self) {
        if self.target.exists()
            && let Ok(connection) = Connection::open(&self.target)
        {
            let _ = backup::settle(connection);
        }
    }
}

impl Drop for Restoring {
    fn drop(&mut self) {
        self.writer = None;
        // What stays behind is removed by the next restore.
        let _ = backup::remove(&self.temporary);
    }
}
