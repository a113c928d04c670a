//! The ceiling: a bare writer thread with group commit that writes the rows of a one-action execution, and no engine.
//!
//! Three rows when a job starts and three when it ends, as in Sprag, with the bytes of Sprag's own rows; but plain
//! tables without an index, and nothing is decided, checked or remembered.

use std::path::Path;
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;

use rusqlite::{Connection, Transaction, params};

use crate::samples::Rows;

/// As in the lane: no transaction holds more.
pub(crate) const BATCH_MAX: usize = 1_024;

/// One durable write of a job: its start, or its end.
pub(crate) struct Write<D> {
    pub(crate) job: u64,
    pub(crate) ends: bool,
    /// Handed back once the write is durable.
    pub(crate) done: D,
}

/// Starts a writer on a fresh file; `durable` is called with every write that is on disk. It ends with the last sender.
pub(crate) fn start<D: Send + 'static>(
    file: &Path,
    rows: Rows,
    writes: Receiver<Write<D>>,
    mut durable: impl FnMut(Write<D>) + Send + 'static,
) -> rusqlite::Result<JoinHandle<rusqlite::Result<()>>> {
    let mut connection = Connection::open(file)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE TABLE execution (id BLOB PRIMARY KEY, body BLOB) WITHOUT ROWID;
         CREATE TABLE action (id BLOB PRIMARY KEY, body BLOB) WITHOUT ROWID;
         CREATE TABLE history (id BLOB, sequence INTEGER, body BLOB, PRIMARY KEY (id, sequence)) WITHOUT ROWID;",
    )?;
    Ok(std::thread::spawn(move || {
        write_all(&mut connection, &rows, &writes, &mut durable)
    }))
}

fn write_all<D>(
    connection: &mut Connection,
    rows: &Rows,
    writes: &Receiver<Write<D>>,
    durable: &mut impl FnMut(Write<D>),
) -> rusqlite::Result<()> {
    while let Ok(first) = writes.recv() {
        let mut batch = vec![first];
        batch.extend(writes.try_iter().take(BATCH_MAX - 1));
        let transaction = connection.transaction()?;
        for write in &batch {
            write_one(&transaction, rows, write.job, write.ends)?;
        }
        transaction.commit()?;
        batch.into_iter().for_each(&mut *durable);
    }
    Ok(())
}

fn write_one(transaction: &Transaction<'_>, rows: &Rows, job: u64, ends: bool) -> rusqlite::Result<()> {
    let id = u128::from(job).to_be_bytes();
    let [execution, action] = if ends {
        [
            "REPLACE INTO execution VALUES (?1, ?2)",
            "REPLACE INTO action VALUES (?1, ?2)",
        ]
    } else {
        [
            "INSERT INTO execution VALUES (?1, ?2)",
            "INSERT INTO action VALUES (?1, ?2)",
        ]
    };
    transaction
        .prepare_cached(execution)?
        .execute(params![id, rows.execution])?;
    transaction.prepare_cached(action)?.execute(params![id, rows.action])?;
    let entry = if ends { &rows.last } else { &rows.first };
    transaction
        .prepare_cached("INSERT INTO history VALUES (?1, ?2, ?3)")?
        .execute(params![id, i64::from(ends) + 1, entry])?;
    Ok(())
}

/// How many jobs of a file have ended, counted on disk.
pub(crate) fn ended(file: &Path) -> rusqlite::Result<u64> {
    let connection = Connection::open(file)?;
    connection.query_row("SELECT count(*) FROM history WHERE sequence = 2", [], |row| row.get(0))
}
