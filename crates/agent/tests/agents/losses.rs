//! Lost controllers (agents.md F).

use std::time::Duration;

use sprag_agent::wire::proto::{AttachRequest, StatusRequest};
use tonic::Code;

use crate::rig::{Client, Rig, Run, ops, plan, rest};

async fn attach(
    client: &mut Client,
    run: &str,
    token: &str,
) -> Result<tonic::Streaming<sprag_agent::wire::proto::LiveStats>, tonic::Status> {
    let request = AttachRequest {
        run_id: run.to_owned(),
        token: token.to_owned(),
    };
    Ok(client.0.attach(request).await?.into_inner())
}

#[tokio::test(flavor = "multi_thread")]
async fn f1_a_controller_lost_in_ready_ends_the_run() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    drop(
        client
            .ready(&plan("quick", "concurrency: 1\nonControllerLost: finish-and-keep"))
            .await,
    );
    client.until("IDLE").await;
    assert_eq!(client.history().await, ["READY", "IDLE"]);
    assert_eq!(rig.count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn f2_a_controller_lost_in_running_aborts_the_run() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    drop(client.running(&plan("quick", "concurrency: 1")).await);
    client.until("IDLE").await;
    assert_eq!(client.history().await, ["READY", "RUNNING", "ABORTING", "IDLE"]);
    client.ready(&plan("quick", "concurrency: 1")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f4_other_clients_come_and_go_without_effect() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let mut run = client.running(&plan("quick", "concurrency: 1\nduration: 1s")).await;
    for _ in 0..10 {
        let mut other = rig.client().await;
        other.status().await;
        assert!(other.ask(&plan("quick", "concurrency: 1")).await.is_err());
    }
    let (messages, end) = run.rest().await;
    assert!(end.is_none() && messages.last().unwrap().completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn f9_and_d33_a_controller_attaches_again_within_its_grace() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let run = client
        .running(&plan(
            "quick",
            "concurrency: 1\nduration: 3s\nonControllerLost: { grace: 10s }",
        ))
        .await;
    let Run { id, token, stream, .. } = run;
    drop(stream);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(client.status().await.state, "RUNNING");
    assert_eq!(
        attach(&mut client, &id, "guess").await.unwrap_err().code(),
        Code::PermissionDenied
    );
    let mut stream = attach(&mut client, &id, &token).await.unwrap();
    let (messages, end) = rest(&mut stream).await;
    assert!(end.is_none());
    let last = messages.last().unwrap();
    assert!(last.completed);
    assert_eq!(ops(last), rig.count(), "nothing counts twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn f10_after_its_grace_a_lost_controller_aborts_the_run() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let run = client
        .running(&plan("quick", "concurrency: 1\nonControllerLost: { grace: 300ms }"))
        .await;
    drop(run);
    client.until("IDLE").await;
    assert_eq!(client.history().await, ["READY", "RUNNING", "ABORTING", "IDLE"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn f11_a_kept_result_waits_for_the_controller_with_the_token() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let text = plan(
        "quick",
        "concurrency: 1\nduration: 1s\nonControllerLost: finish-and-keep",
    );
    let run = client.running(&text).await;
    let Run { id, token, stream, .. } = run;
    drop(stream);
    client.until("IDLE").await;
    let mut later = rig.client().await;
    assert_eq!(
        attach(&mut later, &id, "guess").await.unwrap_err().code(),
        Code::PermissionDenied
    );
    assert_eq!(
        attach(&mut later, "00", &token).await.unwrap_err().code(),
        Code::NotFound
    );
    let (messages, end) = rest(&mut attach(&mut later, &id, &token).await.unwrap()).await;
    assert!(
        end.is_none() && messages.len() == 1 && messages[0].completed,
        "{messages:?}"
    );
    assert_eq!(ops(&messages[0]), rig.count());
    let acknowledge = id.clone();
    later.0.get_status(StatusRequest { acknowledge }).await.unwrap();
    assert_eq!(
        attach(&mut later, &id, &token).await.unwrap_err().code(),
        Code::NotFound
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn f8_an_agent_that_is_asked_to_end_aborts_its_run_and_says_so() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let mut run = client.running(&plan("quick", "concurrency: 1")).await;
    let ending = tokio::spawn(rig.stop());
    let (messages, end) = run.rest().await;
    assert_eq!(end.map(|status| status.code()), Some(Code::Aborted));
    assert!(messages.last().unwrap().final_numbers);
    drop((run, client));
    ending.await.unwrap();
}
