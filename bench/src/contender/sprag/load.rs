//! Agents of the release binary, with its controller.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};
use sprag_core::time::Timestamp;
use tempfile::TempDir;

use super::super::{agrees, rated};
use crate::figures::{Figure, Figures, percentile};
use crate::load::nginx::Nginx;
use crate::load::stalls::{RATE, Stalling};
use crate::process::{Running, cpu_seconds};

/// Users of every load generator, each with a connection.
pub(in crate::contender) const USERS: usize = 50;

/// An agent on a port of its own.
struct Agent {
    running: Running,
    address: String,
}

/// Agents and a place for their results.
struct Crew<'a> {
    binary: &'a Path,
    agents: Vec<Agent>,
    folder: TempDir,
}

impl<'a> Crew<'a> {
    fn start(binary: &'a Path, count: u64) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let agent = |number| agent(binary, folder.path(), number);
        let agents = (0..count).map(agent).collect::<Result<_, _>>()?;
        Ok(Self { binary, agents, folder })
    }

    /// Runs a plan on all agents: its result.
    fn run(&self, plan: &Value) -> anyhow::Result<Value> {
        let file: PathBuf = self.folder.path().join("plan.json");
        std::fs::write(&file, plan.to_string())?;
        let addresses: Vec<&str> = self.agents.iter().map(|agent| agent.address.as_str()).collect();
        let output = Command::new(self.binary)
            .args(["load", "run", "--output", "json", "--start-in", "2s", "--agents"])
            .arg(addresses.join(","))
            .arg(&file)
            .stdin(Stdio::null())
            .output()?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "the load test ended with {}: {complaint}",
            output.status
        );
        serde_json::from_slice(&output.stdout).context("the controller gave no JSON")
    }
}

fn agent(binary: &Path, folder: &Path, number: u64) -> anyhow::Result<Agent> {
    let mut child = Command::new(binary)
        .args(["agent", "--listen", "127.0.0.1:0", "--name", &format!("a{number}")])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let output = child.stdout.take();
    let running = Running::of(child, Signal::TERM);
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output.context("no output")?), &mut line)?;
    let address = line.trim().rsplit(' ').next().unwrap_or_default().to_owned();
    ensure!(address.contains(':'), "the agent did not start: {line}");
    Ok(Agent { running, address })
}

/// Requests to nginx, as many as one agent sends.
pub(super) fn http(binary: &Path, seconds: u64) -> anyhow::Result<Figures> {
    let nginx = Nginx::start()?;
    let crew = Crew::start(binary, 1)?;
    let pids: Vec<u32> = crew.agents.iter().map(|agent| agent.running.id()).collect();
    let before = nginx.requests()?;
    let cpu = cpu_seconds(&pids);
    let result = crew.run(&json!({
        "name": "bench", "workload": "http", "http": {"url": nginx.url()},
        "concurrency": USERS, "duration": format!("{seconds}s"),
    }))?;
    let cpu = cpu_seconds(&pids) - cpu;
    let ops = result["total"]["ops"].as_u64().context("the result has no count")?;
    ensure!(result["total"]["errors"] == 0, "requests failed: {result}");
    agrees(ops, nginx.requests()? - before - 1)?;
    let rate = result["total"]["throughput"]
        .as_f64()
        .context("the result has no rate")?;
    Ok(rated(rate, cpu, ops))
}

/// Requests at a rate, to a server that stalls: how far the percentiles are from the true ones.
pub(super) fn paced(binary: &Path, seconds: u64) -> anyhow::Result<Figures> {
    let server = Stalling::start()?;
    let crew = Crew::start(binary, 1)?;
    let result = crew.run(&json!({
        "name": "bench", "workload": "http", "http": {"url": format!("http://{}/", server.address)},
        "rate": RATE, "duration": format!("{seconds}s"),
    }))?;
    let mut answered = server.answered()?;
    let ops = result["total"]["ops"].as_u64().context("the result has no count")?;
    ensure!(
        result["missed"] == 0 && result["total"]["errors"] == 0,
        "requests failed: {result}"
    );
    agrees(ops, u64::try_from(answered.len())?)?;
    answered.sort_unstable();
    let started = result["startedAt"].as_str().context("the result has no start")?;
    let started = started
        .parse::<Timestamp>()
        .ok()
        .context("the start is no time")?
        .as_millis()
        * 1_000;
    let true_latency = |(number, answered): (u32, u64)| {
        let intended = f64::from(number) * 1_000_000.0 / f64::from(RATE);
        #[expect(clippy::cast_precision_loss, reason = "the microseconds of a run")]
        let since_start = (i64::try_from(answered).unwrap_or(i64::MAX) - started) as f64;
        (since_start - intended) / 1_000.0
    };
    let mut latencies: Vec<f64> = (0_u32..).zip(answered).map(true_latency).collect();
    let mut worst = 0.0_f64;
    for (name, share) in [("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)] {
        let truth = percentile(&mut latencies, share).context("nothing was measured")?;
        let said = result["total"]["latency"][name]
            .as_f64()
            .context("a percentile is missing")?;
        worst = worst.max((said - truth).abs() / truth * 100.0);
    }
    Ok(Figures::from([(Figure::OmissionError, worst)]))
}

/// Agents that start together.
pub(super) fn start(binary: &Path, count: u64) -> anyhow::Result<Figures> {
    let nginx = Nginx::start()?;
    let crew = Crew::start(binary, count)?;
    let result = crew.run(&json!({
        "name": "bench", "workload": "http", "http": {"url": nginx.url()}, "concurrency": count, "duration": "1s",
    }))?;
    let spread = result["startSpreadMs"]
        .as_f64()
        .context("the result has no start spread")?;
    Ok(Figures::from([(Figure::StartSpread, spread)]))
}
