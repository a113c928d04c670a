//! What happens when an agent or a controller is killed, stopped or restarted.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use sprag_core::clock::System;
use sprag_core::time::Timestamp;
use sprag_tests::{Reply, Site, wait};

use super::rig::{Agent, GUARD, controller, is_proof, plan, result, said, send, target, until_second};

#[test]
fn f5_a_killed_agent_ends_the_run_and_its_last_numbers_stay() {
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    plan(folder.path(), &site, "duration: 60s");
    let agents = ["a1", "a2"].map(|name| Agent::start(folder.path(), name));
    let child = controller(folder.path(), &agents.each_ref())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until_second(folder.path(), 2);
    let [first, second] = agents;
    let killed = System::start(Timestamp::default());
    second.kill();
    let output = child.wait_with_output().unwrap();
    println!(
        "agents: the controller ended {:?} after an agent was killed",
        killed.elapsed()
    );
    if is_proof() {
        assert!(
            killed.elapsed() < Duration::from_secs(15),
            "LOST within 2 s, the others IDLE"
        );
    }
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let result = result(folder.path());
    assert_eq!(result["status"], "FAILED");
    let lost = &result["agents"][1];
    assert_eq!((&lost["state"], &lost["partial"]), (&json!("LOST"), &json!(true)));
    assert!(lost["ops"].as_u64().unwrap() > 0);
    // The other agent is free for the next run.
    plan(folder.path(), &site, "duration: 500ms");
    let output = controller(folder.path(), &[&first]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

#[test]
fn f2_and_g7_a_killed_controller_frees_its_agents_and_leaves_its_time_series() {
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    plan(folder.path(), &site, "duration: 60s");
    let agent = Agent::start(folder.path(), "a1");
    let mut child = controller(folder.path(), &[&agent])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until_second(folder.path(), 2);
    child.kill().unwrap();
    child.wait().unwrap();
    let series = std::fs::read_to_string(folder.path().join("run/series.jsonl")).unwrap();
    let points: Vec<Value> = series.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(points.last().unwrap()["ops"].as_u64().unwrap() > 0);
    plan(folder.path(), &site, "duration: 500ms");
    wait::until("the agent to take another run", GUARD, || {
        let output = controller(folder.path(), &[&agent]).output().unwrap();
        output.status.success().then_some(())
    });
}

#[test]
fn f8_signals_end_agents_and_controllers_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    plan(folder.path(), &site, "duration: 60s");
    let mut agent = Agent::start(folder.path(), "a1");
    let child = controller(folder.path(), &[&agent])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until_second(folder.path(), 1);
    send(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", said(&output));
    let stopped = result(folder.path());
    assert_eq!(stopped["status"], "ABORTED");
    assert!(
        stopped["total"]["ops"].as_u64().unwrap() > 0,
        "partial results are written"
    );
    let child = controller(folder.path(), &[&agent])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until_second(folder.path(), 1);
    agent.signal(Signal::TERM);
    assert_eq!(agent.child.wait().unwrap().code(), Some(143));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(result(folder.path())["agents"][0]["ops"].as_u64().unwrap() > 0);
}

#[test]
fn f3_an_agent_acts_when_its_controller_is_silent_on_an_open_connection() {
    if !is_proof() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    plan(folder.path(), &site, "duration: 120s");
    let agent = Agent::start(folder.path(), "a1");
    let mut stopped = controller(folder.path(), &[&agent])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until_second(folder.path(), 2);
    send(&stopped, Signal::STOP);
    let silent = System::start(Timestamp::default());
    let count = || site.visits().len();
    let quiet = wait::until("the agent to stop", GUARD, || {
        let before = count();
        std::thread::sleep(Duration::from_millis(500));
        (count() == before).then(|| silent.elapsed())
    });
    println!("agents: a run ended {quiet:?} after its controller was stopped");
    assert!(quiet < Duration::from_secs(13), "keepalive 5 s and 5 s: {quiet:?}");
    stopped.kill().unwrap();
    stopped.wait().unwrap();
}

#[test]
fn f7_a_short_stop_of_an_agent_is_reported_and_a_long_one_loses_it() {
    if !is_proof() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    plan(folder.path(), &site, "duration: 15s");
    let agent = Agent::start(folder.path(), "a1");
    let child = controller(folder.path(), &[&agent])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until_second(folder.path(), 2);
    agent.signal(Signal::STOP);
    std::thread::sleep(Duration::from_secs(5));
    agent.signal(Signal::CONT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("silent for"), "{}", said(&output));
    let counted = result(folder.path())["total"]["ops"].as_u64().unwrap();
    assert_eq!(counted, site.visits().len() as u64, "nothing counts twice");

    // The series of the first run says nothing about the second one.
    std::fs::remove_dir_all(folder.path().join("run")).unwrap();
    plan(folder.path(), &site, "duration: 60s");
    let child = controller(folder.path(), &[&agent])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until_second(folder.path(), 2);
    agent.signal(Signal::STOP);
    let silent = System::start(Timestamp::default());
    let output = child.wait_with_output().unwrap();
    println!("agents: a stopped agent was lost after {:?}", silent.elapsed());
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(result(folder.path())["agents"][0]["state"] == "LOST");
    agent.signal(Signal::CONT);
    plan(folder.path(), &site, "duration: 500ms");
    wait::until("the agent to end the run by itself", GUARD, || {
        let output = controller(folder.path(), &[&agent]).output().unwrap();
        output.status.success().then_some(())
    });
}

#[test]
fn f7_an_agent_that_was_restarted_during_a_run_is_lost_and_never_counted_again() {
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    plan(
        folder.path(),
        &site,
        "duration: 8s\nonAgentLost: best-effort\nonControllerLost: { grace: 3s }",
    );
    let agents = ["a1", "a2"].map(|name| Agent::start(folder.path(), name));
    let child = controller(folder.path(), &agents.each_ref())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until_second(folder.path(), 2);
    let [first, second] = agents;
    let address = second.address.clone();
    second.kill();
    let restarted = Agent::listening(folder.path(), "a2", &address);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let result = result(folder.path());
    assert_eq!(result["status"], "PARTIAL", "{result:#}");
    let lost = &result["agents"][1];
    assert_eq!(
        (&lost["state"], &lost["partial"]),
        (&json!("LOST"), &json!(true)),
        "{result:#}"
    );
    assert!(lost["ops"].as_u64().unwrap() > 0, "its last numbers stay");
    drop((first, restarted));
}

#[test]
fn f8_a_second_sigint_ends_a_controller_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::start(|_| {
        // Operations that take long keep the agents busy after the first signal.
        std::thread::sleep(Duration::from_millis(200));
        Reply::json(200, &json!({}))
    });
    plan(folder.path(), &site, "duration: 60s");
    let agent = Agent::start(folder.path(), "a1");
    let mut child = controller(folder.path(), &[&agent])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until_second(folder.path(), 1);
    agent.signal(Signal::STOP);
    send(&child, Signal::INT);
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "it waits for the agent");
    send(&child, Signal::INT);
    let asked = System::start(Timestamp::default());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    agent.signal(Signal::CONT);
}

#[test]
fn c4_a_step_of_the_wall_clock_moves_no_start() {
    if !is_proof() {
        return;
    }
    let folders = std::fs::read_dir("/usr/lib").unwrap();
    let mut paths = folders
        .flatten()
        .map(|entry| entry.path().join("faketime/libfaketimeMT.so.1"));
    let Some(library) = paths.find(|path| path.exists()) else {
        println!("skipped: libfaketime is not installed");
        return;
    };
    for step in ["+3600", "-3600"] {
        let folder = tempfile::tempdir().unwrap();
        let site = target();
        let file = folder.path().join("time");
        std::fs::write(&file, "+0\n").unwrap();
        let stepped = Agent::with_variables(
            folder.path(),
            "a1",
            &[
                ("LD_PRELOAD", library.to_str().unwrap()),
                ("FAKETIME_TIMESTAMP_FILE", file.to_str().unwrap()),
                ("FAKETIME_NO_CACHE", "1"),
                ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
            ],
        );
        let steady = Agent::start(folder.path(), "a2");
        plan(folder.path(), &site, "duration: 1s");
        let child = controller(folder.path(), &[&stepped, &steady])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait::until("both to be READY", GUARD, || {
            let log = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
            (log("a1.log").contains("READY") && log("a2.log").contains("READY")).then_some(())
        });
        std::fs::write(&file, format!("{step}\n")).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let spread = result(folder.path())["startSpreadMs"].as_f64().unwrap();
        println!("agents: start spread with a wall clock stepped by {step} s: {spread} ms");
        assert!(spread < 1_000.0, "{spread} ms");
    }
}
