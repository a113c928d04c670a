//! The ceiling on `PostgreSQL`: one connection that owns its rows and groups its commits, and no engine.
//!
//! The rows are those of the bare writer on a file: three when a job starts and three when it ends, with the bytes of Sprag's own;
//! plain tables with their keys, a statement for all rows of a kind, from BEGIN to COMMIT in one flush.

use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;

use anyhow::Context;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, NoTls, Statement};

use crate::bare::{BATCH_MAX, Write};
use crate::samples::Rows;

const TABLES: &str = "\
    CREATE TABLE execution (id bigint PRIMARY KEY, body bytea) WITH (fillfactor = 70); \
    CREATE TABLE action (id bigint PRIMARY KEY, body bytea) WITH (fillfactor = 70); \
    CREATE TABLE history (id bigint, sequence integer, body bytea, PRIMARY KEY (id, sequence))";

/// What a start writes, then what an end writes: an execution, an action, an entry of a history.
const STATEMENTS: [[&str; 3]; 2] = [
    [
        "INSERT INTO execution SELECT id, $2::bytea FROM unnest($1::bigint[]) AS id",
        "INSERT INTO action SELECT id, $2::bytea FROM unnest($1::bigint[]) AS id",
        "INSERT INTO history SELECT id, 1, $2::bytea FROM unnest($1::bigint[]) AS id",
    ],
    [
        "UPDATE execution SET body = $2::bytea WHERE id = ANY($1::bigint[])",
        "UPDATE action SET body = $2::bytea WHERE id = ANY($1::bigint[])",
        "INSERT INTO history SELECT id, 2, $2::bytea FROM unnest($1::bigint[]) AS id",
    ],
];

/// An open database with its statements.
pub(crate) struct Database {
    runtime: Runtime,
    client: Client,
    statements: Vec<[Statement; 3]>,
    rows: Rows,
}

impl Database {
    /// Makes the tables in an empty database.
    pub(crate) fn open(url: &str, rows: Rows) -> anyhow::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (client, statements) = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
            tokio::spawn(connection);
            client.batch_execute(TABLES).await?;
            let mut statements = Vec::new();
            for [execution, action, entry] in STATEMENTS {
                statements.push([
                    client.prepare(execution).await?,
                    client.prepare(action).await?,
                    client.prepare(entry).await?,
                ]);
            }
            anyhow::Ok((client, statements))
        })?;
        Ok(Self {
            runtime,
            client,
            statements,
            rows,
        })
    }

    /// Writes so many starts and ends in one transaction.
    pub(crate) fn commit(&self, starts: &[i64], ends: &[i64]) -> anyhow::Result<()> {
        let Self {
            client,
            statements,
            rows,
            ..
        } = self;
        let [begun, ended] = statements.as_slice() else {
            anyhow::bail!("statements are missing");
        };
        let write = async |jobs: &[i64], [execution, action, entry]: &[Statement; 3], last: &Vec<u8>| {
            if jobs.is_empty() {
                return Ok(());
            }
            // Each is sent when it is first polled: in this order, and nobody waits in between.
            tokio::try_join!(
                biased;
                async { client.execute(execution, &[&jobs, &rows.execution]).await },
                async { client.execute(action, &[&jobs, &rows.action]).await },
                async { client.execute(entry, &[&jobs, last]).await },
            )
            .map(drop)
        };
        self.runtime.block_on(async {
            tokio::try_join!(
                biased;
                client.batch_execute("BEGIN"),
                write(starts, begun, &rows.first),
                write(ends, ended, &rows.last),
                client.batch_execute("COMMIT"),
            )
        })?;
        Ok(())
    }

    /// How many jobs have ended, counted in the database.
    pub(crate) fn ended(&self) -> anyhow::Result<u64> {
        let asked = self
            .client
            .query_one("SELECT count(*) FROM history WHERE sequence = 2", &[]);
        let count: i64 = self.runtime.block_on(asked)?.try_get(0)?;
        Ok(count.try_into()?)
    }
}

/// Starts a writer; `durable` is called with every write that is committed. It ends with the last sender.
pub(crate) fn start<D: Send + 'static>(
    url: &str,
    rows: Rows,
    writes: Receiver<Write<D>>,
    mut durable: impl FnMut(Write<D>) + Send + 'static,
) -> anyhow::Result<JoinHandle<anyhow::Result<()>>> {
    let database = Database::open(url, rows)?;
    Ok(std::thread::spawn(move || {
        while let Ok(first) = writes.recv() {
            let mut batch = vec![first];
            batch.extend(writes.try_iter().take(BATCH_MAX - 1));
            let of = |ends: bool| -> anyhow::Result<Vec<i64>> {
                let meant = batch.iter().filter(|write| write.ends == ends);
                meant
                    .map(|write| i64::try_from(write.job).context("too many jobs"))
                    .collect()
            };
            database.commit(&of(false)?, &of(true)?)?;
            batch.into_iter().for_each(&mut durable);
        }
        Ok(())
    }))
}
