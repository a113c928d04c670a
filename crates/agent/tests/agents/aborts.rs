//! Aborts (agents.md E).

use std::time::Duration;

use sprag_agent::wire::proto::{Status as Reported, Transition};
use tokio::time::Instant;
use tonic::Code;

use crate::rig::{Rig, code, is_proof, ops, plan};

fn names(history: &[Transition]) -> Vec<&str> {
    history.iter().map(|made| made.to.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn e1_an_abort_in_ready_ends_the_run_at_once_and_performs_nothing() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let mut run = client.ready(&plan("quick", "concurrency: 4")).await;
    let now = client
        .0
        .ping(sprag_agent::wire::proto::PingRequest {})
        .await
        .unwrap()
        .into_inner()
        .unix_micros;
    run.start(now + 300_000).await;
    assert_eq!(client.abort(&run.id).await.unwrap(), "IDLE");
    let (messages, end) = run.rest().await;
    assert_eq!((messages.len(), code(end.as_ref())), (0, Some(Code::Aborted)));
    assert_eq!(client.history().await, ["READY", "IDLE"]);
    // Past the start time that it had.
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(rig.count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn e2_and_d36_an_aborting_agent_says_so_until_its_cleanup_has_ended() {
    let (mut options, performed) = crate::rig::quick("a1", crate::rig::Shifted::by(0));
    options.bounds.kill = Duration::from_secs(20);
    options.bounds.leak = Duration::from_secs(30);
    let rig = Rig::with(options, performed).await;
    let mut client = rig.client().await;
    let mut run = client.running(&plan("cleanup", "concurrency: 2")).await;
    rig.until_performing().await;
    assert_eq!(client.abort(&run.id).await.unwrap(), "ABORTING");
    let began = Instant::now();
    let (messages, end) = run.rest().await;
    assert!(began.elapsed() > Duration::from_millis(500), "the cleanup takes 600 ms");
    assert_eq!(code(end.as_ref()), Some(Code::Aborted));
    let aborting: Vec<_> = messages
        .iter()
        .skip_while(|message| message.status() == Reported::Running)
        .collect();
    assert!(aborting.len() > 2, "messages continue");
    assert!(
        aborting.iter().all(|message| message.status() == Reported::Aborting),
        "never RUNNING again (D36)"
    );
    let last = messages.last().unwrap();
    assert!(
        last.final_numbers && ops(last) == rig.count(),
        "{} of {}",
        ops(last),
        rig.count()
    );
    assert_eq!(client.status().await.state, "IDLE", "IDLE before the stream ends");
}

#[tokio::test(flavor = "multi_thread")]
async fn e3_a_task_that_ignores_its_cancellation_is_ended_at_an_await_point() {
    let (mut options, performed) = crate::rig::quick("a1", crate::rig::Shifted::by(0));
    options.bounds.leak = Duration::from_secs(30);
    let rig = Rig::with(options, performed).await;
    let mut client = rig.client().await;
    let mut run = client.running(&plan("deaf", "concurrency: 2")).await;
    rig.until_performing().await;
    let began = Instant::now();
    client.abort(&run.id).await.unwrap();
    let (_, end) = run.rest().await;
    assert_eq!(code(end.as_ref()), Some(Code::Aborted));
    assert!(
        began.elapsed() >= Duration::from_millis(300),
        "it had its time: {:?}",
        began.elapsed()
    );
    let status = client.status().await;
    assert_eq!((status.state.as_str(), status.leaked_tasks), ("IDLE", 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn e4_e5_and_d31_a_stuck_task_leaks_and_never_touches_the_next_run() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let run = client.running(&plan("stuck", "concurrency: 1")).await;
    rig.until_performing().await;
    let began = Instant::now();
    client.abort(&run.id).await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let status = client.status().await;
    assert_eq!(
        status.state, "ABORTING",
        "past the first deadline the task is still at work"
    );
    let refused = client.ask(&plan("quick", "concurrency: 1")).await.err().unwrap();
    assert!(refused.message().contains("`ABORTING`"), "{refused:?}");
    client.until("IDLE").await;
    assert!(began.elapsed() >= Duration::from_millis(900));
    assert_eq!(client.status().await.leaked_tasks, 1);
    let mut next = client.running(&plan("quick", "concurrency: 1\nduration: 2500ms")).await;
    let (messages, end) = next.rest().await;
    assert!(end.is_none(), "no timer of the first run: {end:?}");
    let last = messages.last().unwrap();
    assert!(last.completed);
    assert_eq!(
        ops(last),
        rig.count() - 1,
        "the stuck operation does not count for this run"
    );
    assert_eq!(client.status().await.leaked_tasks, 0, "it returned meanwhile");
}

#[tokio::test(flavor = "multi_thread")]
async fn e6_aborts_name_their_run_and_repeat_without_effect() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    assert_eq!(client.abort("").await.unwrap(), "IDLE");
    let mut run = client.running(&plan("deaf", "concurrency: 1")).await;
    rig.until_performing().await;
    assert_eq!(
        client.abort("00000000000000ff").await.unwrap_err().code(),
        Code::NotFound
    );
    assert_eq!(client.abort("x").await.unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(client.status().await.state, "RUNNING");
    let began = Instant::now();
    client.abort(&run.id).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(client.abort(&run.id).await.unwrap(), "ABORTING");
    run.rest().await;
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "deadlines are not extended: {:?}",
        began.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn e7_and_d34_aborts_around_the_start_and_the_end_leave_one_end_each() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let tries = if is_proof() { 500 } else { 40 };
    for number in 0..tries {
        let mut run = client.ready(&plan("quick", "concurrency: 2\nduration: 20ms")).await;
        let now = client
            .0
            .ping(sprag_agent::wire::proto::PingRequest {})
            .await
            .unwrap()
            .into_inner()
            .unix_micros;
        run.start(now + 10_000).await;
        // Around the start at 10 ms, and around the end at 30 ms.
        let around = if number % 2 == 0 { 8_000 } else { 28_000 };
        tokio::time::sleep(Duration::from_micros(around + number % 5 * 1_000)).await;
        client.abort(&run.id).await.unwrap();
        let (messages, end) = run.rest().await;
        let ends = messages.iter().filter(|message| message.completed).count() + usize::from(end.is_some());
        assert_eq!(ends, 1, "{messages:?} {end:?}");
        client.until("IDLE").await;
    }
    let status = client.status().await;
    assert!(
        names(&status.history).iter().all(|to| *to != "FAILED"),
        "{:?}",
        status.history
    );
}
