//! Versions of a machine where several nodes keep them: an answer that a version is kept counts on every node.

use std::sync::Arc;

use sprag_core::ids::Slot;
use sprag_engine::Options;
use sprag_engine::lane::member::LEASE_MILLIS;
use sprag_engine::requests::{Applied, Apply, Code, Command, Matches, Start};
use sprag_store::home::CONTROL;
use sprag_store::traits::Reader;

use super::crowd::Crowd;
use super::rig::machine;

const FIRST: &str = r"
id: m
initial: a
states: { a: { on: { GO: b } }, b: { type: final } }
";

const SECOND: &str = r"
id: m
initial: a
states: { a: { on: { GO: c } }, c: { type: final } }
";

fn apply(crowd: &mut Crowd, text: &str) -> Applied {
    let control = crowd.owner(Slot(0));
    crowd.ask(control, Apply::from(Arc::new(machine(text)))).unwrap()
}

fn start() -> Start {
    Start {
        machine: "m".to_owned(),
        ..Start::default()
    }
}

#[test]
fn a_start_on_any_node_takes_the_newest_version_however_often_another_was_taken_there_before() {
    let mut crowd = Crowd::with(3, Options::default(), &[FIRST]);
    for node in 0..3 {
        assert_eq!(crowd.start(node, start()).unwrap().version, 1);
    }
    assert_eq!(apply(&mut crowd, SECOND).version, 2);
    for node in 0..3 {
        assert_eq!(crowd.start(node, start()).unwrap().version, 2, "node {node}");
    }
}

#[test]
fn an_older_definition_applied_again_is_what_every_node_starts_even_after_the_control_shard_moved() {
    let mut crowd = Crowd::with(2, Options::default(), &[FIRST]);
    let control = crowd.owner(Slot(0));
    let other = 1 - control;
    crowd.start(other, start()).unwrap();
    apply(&mut crowd, SECOND);
    crowd.pass(LEASE_MILLIS + 2_000, &[other]);
    // The other node knows version 1 as the newest: its first decision is refused by the store and taken again.
    let applied = crowd.ask(other, Apply::from(Arc::new(machine(FIRST)))).unwrap();
    assert_eq!((applied.version, applied.created, applied.same_as), (3, true, Some(1)));
    assert_eq!(crowd.start(other, start()).unwrap().version, 3);
}

#[test]
fn a_batch_that_was_decided_on_an_old_version_is_decided_again_as_a_whole() {
    let mut crowd = Crowd::with(2, Options::default(), &[FIRST]);
    let other = 1 - crowd.owner(Slot(0));
    let waiting = crowd.start(other, start()).unwrap().id;
    apply(&mut crowd, SECOND);
    let (commands, mut answers): (Vec<_>, Vec<_>) = (0..10).map(|_| Command::asked(start())).unzip();
    crowd.nodes[other].lane.tick(commands).unwrap();
    crowd.run(other);
    for answer in &mut answers {
        let view = answer.try_recv().expect("an answer").answer.expect("started");
        assert_eq!(view.version, 2);
        assert_eq!(
            crowd.store.execution(view.id).unwrap().map(|stored| stored.version),
            Some(2)
        );
    }
    let before = crowd.store.execution(waiting).unwrap();
    assert_eq!(
        before.map(|stored| stored.version),
        Some(1),
        "what began with the first stays there"
    );
}

#[test]
fn what_is_kept_only_if_nothing_newer_is_there_is_held_against_what_is_stored() {
    let mut crowd = Crowd::with(2, Options::default(), &[FIRST]);
    let control = crowd.owner(Slot(0));
    // Another node becomes the one that keeps versions, after it has learnt of the first.
    let other = 1 - control;
    crowd.start(other, start()).unwrap();
    apply(&mut crowd, SECOND);
    crowd.pass(LEASE_MILLIS + 2_000, &[other]);
    assert!(crowd.nodes[other].lane.fences().any(|fence| fence.shard == CONTROL));
    let conditional = |version| Apply {
        matches: Matches::Revision(version),
        ..Arc::new(machine(FIRST)).into()
    };
    let refused = crowd.ask(other, conditional(1));
    assert!(
        matches!(&refused, Err(refusal) if refusal.code == Code::PreconditionFailed),
        "{refused:?}"
    );
}
