//! The keeper of an open file: a thread that looks after it while others read and write.
//!
//! Twice a second it checks that the file's names still lead to it; if not, nothing more is acknowledged. Once a minute it copies the
//! write-ahead log back into the file, with a connection of its own, so that the writer never waits for it. It is the last to close
//! the file, and merges the log into it: a store that was closed is one file.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, MAIN_DB};

use super::condition::Shared;
use super::errors::classify;
use super::identity::Files;
use super::lock::Lock;
use super::mark::{self, FileMark};
use crate::traits::Error;

/// How often the keeper checks the file's names.
const CHECK_EVERY: Duration = Duration::from_millis(500);

/// How long the keeper waits for the writer or for readers.
const BUSY_TIMEOUT: Duration = Duration::from_secs(1);

/// After how many checks (a minute) it copies the log back.
const COPY_AFTER: u32 = 120;

/// After how many checks (ten seconds) a log that is held is reported again, if it has grown.
const REPORT_AFTER: u32 = 20;

/// A log that a reader holds is reported from this size on.
pub(super) const HELD_BYTES_MIN: u64 = 64 * 1024 * 1024;

/// An open file. Every connection to it holds this; the last one to let go waits until the file is closed.
#[derive(Debug)]
pub(super) struct OpenFile {
    /// How the file is.
    pub(super) condition: Arc<Shared>,
    files: Arc<Files>,
    orders: Option<Sender<SyncSender<()>>>,
    thread: Option<JoinHandle<()>>,
    /// Let go after everything else.
    _lock: Lock,
}

impl OpenFile {
    /// Looks after a file, with a connection that writes. The connections of all others must leave the log alone when they close.
    pub(super) fn keep(connection: Connection, files: Files, lock: Lock) -> std::io::Result<Self> {
        connection.busy_timeout(BUSY_TIMEOUT).map_err(std::io::Error::other)?;
        let condition = Arc::new(Shared::default());
        let files = Arc::new(files);
        let (orders, received) = mpsc::channel();
        let keeper = Keeper {
            connection,
            files: Arc::clone(&files),
            condition: Arc::clone(&condition),
            orders: received,
            copied_commits: 0,
            reported_bytes: 0,
        };
        let thread = thread::Builder::new()
            .name("sprag-file".to_owned())
            .spawn(move || keeper.run())?;
        Ok(Self {
            condition,
            files,
            orders: Some(orders),
            thread: Some(thread),
            _lock: lock,
        })
    }

    /// Whether the file's names still lead to it, as of now.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.condition.check()?;
        self.files.check().map_err(|detail| Error::Gone { detail })
    }

    /// Merges the log into the file now, as far as readers allow, and waits for it.
    pub(super) fn merge(&self) {
        let (done, wait) = mpsc::sync_channel(1);
        if let Some(orders) = &self.orders
            && orders.send(done).is_ok()
        {
            // A keeper that ended meanwhile merged it too.
            let _ = wait.recv();
        }
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // A keeper that panicked leaves the log as it is, and the next open reads it.
            let _ = thread.join();
        }
    }
}

/// Merges the log when the writer ends, though readers may live on for a while.
#[derive(Debug)]
pub(super) struct MergeOnDrop(pub(super) Option<Arc<OpenFile>>);

impl Drop for MergeOnDrop {
    fn drop(&mut self) {
        if let Some(file) = &self.0 {
            file.merge();
        }
    }
}

struct Keeper {
    connection: Connection,
    files: Arc<Files>,
    condition: Arc<Shared>,
    orders: Receiver<SyncSender<()>>,
    /// The writer's commits when the log was copied last.
    copied_commits: u64,
    /// How large a held log was when it was reported last.
    reported_bytes: u64,
}

impl Keeper {
    fn run(mut self) {
        let mut checks: u32 = 0;
        loop {
            match self.orders.recv_timeout(CHECK_EVERY) {
                Ok(done) => {
                    self.merge();
                    let _ = done.send(());
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    checks = checks.wrapping_add(1);
                    self.check(checks);
                }
            }
        }
        self.close();
    }

    fn check(&mut self, checks: u32) {
        if !self.is_there() {
            return;
        }
        if checks.is_multiple_of(COPY_AFTER) && self.copied_commits != self.condition.commits() {
            self.copied_commits = self.condition.commits();
            let copied = mark::copy_back(&self.connection);
            self.note(copied);
        }
        if checks.is_multiple_of(REPORT_AFTER) {
            self.report_held();
        }
    }

    /// Whether the file's names still lead to it.
    fn is_there(&self) -> bool {
        if self.condition.check().is_err() {
            return false;
        }
        let Err(detail) = self.files.check() else {
            return true;
        };
        let detail = format!("{detail}; commits to it could be lost");
        tracing::error!(code = "store-gone", "{detail}: nothing more is acknowledged");
        self.condition.lose(Error::Gone { detail });
        false
    }

    fn note(&self, copied: rusqlite::Result<(i32, i32)>) {
        match copied.map_err(|problem| classify(&problem)) {
            Ok(pages) => self.condition.copied(pages),
            // What is on disk is unknown.
            Err(problem @ (Error::Disk { .. } | Error::Corrupt { .. })) => self.condition.lose(problem),
            // The log stays as it is, and is copied another time.
            Err(_) => {}
        }
    }

    fn report_held(&mut self) {
        let bytes = self.condition.held_bytes();
        if bytes < HELD_BYTES_MIN {
            self.reported_bytes = 0;
        } else if bytes > self.reported_bytes {
            self.reported_bytes = bytes;
            tracing::warn!(
                code = "log-held",
                bytes,
                "a reader keeps the write-ahead log from being copied into the database, and it grows; \
                 close other programs that have the database open"
            );
        }
    }

    /// Merges the log while others may still read.
    fn merge(&self) {
        if !self.is_there() {
            return;
        }
        let copied = mark::put(&self.connection, FileMark::Whole).and_then(|()| {
            self.connection
                .wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::TRUNCATE)
        });
        self.note(copied);
    }

    /// Closes the file. The connection is the last one to it, so `SQLite` merges the log and removes it; the names must still be
    /// those of this file, because it removes by name.
    fn close(self) {
        let keeps_log = !self.is_there();
        let set = self
            .connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps_log);
        if set.is_ok() && !keeps_log {
            // What cannot be written stays in the log.
            let _ = mark::put(&self.connection, FileMark::Whole);
        }
        if let Err((_, problem)) = self.connection.close() {
            tracing::warn!(%problem, "database not closed; the next start reads its log");
        }
    }
}
