//! Why a database was not moved, and what to do about it.

use std::path::PathBuf;

use crate::{postgres, sqlite, traits};

/// Why a database was not moved. The file is as it was; a move that began continues when it is asked for again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// There is no such file.
    #[error("there is no database at `{}`; name the file of a stopped server", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be opened, or another process has it open.
    #[error(transparent)]
    Source(#[from] sqlite::OpenError),
    /// The database cannot be reached, or is not taken.
    #[error(transparent)]
    Target(#[from] postgres::OpenError),
    /// There is something in the database.
    #[error("`{address}` is not empty; name an empty database (`createdb NAME`)")]
    NotEmpty {
        /// The database.
        address: String,
    },
    /// It was moved there before.
    #[error("`{}` was already moved to `{address}`; start the server there", path.display())]
    Done {
        /// The file.
        path: PathBuf,
        /// The database.
        address: String,
    },
    /// A server runs on the database.
    #[error("a server runs on `{address}`; name an empty database, and start the server after the move")]
    InUse {
        /// The database.
        address: String,
    },
    /// Another move to the database is under way.
    #[error("another `sprag migrate` writes to `{address}`; wait until it ends")]
    UnderWay {
        /// The database.
        address: String,
    },
    /// What began to move into the database is not what this file holds.
    #[error(
        "`{address}` holds a part of another file, or the file was used since the move began; empty the database \
         (`dropdb`, `createdb`) and start again"
    )]
    Mismatch {
        /// The database.
        address: String,
    },
    /// A table that the database has otherwise: a bug.
    #[error("the table `{table}` cannot be moved: {detail}; this is a bug, please report it")]
    Shape {
        /// Which.
        table: String,
        /// What is wrong with it.
        detail: String,
    },
    /// A row that is not the same on both sides.
    #[error(
        "the row `{key}` of `{table}` differs between the file and the database; empty the database (`dropdb`, \
         `createdb`) and start again"
    )]
    Differs {
        /// Whose row.
        table: String,
        /// Its key.
        key: String,
    },
    /// A row of a time in which names had no bounds.
    #[error(
        "PostgreSQL cannot store the `{column}` of {row} (table `{table}`): it {problem}, and the database said: \
         {said}. \
         Its definition is older than the limit on names. Apply a version with a shorter name, wait until the executions of the old version end and retention deletes them, then move to an empty database"
    )]
    Unfit {
        /// Whose row.
        table: String,
        /// Which field.
        column: String,
        /// Whose it is, in words.
        row: String,
        /// What is wrong with it.
        problem: String,
        /// What the database said.
        said: String,
    },
    /// The file could not be read on.
    #[error("the file could not be read")]
    Reading(#[source] traits::Error),
    /// The database did not take what it was given.
    #[error("the database did not accept the data; run the same command again, and it continues where it stopped")]
    Writing(#[source] traits::Error),
}

impl TransferError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "store-missing",
            Self::Source(problem) => problem.code(),
            Self::Target(problem) => problem.code(),
            Self::NotEmpty { .. } => "database-not-empty",
            Self::Done { .. } => "store-moved",
            Self::InUse { .. } => "database-in-use",
            Self::UnderWay { .. } => "migration-under-way",
            Self::Mismatch { .. } => "migration-mismatch",
            Self::Shape { .. } => "migration-failed",
            Self::Differs { .. } => "migration-differs",
            Self::Unfit { .. } => "migration-unfit",
            Self::Writing(traits::Error::Away { .. }) => "store-away",
            Self::Reading(_) | Self::Writing(_) => "store-failed",
        }
    }
}
