//! Moving a whole database from a file to `PostgreSQL`.
//!
//! Flow: the file's lock, an empty database (or one in which this very move began), its schema; then table after table in the
//! order of its key, a page a transaction; then both sides are read once more and compared row by row; then the file is marked
//! as moved; then the mark that the move is under way is taken away from the database. Nothing else of the file is changed but
//! its schema's version.
//!
//! Guarantees: a server starts on one of both at most: on the database once its mark is gone, on the file as long as it has none.
//! A move that was killed at any instant continues where it was: rows arrive in the order of their key, so the newest one says
//! where. A file that was used since is noticed.
//!
//! Assumes that no other process writes to the database meanwhile; any such write is found by the comparison.

mod cells;
mod error;
#[cfg(test)]
mod tests;
mod unfit;

use std::path::Path;

use sha2::{Digest as _, Sha256};
use sprag_core::time::Timestamp;

pub(crate) use cells::{Cell, RowCells, TransferTable, is_known};
pub use error::TransferError;

use crate::postgres::{Address, Intake, SHARDS_MAX};
use crate::sqlite::{self, Source};

/// Rows of a page at most.
const PAGE_ROWS: usize = 1_000;

/// What to move.
#[derive(Clone, Copy, Debug)]
pub struct Transfer<'a> {
    /// The file.
    pub from: &'a Path,
    /// The database.
    pub to: &'a Address,
    /// How many shards the database gets.
    pub shards: u32,
    /// The present instant, which the file's mark names.
    pub now: Timestamp,
}

/// How far a move has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveProgress<'a> {
    /// What is being done.
    pub phase: Phase,
    /// With which table.
    pub table: &'a str,
    /// How many rows of all tables are done.
    pub rows: u64,
    /// How many there are.
    pub all: u64,
}

/// What a move does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Rows are written.
    Copying,
    /// Rows of both sides are compared.
    Verifying,
    /// The file is marked as moved; what is left is to let servers start on the database.
    Releasing,
}

/// What was moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoveSummary {
    /// The tables, in the order in which they were moved.
    pub tables: Vec<MovedTable>,
    /// How many rows had been written by an earlier move that did not end.
    pub resumed: u64,
}

/// A table that is the same on both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedTable {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: u64,
    /// SHA-256 over all of them in the order of their key, as hexadecimal digits.
    pub digest: String,
}

/// Moves everything, and says what was moved. `watch` is called after every page. Blocking: not for threads of a runtime.
pub fn transfer(
    transfer: &Transfer<'_>,
    watch: &mut dyn FnMut(MoveProgress<'_>),
) -> Result<MoveSummary, TransferError> {
    let &Transfer { from, to, shards, now } = transfer;
    if !(1..=SHARDS_MAX).contains(&shards) {
        return Err(TransferError::Target(crate::postgres::OpenError::Shards {
            shards,
            most: SHARDS_MAX,
        }));
    }
    let mut source = Source::open(from)?;
    let mut target = match Intake::open(to, shards, &source.fingerprint()?) {
        Err(TransferError::NotEmpty { .. } | TransferError::InUse { .. }) if was_moved(&source, to)? => {
            return Err(TransferError::Done {
                path: from.to_owned(),
                address: to.to_string(),
            });
        }
        opened => opened?,
    };
    let mut tables = Vec::new();
    for table in source.tables()? {
        let rows = source.count(&table)?;
        tables.push((target.fitted(table)?, rows));
    }
    let all = tables.iter().map(|(_, rows)| rows).sum();
    let resumed = copy(&source, &mut target, &tables, all, watch)?;
    let moved = verify(&source, &mut target, &tables, all, watch)?;
    // In this order: at no instant could a server start on either side. Killed in between, the same command ends the move.
    source.mark(&sqlite::MoveRecord {
        to: to.to_string(),
        at: now,
    })?;
    watch(MoveProgress {
        phase: Phase::Releasing,
        table: "",
        rows: all,
        all,
    });
    target.finish(&tables, source.epoch()?)?;
    Ok(MoveSummary { tables: moved, resumed })
}

/// Whether the file says that this is where it was moved to.
fn was_moved(source: &Source, to: &Address) -> Result<bool, TransferError> {
    Ok(source.moved()?.is_some_and(|moved| moved.to == to.to_string()))
}

/// Writes what is not there yet; how many rows were.
fn copy(
    source: &Source,
    target: &mut Intake,
    tables: &[(TransferTable, u64)],
    all: u64,
    watch: &mut dyn FnMut(MoveProgress<'_>),
) -> Result<u64, TransferError> {
    let (mut done, mut resumed) = (0, 0);
    for (table, _) in tables {
        let (there, mut last) = target.newest(table)?;
        (done, resumed) = (done + there, resumed + there);
        loop {
            let page = source.page(table, last.as_ref(), PAGE_ROWS, target.shards())?;
            let Some(newest) = page.last() else { break };
            last = Some(table.key_of(newest));
            done += u64::try_from(page.len()).unwrap_or(0);
            let written = target.write(table, &page);
            written.map_err(|problem| unfit::explained(source, table, &page, problem))?;
            watch(MoveProgress {
                phase: Phase::Copying,
                table: &table.name,
                rows: done,
                all,
            });
        }
    }
    Ok(resumed)
}

/// Compares both sides row by row.
fn verify(
    source: &Source,
    target: &mut Intake,
    tables: &[(TransferTable, u64)],
    all: u64,
    watch: &mut dyn FnMut(MoveProgress<'_>),
) -> Result<Vec<MovedTable>, TransferError> {
    let mut moved = Vec::new();
    let mut done = 0;
    for (table, _) in tables {
        let mut sum = Sha256::new();
        let mut rows = 0;
        let mut last: Option<RowCells> = None;
        loop {
            let here = source.page(table, last.as_ref(), PAGE_ROWS, target.shards())?;
            // At least one, so that a row added behind the last row is found too.
            let there = target.page(table, last.as_ref(), here.len().max(1))?;
            if here != there {
                return Err(differs(table, &here, &there));
            }
            let Some(newest) = here.last() else { break };
            last = Some(table.key_of(newest));
            here.iter().flatten().for_each(|cell| cell.digest(&mut sum));
            rows += u64::try_from(here.len()).unwrap_or(0);
            watch(MoveProgress {
                phase: Phase::Verifying,
                table: &table.name,
                rows: done + rows,
                all,
            });
        }
        done += rows;
        moved.push(MovedTable {
            name: table.name.clone(),
            rows,
            digest: cells::hex(&sum.finalize()),
        });
    }
    Ok(moved)
}

/// The first row that is not the same on both sides.
fn differs(table: &TransferTable, here: &[RowCells], there: &[RowCells]) -> TransferError {
    let at = here.iter().zip(there).take_while(|(here, there)| here == there).count();
    let line = here.get(at).or_else(|| there.get(at));
    TransferError::Differs {
        table: table.name.clone(),
        key: line.map(|line| cells::shown(&table.key_of(line))).unwrap_or_default(),
    }
}
