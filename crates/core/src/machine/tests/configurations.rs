//! Which states are active after which events.

use super::{Bench, check};

#[test]
fn a_compound_has_one_state_active_and_inner_transitions_come_first() {
    let machine = "
id: m
initial: a
states:
  a:
    initial: one
    on: { NEXT: b, UP: b, IN: .two }
    states:
      one: { on: { NEXT: two } }
      two: {}
  b: { on: { BACK: a, DEEP: a.two } }
";
    check(
        machine,
        "a.one\nNEXT: a.two\nNEXT: b\nBACK: a.one\nIN: a.two\nUP: b\nDEEP: a.two\nUNKNOWN: a.two",
    );
}

#[test]
fn a_parallel_has_all_regions_active_and_each_answers() {
    let machine = "
id: m
initial: p
states:
  p:
    type: parallel
    on: { OUT: z }
    states:
      l: { initial: a, states: { a: { on: { X: b, L: b } }, b: { on: { X: a } } } }
      r: { initial: c, states: { c: { on: { X: d } }, d: { on: { Y: c, OUT: c } } } }
  z: { on: { IN: p, AT: p.r.d, BOTH: { target: [p.l.b, p.r.d] } } }
";
    check(
        machine,
        "p.l.a p.r.c\nX: p.l.b p.r.d\nY: p.l.b p.r.c\nX: p.l.a p.r.d\nL: p.l.b p.r.d\nOUT: p.l.b p.r.c\nOUT: z",
    );
    check(
        machine,
        "p.l.a p.r.c\nOUT: z\nAT: p.l.a p.r.d\nOUT: p.l.a p.r.c\nOUT: z\nBOTH: p.l.b p.r.d",
    );
}

#[test]
fn conflicts_between_regions_go_to_the_inner_source_then_to_the_first() {
    // Both leave `p`: neither source lies within the other, so the first region in the document wins.
    let both_leave = "
id: m
initial: p
states:
  p:
    type: parallel
    states:
      l: { initial: a, states: { a: { on: { X: u } } } }
      r: { initial: c, states: { c: { on: { X: v } } } }
  u: {}
  v: {}
";
    check(both_leave, "p.l.a p.r.c\nX: u");
    // `p` would leave everything, but the inner transition of `l` was selected for the same event.
    let inner_wins = "
id: m
initial: p
states:
  p:
    type: parallel
    on: { X: u }
    states:
      l: { initial: a, states: { a: { on: { X: b } }, b: {} } }
      r: { initial: c, states: { c: {} } }
  u: {}
";
    check(inner_wins, "p.l.a p.r.c\nX: p.l.b p.r.c\nX: u");
}

#[test]
fn history_leads_back_shallow_or_deep() {
    let machine = "
id: m
initial: p
states:
  p:
    initial: a
    on: { OUT: z }
    states:
      a: { on: { GO: b } }
      b: { initial: one, states: { one: { on: { GO: two } }, two: {} } }
      shallow: { type: history, target: b }
      deep: { type: history, history: deep }
  z: { on: { SHALLOW: p.shallow, DEEP: p.deep, PLAIN: p } }
";
    check(
        machine,
        "p.a\nGO: p.b.one\nGO: p.b.two\nOUT: z\nSHALLOW: p.b.one\nGO: p.b.two\nOUT: z\nDEEP: p.b.two\nOUT: z\nPLAIN: p.a",
    );
    let unvisited = machine.replacen("initial: p\n", "initial: z\n", 1);
    check(&unvisited, "z\nSHALLOW: p.b.one");
    check(&unvisited, "z\nDEEP: p.a");
}

#[test]
fn history_remembers_all_regions_of_a_parallel() {
    let machine = "
id: m
initial: p
states:
  p:
    type: parallel
    on: { OUT: z }
    states:
      l: { initial: a, states: { a: { on: { X: b } }, b: {} } }
      r: { initial: c, states: { c: { on: { Y: d } }, d: {}, h: { type: history } } }
      deep: { type: history, history: deep }
      shallow: { history: shallow }
  z: { on: { DEEP: p.deep, SHALLOW: p.shallow, RIGHT: p.r.h } }
";
    check(
        machine,
        "p.l.a p.r.c\nX: p.l.b p.r.c\nY: p.l.b p.r.d\nOUT: z\nDEEP: p.l.b p.r.d\nOUT: z\nRIGHT: p.l.a p.r.d\nOUT: z\nSHALLOW: p.l.a p.r.c",
    );
    check(
        &machine.replacen("initial: p\n", "initial: z\n", 1),
        "z\nDEEP: p.l.a p.r.c",
    );
}

#[test]
fn a_transition_to_the_history_of_a_parallel_state_around_it_restores_what_it_leaves() {
    let machine = "
id: m
initial: p
states:
  p:
    type: parallel
    states:
      l: { initial: a, states: { a: { on: { X: b } }, b: { on: { BACK: '#h' } } } }
      r: { initial: c, states: { c: { on: { Y: d } }, d: {} } }
      h: { id: h, type: history, history: deep }
";
    check(
        machine,
        "p.l.a p.r.c\nX: p.l.b p.r.c\nY: p.l.b p.r.d\nBACK: p.l.b p.r.d",
    );
}

#[test]
fn a_history_state_may_be_where_a_state_begins() {
    let machine = "
id: m
initial: p
states:
  p: { initial: h, on: { OUT: z }, states: { a: { on: { X: b } }, b: {}, h: { type: history, target: a } } }
  z: { on: { IN: p } }
";
    check(machine, "p.a\nX: p.b\nOUT: z\nIN: p.b");
}

#[test]
fn several_targets_lead_into_their_regions_at_once() {
    let machine = "
id: m
initial: [p.l.b, p.r.x.d]
states:
  p:
    type: parallel
    states:
      l: { initial: a, states: { a: {}, b: {} } }
      r: { initial: x, states: { x: { initial: c, states: { c: {}, d: {} } } } }
      s: { initial: e, states: { e: {} } }
";
    check(machine, "p.l.b p.r.x.d p.s.e");
}

#[test]
fn the_root_may_be_parallel_and_may_be_left_and_entered_again() {
    let machine = "
id: m
type: parallel
on: { RESET: { target: '#m', reenter: true }, LEFT: .l.b }
states:
  l: { initial: a, states: { a: { on: { X: b } }, b: {} } }
  r: { initial: c, states: { c: { on: { X: d, ALL: '#m' } }, d: {} } }
";
    check(
        machine,
        "l.a r.c\nX: l.b r.d\nRESET: l.a r.c\nX: l.b r.d\nLEFT: l.b r.c\nALL: l.a r.c",
    );
}

#[test]
fn the_end_of_states_is_announced_from_inside_out() {
    let machine = "
id: m
initial: p
states:
  p:
    type: parallel
    onDone: after
    states:
      l: { initial: a, states: { a: { on: { X: b } }, b: { type: final } }, onDone: { actions: { log: l } } }
      q:
        type: parallel
        onDone: { actions: { log: q } }
        states:
          u: { initial: c, states: { c: { on: { Y: d } }, d: { type: final } } }
          v: { initial: e, states: { e: { on: { Z: f } }, f: { type: final } } }
  after: { initial: g, onDone: z, states: { g: { on: { X: h } }, h: { type: final } } }
  z: { type: final }
";
    check(
        machine,
        "p.l.a p.q.u.c p.q.v.e\nX: p.l.b p.q.u.c p.q.v.e\nZ: p.l.b p.q.u.c p.q.v.f\nY: after.g\nX: z",
    );
}

#[test]
fn a_parallel_root_is_complete_when_all_its_regions_are() {
    let text = "
id: m
type: parallel
states:
  l: { initial: a, states: { a: { on: { X: b } }, b: { type: final } } }
  r: { initial: a, states: { a: { on: { Y: b } }, b: { type: final, output: last } } }
  f: { type: final }
";
    let mut bench = Bench::start(text);
    bench.send("X").unwrap();
    assert_eq!(bench.completed, None);
    bench.send("Y").unwrap();
    assert_eq!(
        (bench.completed.clone(), bench.states().as_str()),
        (Some("last".into()), "f l.b r.b")
    );
}

#[test]
fn the_event_of_an_end_has_the_id_or_the_path_of_its_state() {
    let machine = "
id: m
initial: a
states:
  a: { id: first, initial: x, states: { x: { type: final } }, on: { done.state.a: wrong, done.state.first: b } }
  b: { initial: x, states: { x: { type: final } }, on: { done.state.b: c } }
  c: {}
  wrong: {}
";
    check(machine, "c");
}

#[test]
fn automatic_transitions_run_until_none_holds() {
    let machine = "
id: m
initial: a
variables: { n: 0 }
states:
  a:
    always:
      - { target: done, guard: { '>=': [ { var: variables.n }, 3 ] } }
      - { target: a, reenter: true, guard: { '<': [ { var: variables.n }, 3 ] }, assign: { n: '{{variables.n + 1}}' } }
  done: { always: { target: z, guard: { in_state: done } } }
  z: {}
";
    check(machine, "z");
}

#[test]
fn the_most_specific_descriptor_is_tried_first_and_a_failed_guard_passes_on() {
    let machine = "
id: m
initial: a
on: { '*': any }
states:
  a:
    on:
      '*': any_here
      pay.*: prefix
      pay.card.*: longer
      pay.card.visa: { target: exact, guard: false }
      other: { target: exact, guard: false }
  prefix: { on: { done.state.x: exact } }
  longer: {}
  exact: {}
  any: {}
  any_here: {}
";
    for (event, expected) in [
        ("pay.card.visa", "longer"),
        ("pay.card", "longer"),
        ("pay.cash", "prefix"),
        ("pay", "prefix"),
        ("payment", "any_here"),
        ("other", "any_here"),
    ] {
        check(machine, &format!("a\n{event}: {expected}"));
    }
    check(machine, "a\npay: prefix\nother: any");
}

#[test]
fn a_star_means_messages_and_raised_events_but_not_the_end_of_an_action() {
    let machine = "
id: m
initial: a
states:
  a: { on: { '*': b, failed.x: c } }
  b: { initial: i, states: { i: { type: final } }, on: { '*': d } }
  c: {}
  d: {}
actions: [ { actionId: x, type: t, triggerState: a } ]
";
    check(machine, "a\ndone.x: a\nANY: d");
    check(machine, "a\nfailed.x: c");
}
