//! Runs from the start to the end (agents.md D).

use std::time::Duration;

use sprag_agent::wire::counts_of;
use sprag_agent::wire::proto::Status as Reported;
use tokio::time::Instant;

use crate::rig::{Rig, is_proof, ops, plan};

#[tokio::test(flavor = "multi_thread")]
async fn d1_live_messages_rise_and_never_take_anything_back() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let mut run = client.ready(&plan("quick", "concurrency: 3\nduration: 1s")).await;
    run.start(0).await;
    let (messages, end) = run.rest().await;
    assert!(end.is_none());
    assert!(
        (3..=11).contains(&messages.len()),
        "one each 100 ms: {}",
        messages.len()
    );
    for pair in messages.windows(2) {
        assert!(pair[0].sequence < pair[1].sequence);
        assert!(ops(&pair[0]) <= ops(&pair[1]));
    }
    let last = messages.last().unwrap();
    assert_eq!(
        (last.status(), last.completed, last.final_numbers),
        (Reported::Completed, true, true)
    );
    assert_eq!(ops(last), rig.count());
    assert_eq!(
        counts_of(last).unwrap().ops(),
        ops(last),
        "histograms hold every operation"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_the_prepare_phase_is_flagged_and_counts_apart() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let prepare = "prepare: { workload: exec, exec: { command: [x] }, concurrency: 1, duration: 400ms }";
    let text = plan("quick", &format!("concurrency: 1\nduration: 400ms\n{prepare}"));
    let mut run = client.ready(&text).await;
    run.start(0).await;
    let (messages, _) = run.rest().await;
    assert!(
        messages[0].in_prepare_phase && ops(&messages[0]) == 0,
        "{:?}",
        messages[0]
    );
    let last = messages.last().unwrap();
    assert!(!last.in_prepare_phase && last.prepare_ops > 0);
    assert_eq!(last.prepare_ops + ops(last), rig.count());
    let prepare = "prepare: { workload: exec, exec: { command: [x] }, concurrency: 1, duration: 1m }";
    let text = plan("quick", &format!("concurrency: 1\n{prepare}"));
    let mut run = client.ready(&text).await;
    run.start(0).await;
    client.until("RUNNING").await;
    client.abort(&run.id).await.unwrap();
    let (messages, end) = run.rest().await;
    assert!(end.is_some());
    assert_eq!(ops(messages.last().unwrap()), 0, "aborted while it prepared");
}

#[tokio::test(flavor = "multi_thread")]
async fn d3_a_short_workload_ends_without_padding() {
    let (mut options, performed) = crate::rig::quick("a1", crate::rig::Shifted::by(0));
    options.report_every = Duration::from_secs(1);
    let rig = Rig::with(options, performed).await;
    let mut client = rig.client().await;
    let mut run = client.ready(&plan("quick", "concurrency: 1\nduration: 300ms")).await;
    let began = Instant::now();
    run.start(0).await;
    let (messages, end) = run.rest().await;
    assert!(end.is_none() && messages.len() <= 2, "{}", messages.len());
    assert!(began.elapsed() >= Duration::from_millis(300));
    println!(
        "agents: a workload of 300 ms ended {:?} after its start",
        began.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn d4_the_next_run_is_taken_right_after_the_end_of_the_stream() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let tries = if is_proof() { 1_000 } else { 100 };
    for _ in 0..tries {
        let mut run = client.ready(&plan("quick", "concurrency: 1\nduration: 1ms")).await;
        run.start(0).await;
        let (messages, end) = run.rest().await;
        assert!(end.is_none() && messages.last().unwrap().completed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d6_a_panic_in_an_operation_fails_the_run_and_the_agent_lives() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let mut run = client.ready(&plan("panics", "concurrency: 1")).await;
    run.start(0).await;
    let (messages, end) = run.rest().await;
    let last = messages.last().unwrap();
    assert!(end.is_none());
    assert_eq!(last.status(), Reported::Error);
    assert!(last.error_message.contains("panic"), "{}", last.error_message);
    assert_eq!(client.history().await, ["READY", "RUNNING", "FAILED", "IDLE"]);
    client.ready(&plan("quick", "concurrency: 1")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_operations_are_counted_and_fail_no_run() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let mut run = client.ready(&plan("fails", "rate: 100\nduration: 200ms")).await;
    run.start(0).await;
    let (messages, _) = run.rest().await;
    let last = messages.last().unwrap();
    assert!(last.completed);
    assert_eq!(last.steady.as_ref().unwrap().errors, ops(last));
    assert_eq!(
        (last.failures[0].reason.as_str(), last.failures[0].times),
        ("as planned", ops(last))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn d5_a_reader_that_pauses_gets_the_newest_numbers_and_the_end() {
    let rig = Rig::start().await;
    let mut client = rig.narrow_client(2_048).await;
    let mut run = client.ready(&plan("quick", "concurrency: 50\nduration: 3s")).await;
    run.start(0).await;
    tokio::time::sleep(Duration::from_millis(3_500)).await;
    let (messages, end) = run.rest().await;
    assert!(end.is_none());
    assert!(messages.last().unwrap().completed);
    assert!(messages.len() < 20, "{} of 30 messages", messages.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a3_every_transition_names_its_run_and_its_reason() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let mut run = client.ready(&plan("quick", "concurrency: 1\nduration: 50ms")).await;
    run.start(0).await;
    run.rest().await;
    let status = client.status().await;
    let reasons: Vec<&str> = status.history.iter().map(|made| made.reason.as_str()).collect();
    assert_eq!(reasons, ["plan accepted", "start time reached", "workload complete"]);
    assert!(status.history.iter().all(|made| made.run_id == run.id));
    assert!(status.history[2].previous_millis >= 50);
    assert_eq!(status.last_run.unwrap().outcome, "COMPLETED");
}
