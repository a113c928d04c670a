//! What is the control shard's, and what each shard's owner does for itself: jobs survive their node, schedules fire once,
//! retention walks own shards only.

use sprag_core::action::{Outcome, Status};
use sprag_core::clock::Clock as _;
use sprag_core::ids::{ExecutionId, JobId, Slot};
use sprag_engine::command::{Answer, Command, Internal, Request, SendMessage, Target};
use sprag_engine::jobs::RetryAll;
use sprag_engine::member::LEASE_MILLIS;
use sprag_engine::{Options, Retention};
use sprag_store::records::JobStatus;
use sprag_store::traits::Reader;
use tokio::sync::oneshot;

use super::crowd::Crowd;

const DOOMED: &str = r"
id: m
initial: a
states: { a: { on: { done.work: b, failed.work: c } }, b: {}, c: {} }
actions:
  - actionId: work
    type: noop
    triggerState: a
    config: {}
    retryPolicy: { maxAttempts: 1 }
";

const TICKING: &str = r"
id: ticking
initial: on
states: { on: {} }
actions:
  - actionId: tick
    type: noop
    triggerState: on
    config: {}
    schedule: { cron: '* * * * *', overlap: allow }
";

const SHORT: &str = r"
id: short
initial: a
states: { a: { on: { END: over } }, over: { type: final } }
";

fn die(crowd: &mut Crowd, node: usize) -> ExecutionId {
    let id = crowd.start_of(node, "m");
    let attempt = crowd.job_of(node, id).expect("a job").attempt;
    let outcome = Outcome::not_done("not_found", "nobody there");
    let request = Request::Internal(Internal::Outcome { attempt, outcome });
    crowd.nodes[node].lane.tick(vec![Command::own(request)]).unwrap();
    crowd.run(node);
    assert_eq!(crowd.action_of(id).status, Status::Dead);
    id
}

fn retry_all(crowd: &mut Crowd, node: usize) -> JobId {
    let (reply, mut answer) = oneshot::channel();
    let request = Request::RetryAll(RetryAll {
        filter: "machine = \"m\"".to_owned(),
        ..RetryAll::default()
    });
    let command = Command::asked(request, reply);
    // One tick, so that the node dies with the job before it.
    crowd.nodes[node].lane.tick(vec![command]).unwrap();
    match answer.try_recv().expect("an answer") {
        Ok(Answer::Job(view)) => view.id,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_job_goes_on_where_its_node_died() {
    let mut crowd = Crowd::with(2, Options::default(), &[DOOMED]);
    let control = crowd.owner(Slot(0));
    let other = 1 - control;
    let letters: Vec<ExecutionId> = (0..10).map(|_| die(&mut crowd, other)).collect();
    let job = retry_all(&mut crowd, control);
    assert_eq!(
        crowd.store.job(job).unwrap().expect("stored").status,
        JobStatus::Running
    );
    crowd.pass(LEASE_MILLIS + 4_000, &[other]);
    assert_eq!(
        crowd.store.job(job).unwrap().expect("stored").status,
        JobStatus::Completed
    );
    for id in letters {
        assert_eq!(
            crowd.action_of(id).attempts_made(),
            2,
            "each letter was tried once more"
        );
    }
}

#[test]
fn an_occurrence_fires_once_though_its_shard_changes_hands() {
    let mut crowd = Crowd::with(2, Options::default(), &[TICKING]);
    let id = crowd.start_of(0, "ticking");
    let mut alive = vec![0, 1];
    crowd.pass(150_000, &alive);
    let owner = crowd.owner(id.slot());
    alive.retain(|&node| node != owner);
    // It stands still over an occurrence, wakes, and does what it believes to be due.
    crowd.pass(61_000, &alive);
    crowd.run(owner);
    crowd.pass(60_000, &[0, 1]);
    let history = crowd.store.history(id, 0, 1_000).unwrap();
    let mut nominal: Vec<String> = Vec::new();
    for entry in history {
        let body: serde_json::Value = serde_json::from_slice(&entry.body).unwrap();
        if let Some(at) = body.pointer("/cause/nominal").or_else(|| body.pointer("/nominal")) {
            nominal.push(at.to_string());
        }
    }
    let fired = nominal.len();
    nominal.sort_unstable();
    nominal.dedup();
    assert_eq!(nominal.len(), fired, "no occurrence fired twice");
    let actions = crowd.action_count(id);
    assert!(
        (4..=5).contains(&actions),
        "{actions} occurrences in four and a half minutes"
    );
}

#[test]
fn retention_walks_own_shards_and_leaves_the_others_to_their_owners() {
    const HOUR: u64 = 3_600_000;
    let options = Options {
        retention: Some(Retention { closed_millis: HOUR }),
        ..Options::default()
    };
    let mut crowd = Crowd::with(2, options, &[SHORT]);
    let mut ids = Vec::new();
    for node in 0..2 {
        for _ in 0..10 {
            let id = crowd.start_of(node, "short");
            let message = SendMessage {
                to: Target::Id(id),
                kind: "END".to_owned(),
                payload: serde_json::Value::Null,
                id: None,
            };
            crowd.ask(node, Request::Send(message)).unwrap();
            ids.push((node, id));
        }
    }
    // Only the first node runs on; the other keeps its lease and does nothing else.
    let end = crowd.clock.now().plus(3 * HOUR);
    while crowd.clock.now() < end {
        crowd.clock.advance_to(crowd.clock.now().plus(5_000));
        crowd.beat(1);
        crowd.beat(0);
        crowd.run(0);
    }
    for (node, id) in ids {
        let is_kept = crowd.store.execution(id).unwrap().is_some();
        assert_eq!(is_kept, node == 1, "an execution of node {node}");
    }
}
