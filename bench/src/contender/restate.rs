//! Restate: its server on a fresh folder, a Node process with the handlers, and the same load generator as for Sprag.

use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};
use sprag_core::clock::{Clock, System};
use sprag_core::time::Timestamp;
use tempfile::TempDir;

use super::node::Session;
use super::{Contender, Task, peers, rated, spread};
use crate::figures::{Figure, Figures};
use crate::flood::Flood;
use crate::http;
use crate::process::{Running, cpu_seconds, free_address, resident_mib};
use crate::stopwatch::{Stopwatch, millis};
use crate::work::{IN_FLIGHT, TIMERS_SPREAD, Work};

/// In place of its 24: fewer logs to write on a small machine.
pub(super) const TUNED_PARTITIONS: u32 = 4;
/// How long the sending of all timers may take before the first is due, unless it turns out to take longer.
const TIMERS_LEAD: Duration = Duration::from_secs(8);
/// A server that needs longer than this to take in all timers is not measured.
const TIMERS_LEAD_MAX: Duration = Duration::from_mins(2);
/// Idle is measured this long after the last work.
const IDLE_AFTER: Duration = Duration::from_secs(2);
/// How long to sleep between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Steps of its handler in W2.
const STEPS: f64 = 5.0;

/// A server with its handlers.
pub(super) struct Restate {
    partitions: Option<u32>,
    server: Server,
    handlers: Session,
    handlers_url: String,
    timers_lead: Duration,
}

struct Server {
    running: Running,
    ingress: SocketAddr,
    admin: SocketAddr,
    /// Owned so that it is removed after the server has ended.
    _folder: TempDir,
}

impl Restate {
    pub(super) fn new(partitions: Option<u32>) -> anyhow::Result<Self> {
        let port = free_address()?.port().to_string();
        let handlers_url = format!("http://127.0.0.1:{port}");
        let handlers = Session::start("restate.mjs", &[("PEER_PORT", port)])?;
        let mut server = Server::start(partitions)?;
        server.register(&handlers_url)?;
        http::call(server.ingress, "POST", "/bench/one", None)?;
        server.whole()?;
        Ok(Self {
            partitions,
            server,
            handlers,
            handlers_url,
            timers_lead: TIMERS_LEAD,
        })
    }

    /// Sends so many requests that are answered once they are durable, and waits until their handlers have ended.
    fn rate(&mut self, handler: &str, body: Option<&Value>, count: u64) -> anyhow::Result<Figures> {
        let before = self.server.completed()?;
        let roots = [self.handlers.roots(), vec![self.server.running.id()]].concat();
        self.handlers.ask(&json!({ "work": "expect", "count": count }))?;
        let path = format!("/bench/{handler}/send");
        let cpu = cpu_seconds(&roots);
        let watch = Stopwatch::start();
        let request = http::request(self.server.ingress, "POST", &path, body);
        Flood::of(self.server.ingress, count, IN_FLIGHT, request).send()?;
        self.handlers.ask(&json!({ "work": "reached" }))?;
        let rate = watch.rate(count);
        let cpu = cpu_seconds(&roots) - cpu;
        self.server.verify(before + count)?;
        Ok(rated(rate, cpu, count))
    }

    fn one_at_a_time(&self, count: u64) -> anyhow::Result<Figures> {
        let before = self.server.completed()?;
        let request = http::request(self.server.ingress, "POST", "/bench/one", None);
        let latencies = Flood::of(self.server.ingress, count, 1, request).send()?;
        self.server.verify(before + count)?;
        spread(latencies)
    }

    /// Delayed calls: how late each handler ran. Timers that were due before all were sent say nothing of lateness, so
    /// then it is done again with more time before the first.
    fn timers(&mut self, count: u64) -> anyhow::Result<Figures> {
        loop {
            self.handlers.ask(&json!({ "work": "expect", "count": count }))?;
            let watch = Stopwatch::start();
            self.delayed(count)?.send()?;
            let took = watch.elapsed();
            let late = self.handlers.ask(&json!({ "work": "reached" }))?;
            if took < self.timers_lead {
                let figure = |name: &str| late[name].as_f64().with_context(|| format!("no {name} in {late}"));
                return Ok(Figures::from([
                    (Figure::P50, figure("p50")?),
                    (Figure::P99, figure("p99")?),
                ]));
            }
            self.timers_lead = took * 2;
            ensure!(
                self.timers_lead < TIMERS_LEAD_MAX,
                "it took {took:?} to take in all timers"
            );
        }
    }

    /// Calls that are due one after another, once all of them are sent.
    fn delayed(&self, count: u64) -> anyhow::Result<Flood> {
        let clock = System::start(Timestamp::from_millis(0));
        let base = clock.now().as_millis() + i64::try_from(self.timers_lead.as_millis())?;
        let spread = u64::try_from(TIMERS_SPREAD.as_millis())?;
        let ingress = self.server.ingress;
        let request = move |index: u64| {
            let due = base.saturating_add_unsigned(index * spread / count);
            let delay = (due - clock.now().as_millis()).max(0);
            let path = format!("/bench/timer/send?delay={delay}ms");
            http::request(ingress, "POST", &path, Some(&json!({ "due": due })))
        };
        Ok(Flood {
            address: ingress,
            count,
            in_flight: IN_FLIGHT,
            pace: Duration::ZERO,
            request: Arc::new(request),
        })
    }

    /// A second server, from nothing; the handlers are already there.
    fn cold(&self) -> anyhow::Result<Figures> {
        let watch = Stopwatch::start();
        let server = Server::start(self.partitions)?;
        server.register(&self.handlers_url)?;
        http::call(server.ingress, "POST", "/bench/one", None)?;
        let start = millis(watch.elapsed());
        std::thread::sleep(IDLE_AFTER);
        let idle = resident_mib(server.running.id()).context("no memory was read")?;
        Ok(Figures::from([
            (Figure::Start, start),
            (Figure::Idle, idle),
            (Figure::Size, super::sprag::megabytes(&binary())?),
        ]))
    }
}

impl Contender for Restate {
    fn run(&mut self, task: &Task<'_>) -> anyhow::Result<Figures> {
        match task.work {
            Work::W1 => self.rate("one", None, task.count),
            Work::W2 => {
                let mut figures = self.rate("five", None, task.count)?;
                figures.entry(Figure::Rate).and_modify(|rate| *rate *= STEPS);
                Ok(figures)
            }
            Work::W3 => self.one_at_a_time(task.count),
            Work::W4 => self.timers(task.count),
            Work::W5 => self.cold(),
            Work::Webhook => {
                let before = task.target.calls()?;
                let body = json!({ "url": task.target.url() });
                let figures = self.rate("call", Some(&body), task.count)?;
                let calls = task.target.calls()? - before;
                ensure!(calls >= task.count, "{calls} calls of {}", task.count);
                Ok(figures)
            }
            work => bail!("Restate has no {work:?}"),
        }
    }
}

impl Server {
    fn start(partitions: Option<u32>) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let (ingress, admin, fabric) = (free_address()?, free_address()?, free_address()?);
        let mut command = Command::new(binary());
        command
            .args([
                "--node-name",
                "bench",
                "--no-logo",
                "--listen-mode",
                "tcp",
                "--base-dir",
            ])
            .arg(folder.path().join("data"))
            .env("RESTATE_INGRESS__BIND_ADDRESS", ingress.to_string())
            .env("RESTATE_ADMIN__BIND_ADDRESS", admin.to_string())
            .env("RESTATE_BIND_ADDRESS", fabric.to_string())
            .env("RESTATE_DISABLE_TELEMETRY", "true")
            .env("RESTATE_LOG_FILTER", "warn")
            .current_dir(folder.path());
        if let Some(partitions) = partitions {
            command.env("RESTATE_DEFAULT_NUM_PARTITIONS", partitions.to_string());
        }
        let mut running = Running::start(&mut command, &folder.path().join("log"), Signal::TERM)?;
        // Its health is only asked once somebody listens: that a connection is refused is no error yet.
        running.until(|| {
            let listens = |address: SocketAddr| TcpStream::connect(address).is_ok();
            listens(admin) && listens(ingress) && http::call(admin, "GET", "/health", None).is_ok()
        })?;
        Ok(Self {
            running,
            ingress,
            admin,
            _folder: folder,
        })
    }

    fn register(&self, handlers: &str) -> anyhow::Result<()> {
        http::call(self.admin, "POST", "/deployments", Some(&json!({ "uri": handlers })))?;
        Ok(())
    }

    /// Waits until every partition is there: only then can it be asked for all invocations.
    fn whole(&mut self) -> anyhow::Result<()> {
        let (ingress, admin) = (self.ingress, self.admin);
        let asked = || completed(admin).is_ok() && http::call(ingress, "POST", "/bench/one", None).is_ok();
        self.running.until(asked)
    }

    /// Invocations that have completed, as it says itself.
    fn completed(&self) -> anyhow::Result<u64> {
        completed(self.admin)
    }

    /// The last ones may still be on their way from their handlers.
    fn verify(&self, count: u64) -> anyhow::Result<()> {
        let watch = Stopwatch::start();
        loop {
            let completed = self.completed()?;
            if completed == count {
                return Ok(());
            }
            ensure!(
                watch.elapsed() < Duration::from_secs(30),
                "{completed} completed of {count}"
            );
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

fn completed(admin: SocketAddr) -> anyhow::Result<u64> {
    let query = json!({ "query": "SELECT count(*) AS n FROM sys_invocation WHERE status = 'completed'" });
    let found = http::call(admin, "POST", "/query", Some(&query))?;
    found["rows"][0]["n"]
        .as_u64()
        .with_context(|| format!("no count in {found}"))
}

fn binary() -> PathBuf {
    peers().join("node_modules/@restatedev/restate-server-linux-x64/bin/restate-server")
}
