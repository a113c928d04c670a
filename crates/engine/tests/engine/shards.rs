//! Several nodes on one store: shards that come and go, and what becomes of the work in them.

use std::sync::Arc;

use serde_json::Value;
use sprag_core::action::{Status, Verdict};
use sprag_core::clock::Clock;
use sprag_core::ids::{ExecutionId, Slot};
use sprag_engine::Options;
use sprag_engine::lane::member::{self, LEASE_MILLIS, PATIENCE_MILLIS, Place};
use sprag_engine::requests::{Code, Command, Refusal, SendMessage, Start, Target};
use sprag_store::home::CONTROL;
use sprag_store::records::ExecutionStatus;
use sprag_store::traits::shard_of;

use super::crowd::{Crowd, SHARDS};

const ORDER: &str = r"
id: order
initial: sending
states:
  sending: { on: { done.notify: waiting, failed.notify: waiting } }
  waiting: { on: { paid: over } }
  over: { type: final }
actions:
  - actionId: notify
    type: noop
    triggerState: sending
    config: {}
    retryPolicy: { jitter: false, maxAttempts: 50, baseDelay: 1000, maxDelay: 1000 }
";

const SLEEPER: &str = r"
id: sleeper
initial: asleep
states:
  asleep: { after: { 60s: over } }
  over: { type: final }
";

/// So many nodes that have found each other.
fn crowd(nodes: usize) -> Crowd {
    Crowd::with(nodes, Options::default(), &[ORDER, SLEEPER])
}

fn is_moved<T>(reply: &Result<T, Refusal>) -> bool {
    reply.as_ref().is_err_and(|refusal| refusal.code == Code::ShardMoved)
}

#[test]
fn a_node_alone_serves_everything_and_shares_it_evenly_with_those_who_join() {
    let mut crowd = crowd(1);
    assert_eq!(crowd.counts(), [8]);
    crowd.join();
    crowd.meet();
    assert_eq!(crowd.counts(), [4, 4]);
    crowd.join();
    crowd.meet();
    let mut counts = crowd.counts();
    counts.sort_unstable();
    assert_eq!(counts, [2, 3, 3]);
    let all: std::collections::BTreeSet<_> = crowd
        .nodes
        .iter()
        .flat_map(|node| node.lane.fences())
        .map(|fence| fence.shard)
        .collect();
    assert_eq!(all.len(), 8, "each has one owner");
}

#[test]
fn an_execution_without_a_key_starts_on_a_shard_of_the_node_that_was_asked() {
    let mut crowd = crowd(3);
    for node in 0..3 {
        for _ in 0..20 {
            let id = crowd.start_of(node, "sleeper");
            assert_eq!(crowd.owner(id.slot()), node);
        }
    }
}

#[test]
fn one_with_a_key_starts_where_its_key_lives_and_nowhere_else() {
    let mut crowd = crowd(2);
    let start = Start {
        machine: "order".to_owned(),
        key: Some("A-1".to_owned()),
        ..Start::default()
    };
    let home = crowd.owner(Slot::of_key("order", "A-1"));
    assert!(is_moved(&crowd.start(1 - home, start.clone())));
    crowd.start(home, start.clone()).unwrap();
    let again = crowd.start(home, start).unwrap_err();
    assert_eq!(again.code, Code::KeyInUse);
}

#[test]
fn work_of_a_node_that_died_is_taken_over_once_its_lease_ran_out() {
    let mut crowd = crowd(2);
    let id = crowd.start_of(0, "order");
    let sleeper = crowd.start_of(0, "sleeper");
    assert_eq!(crowd.jobs(0).len(), 1, "its attempt is under way when the node dies");
    // The first beat of the survivor after the lease ran out finds it.
    crowd.pass(LEASE_MILLIS - 1, &[1]);
    assert_eq!(crowd.counts()[1], 4, "not before");
    crowd.pass(2_000, &[1]);
    assert_eq!(crowd.counts()[1], 8);
    let action = crowd.action_of(id);
    let first = &action.body.attempts[0];
    assert_eq!(first.outcome, Some(Verdict::Unknown), "nobody knows what became of it");
    crowd.pass(3_000, &[1]);
    crowd.done(1, id);
    assert_eq!(crowd.action_of(id).attempts_made(), 2);
    crowd.pay(1, id).unwrap();
    assert_eq!(crowd.status(id), ExecutionStatus::Completed);
    crowd.pass(60_000, &[1]);
    assert_eq!(
        crowd.status(sleeper),
        ExecutionStatus::Completed,
        "timers fire on the new owner"
    );
}

#[test]
fn a_node_that_stood_still_past_its_lease_writes_nothing_and_starts_nothing() {
    let mut crowd = crowd(2);
    let id = crowd.start_of(0, "order");
    let other = crowd.start_of(0, "order");
    crowd.pass(LEASE_MILLIS + 2_000, &[1]);
    // It wakes up, before any heartbeat: what is asked is refused, what its attempts say is fenced.
    assert!(is_moved(&crowd.pay(0, id)));
    let began = crowd.jobs(0).len();
    crowd.done(0, other);
    let action = crowd.action_of(other);
    assert_ne!(action.status, Status::Succeeded, "the new owner decides");
    assert_eq!(action.body.attempts[0].outcome, Some(Verdict::Unknown));
    assert_eq!(crowd.jobs(0).len(), began);
    let fenced = crowd.nodes[0].lane.fences().count();
    assert!(fenced < 4, "the shard whose fence was broken is not served any more");
    // Its heartbeat tells it the rest.
    crowd.beat(0);
    assert_eq!(crowd.counts(), [0, 8]);
    crowd.meet();
    assert_eq!(crowd.counts(), [4, 4], "it takes its share again");
}

#[test]
fn a_batch_of_several_shards_stands_but_for_the_one_that_was_lost() {
    let mut crowd = crowd(1);
    let ids: Vec<ExecutionId> = (0..40).map(|_| crowd.start_of(0, "order")).collect();
    for id in &ids {
        crowd.done(0, *id);
    }
    // Somebody else owns one shard by now, and this node has not heard of it.
    let mut nodes = crowd.store.nodes(Arc::clone(&crowd.clock) as Arc<dyn Clock>);
    let lost = shard_of(ids[0].slot(), SHARDS);
    sprag_store::Nodes::release(
        &mut nodes,
        crowd.nodes[0].member.id(),
        &crowd.nodes[0].lane.fences().collect::<Vec<_>>(),
    )
    .unwrap();
    sprag_store::CommitStore::acquire(&mut crowd.store.clone(), lost).unwrap();
    let mut answers = Vec::new();
    let mut commands = Vec::new();
    for id in &ids {
        let message = SendMessage {
            to: Target::Id(*id),
            kind: "paid".to_owned(),
            payload: Value::Null,
            id: None,
        };
        let (command, answer) = Command::asked(message);
        commands.push(command);
        answers.push(answer);
    }
    crowd.nodes[0].lane.tick(commands).unwrap();
    for (id, mut answer) in ids.iter().zip(answers) {
        let answer = answer.try_recv().expect("an answer").answer;
        let is_lost = shard_of(id.slot(), SHARDS) == lost;
        assert_eq!(is_moved(&answer), is_lost);
        let expected = if is_lost {
            ExecutionStatus::Running
        } else {
            ExecutionStatus::Completed
        };
        assert_eq!(crowd.status(*id), expected);
    }
    assert!(ids.iter().any(|id| shard_of(id.slot(), SHARDS) != lost));
}

#[test]
fn a_shard_is_handed_over_when_what_is_under_way_has_ended_and_nothing_of_it_begins_meanwhile() {
    let mut crowd = crowd(1);
    let ids: Vec<ExecutionId> = (0..40).map(|_| crowd.start_of(0, "order")).collect();
    crowd.join();
    crowd.beat(1);
    crowd.beat(0);
    assert_eq!(crowd.counts(), [8, 0], "attempts of every shard are under way");
    let leaving: Vec<ExecutionId> = ids.clone();
    for id in leaving {
        crowd.done(0, id);
        crowd.run(0);
    }
    assert_eq!(crowd.counts()[0], 4, "half of them are ready");
    crowd.meet();
    assert_eq!(crowd.counts(), [4, 4]);
    for id in &ids {
        assert_eq!(crowd.action_of(*id).attempts_made(), 1, "nothing was cut off");
    }
    let moved = ids.iter().find(|id| crowd.owner(id.slot()) == 1).copied().unwrap();
    assert!(is_moved(&crowd.pay(0, moved)));
    crowd.pay(1, moved).unwrap();
    assert_eq!(crowd.status(moved), ExecutionStatus::Completed);
}

#[test]
fn what_does_not_end_in_time_is_handed_over_all_the_same_and_nobody_knows_what_became_of_it() {
    let mut crowd = crowd(1);
    let ids: Vec<ExecutionId> = (0..40).map(|_| crowd.start_of(0, "order")).collect();
    crowd.join();
    crowd.pass(member::GRACE_MILLIS + 3_000, &[0, 1]);
    assert_eq!(crowd.counts(), [4, 4]);
    crowd.pass(3_000, &[0, 1]);
    let (moved, stayed): (Vec<_>, Vec<_>) = ids.into_iter().partition(|id| crowd.owner(id.slot()) == 1);
    for id in moved {
        assert_eq!(crowd.action_of(id).attempts_made(), 2, "its new owner tries again");
        crowd.done(1, id);
        let cut_off = crowd.job_of(0, id).unwrap().attempt.attempt;
        assert!(crowd.nodes[0].script.lock().unwrap().abandoned.contains(&cut_off));
    }
    for id in stayed {
        assert_eq!(crowd.action_of(id).attempts_made(), 1);
    }
}

#[test]
fn nothing_begins_on_a_node_that_is_out_of_touch() {
    let mut crowd = crowd(1);
    crowd.clock.advance_to(crowd.clock.now().plus(PATIENCE_MILLIS));
    let start = Start {
        machine: "order".to_owned(),
        ..Start::default()
    };
    assert!(is_moved(&crowd.start(0, start.clone())), "its lease may have run out");
    crowd.beat(0);
    crowd.start(0, start).unwrap();
}

#[test]
fn everybody_knows_where_everything_is() {
    let mut crowd = crowd(2);
    crowd.meet();
    for slot in [0, 9_000, 30_000, 50_000, 65_535].map(Slot) {
        let owner = crowd.owner(slot);
        assert_eq!(crowd.nodes[owner].member.whereabouts().place(slot), Place::Here);
        let elsewhere = crowd.nodes[1 - owner].member.whereabouts().place(slot);
        let advertise = format!("http://node-{}", owner + 1);
        assert!(matches!(elsewhere, Place::There { advertise: there, .. } if there == advertise));
    }
    crowd.pass(LEASE_MILLIS + 2_000, &[0]);
    assert_eq!(crowd.nodes[0].member.whereabouts().place(Slot(0)), Place::Here);
    assert_eq!(
        crowd.nodes[0]
            .lane
            .fences()
            .filter(|fence| fence.shard == CONTROL)
            .count(),
        1
    );
}

#[test]
fn a_node_that_is_about_to_leave_hands_over_what_is_free_of_work_and_the_rest_when_it_has_ended() {
    let mut crowd = crowd(2);
    let busy = crowd.start_of(0, "order");
    assert!(crowd.job_of(0, busy).is_some());
    crowd.nodes[0].member.prepare_to_leave();
    crowd.pass(3_000, &[0, 1]);
    assert_eq!(crowd.counts(), [1, 7]);
    assert_eq!(crowd.owner(busy.slot()), 0);
    crowd.done(0, busy);
    crowd.pass(2_000, &[0, 1]);
    assert_eq!(crowd.counts(), [0, 8]);
    assert!(crowd.job_of(1, busy).is_none(), "nothing was tried again");
    crowd.pay(1, busy).unwrap();
    assert_eq!(crowd.status(busy), ExecutionStatus::Completed);
}
