//! Network namespaces as hosts of their own (a proof): delay, loss and clocks that differ. Every address is inside the namespaces.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use sprag_tests::{binary, wait};

use super::rig::{is_proof, result, said};

/// A hang guard.
const HOSTS_GUARD: Duration = Duration::from_mins(1);

/// A host: a namespace with one link to the controller's.
struct Host {
    name: String,
    address: String,
}

/// Hosts around a bridge in the controller's namespace. They go with it.
struct Network {
    controller: String,
    hosts: Vec<Host>,
}

fn ip(arguments: &str) -> Result<(), String> {
    let output = Command::new("ip").args(arguments.split_whitespace()).output();
    let output = output.map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!(
            "ip {arguments}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ))
    }
}

impl Network {
    /// None where the machine does not allow it, and why.
    fn new(tag: &str, hosts: usize) -> Result<Self, String> {
        let mut network = Self {
            controller: format!("{tag}c"),
            hosts: Vec::new(),
        };
        let controller = network.controller.clone();
        ip(&format!("netns add {controller}"))?;
        ip(&format!("-n {controller} link set lo up"))?;
        ip(&format!("-n {controller} link add bridge type bridge"))?;
        ip(&format!("-n {controller} addr add 10.99.0.1/24 dev bridge"))?;
        ip(&format!("-n {controller} link set bridge up"))?;
        for number in 0..hosts {
            let name = format!("{tag}{number}");
            let address = format!("10.99.0.{}", number + 10);
            ip(&format!("netns add {name}"))?;
            network.hosts.push(Host {
                name: name.clone(),
                address: address.clone(),
            });
            ip(&format!(
                "-n {controller} link add port{number} type veth peer name uplink netns {name}"
            ))?;
            ip(&format!("-n {controller} link set port{number} master bridge up"))?;
            ip(&format!("-n {name} link set lo up"))?;
            ip(&format!("-n {name} addr add {address}/24 dev uplink"))?;
            ip(&format!("-n {name} link set uplink up"))?;
        }
        Ok(network)
    }

    /// Delays and loses packets on both ends of a host's link.
    fn impair(&self, number: usize, how: &str) -> Result<(), String> {
        let ends = [
            (self.controller.clone(), format!("port{number}")),
            (self.hosts[number].name.clone(), "up".to_owned()),
        ];
        for (namespace, device) in ends {
            let text = format!("-n {namespace} qdisc replace dev {device} root netem {how}");
            let output = Command::new("tc").args(text.split_whitespace()).output();
            let output = output.map_err(|error| error.to_string())?;
            if !output.status.success() {
                return Err(format!("tc {text}: {}", String::from_utf8_lossy(&output.stderr).trim()));
            }
        }
        Ok(())
    }

    /// Takes a host's link down.
    fn cut(&self, number: usize) {
        ip(&format!("-n {} link set port{number} down", self.controller)).unwrap();
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in self.hosts.iter().map(|host| &host.name).chain([&self.controller]) {
            let _ = ip(&format!("netns del {name}"));
        }
    }
}

/// An agent on a host, whose clock is off by so many seconds.
struct Agent {
    child: Child,
    address: String,
}

impl Agent {
    fn start(folder: &Path, host: &Host, seconds: i64) -> Self {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &host.name]);
        if seconds != 0 {
            let library = faketime().unwrap();
            command.args(["env", &format!("LD_PRELOAD={}", library.display())]);
            command.args([
                format!("FAKETIME={seconds:+}s"),
                "FAKETIME_DONT_FAKE_MONOTONIC=1".to_owned(),
            ]);
        }
        let address = format!("{}:7402", host.address);
        let child = command
            .arg(binary("sprag"))
            .args(["agent", "--insecure", "--listen", &address, "--name", &host.name])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(folder.join(format!("{}.log", host.name))).unwrap())
            .spawn()
            .unwrap();
        Self { child, address }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn faketime() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?;
    let mut paths = folders
        .flatten()
        .map(|entry| entry.path().join("faketime/libfaketimeMT.so.1"));
    paths.find(|path| path.exists())
}

fn plan(folder: &Path, more: &str) {
    let text = format!("name: hosts\nworkload: exec\nexec: {{ command: ['true'] }}\nrate: 20\n{more}\n");
    std::fs::write(folder.join("plan.yaml"), text).unwrap();
    std::fs::write(folder.join("sprag.toml"), "[exec]\nallow = [\"true\"]\n").unwrap();
}

fn controller(network: &Network, folder: &Path, agents: &[Agent]) -> Command {
    let addresses: Vec<&str> = agents.iter().map(|agent| agent.address.as_str()).collect();
    let mut command = Command::new("ip");
    command
        .args(["netns", "exec", &network.controller])
        .arg(binary("sprag"))
        .args([
            "load",
            "run",
            "plan.yaml",
            "--start-in",
            "8s",
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

/// Runs until the agents listen, which takes a moment.
fn run(network: &Network, folder: &Path, agents: &[Agent]) -> Output {
    wait::until("the agents to listen", HOSTS_GUARD, || {
        let output = controller(network, folder, agents).output().unwrap();
        let is_early = output.status.code() == Some(3) && said(&output).contains("refused");
        (!is_early).then_some(output)
    })
}

fn milliseconds(result: &Value, name: &str) -> f64 {
    result[name].as_f64().unwrap()
}

#[test]
fn c2_and_c3_hosts_with_delay_loss_and_other_clocks_start_together() {
    if !is_proof() {
        return;
    }
    if faketime().is_none() {
        println!("skipped: libfaketime is not installed");
        return;
    }
    let network = match Network::new("spla", 3) {
        Ok(network) => network,
        Err(why) => {
            println!("skipped: {why}");
            return;
        }
    };
    for (number, how) in [(0, "delay 20ms"), (1, "delay 5ms loss 1%"), (2, "delay 1ms")] {
        if let Err(why) = network.impair(number, how) {
            println!("agents: without delay and loss: {why}");
            break;
        }
    }
    let folder = tempfile::tempdir().unwrap();
    plan(folder.path(), "duration: 5s");
    let offsets = [5, -3, 1];
    let agents: Vec<Agent> = network
        .hosts
        .iter()
        .zip(offsets)
        .map(|(host, seconds)| Agent::start(folder.path(), host, seconds))
        .collect();
    let output = run(&network, folder.path(), &agents);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let result = result(folder.path());
    let (spread, uncertainty) = (
        milliseconds(&result, "startSpreadMs"),
        milliseconds(&result, "clockUncertaintyMs"),
    );
    println!("agents: hosts with clocks 8 s apart: start spread {spread} ms, clocks ± {uncertainty} ms");
    for (agent, seconds) in result["agents"].as_array().unwrap().iter().zip(offsets) {
        let error = agent["offsetMs"].as_f64().unwrap() - f64::from(i32::try_from(seconds).unwrap()) * 1_000.0;
        println!("agents: the clock of {} was measured to {error:.3} ms", agent["name"]);
        // Both clocks begin at a whole millisecond.
        assert!(error.abs() <= uncertainty + 2.0, "{error} ms, ± {uncertainty} ms");
    }
    assert!(spread <= uncertainty * 2.0 + 20.0, "{spread} ms");
}

#[test]
fn f5_and_f6_a_host_that_is_cut_off_is_lost_as_the_plan_says() {
    if !is_proof() {
        return;
    }
    let network = match Network::new("splb", 3) {
        Ok(network) => network,
        Err(why) => {
            println!("skipped: {why}");
            return;
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let agents: Vec<Agent> = network
        .hosts
        .iter()
        .map(|host| Agent::start(folder.path(), host, 0))
        .collect();
    plan(folder.path(), "duration: 1s");
    assert_eq!(run(&network, folder.path(), &agents).status.code(), Some(0));
    plan(folder.path(), "duration: 25s\nonAgentLost: { quorum: 2 }");
    let child = controller(&network, folder.path(), &agents)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    super::rig::until_second(folder.path(), 2);
    network.cut(1);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let result = result(folder.path());
    assert_eq!(result["status"], "PARTIAL", "{result:#}");
    assert_eq!(result["agents"][1]["state"], "LOST", "{result:#}");
    assert!(
        result["agents"][1]["ops"].as_u64().unwrap() > 0,
        "its last numbers stay"
    );
    println!("agents: a host that was cut off: {}", result["reason"]);
}
