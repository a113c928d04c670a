//! Timers: never early, in due order, gone with their visit, alive after a crash.

use serde_json::json;
use sprag_engine::requests::{Pause, Resume};

use crate::rig::Rig;

const SLEEPER: &str = r"
id: m
variables: { log: '' }
initial: a
states:
  a:
    after: { 10s: late, 5s: { assign: { log: '{{variables.log}}5' } } }
    on: { LEAVE: b, AGAIN: { target: a, reenter: true } }
  b: { on: { BACK: a } }
  late: {}
";

#[test]
fn a_timer_fires_when_it_is_due_and_not_before() {
    let mut rig = Rig::new(SLEEPER);
    let id = rig.start("m").id;
    rig.advance(4_999);
    assert_eq!(rig.variables(id), json!({ "log": "" }));
    rig.advance(1);
    assert_eq!(rig.variables(id), json!({ "log": "5" }));
    rig.advance(4_999);
    assert_eq!(rig.configuration(id), ["a"]);
    rig.advance(1);
    assert_eq!(rig.configuration(id), ["late"]);
}

#[test]
fn a_timer_goes_when_its_visit_ends_and_a_new_visit_has_its_own() {
    let mut rig = Rig::new(SLEEPER);
    let id = rig.start("m").id;
    rig.advance(9_000);
    rig.send(id, "AGAIN").unwrap();
    rig.advance(9_999);
    assert_eq!(rig.configuration(id), ["a"]);
    rig.send(id, "LEAVE").unwrap();
    rig.advance(60_000);
    assert_eq!(rig.configuration(id), ["b"]);
}

#[test]
fn timers_survive_a_crash_and_overdue_ones_fire_in_due_order() {
    let mut rig = Rig::new(SLEEPER);
    let id = rig.start("m").id;
    rig.clock.advance_to(rig_time(&rig, 60_000));
    rig.crash();
    assert_eq!(rig.variables(id), json!({ "log": "5" }), "the earlier one first");
    assert_eq!(rig.configuration(id), ["late"]);
}

#[test]
fn before_any_input_the_timers_due_fire() {
    let mut rig = Rig::new(SLEEPER);
    let id = rig.start("m").id;
    rig.clock.advance_to(rig_time(&rig, 10_000));
    let sent = rig.send(id, "LEAVE").unwrap();
    assert!(!sent.handled, "the timer had moved it to `late` already");
    assert_eq!(rig.configuration(id), ["late"]);
}

#[test]
fn while_paused_time_goes_on_and_timers_fire_on_resume() {
    let mut rig = Rig::new(SLEEPER);
    let id = rig.start("m").id;
    rig.control(Pause(id)).unwrap();
    rig.advance(60_000);
    assert_eq!(rig.configuration(id), ["a"]);
    rig.control(Resume(id)).unwrap();
    assert_eq!(rig.variables(id), json!({ "log": "5" }));
    assert_eq!(rig.configuration(id), ["late"]);
}

#[test]
fn a_timer_far_ahead_is_read_when_its_time_comes_near() {
    let mut rig = Rig::new(&SLEEPER.replace("10s: late", "3d: late"));
    let id = rig.start("m").id;
    rig.advance(3 * 86_400_000 - 1);
    assert_eq!(rig.configuration(id), ["a"]);
    rig.advance(1);
    assert_eq!(rig.configuration(id), ["late"]);
}

#[test]
fn timers_without_end_do_not_stop_the_engine() {
    let text = "{id: m, variables: {n: 0}, initial: a, states: {a: {after: {0: {target: a, reenter: true, assign: {n: '{{variables.n + 1}}'}}}}}}";
    let mut rig = Rig::new(text);
    let id = rig.ask_without_rest(text);
    let count = |rig: &Rig| rig.variables(id)["n"].as_i64().unwrap();
    let before = count(&rig);
    rig.tick(Vec::new());
    let after = count(&rig);
    assert!(
        after > before && after - before <= 128,
        "a bounded number of macrosteps per batch: {before} to {after}"
    );
}

fn rig_time(rig: &Rig, millis: u64) -> sprag_core::time::Timestamp {
    use sprag_core::clock::Clock;
    rig.clock.now().plus(millis)
}
