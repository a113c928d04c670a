//! The bare probe: what the disk, and the disk behind an HTTP server, would allow.

use std::io::Write as _;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, Sender, channel};

use anyhow::{Context, bail, ensure};
use sprag_tests::Postgres;

use super::postgres::{Database, Done, cluster};
use super::{Contender, Task, rated, spread};
use crate::bare::{self, Write};
use crate::bare_database;
use crate::figures::{Figure, Figures};
use crate::flood::Flood;
use crate::http;
use crate::process::cpu_seconds;
use crate::samples;
use crate::stopwatch::{Stopwatch, millis};
use crate::target::own_server;
use crate::work::{IN_FLIGHT, Work};

/// As much as a small commit adds to a log.
const PAGE_BYTES: usize = 4_096;
/// Pages of that file, written in turn.
const PAGES: usize = 1_000;

pub(super) struct Probe;

impl Contender for Probe {
    fn run(&mut self, task: &Task<'_>) -> anyhow::Result<Figures> {
        match task.work {
            Work::W1 => over_http(None, task.count),
            Work::PgW1 => on_database(task.count, |url| over_http(Some(url), task.count)),
            Work::PgW3 => on_database(task.count, |url| two_commits(url, task.count)),
            Work::Embedded => in_process(task.count),
            Work::W3 => two_flushes(task.count),
            work => bail!("the probe has no {work:?}"),
        }
    }
}

/// Does it in a fresh database, and adds what the database did.
fn on_database(count: u64, work: impl FnOnce(&str) -> anyhow::Result<Figures>) -> anyhow::Result<Figures> {
    let database = Database::new()?;
    let done = Done::now()?;
    let mut figures = work(&database.url)?;
    figures.extend(done.since(count)?);
    Ok(figures)
}

fn over_http(database: Option<&str>, count: u64) -> anyhow::Result<Figures> {
    let folder = tempfile::tempdir()?;
    let arguments: Vec<&str> = ["serve-probe"].into_iter().chain(database).collect();
    let (running, address) = own_server(&arguments, folder.path())?;
    let ended = || -> anyhow::Result<u64> {
        let answer = http::call(address, "GET", "/", None)?;
        answer["ended"].as_u64().context("the probe gave no count")
    };
    let body = serde_json::json!({ "machine": "one" });
    let server = database.map(|_| cluster()).transpose()?.and_then(Postgres::server);
    let roots: Vec<u32> = server.into_iter().chain([running.id()]).collect();
    let cpu = cpu_seconds(&roots);
    let watch = Stopwatch::start();
    Flood::of(
        address,
        count,
        IN_FLIGHT,
        http::request(address, "POST", "/", Some(&body)),
    )
    .send()?;
    while ended()? < count {
        std::thread::yield_now();
    }
    let rate = watch.rate(count);
    let cpu = cpu_seconds(&roots) - cpu;
    ensure!(ended()? == count, "the probe ended more than it started");
    Ok(rated(rate, cpu, count))
}

fn in_process(count: u64) -> anyhow::Result<Figures> {
    let rows = samples::closed()?.rows;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("probe.db");
    let (sender, writes) = channel();
    let (durable, done) = channel();
    let thread = bare::start(&file, rows, writes, move |write| {
        // The driver is there until all are done.
        let _ = durable.send(write);
    })?;
    let watch = Stopwatch::start();
    drive(count, &sender, &done)?;
    let rate = watch.rate(count);
    drop(sender);
    thread.join().ok().context("the writer ended badly")??;
    let ended = bare::ended(&file)?;
    ensure!(ended == count, "{ended} ended of {count}");
    Ok(Figures::from([(Figure::Rate, rate)]))
}

/// Keeps so many jobs in flight; each waits for two commits.
fn drive(count: u64, sender: &Sender<Write<()>>, done: &Receiver<Write<()>>) -> anyhow::Result<()> {
    let send = |job, ends| sender.send(Write { job, ends, done: () });
    let mut started = count.min(IN_FLIGHT.try_into()?);
    for job in 0..started {
        send(job, false)?;
    }
    let mut ended = 0;
    while ended < count {
        let write = done.recv()?;
        if !write.ends {
            send(write.job, true)?;
            continue;
        }
        ended += 1;
        if started < count {
            send(started, false)?;
            started += 1;
        }
    }
    Ok(())
}

/// Two small transactions, one after the other: what one execution at a time cannot do without in a database.
fn two_commits(url: &str, count: u64) -> anyhow::Result<Figures> {
    let database = bare_database::Database::open(url, samples::closed()?.rows)?;
    let mut latencies = Vec::new();
    let watch = Stopwatch::start();
    for job in 0..i64::try_from(count)? {
        let before = watch.elapsed();
        database.commit(&[job], &[])?;
        database.commit(&[], &[job])?;
        latencies.push(millis(watch.elapsed().saturating_sub(before)));
    }
    let ended = database.ended()?;
    ensure!(ended == count, "{ended} ended of {count}");
    spread(latencies)
}

/// Two small writes, each flushed, into a file that is already there: what one execution at a time cannot do without.
/// `SQLite` overwrites its log in the same way once it has grown.
fn two_flushes(count: u64) -> anyhow::Result<Figures> {
    let mut file = tempfile::tempfile()?;
    file.write_all(&vec![0; PAGE_BYTES * PAGES])?;
    file.sync_all()?;
    let mut latencies = Vec::new();
    let watch = Stopwatch::start();
    for job in 0..usize::try_from(count)? {
        let before = watch.elapsed();
        for page in [2 * job, 2 * job + 1] {
            let offset = (page % PAGES) * PAGE_BYTES;
            file.write_all_at(&[b'x'; PAGE_BYTES], u64::try_from(offset)?)?;
            file.sync_data()?;
        }
        latencies.push(millis(watch.elapsed().saturating_sub(before)));
    }
    spread(latencies)
}
