//! The process supervisor as a whole: kill -9 and adoption, trees that will not die, an end within its time.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use sprag_core::clock::System;
use sprag_core::time::Timestamp;
use sprag_tests::{Supervised, wait};

/// A guard against hanging, far beyond what anything here takes.
const GUARD: Duration = Duration::from_secs(90);
/// How many services a killed supervisor leaves behind.
const SERVICES: usize = 20;
/// What a shutdown may take, whatever happens.
const SHUTDOWN: Duration = Duration::from_secs(10);

/// Ends what a failed test would leave behind.
struct Swept<'a>(&'a Path);

impl Drop for Swept<'_> {
    fn drop(&mut self) {
        // A file without services has everything ended that it does not name.
        let mut last = Supervised::start(
            self.0,
            "services: { nothing: { command: [sleep, '1'], enabled: false } }\n",
        );
        last.terminate(GUARD);
    }
}

fn pids(list: &[Value]) -> BTreeMap<String, i64> {
    let with_pid = list.iter().filter_map(|worker| {
        let path = worker["path"].as_str()?.to_owned();
        Some((path, worker["pid"].as_i64()?))
    });
    with_pid.collect()
}

fn twenty() -> String {
    let mut text = "services:\n".to_owned();
    for number in 0..SERVICES - 2 {
        let waits = if number == 0 { "" } else { ", dependsOn: { s0: ready }" };
        let script = "echo started; exec sleep 1000";
        writeln!(
            text,
            "  s{number}: {{ command: [sh, -c, '{script}'], stop: {{ grace: 2s }}{waits} }}"
        )
        .unwrap();
    }
    // One that has failed three times, and one that a rule has restarted: both are counted.
    text.push_str(
        "  weak: { command: [sh, -c, 'echo started; test -e $0 && exec sleep 1000; echo > $0.$(date +%N); \
         test $(ls $0.* | wc -l) -lt 3 || echo > $0; exit 3', ./weak], stop: { grace: 2s } }\n",
    );
    text.push_str(
        "  odd: { command: [sh, -c, 'echo started; exec sleep 1000'], stop: { grace: 2s }, \
         observe: { exec: [echo, '{\"n\": 0}'] } }\n",
    );
    text.push_str(
        "rules:\n  - { name: never-none, when: { '==': [ { var: odd.observed.n }, 0 ] }, for: 1s, restart: odd }\n",
    );
    text
}

#[test]
fn a_killed_supervisor_adopts_all_twenty_starts_no_second_copy_and_remembers_what_it_counted() {
    let folder = tempfile::tempdir().unwrap();
    let _swept = Swept(folder.path());
    let services = twenty();
    let first = Supervised::start(folder.path(), &services);
    wait::until("twenty processes, and a circuit that opened twice", GUARD, || {
        let list = first.list();
        let restarts = |path: &str| list.iter().find(|worker| worker["path"] == path)?["restarts"].as_u64();
        let enough = pids(&list).len() == SERVICES && restarts("weak") == Some(3) && restarts("odd") >= Some(2);
        enough.then_some(())
    });
    let before = first.list();
    first.kill();

    let second = Supervised::start(folder.path(), &services);
    let after = wait::until("all of them to be seen again", GUARD, || {
        let list = second.list();
        (pids(&list).len() == SERVICES).then_some(list)
    });
    let (mut known, mut seen) = (pids(&before), pids(&after));
    // The rule may have restarted this one in the very moment.
    known.remove("odd");
    seen.remove("odd");
    assert_eq!(seen, known, "the same processes");
    for number in 0..SERVICES - 2 {
        let log = second.log(&format!("s{number}"));
        assert_eq!(log.matches("started").count(), 1, "s{number} was started twice");
    }
    assert_eq!(second.log("weak").matches("started").count(), 4);
    assert_eq!(second.service("weak")["restarts"], 3, "what was counted stays counted");
    let counted = |list: &[Value]| {
        let odd = list.iter().find(|worker| worker["path"] == "odd");
        odd.and_then(|odd| odd["restarts"].as_u64()).unwrap_or(0)
    };
    assert!(
        counted(&second.list()) >= counted(&before),
        "restarts by the rule are not forgotten"
    );
    wait::until("the rule to give up, as it would have without the kill", GUARD, || {
        (second.service("odd")["circuit"] == "escalated").then_some(())
    });
    assert!(
        counted(&second.list()) <= 4,
        "the window counts what was before: {:?}",
        second.service("odd")
    );
    let mut second = second;
    assert!(second.terminate(GUARD).success());
    assert!(second.processes().is_empty(), "{:?}", second.processes());
}

/// Leaves its group and its parent, and ignores every request to end.
const HARD: &str = "
services:
  hard:
    command: [sh, -c, 'trap \"\" TERM INT; setsid sh -c \"trap \\\"\\\" TERM; (echo deep; sleep 1000) & sleep 1000\" & echo up; while :; do sleep 1; done']
    stop: { grace: 1s }
";

#[test]
fn a_service_that_forks_calls_setsid_and_ignores_the_signal_is_gone_at_its_deadline() {
    let folder = tempfile::tempdir().unwrap();
    let _swept = Swept(folder.path());
    let mut supervised = Supervised::start(folder.path(), HARD);
    supervised.until("hard", "running", GUARD);
    wait::until("all its processes", GUARD, || {
        (supervised.processes().len() >= 4).then_some(())
    });
    supervised.operate("hard", "stop");
    supervised.until("hard", "stopped", GUARD);
    assert!(supervised.processes().is_empty(), "{:#?}", supervised.processes());
    supervised.operate("hard", "start");
    supervised.until("hard", "running", GUARD);
    let status = supervised.terminate(GUARD);
    assert!(
        supervised.processes().is_empty(),
        "{status:?}: {:#?}",
        supervised.processes()
    );
}

/// How long it takes from the signal to the end.
fn shutdown(supervised: &mut Supervised) -> Duration {
    let watch = System::start(Timestamp::from_millis(0));
    supervised.terminate(GUARD);
    watch.elapsed()
}

#[test]
fn a_shutdown_ends_in_time_while_a_circuit_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let _swept = Swept(folder.path());
    let mut supervised = Supervised::start(
        folder.path(),
        "
services:
  odd: { command: [sleep, '1000'], stop: { grace: 2s }, observe: { exec: [echo, '{\"n\": 0}'] } }
rules:
  - { name: never-none, when: { '==': [ { var: odd.observed.n }, 0 ] }, for: 1s, restart: odd }
",
    );
    wait::until("the circuit to open", GUARD, || {
        let circuit = supervised.service("odd")["circuit"].clone();
        (circuit != "closed" && circuit != "grace").then_some(())
    });
    let took = shutdown(&mut supervised);
    assert!(took < SHUTDOWN, "{took:?}");
    assert!(supervised.processes().is_empty());
}

#[test]
fn a_shutdown_ends_in_time_while_an_action_is_in_flight() {
    let folder = tempfile::tempdir().unwrap();
    let _swept = Swept(folder.path());
    let services = HARD.replace("grace: 1s", "grace: 5s");
    let mut supervised = Supervised::start(folder.path(), &services);
    supervised.until("hard", "running", GUARD);
    supervised.operate("hard", "stop");
    supervised.until("hard", "stopping", GUARD);
    let took = shutdown(&mut supervised);
    assert!(took < SHUTDOWN, "{took:?}");
    assert!(supervised.processes().is_empty(), "{:#?}", supervised.processes());
}

#[test]
fn a_shutdown_ends_in_time_while_what_is_observed_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let _swept = Swept(folder.path());
    let mut supervised = Supervised::start(
        folder.path(),
        "
services:
  mute: { command: [sleep, '1000'], stop: { grace: 2s }, observe: { exec: [sleep, '1000'], timeout: 1h } }
",
    );
    supervised.until("mute", "running", GUARD);
    let took = shutdown(&mut supervised);
    assert!(took < SHUTDOWN, "{took:?}");
    assert!(supervised.processes().is_empty(), "{:#?}", supervised.processes());
}

/// The example's file, on ports of its own and with the program that was just built.
fn pipeline(broker: u16, stats: u16) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/pipeline/services.yaml");
    let program = sprag_tests::binary("pipeline").display().to_string();
    std::fs::read_to_string(root)
        .unwrap()
        .replace("6390", &broker.to_string())
        .replace("6391", &stats.to_string())
        .replace("../../target/quick/pipeline", &program)
}

/// A port that nobody uses just now.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Sends one command to the broker, as `redis-cli` would.
fn tell_broker(port: u16, command: &str) {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(format!("{command}\r\n").as_bytes()).unwrap();
    let _ = stream.read(&mut [0; 64]);
}

/// The third design's own case: the broker runs, the pipeline has no output connections, and the parent sees nothing of it.
#[test]
fn a_cut_connection_is_mended_and_the_parent_sees_ordinary_states_only() {
    let found = std::process::Command::new("redis-server").arg("--version").output();
    if found.is_err() {
        println!("skipped: redis-server is missing");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let _swept = Swept(folder.path());
    let (broker, stats) = (free_port(), free_port());
    let mut supervised = Supervised::start(folder.path(), &pipeline(broker, stats));
    supervised.until("shop", "running", GUARD);
    let before = pids(&supervised.list());
    tell_broker(broker, "CLIENT KILL TYPE normal SKIPME yes");
    wait::until("the circuit to open", GUARD, || {
        (supervised.service("shop/pipeline")["circuit"] != "closed").then_some(())
    });
    let mut seen = Vec::new();
    let after = wait::until("the circuit to close", GUARD, || {
        let list = supervised.list();
        let shop = list.iter().find(|worker| worker["path"] == "shop")?.clone();
        seen.push(shop["state"].as_str()?.to_owned());
        let pipeline = list.iter().find(|worker| worker["path"] == "shop/pipeline")?;
        let is_over = pipeline["circuit"] == "closed" && pipeline["state"] == "running";
        is_over.then_some(list.clone())
    });
    assert!(
        seen.iter().all(|state| state == "running" || state == "starting"),
        "{seen:?}"
    );
    let after = pids(&after);
    assert_eq!(after["shop/broker"], before["shop/broker"], "the broker was left alone");
    assert_ne!(
        after["shop/pipeline"], before["shop/pipeline"],
        "the pipeline is a new one"
    );
    let explain = supervised.explain("shop/pipeline");
    assert_eq!(explain["observed"]["outputConnections"], 1);
    assert!(supervised.terminate(GUARD).success());
    assert!(supervised.processes().is_empty());
}
