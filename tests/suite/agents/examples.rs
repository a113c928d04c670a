//! `examples/load`, as its page shows it: three agents load a real nginx, then a Sprag server.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use sprag_tests::{binary, wait};

/// A hang guard for the whole page.
const PAGE_GUARD: Duration = Duration::from_mins(4);
/// The ports of the page: nginx, the server, three agents.
const PORTS: [&str; 5] = ["8080", "7400", "7402", "7403", "7404"];

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/load")
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

fn free_port() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port().to_string()
}

#[test]
fn every_command_of_the_example_works_as_shown() {
    if !Path::new("/usr/sbin/nginx").exists() && !Path::new("/usr/bin/nginx").exists() {
        println!("skipped: nginx is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("examples/load")).unwrap();
    fs::create_dir(at("bin")).unwrap();
    fs::create_dir(at("nginx")).unwrap();
    std::os::unix::fs::symlink(binary("sprag"), at("bin/sprag")).unwrap();
    let ports: Vec<(&str, String)> = PORTS.iter().map(|port| (*port, free_port())).collect();
    let elsewhere = |text: &str| {
        let moved = ports.iter().fold(text.to_owned(), |text, (from, to)| {
            text.replace(&format!(":{from}"), &format!(":{to}"))
        });
        moved
            .replace("duration: 10s", "duration: 3s")
            .replace("rampUp: 2s", "rampUp: 1s")
    };
    for name in ["nginx.conf", "nginx.yaml", "sprag.yaml"] {
        let text = fs::read_to_string(example().join(name)).unwrap();
        fs::write(at("examples/load").join(name), elsewhere(&text)).unwrap();
    }
    let page = fs::read_to_string(example().join("README.md")).unwrap();
    let blocks: Vec<&str> = page.split("```\n").skip(1).step_by(2).collect();
    assert_eq!(blocks.len(), 4, "the page has other blocks: {blocks:#?}");
    // A busy machine needs longer.
    let script = elsewhere(&blocks.concat())
        .replace("sleep 2", "sleep 8")
        .replace("-p /tmp", &format!("-p {}", at("nginx").display()));
    let path = format!("{}:/usr/sbin:{}", at("bin").display(), std::env::var("PATH").unwrap());
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
    let ended = wait::until("the page to end", PAGE_GUARD, || shell.0.try_wait().unwrap());
    let (stdout, stderr) = (
        fs::read_to_string(at("stdout")).unwrap(),
        fs::read_to_string(at("stderr")).unwrap(),
    );
    assert!(ended.success(), "{stdout}\n{stderr}");
    let result = |run: &str| -> Value {
        let text = fs::read_to_string(at("runs").join(run).join("result.json"));
        let text = text.unwrap_or_else(|error| panic!("{run}: {error}\n{stdout}\n{stderr}"));
        serde_json::from_str(&text).unwrap()
    };
    let nginx = result("nginx");
    assert_eq!(nginx["agents"].as_array().unwrap().len(), 3, "{nginx:#}");
    assert!(nginx["total"]["ops"].as_u64().unwrap() > 100, "{nginx:#}");
    assert_eq!(nginx["total"]["errors"], 0, "{nginx:#}");
    assert!(nginx["ramp"]["ops"].as_u64().unwrap() > 0, "the ramp-up counts apart");
    println!(
        "agents: nginx answered {} requests a second",
        nginx["total"]["throughput"]
    );
    let sprag = result("sprag");
    let started = sprag["total"]["ops"].as_u64().unwrap() + sprag["missed"].as_u64().unwrap();
    assert_eq!(started, 600, "200 a second for 3 s: {sprag:#}");
    let compared = fs::read_to_string(at("runs/compare.html")).unwrap();
    assert!(compared.contains("nginx") && compared.contains("sprag-health"));
}
