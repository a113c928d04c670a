//! Which runs an agent takes (agents.md B).

use std::time::Duration;

use sprag_agent::wire::proto::{PingRequest, Status as Reported};
use tokio::time::Instant;
use tonic::Code;

use crate::rig::{Rig, code, is_proof, plan, rest};

#[tokio::test(flavor = "multi_thread")]
async fn b1_a_valid_plan_is_answered_by_one_ready_within_a_tenth_of_a_second() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let text = plan("quick", "concurrency: 1\nduration: 1ms");
    let mut times = Vec::new();
    for _ in 0..100 {
        let began = Instant::now();
        let mut run = client.ready(&text).await;
        times.push(began.elapsed());
        run.start(0).await;
        let (messages, end) = run.rest().await;
        assert!(end.is_none());
        assert!(
            messages.iter().all(|message| message.status() != Reported::Ready),
            "one READY a run"
        );
    }
    times.sort();
    let most = if is_proof() {
        Duration::from_millis(100)
    } else {
        Duration::from_secs(5)
    };
    assert!(times[98] < most, "p99 {:?}", times[98]);
    println!("agents: READY p99 {:?} of 100", times[98]);
}

#[tokio::test(flavor = "multi_thread")]
async fn b2_a_plan_that_is_not_valid_is_answered_by_one_error_and_a_clean_end() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let cases = [
        ("name: [".to_owned(), ""),
        (plan("quick", "concurrency: 0"), "concurrency"),
        (plan("quick", "concurrency: 1\nduration: -5s"), "duration"),
        (plan("refused", "concurrency: 1"), "exec.command.0"),
        ("name: a\nworkload: akshun\nconcurrency: 1".to_owned(), "workload"),
    ];
    for (text, field) in cases {
        let (mut stream, _keep) = client.ask(&text).await.unwrap();
        let (messages, end) = rest(&mut stream).await;
        assert_eq!((messages.len(), code(end.as_ref())), (1, None), "{text}");
        assert_eq!(messages[0].status(), Reported::Error);
        let said = &messages[0].error_message;
        assert!(!said.is_empty() && said.contains(field), "{text}: {said}");
    }
    assert_eq!(client.history().await[..2], ["FAILED", "IDLE"]);
    let status = client.status().await;
    assert_eq!(
        status.last_run.unwrap().outcome,
        "FAILED",
        "readable although FAILED does not linger (D32)"
    );
    client.ready(&plan("quick", "concurrency: 1")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b3_a_busy_agent_refuses_even_a_bad_plan_and_its_run_goes_on() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let mut run = client.running(&plan("quick", "concurrency: 2\nduration: 1s")).await;
    for text in [plan("quick", "concurrency: 1"), "name: [".to_owned()] {
        let refused = client.ask(&text).await.err().unwrap();
        assert_eq!(refused.code(), Code::FailedPrecondition);
        assert!(refused.message().contains("agent busy: it is `RUNNING`"), "{refused:?}");
    }
    let (messages, end) = run.rest().await;
    assert!(end.is_none() && messages.last().unwrap().completed);
    let mut run = client.ready(&plan("quick", "concurrency: 1")).await;
    let refused = client.ask(&plan("quick", "concurrency: 1")).await.err().unwrap();
    assert!(refused.message().contains("`READY`"), "{refused:?}");
    client.abort(&run.id).await.unwrap();
    run.rest().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b4_of_a_hundred_runs_at_once_one_is_taken() {
    let rig = Rig::start().await;
    let text = plan("slow-check", "concurrency: 1");
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (mut client, text) = (rig.client().await, text.clone());
        asking.spawn(async move {
            let asked = client.ask(&text).await;
            let (mut stream, keep) = asked.map_err(|status| status.code())?;
            let first = stream.message().await.unwrap().unwrap();
            assert_eq!(first.status(), Reported::Ready);
            Ok((stream, keep))
        });
    }
    let (taken, busy): (Vec<_>, Vec<_>) = asking.join_all().await.into_iter().partition(Result::is_ok);
    assert_eq!((taken.len(), busy.len()), (1, 99));
    assert!(
        busy.into_iter()
            .all(|refused| refused.err() == Some(Code::FailedPrecondition))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn b5_an_abort_during_the_check_ends_the_run_without_ready() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let (mut stream, _keep) = client.ask(&plan("long-check", "concurrency: 1")).await.unwrap();
    assert_eq!(client.abort("").await.unwrap(), "IDLE");
    let (messages, end) = rest(&mut stream).await;
    assert_eq!((messages.len(), code(end.as_ref())), (0, Some(Code::Aborted)));
    client.ready(&plan("quick", "concurrency: 1")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b6_a_check_that_blocks_does_not_delay_pings() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let (mut stream, _keep) = client.ask(&plan("blocking-check", "concurrency: 1")).await.unwrap();
    let mut other = rig.client().await;
    let mut pings = Vec::new();
    let first = stream.message();
    tokio::pin!(first);
    loop {
        let began = Instant::now();
        tokio::select! {
            biased;
            message = &mut first => {
                assert_eq!(message.unwrap().unwrap().status(), Reported::Ready);
                break;
            }
            pong = other.0.ping(PingRequest {}) => {
                pong.unwrap();
                pings.push(began.elapsed());
            }
        }
    }
    pings.sort();
    assert!(pings.len() > 10, "{pings:?}");
    let p99 = pings[pings.len() * 99 / 100];
    println!("agents: p99 of {} pings during a blocking check {p99:?}", pings.len());
    if is_proof() {
        assert!(p99 < Duration::from_millis(50), "{p99:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b7_and_d35_a_start_time_too_far_off_is_refused() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    for seconds in [61_i64, -3] {
        let mut run = client.ready(&plan("quick", "concurrency: 1")).await;
        let now = client.0.ping(PingRequest {}).await.unwrap().into_inner().unix_micros;
        run.start(now.saturating_add_signed(seconds * 1_000_000)).await;
        let (messages, end) = run.rest().await;
        assert_eq!(
            (messages.len(), code(end.as_ref())),
            (0, Some(Code::InvalidArgument)),
            "{seconds} s"
        );
    }
    assert_eq!(client.history().await, ["READY", "IDLE", "READY", "IDLE"]);
    assert_eq!(rig.count(), 0);
    let mut run = client.ready(&plan("quick", "concurrency: 1\nduration: 50ms")).await;
    let now = client.0.ping(PingRequest {}).await.unwrap().into_inner().unix_micros;
    run.start(now - 1_000_000).await;
    let (messages, _) = run.rest().await;
    let late = messages.last().unwrap().late_micros;
    assert!((1_000_000..2_000_000).contains(&late), "late by {late} µs");
}
