//! Agents and controllers as processes, and where they write.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use sprag_tests::{Reply, Site, binary, wait};

/// A guard against hanging.
pub(super) const GUARD: Duration = Duration::from_secs(90);

/// An agent as a process.
pub(crate) struct Agent {
    pub(super) child: Child,
    pub(crate) address: String,
}

impl Agent {
    pub(crate) fn start(folder: &Path, name: &str) -> Self {
        Self::start_with(folder, name, &[], &[])
    }

    /// At this address.
    pub(super) fn listening(folder: &Path, name: &str, address: &str) -> Self {
        let mut command = Command::new(binary("sprag"));
        command.arg("agent");
        Self::of(command, folder, (name, address))
    }

    /// With the secret `crm_token`.
    pub(super) fn with_secret(folder: &Path, name: &str, value: &str) -> Self {
        Self::with_variables(folder, name, &[("SPRAG_SECRET_CRM_TOKEN", value)])
    }

    /// With these environment variables.
    pub(super) fn with_variables(folder: &Path, name: &str, variables: &[(&str, &str)]) -> Self {
        Self::start_with(folder, name, &[], variables)
    }

    /// With more options, and with these environment variables.
    pub(crate) fn start_with(folder: &Path, name: &str, more: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(binary("sprag"));
        command.arg("agent").args(more).envs(variables.iter().copied());
        Self::of(command, folder, (name, "127.0.0.1:0"))
    }

    fn of(mut command: Command, folder: &Path, (name, address): (&str, &str)) -> Self {
        let mut child = command
            .args(["--listen", address, "--name", name])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(folder.join(format!("{name}.log"))).unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line.trim().rsplit(' ').next().unwrap().to_owned();
        assert!(address.starts_with("127.0.0.1:"), "{line}");
        Self { child, address }
    }

    pub(super) fn signal(&self, signal: Signal) {
        send(&self.child, signal);
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // One that has ended already needs nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

pub(crate) fn target() -> Site {
    Site::start(|_| Reply::json(200, &json!({})))
}

pub(super) fn plan(folder: &Path, site: &Site, more: &str) {
    let url = site.url("/load");
    let text = format!("name: suite\nworkload: http\nhttp: {{ url: '{url}' }}\nconcurrency: 4\n{more}\n");
    std::fs::write(folder.join("plan.yaml"), text).unwrap();
}

pub(super) fn controller(folder: &Path, agents: &[&Agent]) -> Command {
    let addresses: Vec<&str> = agents.iter().map(|agent| agent.address.as_str()).collect();
    let mut command = Command::new(binary("sprag"));
    command
        .args([
            "load",
            "run",
            "plan.yaml",
            "--start-in",
            "4s",
            "--output",
            "json",
            "--output-dir",
            "run",
        ])
        .arg("--agents")
        .arg(addresses.join(","))
        .current_dir(folder)
        .stdin(Stdio::null());
    command
}

pub(super) fn result(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("run/result.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

pub(super) fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}", text(&output.stdout), text(&output.stderr))
}

/// Waits until the time series has so many points of a workload under way.
pub(super) fn until_second(folder: &Path, points: usize) {
    wait::until("points of the time series", GUARD, || {
        let series = std::fs::read_to_string(folder.join("run/series.jsonl")).ok()?;
        let busy = series.lines().filter(|line| !line.contains("\"ops\":0,"));
        (busy.count() >= points).then_some(())
    });
}

/// Long: behind `SPRAG_PROVE`, as part `agents` of tests/prove.sh.
pub(super) fn is_proof() -> bool {
    std::env::var_os("SPRAG_PROVE").is_some()
}
