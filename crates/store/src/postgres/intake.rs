//! A database into which everything of a file is written, table by table.
//!
//! Two tables say that a move has begun: `transfer` whose, `transfer_table` how many rows of each table there are. They go in the
//! transaction that ends the move; until then no server starts on the database. One connection does it all and is never made
//! anew, because the lock that keeps a second move away goes with it.

use std::sync::Arc;

use tokio_postgres::types::Type;

use super::address::Address;
use super::columns::column;
use super::link::{Link, Role};
use super::open::target;
use super::open_error::OpenError;
use super::session::{Session, Value};
use super::{migrations, server};
use crate::traits::Error;
use crate::transfer::{Cell, RowCells, TransferError, TransferTable, is_known};

/// What the session runs with: a table may take longer than any statement of a lane.
const SETTINGS: &str = "SET statement_timeout = 0; SET lock_timeout = '60s'";

/// One move at a time; goes with the connection.
const LOCK: &str = "SELECT pg_try_advisory_lock(1397772872)";

const MARK: &str = "\
    CREATE TABLE transfer (source bytea NOT NULL); \
    CREATE TABLE transfer_table (name text NOT NULL PRIMARY KEY, moved bigint NOT NULL)";

const SIGN: &str = "INSERT INTO transfer (source) VALUES ($1)";

const SIGNED: &str = "SELECT source FROM transfer";

/// Servers, and whatever else calls itself so.
const OTHERS: &str = "\
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() \
    AND application_name = current_setting('application_name')";

const COLUMNS: &str = "\
    SELECT attname::text, atttypid FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped \
    ORDER BY attnum";

const MOVED: &str = "SELECT moved FROM transfer_table WHERE name = $1";

const COUNT: &str = "\
    INSERT INTO transfer_table (name, moved) VALUES ($1, $2) \
    ON CONFLICT (name) DO UPDATE SET moved = transfer_table.moved + excluded.moved";

const EPOCHS: &str = "UPDATE shard SET epoch = $1";

/// Which column's slot decides on the shard of a row.
const HOMES: [(&str, &str); 5] = [
    ("execution", "id"),
    ("action", "execution"),
    ("timer", "execution"),
    ("idempotency", "scope"),
    ("plan", "id"),
];

/// An open database that is being filled.
pub(crate) struct Intake {
    link: Link,
    shards: u32,
}

impl Intake {
    /// Opens a database that is empty, or in which the move of the same source began.
    pub(crate) fn open(address: &Address, shards: u32, source: &[u8]) -> Result<Self, TransferError> {
        let shown = address.to_string();
        let failed = |problem| OpenError::from_store(&shown, problem);
        let mut link = Link::new(Arc::new(target(address)?), Role::Opening).map_err(failed)?;
        link.connect().map_err(failed)?;
        let reason = link
            .ask_once(&async |session| server::unsuitable(session, address.allows_unsafe).await)
            .map_err(failed)?;
        if let Some(reason) = reason {
            return Err(OpenError::Unsuitable { address: shown, reason }.into());
        }
        let shards = link
            .ask_once(&async |session| Ok(begin(session, &shown, shards, source).await))
            .map_err(failed)??;
        Ok(Self { link, shards })
    }

    /// How many shards the database has.
    pub(crate) fn shards(&self) -> u32 {
        self.shards
    }

    /// A table with what its columns are here. It must be what it is in the source, but for the shard.
    pub(crate) fn fitted(&mut self, table: TransferTable) -> Result<TransferTable, TransferError> {
        let name = table.name.as_str();
        let found = self.ask(&async |session| {
            session
                .all(COLUMNS, &[&name], |row| Ok((column(row, 0)?, column(row, 1)?)))
                .await
        })?;
        fit(table, &found)
    }

    /// How many rows of a table are here, and the key of the last.
    pub(crate) fn newest(&mut self, table: &TransferTable) -> Result<(u64, Option<RowCells>), TransferError> {
        let names: Vec<&str> = key_columns(table);
        let descending: Vec<String> = names.iter().map(|name| format!("{name} DESC")).collect();
        let sql = format!(
            "SELECT {} FROM {} ORDER BY {} LIMIT 1",
            names.join(", "),
            table.name,
            descending.join(", ")
        );
        let name = table.name.as_str();
        self.ask(&async |session| {
            let moved: Option<i64> = session.first(MOVED, &[&name], |row| column(row, 0)).await?;
            let last = session.once(&sql, &[]).await?;
            let last = last.first().map(|row| line(row, names.len())).transpose()?;
            Ok((u64::try_from(moved.unwrap_or(0)).unwrap_or(0), last))
        })
    }

    /// Adds a page of a table, in a transaction of its own.
    pub(crate) fn write(&mut self, table: &TransferTable, page: &[RowCells]) -> Result<(), TransferError> {
        let sql = format!("COPY {} ({}) FROM STDIN BINARY", table.name, table.columns.join(", "));
        let (name, rows) = (table.name.as_str(), super::columns::limit(page.len()));
        self.ask(&async |session| {
            session.run("BEGIN").await?;
            session.copy(&sql, &table.types, page).await?;
            session.rows(COUNT, &[&name, &rows]).await?;
            session.run("COMMIT").await
        })
    }

    /// Rows in the order of their key, after one.
    pub(crate) fn page(
        &mut self,
        table: &TransferTable,
        after: Option<&RowCells>,
        rows: usize,
    ) -> Result<Vec<RowCells>, TransferError> {
        let key = table.key_names();
        let places: Vec<String> = (1..=table.key.len()).map(|place| format!("${place}")).collect();
        let beyond = after
            .map(|_| format!("WHERE ({key}) > ({})", places.join(", ")))
            .unwrap_or_default();
        let sql = format!(
            "SELECT {} FROM {} {beyond} ORDER BY {key} LIMIT {rows}",
            table.columns.join(", "),
            table.name
        );
        let types = table.key.iter().filter_map(|&place| table.types.get(place).cloned());
        let values: Vec<(Value<'_>, Type)> = after
            .into_iter()
            .flatten()
            .map(|cell| Box::new(cell.clone()) as Value<'_>)
            .zip(types)
            .collect();
        self.ask(&async |session| {
            let found = session.once(&sql, &values).await?;
            found.iter().map(|row| line(row, table.columns.len())).collect()
        })
    }

    /// Ends the move: the epochs are the source's, the planner knows the tables, servers may start.
    pub(crate) fn finish(&mut self, tables: &[(TransferTable, u64)], epoch: i64) -> Result<(), TransferError> {
        for (table, _) in tables {
            let sql = format!("ANALYZE {}", table.name);
            self.ask(&async |session| session.run(&sql).await)?;
        }
        self.ask(&async |session| {
            let epochs = session.call(EPOCHS, vec![Box::new(epoch) as Value<'_>]).await?;
            let end = session.call("DROP TABLE transfer, transfer_table", Vec::new()).await?;
            session.run_calls(&session.bracketed(vec![epochs, end]).await?).await
        })
    }

    fn ask<T>(&mut self, question: &impl AsyncFn(&Session) -> Result<T, Error>) -> Result<T, TransferError> {
        self.link.ask_once(question).map_err(TransferError::Writing)
    }
}

/// Makes the schema and the mark in one transaction, or finds both; how many shards there are.
async fn begin(session: &Session, address: &str, shards: u32, source: &[u8]) -> Result<u32, TransferError> {
    session.run(SETTINGS).await.map_err(TransferError::Writing)?;
    let is_alone = session.first(LOCK, &[], |row| column(row, 0)).await;
    if is_alone.map_err(TransferError::Writing)? != Some(true) {
        return Err(TransferError::UnderWay {
            address: address.to_owned(),
        });
    }
    session.run(migrations::BEGIN).await.map_err(TransferError::Writing)?;
    let begun = match claim(session, address, source).await {
        Ok(()) => migrations::steps(session, address, shards)
            .await
            .map_err(TransferError::Target),
        Err(problem) => Err(problem),
    };
    let end = if begun.is_ok() { "COMMIT" } else { "ROLLBACK" };
    session.run(end).await.map_err(TransferError::Writing)?;
    begun
}

/// Marks an empty database as this move's; refuses one that holds anything else.
async fn claim(session: &Session, address: &str, source: &[u8]) -> Result<(), TransferError> {
    let failed = TransferError::Writing;
    let address = || address.to_owned();
    if migrations::is_unfinished(session).await.map_err(failed)? {
        let signed = session.first(SIGNED, &[], |row| column::<Vec<u8>>(row, 0)).await;
        return match signed.map_err(failed)? {
            Some(signed) if signed == source => Ok(()),
            _ => Err(TransferError::Mismatch { address: address() }),
        };
    }
    let count = async |sql| session.first(sql, &[], |row| column::<i64>(row, 0)).await;
    if count(migrations::TABLES).await.map_err(failed)? != Some(0) {
        return Err(match count(OTHERS).await.map_err(failed)? {
            Some(0) | None => TransferError::NotEmpty { address: address() },
            Some(_) => TransferError::InUse { address: address() },
        });
    }
    migrations::may_create(session, address().as_str()).await?;
    session.run(MARK).await.map_err(failed)?;
    session.rows(SIGN, &[&source]).await.map_err(failed)?;
    Ok(())
}

/// A table of the source with the columns that it has here.
fn fit(mut table: TransferTable, found: &[(String, u32)]) -> Result<TransferTable, TransferError> {
    let wrong = |table: &TransferTable, detail: String| TransferError::Shape {
        table: table.name.clone(),
        detail,
    };
    if found.iter().any(|(name, _)| name == "shard") {
        let home = HOMES.iter().find(|(name, _)| *name == table.name);
        table.home = home.and_then(|(_, home)| table.columns.iter().position(|column| column == home));
        if table.home.is_none() {
            return Err(wrong(&table, "the column that decides its shard is unknown".to_owned()));
        }
        table.columns.push("shard".to_owned());
    }
    if let Some((extra, _)) = found.iter().find(|(name, _)| !table.columns.contains(name)) {
        return Err(wrong(
            &table,
            format!("the database has a column `{extra}` that the file has not"),
        ));
    }
    for name in &table.columns {
        let kind = found.iter().find(|(known, _)| known == name);
        match kind.and_then(|(_, kind)| Type::from_oid(*kind)).filter(is_known) {
            Some(kind) => table.types.push(kind),
            None => {
                return Err(wrong(
                    &table,
                    format!("its column `{name}` is missing or of an unknown type"),
                ));
            }
        }
    }
    if table.key.is_empty() {
        return Err(wrong(&table, "it has no key".to_owned()));
    }
    Ok(table)
}

fn key_columns(table: &TransferTable) -> Vec<&str> {
    let names = table.key.iter().filter_map(|&place| table.columns.get(place));
    names.map(String::as_str).collect()
}

/// The first columns of a row.
fn line(row: &tokio_postgres::Row, columns: usize) -> Result<RowCells, Error> {
    (0..columns).map(|place| column::<Cell>(row, place)).collect()
}
