//! The times of the design at their full length, and crowds: proofs, behind `SPRAG_PROVE`.

use std::time::Duration;

use sprag_agent::wire::proto::{PingRequest, Status as Reported};
use tokio::time::Instant;
use tonic::Code;

use crate::rig::{code, is_proof, ops, plan, rest, unhurried};

/// Mebibytes that this process has in memory.
fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kib: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib / 1_024.0
}

#[tokio::test(flavor = "multi_thread")]
async fn c1_an_agent_runs_within_20_ms_after_its_start_time_and_never_before_it() {
    let rig = unhurried().await;
    let mut client = rig.client().await;
    let mut latest = 0;
    for _ in 0..5 {
        let mut run = client.ready(&plan("quick", "concurrency: 1\nduration: 20ms")).await;
        let at = client.0.ping(PingRequest {}).await.unwrap().into_inner().unix_micros + 300_000;
        run.start(at).await;
        let (messages, _) = run.rest().await;
        let running = client
            .status()
            .await
            .history
            .into_iter()
            .rfind(|made| made.to == "RUNNING")
            .unwrap();
        let first = messages
            .last()
            .unwrap()
            .steady
            .as_ref()
            .unwrap()
            .first_start_unix_micros;
        assert!(
            running.at_unix_micros + 1_000 >= at && first + 1_000 >= at,
            "it starts before its time"
        );
        latest = latest.max(running.at_unix_micros.saturating_sub(at));
    }
    println!("agents: RUNNING at most {latest} µs after the start time");
    let most = if is_proof() { 20_000 } else { 5_000_000 };
    assert!(latest <= most, "{latest} µs");
}

#[tokio::test(flavor = "multi_thread")]
async fn d1_a_message_comes_each_second_for_a_minute() {
    if !is_proof() {
        return;
    }
    let rig = unhurried().await;
    let mut client = rig.client().await;
    let mut run = client.ready(&plan("quick", "concurrency: 3\nduration: 60s")).await;
    run.start(0).await;
    let mut times = Vec::new();
    let mut before = None;
    while let Some(message) = run.stream.message().await.unwrap() {
        if message.status() == Reported::Running {
            times.push(Instant::now());
        }
        let counted = ops(&message);
        assert!(before.is_none_or(|(sequence, ops)| sequence < message.sequence && ops <= counted));
        before = Some((message.sequence, counted));
    }
    assert!((58..=60).contains(&times.len()), "{} messages", times.len());
    let off = |pair: &[Instant]| (pair[1] - pair[0]).abs_diff(Duration::from_secs(1));
    let worst = times.windows(2).map(off).max().unwrap();
    println!("agents: messages of a minute come up to {worst:?} off their second");
    // At full load of the processors, which other tests may cause.
    assert!(worst <= Duration::from_millis(300), "{worst:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn d5_a_reader_of_one_message_in_five_seconds_costs_no_memory_and_no_rate() {
    if !is_proof() {
        return;
    }
    let rig = unhurried().await;
    // Room for a few messages: what the agent keeps back is what counts here.
    let mut client = rig.narrow_client(2_048).await;
    let mut run = client.ready(&plan("quick", "rate: 200\nduration: 120s")).await;
    run.start(0).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let before = resident_mib();
    let mut read = 0;
    let mut sequence = 0;
    let last = loop {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let message = run.stream.message().await.unwrap().unwrap();
        assert!(message.sequence > sequence);
        (read, sequence) = (read + 1, message.sequence);
        if message.completed {
            break message;
        }
    };
    let grown = resident_mib() - before;
    println!("agents: a slow reader got {read} messages, memory grew by {grown:.2} MiB");
    assert!(grown < 5.0, "{grown} MiB");
    assert!(read < 60, "a newer message replaces the ones before it: {read} of 120");
    let counted = last.steady.unwrap().ops;
    assert!((22_800..=24_000).contains(&counted), "{counted} operations of 24,000");
}

#[tokio::test(flavor = "multi_thread")]
async fn e2_a_cooperative_task_of_two_seconds_ends_in_two_seconds() {
    if !is_proof() {
        return;
    }
    let rig = unhurried().await;
    let mut client = rig.client().await;
    let mut run = client.running(&plan("long-cleanup", "concurrency: 2")).await;
    rig.until_performing().await;
    let began = Instant::now();
    assert_eq!(client.abort(&run.id).await.unwrap(), "ABORTING");
    let (messages, end) = run.rest().await;
    let took = began.elapsed();
    println!("agents: a cleanup of 2 s ended after {took:?}");
    assert!(
        took.abs_diff(Duration::from_secs(2)) <= Duration::from_millis(300),
        "{took:?}"
    );
    assert_eq!(code(end.as_ref()), Some(Code::Aborted));
    let aborting = messages.iter().filter(|message| message.status() == Reported::Aborting);
    assert!(aborting.count() >= 2, "it says so meanwhile, and at the end");
    assert!(messages.last().unwrap().final_numbers);
}

#[tokio::test(flavor = "multi_thread")]
async fn e3_a_deaf_task_is_ended_after_five_seconds() {
    if !is_proof() {
        return;
    }
    let rig = unhurried().await;
    let mut client = rig.client().await;
    let mut run = client.running(&plan("deaf", "concurrency: 2")).await;
    rig.until_performing().await;
    let began = Instant::now();
    client.abort(&run.id).await.unwrap();
    run.rest().await;
    let took = began.elapsed();
    println!("agents: a deaf task was ended after {took:?}");
    assert!((4_800..6_000).contains(&took.as_millis()), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn e4_and_e5_a_stuck_task_leaks_after_15_seconds_and_its_timers_touch_no_later_run() {
    if !is_proof() {
        return;
    }
    let rig = unhurried().await;
    let mut client = rig.client().await;
    let run = client.running(&plan("stuck-long", "concurrency: 1")).await;
    rig.until_performing().await;
    let began = Instant::now();
    client.abort(&run.id).await.unwrap();
    tokio::time::sleep(Duration::from_secs(14)).await;
    assert_eq!(client.status().await.state, "ABORTING");
    assert!(client.ask(&plan("quick", "concurrency: 1")).await.is_err(), "busy");
    client.until("IDLE").await;
    let took = began.elapsed();
    println!("agents: a stuck task was counted as leaked after {took:?}");
    assert!(
        took.abs_diff(Duration::from_secs(15)) <= Duration::from_millis(500),
        "{took:?}"
    );
    assert_eq!(client.status().await.leaked_tasks, 1);
    let mut next = client.running(&plan("quick", "concurrency: 1\nduration: 30s")).await;
    let whole = tokio::time::timeout(Duration::from_mins(1), rest(&mut next.stream));
    let (messages, end) = whole.await.unwrap();
    assert!(end.is_none(), "{end:?}");
    let last = messages.last().unwrap();
    assert!(last.completed);
    assert_eq!(ops(last), rig.count() - 1, "the stuck operation does not count");
    assert_eq!(client.status().await.leaked_tasks, 0, "it returned meanwhile");
}

#[tokio::test(flavor = "multi_thread")]
async fn b7_an_agent_without_a_start_time_is_idle_after_a_minute() {
    if !is_proof() {
        return;
    }
    let rig = unhurried().await;
    let mut client = rig.client().await;
    let began = Instant::now();
    let mut run = client.ready(&plan("quick", "concurrency: 1")).await;
    let (messages, end) = tokio::time::timeout(Duration::from_secs(90), rest(&mut run.stream))
        .await
        .unwrap();
    let took = began.elapsed();
    println!("agents: READY without a start time ended after {took:?}");
    assert_eq!((messages.len(), code(end.as_ref())), (0, Some(Code::Aborted)));
    assert!(
        took.abs_diff(Duration::from_mins(1)) < Duration::from_secs(2),
        "{took:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn h4_ten_thousand_idle_streams_change_nothing() {
    if !is_proof() {
        return;
    }
    let rig = unhurried().await;
    let mut idle = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let client = rig.client().await;
        for _ in 0..250 {
            let mut client = client.clone();
            idle.spawn(async move {
                let silent = futures_util::stream::pending();
                client
                    .0
                    .run_workload_with_live_stats(silent)
                    .await
                    .err()
                    .map(|status| status.code())
            });
        }
    }
    let mut client = rig.client().await;
    let mut run = client.ready(&plan("quick", "concurrency: 1\nduration: 1s")).await;
    run.start(0).await;
    let (messages, end) = run.rest().await;
    assert!(end.is_none() && messages.last().unwrap().completed);
    let ends = idle.join_all().await;
    assert_eq!(ends.len(), 10_000);
    assert!(
        ends.iter().all(|end| *end == Some(Code::DeadlineExceeded)),
        "{:?}",
        ends[0]
    );
    assert_eq!(client.status().await.state, "IDLE");
}
