//! Retention: closed executions go when they are old, whole, and never while somebody needs them.

use sprag_core::action::{Outcome, Status};
use sprag_core::ids::ExecutionId;
use sprag_engine::requests::{Archive, Code};
use sprag_engine::{Options, Retention};
use sprag_store::records::ExecutionStatus;
use sprag_store::traits::{ActionQuery, Reader};

use crate::rig::{Rig, code};

const DAY: u64 = 24 * 60 * 60 * 1_000;
/// A walk begins every hour.
const WALK: u64 = 60 * 60 * 1_000;

const MACHINE: &str = r"
id: m
initial: a
states:
  a: { on: { END: over, CALL: calling } }
  calling: { on: { END: over } }
  over: { type: final }
actions:
  - actionId: call
    type: noop
    triggerState: calling
    config: {}
    retryPolicy: { maxAttempts: 1 }
";

fn rig(days: Option<u64>) -> Rig {
    let retention = days.map(|days| Retention {
        closed_millis: days * DAY,
    });
    Rig::with_options(
        MACHINE,
        Options {
            retention,
            ..Options::default()
        },
    )
}

fn closed(rig: &mut Rig) -> ExecutionId {
    let id = rig.start("m").id;
    rig.send_message(id, "END", serde_json::Value::Null, Some("once"))
        .unwrap();
    assert_eq!(rig.status(id), ExecutionStatus::Completed);
    id
}

/// Closed, with an action that has come to `outcome`.
fn closed_after(rig: &mut Rig, outcome: Option<Outcome>) -> ExecutionId {
    let id = rig.start("m").id;
    rig.send(id, "CALL").unwrap();
    if let Some(outcome) = outcome {
        rig.finish("call", outcome);
    }
    rig.send(id, "END").unwrap();
    id
}

fn is_there(rig: &Rig, id: ExecutionId) -> bool {
    rig.store.execution(id).unwrap().is_some()
}

fn actions_of(rig: &Rig, id: ExecutionId) -> usize {
    let query = ActionQuery {
        execution: Some(id),
        page: sprag_store::Page::first(10),
        ..ActionQuery::default()
    };
    rig.store.actions(&query).unwrap().rows.len()
}

#[test]
fn closed_executions_go_when_they_are_old_and_open_ones_never() {
    let mut rig = rig(Some(7));
    let (old, open) = (closed(&mut rig), rig.start("m").id);
    rig.advance(3 * DAY);
    let younger = closed(&mut rig);
    rig.advance(4 * DAY - 2 * WALK);
    assert!(is_there(&rig, old), "not a day early");
    rig.advance(4 * WALK);
    assert!(!is_there(&rig, old));
    assert!(is_there(&rig, younger) && is_there(&rig, open));
    assert_eq!(rig.store.history(old, &sprag_store::Page::first(10)).unwrap().rows, []);
    assert_eq!(code(rig.send(old, "END")), Code::ExecutionUnknown);
    rig.advance(30 * DAY);
    assert!(!is_there(&rig, younger) && is_there(&rig, open));
}

#[test]
fn one_that_closes_late_is_found_by_a_later_walk() {
    let mut rig = rig(Some(1));
    let id = rig.start("m").id;
    for _ in 0..3 {
        closed(&mut rig);
    }
    rig.advance(10 * DAY);
    assert!(is_there(&rig, id));
    rig.send(id, "END").unwrap();
    rig.advance(DAY - 2 * WALK);
    assert!(is_there(&rig, id), "its age counts from its last change");
    rig.advance(4 * WALK);
    assert!(!is_there(&rig, id));
}

#[test]
fn an_action_that_is_open_or_dead_keeps_its_execution() {
    let mut rig = rig(Some(1));
    let done = closed_after(&mut rig, Some(Outcome::done(serde_json::json!({}))));
    let dead = closed_after(&mut rig, Some(Outcome::not_done("malformed_request", "no")));
    let running = closed_after(&mut rig, None);
    let attempt = rig.job("call").attempt;
    rig.advance(3 * DAY);
    assert!(!is_there(&rig, done));
    assert_eq!(actions_of(&rig, done), 0);
    assert!(is_there(&rig, dead) && is_there(&rig, running));
    let letter = rig.action(dead, "call");
    assert_eq!(letter.status, Status::Dead);
    rig.act(Archive(letter.id)).unwrap();
    rig.finish_attempt(attempt, Outcome::done(serde_json::json!({})));
    rig.advance(2 * DAY);
    assert!(!is_there(&rig, dead) && !is_there(&rig, running));
}

#[test]
fn without_a_retention_everything_stays() {
    let mut rig = rig(None);
    let id = closed(&mut rig);
    rig.advance(4_000 * DAY);
    assert!(is_there(&rig, id));
}

#[test]
fn many_go_in_bounded_steps_and_a_crash_on_the_way_costs_nothing() {
    let mut rig = rig(Some(1));
    let ids: Vec<_> = (0..2_000).map(|_| closed(&mut rig)).collect();
    let left = |rig: &Rig| ids.iter().filter(|id| is_there(rig, **id)).count();
    rig.clock.advance_to(rig.now().plus(2 * DAY));
    rig.tick(Vec::new());
    let after_one = left(&rig);
    assert!(
        (1_000..2_000).contains(&after_one),
        "{after_one} are left after one step"
    );
    rig.crash();
    rig.advance(WALK);
    assert_eq!(left(&rig), 0);
    let young = closed(&mut rig);
    assert!(is_there(&rig, young));
}
