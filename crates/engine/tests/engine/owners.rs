//! Limits per key over several nodes: as many as the limit says, whoever asks, whoever dies.

use std::collections::BTreeMap;

use sprag_core::action::Status;
use sprag_core::ids::ExecutionId;
use sprag_engine::Options;
use sprag_engine::lane::member::LEASE_MILLIS;
use sprag_engine::limits::{GrantReceived, LimitDemand, owner_slot};
use sprag_engine::requests::Command;
use sprag_store::Page;
use sprag_store::traits::{ActionQuery, Reader};

use super::crowd::Crowd;

const LIMITED: &str = r"
id: m
initial: a
states: { a: { on: { done.call: b, failed.call: b } }, b: { type: final } }
actions:
  - actionId: call
    type: noop
    triggerState: a
    config: {}
    limits: [{ key: crm, concurrency: 5 }]
    retryPolicy: { jitter: false, maxAttempts: 50, baseDelay: 1000, maxDelay: 1000 }
";

const PACED: &str = r"
id: p
initial: a
states: { a: { on: { done.call: b, failed.call: b } }, b: { type: final } }
actions:
  - actionId: call
    type: noop
    triggerState: a
    config: {}
    limits: [{ key: slow, rate: { count: 2, per: 60000 } }]
";

fn crowd(nodes: usize) -> Crowd {
    Crowd::with(nodes, Options::default(), &[LIMITED, PACED])
}

/// What nodes say to each other gets there and is answered, until they have nothing more to say at this instant.
fn talk(crowd: &mut Crowd, alive: &[usize]) {
    for _ in 0..50 {
        let mut said: Vec<(usize, LimitDemand)> = Vec::new();
        for &node in alive {
            let statements = std::mem::take(&mut crowd.nodes[node].script.lock().unwrap().statements);
            said.extend(statements.into_iter().map(|statement| (node, statement)));
        }
        if said.is_empty() {
            return;
        }
        for (node, statement) in said {
            let heard = hear(crowd, alive, statement);
            crowd.nodes[node].lane.tick(vec![Command::own(heard)]).unwrap();
            crowd.run(node);
        }
    }
    panic!("they never stop talking");
}

fn hear(crowd: &mut Crowd, alive: &[usize], statement: LimitDemand) -> GrantReceived {
    let (limit, number) = (statement.limit.clone(), statement.number);
    let shard = sprag_store::traits::shard_of(owner_slot(&limit.key), 8);
    let mut homes = alive.iter().copied();
    let home = homes.find(|&node| crowd.nodes[node].lane.fences().any(|fence| fence.shard == shard));
    let allowed = home.and_then(|home| {
        let (command, mut answer) = Command::asked(statement);
        crowd.nodes[home].lane.tick(vec![command]).unwrap();
        crowd.run(home);
        answer.try_recv().ok()?.answer.ok()
    });
    GrantReceived { limit, number, allowed }
}

/// Time passes; everybody alive beats, runs and talks.
fn pass(crowd: &mut Crowd, millis: u64, alive: &[usize]) {
    for _ in 0..millis.div_ceil(200) {
        let now = sprag_core::clock::Clock::now(crowd.clock.as_ref());
        crowd.clock.advance_to(now.plus(200));
        for &node in alive {
            crowd.beat(node);
            crowd.run(node);
        }
        talk(crowd, alive);
        assert!(running(crowd).len() <= 5, "never more than the limit");
    }
}

/// The executions whose attempt is under way, as stored.
fn running(crowd: &Crowd) -> Vec<ExecutionId> {
    let query = ActionQuery {
        status: Some(Status::Running.number()),
        page: Page::first(1_000),
        ..ActionQuery::default()
    };
    let rows = crowd.store.actions(&query).unwrap().rows;
    rows.into_iter().map(|row| row.execution).collect()
}

fn by_node(crowd: &Crowd) -> BTreeMap<usize, usize> {
    let mut counts = BTreeMap::new();
    for id in running(crowd) {
        *counts.entry(crowd.owner(id.slot())).or_default() += 1;
    }
    counts
}

#[test]
fn a_limit_of_five_is_five_over_all_nodes_and_what_ends_on_one_lets_another_begin() {
    let mut crowd = crowd(3);
    for node in 0..3 {
        for _ in 0..6 {
            crowd.start_of(node, "m");
        }
    }
    talk(&mut crowd, &[0, 1, 2]);
    pass(&mut crowd, 1_000, &[0, 1, 2]);
    assert_eq!(running(&crowd).len(), 5);
    let mut served = std::collections::BTreeSet::new();
    for _ in 0..18 {
        served.extend(by_node(&crowd).into_keys());
        let Some(id) = running(&crowd).first().copied() else {
            break;
        };
        let owner = crowd.owner(id.slot());
        crowd.done(owner, id);
        talk(&mut crowd, &[0, 1, 2]);
        pass(&mut crowd, 400, &[0, 1, 2]);
    }
    assert_eq!(running(&crowd).len(), 0, "everything had its turn");
    assert_eq!(served.len(), 3, "on every node");
}

#[test]
fn a_home_that_dies_leaves_the_limit_to_whoever_takes_it_over() {
    let mut crowd = crowd(3);
    for node in 0..3 {
        for _ in 0..6 {
            crowd.start_of(node, "m");
        }
    }
    talk(&mut crowd, &[0, 1, 2]);
    pass(&mut crowd, 1_000, &[0, 1, 2]);
    let home = crowd.owner(owner_slot("crm"));
    let alive: Vec<usize> = (0..3).filter(|&node| node != home).collect();
    pass(&mut crowd, LEASE_MILLIS + 4_000, &alive);
    assert_eq!(running(&crowd).len(), 5, "as many as before, among those who are left");
    for _ in 0..18 {
        let Some(id) = running(&crowd).first().copied() else {
            break;
        };
        let owner = alive.iter().copied().find(|&node| {
            let shard = sprag_store::traits::shard_of(id.slot(), 8);
            crowd.nodes[node].lane.fences().any(|fence| fence.shard == shard)
        });
        crowd.done(owner.expect("somebody serves it"), id);
        pass(&mut crowd, 600, &alive);
    }
    assert_eq!(running(&crowd).len(), 0);
}

#[test]
fn what_a_home_allowed_is_void_once_another_has_taken_its_place() {
    let mut crowd = crowd(2);
    let home = crowd.owner(owner_slot("crm"));
    let other = 1 - home;
    for _ in 0..3 {
        crowd.start_of(other, "m");
    }
    talk(&mut crowd, &[0, 1]);
    assert_eq!(running(&crowd).len(), 3);
    // Somebody else owns the home by now; the node that was allowed has not heard of it.
    let shard = sprag_store::traits::shard_of(owner_slot("crm"), 8);
    sprag_store::CommitStore::acquire(&mut crowd.store.clone(), shard).unwrap();
    let before = running(&crowd);
    crowd.done(other, before[0]);
    crowd.start_of(other, "m");
    assert!(running(&crowd).len() <= 2, "nothing begins under the old word");
}

#[test]
fn a_rate_is_kept_over_all_nodes() {
    let mut crowd = crowd(3);
    for node in 0..3 {
        for _ in 0..3 {
            crowd.start_of(node, "p");
        }
    }
    talk(&mut crowd, &[0, 1, 2]);
    pass(&mut crowd, 5_000, &[0, 1, 2]);
    assert_eq!(running(&crowd).len(), 2, "two in a minute, and no more");
    pass(&mut crowd, 31_000, &[0, 1, 2]);
    assert_eq!(running(&crowd).len(), 3);
}
