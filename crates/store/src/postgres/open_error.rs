//! Why a database could not be opened, and what to do about it.

use super::server::Unsuitable;
use crate::traits::Error;

/// Why a database could not be opened. Every text names the database and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Nothing answers there, or it refuses this client.
    #[error("`{address}` cannot be reached: {detail}; check that the server runs there and accepts this user")]
    Unreachable {
        /// The database, without its password.
        address: String,
        /// What was tried, and what came of it.
        detail: String,
    },
    /// The server must not be trusted with what it is given, or cannot keep it.
    #[error("Sprag cannot use `{address}`: {reason}")]
    Unsuitable {
        /// The database.
        address: String,
        /// Why, and what to do.
        reason: Unsuitable,
    },
    /// The user may not make tables.
    #[error(
        "the user `{user}` may not create tables in `{address}` (schema `{schema}`); make it the owner: \
         `createdb -O {user} {database}` for a new database, or `ALTER DATABASE \"{database}\" OWNER TO \"{user}\"`"
    )]
    Rights {
        /// The database.
        address: String,
        /// Who may not.
        user: String,
        /// In which schema.
        schema: String,
        /// The name of the database.
        database: String,
    },
    /// A newer program wrote the database.
    #[error(
        "`{address}` has schema {found}, and this version of Sprag knows {known}; run the newer version, or restore \
         a dump taken before it"
    )]
    NewerDatabase {
        /// The database.
        address: String,
        /// The schema of the database.
        found: u32,
        /// The newest schema this program knows.
        known: u32,
    },
    /// A database of something else.
    #[error(
        "`{address}` holds tables of another program; name an empty database, or another schema by `options=-csearch_path=NAME`"
    )]
    ForeignDatabase {
        /// The database.
        address: String,
    },
    /// Only a part of a database is there.
    #[error(
        "a move into `{address}` was not finished; run the same `sprag migrate` again, and it continues where it \
         stopped"
    )]
    Unfinished {
        /// The database.
        address: String,
    },
    /// The authorities cannot be read.
    #[error("Sprag cannot read the certificate authorities: {detail}")]
    Authorities {
        /// Which file, and why.
        detail: String,
    },
    /// A number of shards that no database has.
    #[error("{shards} shards are not possible; choose from 1 to {most}")]
    Shards {
        /// How many were wanted.
        shards: u32,
        /// How many there may be.
        most: u32,
    },
    /// Something else.
    #[error("`{address}` could not be opened; see the cause")]
    Failed {
        /// The database.
        address: String,
        /// What was said.
        #[source]
        source: Error,
    },
}

impl OpenError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "database-unreachable",
            Self::Unsuitable { reason, .. } => match reason {
                Unsuitable::Old { .. } | Unsuitable::Encoding { .. } => "database-unsuitable",
                Unsuitable::Standby => "database-standby",
                Unsuitable::Unsafe { .. } => "database-unsafe",
            },
            Self::Rights { .. } => "database-rights",
            Self::NewerDatabase { .. } => "newer-database",
            Self::ForeignDatabase { .. } => "foreign-database",
            Self::Unfinished { .. } => "migration-unfinished",
            Self::Authorities { .. } => "authorities-unreadable",
            Self::Shards { .. } => "shards-invalid",
            Self::Failed { .. } => "open-failed",
        }
    }

    /// What the database said while it was being opened.
    pub(super) fn from_store(address: &str, source: Error) -> Self {
        let address = address.to_owned();
        match source {
            Error::Away { detail } => Self::Unreachable { address, detail },
            source => Self::Failed { address, source },
        }
    }
}
