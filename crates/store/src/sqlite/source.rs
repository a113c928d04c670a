//! A file from which everything is read, table by table, as it moves to another store.
//!
//! The lock is held all the while, so no process writes meanwhile. The schema is brought up to date first: tables are then those
//! of the newest one, whatever wrote the file.

use std::path::{Path, PathBuf};

use rusqlite::types::{ToSqlOutput, Value};
use rusqlite::{Connection, ToSql, params_from_iter};
use sha2::{Digest as _, Sha256};
use sprag_core::ids::ExecutionId;

use super::errors::classify;
use super::lock::Lock;
use super::moved::{self, MoveRecord};
use super::open::{locate, open_writer, take};
use super::{migrations, open_error::OpenError, shards};
use crate::records::Scope;
use crate::traits::{Error, shard_of};
use crate::transfer::{Cell, RowCells, TransferError, TransferTable};

/// Bytes of a page at most, roughly: one row more may be begun.
const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Tables that are moved otherwise than row by row: the schema's own, the shards', variables that outgrew their row, which
/// stand in the row again elsewhere, and the mark of a move.
const OTHERWISE: [&str; 4] = ["schema_migration", "shard", "execution_variables", moved::TABLE];

const TABLES: &str = "\
    SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid";

const COLUMNS: &str = "SELECT name, pk FROM pragma_table_info(?1) ORDER BY cid";

const ACTION: &str = "SELECT machine, body FROM action WHERE id = ?1";

/// Every start of a server on the file raises the epoch, and nothing is written without one.
const USES: &str = "\
    SELECT 'shard', id, epoch FROM shard UNION ALL SELECT 'life', started_at, seen_at FROM life \
    UNION ALL SELECT 'schema', max(version), count(*) FROM schema_migration ORDER BY 1, 2";

/// Where variables are kept that outgrew their row.
const VARIABLES: &str = "\
    coalesce(variables, (SELECT large.variables FROM execution_variables AS large WHERE large.execution = execution.id))";

/// An open file.
pub(crate) struct Source {
    connection: Connection,
    path: PathBuf,
    _lock: Lock,
}

impl Source {
    /// Opens a file that is there and that no other process has open.
    pub(crate) fn open(path: &Path) -> Result<Self, TransferError> {
        if !path.is_file() {
            return Err(TransferError::Missing { path: path.to_owned() });
        }
        let path = locate(path)?;
        let lock = take(&path, false)?;
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        let opened = Connection::open_with_flags(&path, flags);
        let is_ours = opened.and_then(|connection| migrations::is_ours(&connection));
        if !is_ours.map_err(|problem| OpenError::from_sqlite(&path, problem))? {
            return Err(OpenError::ForeignDatabase { path }.into());
        }
        Ok(Self {
            connection: open_writer(&path)?,
            path,
            _lock: lock,
        })
    }

    /// Where the file's contents were moved before, if they were.
    pub(crate) fn moved(&self) -> Result<Option<MoveRecord>, TransferError> {
        moved::get(&self.connection).map_err(|problem| self.failed(&problem))
    }

    /// Marks the file as moved, durably: from now on no server starts on it.
    pub(crate) fn mark(&mut self, moved: &MoveRecord) -> Result<(), TransferError> {
        moved::put(&mut self.connection, moved).map_err(|problem| self.failed(&problem))
    }

    /// The tables that are moved row by row.
    pub(crate) fn tables(&self) -> Result<Vec<TransferTable>, TransferError> {
        let names: Vec<String> = self.all(TABLES, &[], |row| row.get(0))?;
        let moved = names.into_iter().filter(|name| !OTHERWISE.contains(&name.as_str()));
        moved.map(|name| self.table(name)).collect()
    }

    fn table(&self, name: String) -> Result<TransferTable, TransferError> {
        let found: Vec<(String, usize)> = self.all(COLUMNS, &[&name], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut key: Vec<(usize, usize)> = found
            .iter()
            .enumerate()
            .filter_map(|(place, (_, order))| (*order > 0).then_some((*order, place)))
            .collect();
        key.sort_unstable();
        Ok(TransferTable {
            name,
            columns: found.into_iter().map(|(column, _)| column).collect(),
            key: key.into_iter().map(|(_, place)| place).collect(),
            home: None,
            types: Vec::new(),
        })
    }

    /// How many rows a table has.
    pub(crate) fn count(&self, table: &TransferTable) -> Result<u64, TransferError> {
        let sql = format!("SELECT count(*) FROM {}", table.name);
        let found = self.all(&sql, &[], |row| row.get(0))?;
        Ok(found.first().copied().unwrap_or(0))
    }

    /// The machine of an action, and the action's body.
    pub(crate) fn action(&self, id: &[u8]) -> Result<Option<(String, Vec<u8>)>, TransferError> {
        let found = self.all(ACTION, &[&id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(found.into_iter().next())
    }

    /// The epoch of the file's only shard.
    pub(crate) fn epoch(&self) -> Result<i64, TransferError> {
        let found = self.all(shards::EPOCH, &[&shards::ONLY.0], |row| row.get(0))?;
        Ok(found.first().copied().unwrap_or(0))
    }

    /// What is the same as long as no process used the file.
    pub(crate) fn fingerprint(&self) -> Result<Vec<u8>, TransferError> {
        let uses: Vec<(String, i64, i64)> = self.all(USES, &[], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let mut sum = Sha256::new();
        for (name, first, second) in uses {
            sum.update(name.as_bytes());
            sum.update(first.to_be_bytes());
            sum.update(second.to_be_bytes());
        }
        Ok(sum.finalize().to_vec())
    }

    /// Rows in the order of their key, after one; with their shard where the table has a home. None is the end.
    pub(crate) fn page(
        &self,
        table: &TransferTable,
        after: Option<&RowCells>,
        rows: usize,
        shards: u32,
    ) -> Result<Vec<RowCells>, TransferError> {
        let stored = table.columns.len() - usize::from(table.home.is_some());
        let columns: Vec<&str> = table
            .columns
            .iter()
            .take(stored)
            .map(|name| column(table, name))
            .collect();
        let key = table.key_names();
        let places = vec!["?"; table.key.len()].join(", ");
        let beyond = after.map(|_| format!("WHERE ({key}) > ({places})")).unwrap_or_default();
        let sql = format!(
            "SELECT {} FROM {} {beyond} ORDER BY {key} LIMIT {rows}",
            columns.join(", "),
            table.name
        );
        let read = || -> rusqlite::Result<Vec<RowCells>> {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let mut found = statement.query(params_from_iter(after.into_iter().flatten()))?;
            let (mut page, mut bytes) = (Vec::new(), 0);
            while let Some(row) = found.next()? {
                let mut line = (0..stored)
                    .map(|place| Ok(cell(row.get(place)?)))
                    .collect::<rusqlite::Result<RowCells>>()?;
                bytes += line.iter().map(Cell::size).sum::<usize>();
                if let Some(home) = table.home {
                    // What has no slot has no shard, and the target refuses it.
                    let shard = line.get(home).and_then(|home| shard(home, shards));
                    line.push(shard.unwrap_or(Cell::Null));
                }
                page.push(line);
                if bytes >= PAGE_BYTES_MAX {
                    break;
                }
            }
            Ok(page)
        };
        read().map_err(|problem| self.failed(&problem))
    }

    fn all<T>(
        &self,
        sql: &str,
        values: &[&dyn ToSql],
        read: impl Fn(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, TransferError> {
        let found = || -> rusqlite::Result<Vec<T>> {
            let mut statement = self.connection.prepare(sql)?;
            let rows = statement.query_map(values, |row| read(row))?;
            rows.collect()
        };
        found().map_err(|problem| self.failed(&problem))
    }

    fn failed(&self, problem: &rusqlite::Error) -> TransferError {
        TransferError::Reading(match classify(problem) {
            Error::Corrupt { detail } => Error::Corrupt {
                detail: format!("`{}`: {detail}", self.path.display()),
            },
            other => other,
        })
    }
}

/// How a column is read.
fn column<'a>(table: &TransferTable, name: &'a str) -> &'a str {
    match (table.name.as_str(), name) {
        ("execution", "variables") => VARIABLES,
        _ => name,
    }
}

fn cell(value: Value) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Integer(number) => Cell::Integer(number),
        // No column holds fractions: tables are strict.
        Value::Real(number) => Cell::Text(number.to_string()),
        Value::Text(text) => Cell::Text(text),
        Value::Blob(bytes) => Cell::Bytes(bytes),
    }
}

/// The shard of what an id or a scope stands for.
fn shard(home: &Cell, shards: u32) -> Option<Cell> {
    let Cell::Bytes(bytes) = home else { return None };
    let slot = match bytes.as_slice().try_into() {
        Ok(id) => ExecutionId::from_bytes(id).slot(),
        Err(_) => Scope(bytes.as_slice().try_into().ok()?).slot(),
    };
    Some(Cell::Integer(i64::from(shard_of(slot, shards).0)))
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Null => Ok(ToSqlOutput::from(rusqlite::types::Null)),
            Self::Integer(number) => number.to_sql(),
            Self::Text(text) => text.to_sql(),
            Self::Bytes(bytes) => bytes.to_sql(),
        }
    }
}
