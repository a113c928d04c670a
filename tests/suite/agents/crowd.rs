//! Many agents under one controller (a proof).

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;
use sprag_core::clock::System;
use sprag_core::time::Timestamp;

use super::rig::{Agent, is_proof, result, said, until_second};

const AGENTS: usize = 200;

/// Ticks of the processor accounting in `/proc`.
const TICKS_PER_SECOND: f64 = 100.0;

/// Processor seconds and the largest memory of a process so far, in MiB.
fn used(pid: u32) -> (f64, f64) {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    let ticks: f64 = ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|peak| peak.split_whitespace().next()?.parse::<f64>().ok());
    (ticks / TICKS_PER_SECOND, kib.unwrap_or_default() / 1_024.0)
}

#[test]
fn two_hundred_agents_start_together_and_their_controller_stays_small() {
    if !is_proof() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("sprag.toml"), "[exec]\nallow = [\"true\"]\n").unwrap();
    let agents: Vec<Agent> = (0..AGENTS)
        .map(|n| Agent::start(folder.path(), &format!("a{n}")))
        .collect();
    // One action a second and agent: what 200 agents do must fit on the processors of one host.
    let plan = json!({
        "name": "crowd", "workload": "action", "rate": AGENTS, "duration": "20s",
        "action": {"definition": {"actionId": "rest", "type": "noop"}},
    });
    std::fs::write(folder.path().join("plan.yaml"), plan.to_string()).unwrap();
    let addresses: Vec<&str> = agents.iter().map(|agent| agent.address.as_str()).collect();
    let clock = System::start(Timestamp::default());
    let child = Command::new(sprag_tests::binary("sprag"))
        .args([
            "load",
            "run",
            "plan.yaml",
            "--start-in",
            "30s",
            "--output",
            "json",
            "--output-dir",
            "run",
        ])
        .arg("--agents")
        .arg(addresses.join(","))
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until_second(folder.path(), 2);
    let (cpu_before, _) = used(child.id());
    let began = clock.elapsed();
    until_second(folder.path(), 17);
    let (cpu, peak) = used(child.id());
    let cores = (cpu - cpu_before) / clock.elapsed().saturating_sub(began).as_secs_f64();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let result = result(folder.path());
    let spread = result["startSpreadMs"].as_f64().unwrap();
    println!(
        "agents: {AGENTS} agents, start spread {spread} ms, controller {cores:.3} cores and {peak:.1} MiB at its largest"
    );
    let performed = result["total"]["ops"].as_u64().unwrap() + result["missed"].as_u64().unwrap();
    assert_eq!(performed, 20 * AGENTS as u64, "statistics are complete: {result:#}");
    let completed = result["agents"].as_array().unwrap().iter();
    assert_eq!(completed.filter(|agent| agent["state"] == "COMPLETED").count(), AGENTS);
    assert!(cores < 1.0, "{cores} cores");
    assert!(peak < 100.0, "{peak} MiB");
    assert!(spread < Duration::from_secs(1).as_secs_f64() * 1_000.0, "{spread} ms");
}
