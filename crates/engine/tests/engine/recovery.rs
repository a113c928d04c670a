//! What a crash leaves and a new process makes of it.

use serde_json::json;
use sprag_core::action::{Outcome, Status, Verdict};
use sprag_core::clock::Clock;

use crate::rig::Rig;

const WORK: &str = r"
id: m
initial: a
states: { a: { on: { done.work: b, failed.work: c } }, b: {}, c: {} }
actions:
  - actionId: work
    type: noop
    triggerState: a
    config: {}
    retryPolicy: { jitter: false, maxAttempts: 50, baseDelay: 100, maxDelay: 100 }
";

#[test]
fn an_attempt_that_was_running_is_unknown_to_the_next_process_and_tried_again() {
    let mut rig = Rig::new(WORK);
    let id = rig.start("m").id;
    let key = rig.job("work").idempotency_key;
    rig.crash();
    let action = rig.action(id, "work");
    assert_eq!(action.body.attempts[0].outcome, Some(Verdict::Unknown));
    assert_eq!(action.body.attempts[0].error.as_ref().unwrap().kind, "crashed");
    rig.advance(100);
    assert_eq!(rig.job("work").idempotency_key, key);
    rig.done("work");
    assert_eq!(rig.configuration(id), ["b"]);
}

#[test]
fn with_review_an_attempt_cut_off_by_a_crash_is_left_to_a_person() {
    let mut rig = Rig::new(&WORK.replace("config: {}", "config: {}\n    onUnknown: review"));
    let id = rig.start("m").id;
    rig.crash();
    rig.advance(3_600_000);
    assert_eq!(rig.action_status(id, "work"), Status::Dead);
    assert!(rig.started().is_empty(), "never sent twice");
    assert_eq!(rig.configuration(id), ["c"]);
}

#[test]
fn the_late_outcome_of_a_lost_attempt_is_dropped() {
    let mut rig = Rig::new(WORK);
    let id = rig.start("m").id;
    let old = rig.job("work").attempt;
    rig.crash();
    rig.advance(100);
    rig.finish_attempt(old, Outcome::done(json!("late")));
    assert_eq!(rig.action_status(id, "work"), Status::Running);
    rig.finish("work", Outcome::done(json!("current")));
    assert_eq!(rig.action(id, "work").body.result, Some(json!("current")));
}

#[test]
fn a_runner_that_can_find_out_is_asked_before_the_attempt_is_settled() {
    let mut rig = Rig::new(WORK);
    let id = rig.start("m").id;
    rig.script.lock().unwrap().can_settle = true;
    rig.crash();
    assert_eq!(rig.settle_jobs(), 1);
    assert_eq!(
        rig.action_status(id, "work"),
        Status::Running,
        "not settled before it is known"
    );
    rig.finish("work", Outcome::done(json!("it had happened")));
    assert_eq!(rig.configuration(id), ["b"]);
    assert_eq!(
        rig.action(id, "work").body.attempts.len(),
        1,
        "and so it was not sent again"
    );
}

#[test]
fn what_keeps_killing_the_process_runs_alone_and_ends_as_a_dead_letter() {
    let mut rig = Rig::new(WORK);
    let id = rig.start("m").id;
    for life in 1..=3 {
        assert_eq!(rig.started(), ["work"], "life {life}");
        rig.crash();
        rig.advance(1_000);
    }
    let other = rig.start("m").id;
    assert_eq!(rig.job("work").attempt.execution, id);
    assert_eq!(
        rig.action_status(other, "work"),
        Status::Queued,
        "nothing starts beside a suspect"
    );
    for _ in 0..3 {
        rig.crash();
        rig.advance(1_000);
        let running = rig.script.lock().unwrap().jobs.last().map(|job| job.attempt.execution);
        if running == Some(other) {
            rig.done("work");
            rig.advance(1_000);
        }
    }
    let action = rig.action(id, "work");
    assert_eq!(action.status, Status::Dead, "{:?}", action.body.crashes);
    assert_eq!(action.body.last_error.unwrap().kind, "crashed");
}

#[test]
fn more_suspects_than_a_line_keeps_in_memory_all_run_one_at_a_time() {
    let mut rig = Rig::new(WORK);
    for _ in 0..300 {
        rig.start("m");
    }
    for _ in 1..=3 {
        assert_eq!(rig.started().len(), 300, "all at once, as long as none is suspect");
        rig.crash();
        rig.advance(1_000);
    }
    assert_eq!(rig.started().len(), 1, "a suspect runs alone");
    // The next process finds them in the store, more than it reads at once.
    rig.crash();
    rig.advance(1_000);
    for suspects in 1..=300 {
        assert_eq!(rig.started().len(), suspects, "one after the other");
        rig.done("work");
    }
    assert_eq!(rig.started().len(), 300);
}

#[test]
fn long_lives_make_no_suspects() {
    let mut rig = Rig::new(WORK);
    let id = rig.start("m").id;
    for _ in 0..8 {
        rig.advance(70_000);
        rig.crash();
        rig.advance(1_000);
    }
    assert_eq!(rig.action_status(id, "work"), Status::Running);
    assert!(rig.clock.now().as_millis() > crate::rig::START);
}

#[test]
fn replay_of_every_history_agrees_with_what_is_stored() {
    let mut rig = Rig::new(WORK);
    let id = rig.start("m").id;
    rig.finish("work", Outcome::not_done("timeout", "no answer"));
    rig.advance(100);
    rig.done("work");
    let replayed = sprag_engine::replay(&rig.store, id).unwrap().unwrap();
    assert!(replayed.agrees, "{replayed:?}");
    assert_eq!(replayed.steps, 2);
}

#[test]
fn a_long_history_is_replayed_from_its_newest_snapshot() {
    let text = "{id: m, variables: {n: 0}, initial: a, states: {a: {on: {GO: {assign: {n: '{{variables.n + 1}}'}}}}}}";
    let mut rig = Rig::new(text);
    let id = rig.start("m").id;
    for _ in 0..10_050 {
        rig.send(id, "GO").unwrap();
    }
    let replayed = sprag_engine::replay(&rig.store, id).unwrap().unwrap();
    assert!(replayed.agrees, "{replayed:?}");
    assert!(replayed.steps < 100, "from the snapshot on: {} steps", replayed.steps);
    assert_eq!(rig.variables(id), json!({ "n": 10_050 }));
}
