//! Why a database could not be opened, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use sprag_core::time::Timestamp;

use super::errors::classify;
use super::identity;
use crate::traits::Error;

/// Why a database could not be opened. Every text names the file and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The directory is not there.
    #[error(
        "the directory of `{}` does not exist; create it, or name a file in a directory that exists",
        path.display()
    )]
    DirectoryMissing {
        /// The file.
        path: PathBuf,
    },
    /// A directory where a file should be.
    #[error("`{}` is a directory; name a file in it, as in `{}`", path.display(), path.join("sprag.db").display())]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// Another process has the database open.
    #[error("another process has `{}` open; stop it, or name another file", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The file has several names.
    #[error(
        "{}; remove the others, or copy the file with `sprag backup` instead of linking it",
        identity::linked(path, *names)
    )]
    Linked {
        /// The file.
        path: PathBuf,
        /// How many names it has.
        names: u64,
    },
    /// The newest commits are in a log that is not there.
    #[error(
        "`{path}` was copied or moved without its write-ahead log `{path}-wal`, which holds its newest commits; put \
         the log beside it, or restore a copy that `sprag backup` made; to continue without those commits, use \
         `--store 'sqlite:{path}?log=lost'`",
        path = path.display()
    )]
    LogMissing {
        /// The file.
        path: PathBuf,
    },
    /// What the database holds was moved to another.
    #[error(
        "`{}` was moved to `{to}` at {at}: a server on this file would repeat effects; start the server with \
         `--store {to}`, or with `--store sqlite:{}?moved=allow` if you lost that database",
        path.display(),
        path.display()
    )]
    Moved {
        /// The file.
        path: PathBuf,
        /// The database that has it now, without its password.
        to: String,
        /// When it was moved.
        at: Timestamp,
    },
    /// A newer program wrote the database.
    #[error(
        "`{}` has schema {found}, and this version of Sprag knows {known}; run the newer version, or restore a \
         backup taken before it",
        path.display()
    )]
    NewerDatabase {
        /// The file.
        path: PathBuf,
        /// The schema of the file.
        found: u32,
        /// The newest schema this program knows.
        known: u32,
    },
    /// Locks and flushes cannot be trusted there.
    #[error(
        "`{}` is on a network filesystem (`{kind}`), whose locks and flushes are not reliable; name a file on a \
         local disk",
        path.display()
    )]
    NetworkFilesystem {
        /// The file.
        path: PathBuf,
        /// The kind of filesystem.
        kind: String,
    },
    /// Not a database, or a damaged one.
    #[error("`{}` is not a database or is damaged; restore a backup, or name another file", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What `SQLite` said.
        #[source]
        source: rusqlite::Error,
    },
    /// A database of something else.
    #[error("`{}` is a database of another program; name another file", path.display())]
    ForeignDatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file or its directory cannot be written.
    #[error("`{}` or its directory cannot be written; give this user the right to write both", path.display())]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// No room.
    #[error("the disk of `{}` is full; free space on it", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Something else.
    #[error("`{}` could not be opened; see the cause", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// What was said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl OpenError {
    /// The stable code, which names its page.
    pub fn code(&self) -> &'static str {
        match self {
            Self::DirectoryMissing { .. } => "directory-missing",
            Self::Directory { .. } => "store-is-directory",
            Self::Locked { .. } => "store-locked",
            Self::Linked { .. } => "store-linked",
            Self::LogMissing { .. } => "log-missing",
            Self::Moved { .. } => "store-moved",
            Self::NewerDatabase { .. } => "newer-database",
            Self::NetworkFilesystem { .. } => "network-filesystem",
            Self::Corrupt { .. } => "corrupt",
            Self::ForeignDatabase { .. } => "foreign-database",
            Self::NotWritable { .. } => "not-writable",
            Self::Full { .. } => "disk-full",
            Self::Failed { .. } => "open-failed",
        }
    }

    /// What `SQLite` said while the database at `path` was being opened.
    pub(super) fn from_sqlite(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        let code = source.sqlite_error_code();
        match (classify(&source), code) {
            (Error::Corrupt { .. }, _) => Self::Corrupt { path, source },
            (Error::Full, _) => Self::Full { path },
            (Error::ReadOnly, _) | (_, Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied)) => {
                Self::NotWritable {
                    path,
                    source: io::Error::new(io::ErrorKind::PermissionDenied, source),
                }
            }
            _ => Self::Failed {
                path,
                source: Box::new(source),
            },
        }
    }

    /// What the system said while the file at `path`, or one beside it, was being opened.
    pub(super) fn from_system(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::NotWritable { path, source },
            io::ErrorKind::IsADirectory => Self::Directory { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { path },
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::DirectoryMissing { path },
            _ => Self::Failed {
                path,
                source: Box::new(source),
            },
        }
    }
}
