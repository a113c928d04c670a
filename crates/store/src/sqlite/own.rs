//! A database file for a part that is not the engine: the same lock, settings and care, a schema of its own.
//!
//! One connection writes and reads. A commit returns once it is on disk; a failure rolls back and leaves the connection
//! usable, except after a failed flush, when what is on disk is unknown.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::hooks::Wal;
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, MAIN_DB, Transaction, TransactionBehavior};

use super::errors::classify;
use super::lock::Lock;
use super::migrations::{self, Schema};
use super::open::{connect_writer, locate, take};
use super::open_error::OpenError;
use crate::traits::Error;

/// A log of this many pages (4 MiB) is copied back into the file.
const CHECKPOINT_PAGES: u32 = 1_024;

/// An open file. No second process opens it as long as it lives.
#[derive(Debug)]
pub struct OwnFile {
    connection: Connection,
    log_pages: Arc<AtomicU32>,
    _lock: Lock,
}

impl OwnFile {
    /// Opens the file, creating it or bringing its schema up to date where needed. Its directory must exist.
    pub fn open(path: &Path, schema: &Schema) -> Result<Self, OpenError> {
        let path = locate(path)?;
        let lock = take(&path, false)?;
        let mut connection = connect_writer(&path)?;
        migrations::migrate_to(&mut connection, &path, schema)?;
        let log_pages = Arc::new(AtomicU32::new(0));
        let seen = Arc::clone(&log_pages);
        connection
            .wal_hook(Some(move |_: &mut Wal, pages| {
                seen.store(u32::try_from(pages).unwrap_or(0), Ordering::Relaxed);
                Ok(())
            }))
            .map_err(|problem| OpenError::from_sqlite(&path, problem))?;
        Ok(Self {
            connection,
            log_pages,
            _lock: lock,
        })
    }

    /// Writes in one transaction: everything or nothing, durably.
    pub fn commit(&mut self, write: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>) -> Result<(), Error> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|problem| classify(&problem))?;
        write(&transaction).map_err(|problem| classify(&problem))?;
        transaction.commit().map_err(|problem| classify(&problem))?;
        self.checkpoint()
    }

    /// Reads as of the last commit.
    pub fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        read(&self.connection).map_err(|problem| classify(&problem))
    }

    /// `SQLite` would copy the log back by itself, but would keep a failed flush to itself too.
    fn checkpoint(&self) -> Result<(), Error> {
        if self.log_pages.load(Ordering::Relaxed) < CHECKPOINT_PAGES {
            return Ok(());
        }
        let result = self
            .connection
            .wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::PASSIVE);
        match result.map_err(|problem| classify(&problem)) {
            Err(problem @ (Error::Disk { .. } | Error::Corrupt { .. })) => Err(problem),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}
