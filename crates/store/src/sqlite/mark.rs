//! The mark in a database file that says whether its write-ahead log belongs to it.
//!
//! While a store is open, the newest commits are in the log alone, and a copy of the file without the log lacks them. So the file
//! itself is marked [`NEEDS_LOG`], and a store whose file is marked and whose log is missing is not opened.
//!
//! The mark is the `user_version` of the file's header. [`NEEDS_LOG`] is committed before a checkpoint, which copies it into the
//! file; [`WHOLE`] is committed after it, and so is in the log. A program that merges log and file, be it `SQLite` itself or the
//! `sqlite3` shell, merges the newer mark too.
//!
//! Limits: a log of another file, or an older log of the same file, is not recognised. If a process dies between the two commits
//! and another program merges the log, a whole file is refused; the text of the error says how to insist.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, MAIN_DB};

use super::backup::beside;

/// The file lacks what is in its log.
const NEEDS_LOG: i32 = 0x4c4f_4701;

/// Everything is in the file.
const WHOLE: i32 = 0x4c4f_4702;

/// Where the header of a database keeps its `user_version`.
const OFFSET: usize = 60;

/// A log with less than a header and a frame's header holds no commit.
const LOG_BYTES_MIN: u64 = 32 + 24;

/// What a mark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileMark {
    /// See [`NEEDS_LOG`].
    NeedsLog,
    /// See [`WHOLE`].
    Whole,
}

/// Writes a mark, in the transaction under way if there is one.
pub(super) fn put(connection: &Connection, mark: FileMark) -> rusqlite::Result<()> {
    let number = match mark {
        FileMark::NeedsLog => NEEDS_LOG,
        FileMark::Whole => WHOLE,
    };
    connection.pragma_update(None, "user_version", number)
}

/// Copies the log back into the file, as far as readers allow, and leaves the file marked as one that needs its log. Says how many
/// pages the log has, and how many of them are copied.
pub(super) fn copy_back(connection: &Connection) -> rusqlite::Result<(i32, i32)> {
    put(connection, FileMark::NeedsLog)?;
    let copied = connection.wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::PASSIVE);
    put(connection, FileMark::Whole)?;
    copied
}

/// Whether the file at `path` says that it needs a log, and has none beside it. No code of this process may have the file open: closing
/// it here would free the locks that `SQLite` holds on it.
pub(super) fn lacks_log(path: &Path) -> io::Result<bool> {
    let mut header = [0; OFFSET + 4];
    let found = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    match found {
        Ok(()) => {}
        Err(problem) if matches!(problem.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::NotFound) => {
            return Ok(false);
        }
        Err(problem) => return Err(problem),
    }
    let marked = header.last_chunk().map(|bytes| i32::from_be_bytes(*bytes));
    if marked != Some(NEEDS_LOG) {
        return Ok(false);
    }
    match std::fs::metadata(beside(path, "-wal")) {
        Ok(log) => Ok(log.len() < LOG_BYTES_MIN),
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(problem) => Err(problem),
    }
}
