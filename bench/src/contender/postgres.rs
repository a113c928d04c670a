//! The throw-away `PostgreSQL` of a run, with its ordinary, durable settings: one for Sprag, the probe and all peers, each in a
//! database of its own; and what it did meanwhile.

use std::sync::OnceLock;

use anyhow::{Context, ensure};
use sprag_tests::Postgres;

use super::node::Session;
use crate::figures::{Figure, Figures};

/// More than all contenders have open together; everything else is as it comes.
const OPTIONS: &str = "-c max_connections=300";

/// What a cluster has done: transactions that wrote, bytes of its log, flushes of the log as far as sessions that are still open
/// have told.
const DONE: &str = "\
    SELECT pg_snapshot_xmax(pg_current_snapshot()), pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0'), \
    (SELECT wal_sync FROM pg_stat_wal)";

/// The cluster of this run.
pub(super) fn cluster() -> anyhow::Result<&'static Postgres> {
    static CLUSTER: OnceLock<Postgres> = OnceLock::new();
    ensure!(Postgres::is_installed(), "PostgreSQL is not installed");
    Ok(CLUSTER.get_or_init(|| Postgres::start_with(OPTIONS)))
}

/// A fresh database, dropped with all that is in it.
pub(super) struct Database {
    pub(super) url: String,
}

impl Database {
    pub(super) fn new() -> anyhow::Result<Self> {
        let url = cluster()?.database();
        Ok(Self { url })
    }

    pub(super) fn name(&self) -> &str {
        self.url.rsplit('/').next().unwrap_or_default()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Ok(cluster) = cluster() {
            cluster.sql(
                "postgres",
                &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name()),
            );
        }
    }
}

/// Starts a peer on a database of the cluster.
pub(super) fn on_postgres(program: &str) -> anyhow::Result<Session> {
    let cluster = cluster()?;
    let url = cluster.database();
    Ok(Session::start(program, &[("PEER_POSTGRES", url)])?.beside(cluster.server()))
}

/// What the cluster had done at some instant.
pub(super) struct Done([f64; 3]);

impl Done {
    pub(super) fn now() -> anyhow::Result<Self> {
        let text = cluster()?.sql("postgres", DONE);
        let numbers: Vec<f64> = text.split('|').filter_map(|number| number.parse().ok()).collect();
        let numbers = numbers.try_into().ok();
        numbers.map(Self).with_context(|| format!("the cluster said `{text}`"))
    }

    /// What it has done since, for each of so many.
    pub(super) fn since(&self, count: u64) -> anyhow::Result<Figures> {
        let Self([transactions, bytes, flushes]) = Self::now()?;
        let Self(before) = self;
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
        let each = |now: f64, before: f64| (now - before) / count as f64;
        Ok(Figures::from([
            (Figure::Transactions, each(transactions, before[0])),
            (Figure::LogBytes, each(bytes, before[1])),
            (Figure::Flushes, each(flushes, before[2])),
        ]))
    }
}
