//! `examples/agent`, as its page shows it: an agent faces three faults of real processes, and proposes another repair for
//! each, which a person approves.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use sprag_tests::mcp::Sdk;
use sprag_tests::{binary, wait};

/// A hang guard for the whole page.
const GUARD: Duration = Duration::from_mins(5);

/// The ports of the page: three of the host, one of the server.
const PORTS: [u16; 2] = [7420, 7423];

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/agent")
}

/// The first of four ports that follow each other and are free.
fn free_ports() -> u16 {
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let any = || {
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .unwrap()
            .local_addr()
            .unwrap()
            .port()
    };
    let mut candidates = std::iter::repeat_with(any).take(100);
    let found = candidates.find(|first| {
        first
            .checked_add(3)
            .is_some_and(|last| (*first..=last).all(|port| is_free(&port)))
    });
    found.unwrap()
}

/// The blocks of commands of the page.
fn blocks() -> Vec<String> {
    let page = fs::read_to_string(example().join("README.md")).unwrap();
    page.split("```\n").skip(1).step_by(2).map(str::to_owned).collect()
}

/// A shell with everything that it started.
struct Shell(Child);

impl Drop for Shell {
    fn drop(&mut self) {
        let group = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        let _ = self.0.wait();
    }
}

#[test]
fn the_agent_of_the_example_proposes_another_repair_for_each_fault() {
    if Sdk::Python.program(Path::new("")).is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("examples/agent")).unwrap();
    fs::create_dir_all(at("target")).unwrap();
    fs::create_dir(at("bin")).unwrap();
    symlink(binary("sprag"), at("bin/sprag")).unwrap();
    symlink(example().join("../../target/tools/mcp-python"), at("target/agent")).unwrap();
    let first = free_ports();
    let elsewhere = |text: String| {
        let text = text.replace(&PORTS[0].to_string(), &first.to_string());
        text.replace(&PORTS[1].to_string(), &(first + 3).to_string())
    };
    for name in ["host.py", "catalog.yaml", "sprag.toml", "agent.py"] {
        let text = fs::read_to_string(example().join(name)).unwrap();
        fs::write(at("examples/agent").join(name), elsewhere(text)).unwrap();
    }
    // The first block installs the client, which `make tools` did.
    let blocks = blocks();
    let [_, begin, breaks, approve, end] = blocks.as_slice() else {
        panic!("the page has other blocks: {blocks:#?}");
    };
    assert!(breaks.contains("break 7420 shop\n"));
    let faults = ["shop", "config", "stock"].map(|fault| {
        let breaks = breaks.replace("break 7420 shop", &format!("break 7420 {fault}"));
        format!("{breaks}{approve}")
    });
    let script = elsewhere(format!("set -e\n{begin}{}{end}", faults.concat()));
    let path = format!("{}:{}", at("bin").display(), std::env::var("PATH").unwrap());
    let mut shell = Shell(
        Command::new("bash")
            .args(["-c", &script])
            .env("PATH", path)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(fs::File::create(at("stdout")).unwrap())
            .stderr(fs::File::create(at("stderr")).unwrap())
            .process_group(0)
            .spawn()
            .unwrap(),
    );
    let ended = wait::until("the page to end", GUARD, || shell.0.try_wait().unwrap());
    let (stdout, stderr) = (
        fs::read_to_string(at("stdout")).unwrap(),
        fs::read_to_string(at("stderr")).unwrap(),
    );
    assert!(ended.success(), "{stdout}\n{stderr}");
    let said: Vec<&str> = stdout
        .lines()
        .filter(|line| line.starts_with("proposed") || line.starts_with("the shop is"))
        .collect();
    let [down, well, config, fine, stock, good] = said.as_slice() else {
        panic!("{stdout}\n{stderr}");
    };
    assert_eq!([*well, *fine, *good], ["the shop is well again"; 3]);
    assert!(
        down.starts_with("proposed shop_start: the process of the shop has ended"),
        "{down}"
    );
    assert!(
        config.starts_with("proposed shop_restore-config:") && config.contains("cheap"),
        "{config}"
    );
    assert!(
        stock.starts_with("proposed stock_restart: the stock service gave no answer"),
        "{stock}"
    );
}
