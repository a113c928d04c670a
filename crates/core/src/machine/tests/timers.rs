//! Delayed transitions.

use super::{Bench, check};
use crate::machine::{Cause, Effect, TimerKey};

#[test]
fn the_shortest_delay_fires_first_and_leaving_the_state_ends_the_others() {
    let machine = "
id: m
initial: a
states:
  a: { after: { 10s: late, 5000: early, 1m: late }, on: { X: b } }
  b: { after: { PT5S: a } }
  early: { on: { X: a } }
  late: {}
";
    check(
        machine,
        "a\n+4999ms: a\n+1ms: early\n+1h: early\nX: a\nX: b\n+5s: a\n+5s: early",
    );
}

#[test]
fn a_guarded_delay_passes_on_and_outer_delays_go_on_while_inner_states_change() {
    let machine = "
id: m
initial: p
states:
  p:
    initial: a
    after: { 10s: z }
    states:
      a: { after: { 4s: [ { target: z, guard: false }, b ] } }
      b: { on: { X: a } }
  z: {}
";
    check(machine, "p.a\n+4s: p.b\nX: p.a\n+4s: p.b\n+2s: z");
}

#[test]
fn a_timer_of_a_visit_that_is_over_changes_nothing() {
    let mut bench =
        Bench::start("id: m\ninitial: a\nstates: { a: { after: { 5s: z }, on: { X: b } }, b: {}, z: {} }\n");
    let [(due_at, key)] = bench.timers.as_slice() else {
        panic!("one timer")
    };
    let (due_at, key) = (*due_at, *key);
    bench.send("X").unwrap();
    assert!(bench.timers.is_empty());
    bench.now = due_at;
    let taken = bench.take(Cause::Timer(key)).unwrap();
    assert!(!taken.handled && taken.effects.is_empty());
    assert_eq!(bench.states(), "b");
    let taken = bench.take(Cause::Timer(TimerKey { visit: 999, index: 9 })).unwrap();
    assert!(!taken.handled);
}

#[test]
fn a_timer_is_answered_by_its_own_state_only_and_has_a_name_for_history() {
    let text = "
id: m
initial: p
states:
  p:
    type: parallel
    states:
      l: { initial: a, states: { a: { after: { 5s: b } }, b: {} } }
      r: { initial: a, on: { '*': .c, 'after.*': .c }, states: { a: { after: { 7s: b } }, b: {}, c: {} } }
";
    let mut bench = Bench::start(text);
    let (_, key) = bench.timers[0];
    bench.now = bench.now.plus(5000);
    let taken = bench.take(Cause::Timer(key)).unwrap();
    assert_eq!(bench.states(), "p.l.b p.r.a");
    assert_eq!(taken.microsteps[0].event.as_deref(), Some("after.5s.p.l.a"));
    assert!(
        taken
            .effects
            .iter()
            .all(|effect| !matches!(effect, Effect::StartTimer { .. }))
    );
}
