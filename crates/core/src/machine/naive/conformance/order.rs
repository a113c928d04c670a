//! The order of things: inner before outer, document order, automatic transitions before raised events.

use super::check;
use crate::machine::naive::agreement::MICROSTEPS_MAX;

#[test]
fn states_are_entered_in_document_order_and_left_in_reverse() {
    check(
        "
        initial: a
        states:
          a: { initial: b, on: { go: z }, states: { b: { type: parallel, states: { c: , d: { initial: e, states: { e: } } } } } }
          z:
        ",
        "
        start: a.b.c a.b.d.e | +m +a +b +c +d +e
        go: z | -e -d -c -b -a +z
        ",
    );
}

#[test]
fn the_state_comes_before_its_parent() {
    check(
        "
        initial: a
        on: { go: { actions: { log: outer } } }
        states:
          a: { initial: b, on: { go: { actions: { log: middle } } }, states: { b: { on: { go: { actions: { log: inner } } } } } }
        ",
        "
        start: a.b | +m +a +b
        go: a.b | inner
        ",
    );
}

#[test]
fn the_parent_answers_when_no_guard_of_the_state_holds() {
    check(
        "
        initial: a
        states:
          a: { initial: b, on: { go: { actions: { log: outer } } }, states: { b: { on: { go: { guard: false, actions: { log: inner } } } } } }
        ",
        "
        start: a.b | +m +a +b
        go: a.b | outer
        ",
    );
}

#[test]
fn of_several_transitions_the_first_whose_guard_holds_is_taken() {
    check(
        "
        initial: a
        states:
          a: { on: { go: [ { guard: false, target: b }, { target: c }, { target: b } ] } }
          b:
          c:
        ",
        "
        start: a | +m +a
        go: c | -a +c
        ",
    );
}

#[test]
fn a_state_s_wildcard_comes_before_its_parent_s_exact_name() {
    check(
        "
        initial: a
        on: { x.y: { actions: { log: outer } } }
        states:
          a:
            on:
              '*': { actions: { log: any } }
              x.*: { actions: { log: short } }
              x.y.*: { actions: { log: long } }
              x.y.z: { guard: false, actions: { log: exact } }
        ",
        "
        start: a | +m +a
        x.y: a | long
        x.y.z: a | long
        x: a | short
        x.w: a | short
        xy: a | any
        ",
    );
}

#[test]
fn operations_run_between_leaving_and_entering() {
    check(
        "
        initial: a
        states:
          a: { initial: b, states: { b: { on: { go: { target: d, actions: [ { log: one }, { log: two } ] } } } } }
          c: { initial: d, states: { d: } }
        ",
        "
        start: a.b | +m +a +b
        go: c.d | -b -a one two +c +d
        ",
    );
}

#[test]
fn automatic_transitions_go_on_until_nothing_is_enabled() {
    check(
        "
        initial: a
        states:
          a: { on: { go: b } }
          b: { always: [ { guard: false, target: a }, { target: c } ] }
          c: { always: d }
          d: { always: { guard: { in_state: a }, target: a } }
        ",
        "
        start: a | +m +a
        go: d | -a +b -b +c -c +d
        ",
    );
}

#[test]
fn automatic_transitions_come_before_raised_events() {
    check(
        "
        initial: a
        states:
          a: { on: { go: b } }
          b: { entry: { raise: e }, always: c, on: { e: { actions: { log: too early } } } }
          c: { on: { e: { actions: { log: 'c had {{event.type}}' } } } }
        ",
        "
        start: a | +m +a
        go: c | -a +b -b +c c had e
        ",
    );
}

#[test]
fn raised_events_are_taken_in_the_order_they_were_raised() {
    check(
        "
        initial: a
        on: { e: { actions: [ { log: e }, { raise: g } ] }, f: { actions: { log: f } }, g: { actions: { log: g } } }
        states:
          a: { exit: { raise: e }, on: { go: { target: b, actions: { raise: f } } } }
          b: { entry: { raise: f } }
        ",
        "
        start: a | +m +a
        go: b | -a +b e f f g
        ",
    );
}

#[test]
fn an_event_that_nobody_answers_still_lets_automatic_transitions_look() {
    check(
        "
        initial: a
        states:
          a: { always: { guard: { '==': [ { var: event.type }, go ] }, target: b } }
          b:
        ",
        "
        start: a | +m +a
        come: a
        go: b | -a +b
        ",
    );
}

#[test]
fn a_macrostep_without_end_is_discarded_whole() {
    check(
        "
        initial: a
        states:
          a: { on: { go: b } }
          b: { always: c }
          c: { always: b }
        ",
        "
        start: a | +m +a
        go: a | runaway
        ",
    );
}

#[test]
fn a_macrostep_may_take_as_many_microsteps_as_the_limit_and_no_more() {
    let counting = |to: u32| {
        let guard = format!("{{ '<': [ {{ var: variables.n }}, {to} ] }}");
        format!(
            "
        variables: {{ n: 0 }}
        initial: a
        states:
          a: {{ on: {{ go: b }} }}
          b: {{ always: {{ guard: {guard}, assign: {{ n: '{{{{variables.n + 1}}}}' }} }} }}
        "
        )
    };
    let most = MICROSTEPS_MAX - 1;
    check(&counting(most), "start: a | +m +a\ngo: b | -a +b");
    check(&counting(most + 1), "start: a | +m +a\ngo: a | runaway");
}
