//! Load generators of other people, on the same nginx.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::sprag::USERS;
use super::{Contender, Task, agrees, rated};
use crate::figures::Figures;
use crate::load::nginx::Nginx;
use crate::process::cpu_seconds;

/// Threads and processes of a tool: as many as the agent has on two processors.
const THREADS: usize = 2;

/// wrk, from the package of the system.
pub(super) struct Wrk;

impl Contender for Wrk {
    fn run(&mut self, task: &Task<'_>) -> anyhow::Result<Figures> {
        let seconds = task.count;
        let mut command = Command::new("wrk");
        command.args([format!("-t{THREADS}"), format!("-c{USERS}"), format!("-d{seconds}s")]);
        measure(command, Nginx::url, |text| {
            let line = text.lines().find(|line| line.contains(" requests in "));
            let line = line.context("wrk gave no count")?.trim();
            let mut words = line.split(" requests in ");
            let count = words.next().and_then(|count| count.parse().ok());
            let rate = text.lines().find_map(|line| line.strip_prefix("Requests/sec:"));
            let rate = rate.and_then(|rate| rate.trim().parse().ok());
            Ok((count.context("wrk gave no count")?, rate.context("wrk gave no rate")?))
        })
    }
}

/// Locust, from a folder of its own.
pub(super) struct Locust {
    folder: PathBuf,
}

impl Locust {
    pub(super) fn new() -> anyhow::Result<Self> {
        let folder = super::peers();
        let program = folder.join("locust/bin/locust");
        ensure!(
            program.exists(),
            "`{}` is missing: run peers/install.sh",
            program.display()
        );
        Ok(Self { folder })
    }
}

impl Contender for Locust {
    fn run(&mut self, task: &Task<'_>) -> anyhow::Result<Figures> {
        let mut command = Command::new(self.folder.join("locust/bin/locust"));
        command
            .args([
                "-f",
                "locustfile.py",
                "--headless",
                "--json",
                "--loglevel",
                "ERROR",
                "--processes",
            ])
            .arg(THREADS.to_string())
            .args(["-u", &USERS.to_string(), "-r", &USERS.to_string()])
            .args(["-t", &format!("{}s", task.count)])
            .arg("--host")
            .current_dir(&self.folder);
        measure(
            command,
            |nginx| format!("http://{}", nginx.address),
            |text| {
                // Each process prints a list. Only the one that gathers has entries.
                let start = text.find("[\n    {").context("Locust gave no JSON")?;
                let mut lists = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
                let all = lists.next().context("Locust gave no JSON")??;
                let stats = all.get(0);
                let stats = stats.context("Locust gave no figures")?;
                let number = |name: &str| stats[name].as_f64().with_context(|| format!("Locust gave no `{name}`"));
                let seconds = number("last_request_timestamp")? - number("start_time")?;
                let count = stats["num_requests"].as_u64().context("Locust gave no count")?;
                Ok((
                    count,
                    crate::stopwatch::per_second(count, std::time::Duration::from_secs_f64(seconds)),
                ))
            },
        )
    }
}

/// Runs a tool against a fresh nginx. `read` takes the count and the rate from what it prints.
fn measure(
    mut command: Command,
    address: impl Fn(&Nginx) -> String,
    read: impl Fn(&str) -> anyhow::Result<(u64, f64)>,
) -> anyhow::Result<Figures> {
    let nginx = Nginx::start()?;
    let before = nginx.requests()?;
    let own = std::process::id();
    let cpu = cpu_seconds(&[own]) - nginx.cpu_seconds();
    let output = command.arg(address(&nginx)).output().context("it does not start")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "it ended with {}: {complaint}", output.status);
    let cpu = cpu_seconds(&[own]) - nginx.cpu_seconds() - cpu;
    let (count, rate) = read(&text)?;
    agrees(count, nginx.requests()? - before - 1)?;
    Ok(rated(rate, cpu, count))
}
