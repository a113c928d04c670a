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
    #[error("`{address}` is not empty; name a database that holds nothing, as `createdb NAME` makes it")]
    NotEmpty {
        /// The database.
        address: String,
    },
    /// It was moved there before.
    #[error("`{}` was moved to `{address}` before, and nothing is left to do; start the server there", path.display())]
    Done {
        /// The file.
        path: PathBuf,
        /// The database.
        address: String,
    },
    /// A server runs on the database.
    #[error("a server runs on `{address}`; name a database that holds nothing, and start the server when it was moved")]
    InUse {
        /// The database.
        address: String,
    },
    /// Another move to the database is under way.
    #[error("another `sprag migrate` writes to `{address}`; wait until it has ended")]
    UnderWay {
        /// The database.
        address: String,
    },
    /// What began to move into the database is not what this file holds.
    #[error(
        "`{address}` holds half of another database, or the file was used since it began to move; empty the database \
         (`dropdb`, `createdb`) and begin anew"
    )]
    Mismatch {
        /// The database.
        address: String,
    },
    /// A table that the database has otherwise: a bug.
    #[error("the table `{table}` cannot be moved: {detail}; this is a fault of this program")]
    Shape {
        /// Which.
        table: String,
        /// What is wrong with it.
        detail: String,
    },
    /// A row that is not the same on both sides.
    #[error(
        "the row `{key}` of `{table}` is not the same in both; empty the database (`dropdb`, `createdb`) and begin anew"
    )]
    Differs {
        /// Whose row.
        table: String,
        /// Its key.
        key: String,
    },
    /// A row of a time in which names had no bounds.
    #[error(
        "PostgreSQL cannot keep the `{column}` of {row} (table `{table}`): it {problem}, and the database said: {said}. \
         Names had no bounds when its definition was applied. Apply a version with a shorter name, let the executions of the \
         old one end and retention delete them, and move to an empty database then"
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
    #[error("the database did not take it; run the same command again, and it continues where it was")]
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
