//! Parallel regions: moving together, getting in each other's way, being done.

use super::check;

/// Two regions and a way out.
const TWO: &str = "
        initial: p
        states:
          p:
            type: parallel
            states:
              q: { initial: a, states: { a: { on: { both: { target: b, actions: { log: t1 } }, OUT } }, b: } }
              r: { initial: c, states: { c: { on: { both: { target: d, actions: { log: t2 } }, OVER } }, d: } }
          z:
          y:
        ";

fn two(of_a: &str, of_c: &str) -> String {
    TWO.replace("OUT", of_a).replace("OVER", of_c)
}

#[test]
fn regions_move_together_in_one_microstep() {
    check(
        &two("x: y", "x: y"),
        "
        start: p.q.a p.r.c | +m +p +q +a +r +c
        both: p.q.b p.r.d | -c -a t1 t2 +b +d
        ",
    );
}

#[test]
fn of_two_ways_out_the_first_in_document_order_wins() {
    check(
        &two("out: y", "out: z"),
        "
        start: p.q.a p.r.c | +m +p +q +a +r +c
        out: y | -c -r -a -q -p +y
        ",
    );
}

#[test]
fn a_way_out_of_the_first_region_wins_over_a_move_in_the_second() {
    check(
        &two("out: y", "out: d"),
        "
        start: p.q.a p.r.c | +m +p +q +a +r +c
        out: y | -c -r -a -q -p +y
        ",
    );
}

#[test]
fn a_move_in_the_first_region_wins_over_a_way_out_of_the_second() {
    check(
        &two("out: b", "out: z"),
        "
        start: p.q.a p.r.c | +m +p +q +a +r +c
        out: p.q.b p.r.c | -a +b
        ",
    );
}

#[test]
fn a_transition_without_a_target_is_in_nobody_s_way() {
    check(
        &two(
            "out: { actions: { log: t1 } }",
            "out: { target: z, actions: { log: t2 } }",
        ),
        "
        start: p.q.a p.r.c | +m +p +q +a +r +c
        out: z | -c -r -a -q -p t1 t2 +z
        ",
    );
    check(
        &two(
            "out: { target: a, actions: { log: t1 } }",
            "out: { target: z, actions: { log: t2 } }",
        ),
        "
        start: p.q.a p.r.c | +m +p +q +a +r +c
        out: z | -c -r -a -q -p t1 t2 +z
        ",
    );
}

#[test]
fn an_inner_transition_preempts_one_of_a_state_around_it() {
    check(
        "
        initial: p
        states:
          p:
            type: parallel
            on: { go: { target: z, actions: { log: outer } } }
            states:
              q: { initial: a, states: { a: } }
              r: { initial: c, states: { c: { on: { go: { target: d, actions: { log: inner } } } }, d: } }
          z:
        ",
        "
        start: p.q.a p.r.c | +m +p +q +a +r +c
        go: p.q.a p.r.d | -c inner +d
        go: z | -d -r -a -q -p outer +z
        ",
    );
}

#[test]
fn a_transition_found_from_two_regions_is_taken_once() {
    check(
        "
        initial: p
        states:
          p: { type: parallel, on: { go: { actions: { log: once } } }, states: { a: , b: , c: } }
        ",
        "
        start: p.a p.b p.c | +m +p +a +b +c
        go: p.a p.b p.c | once
        ",
    );
}

#[test]
fn a_transition_from_one_region_into_another_leaves_the_parallel_state() {
    check(
        "
        initial: p
        states:
          p:
            type: parallel
            states:
              q: { initial: a, states: { a: { on: { over: d } }, b: } }
              r: { initial: c, states: { c: , d: } }
        ",
        "
        start: p.q.a p.r.c | +m +p +q +a +r +c
        over: p.q.a p.r.d | -c -r -a -q -p +p +q +a +r +d
        ",
    );
}

#[test]
fn a_transition_inside_a_region_leaves_the_others_alone() {
    check(
        "
        initial: p
        states:
          p:
            type: parallel
            states:
              q: { initial: a, states: { a: { initial: b, states: { b: { on: { go: e } } } }, d: { initial: e, states: { e: } } } }
              r: { initial: c, states: { c: } }
        ",
        "
        start: p.q.a.b p.r.c | +m +p +q +a +b +r +c
        go: p.q.d.e p.r.c | -b -a +d +e
        ",
    );
}

#[test]
fn a_parallel_state_s_own_transition_inside_enters_all_its_regions_again() {
    check(
        "
        initial: p
        states:
          p:
            type: parallel
            on: { in: .q.b, again: { target: .q.b, reenter: true } }
            states:
              q: { initial: a, states: { a: , b: } }
              r: { initial: c, states: { c: { on: { go: d } }, d: } }
        ",
        "
        start: p.q.a p.r.c | +m +p +q +a +r +c
        go: p.q.a p.r.d | -c +d
        in: p.q.b p.r.c | -d -r -a -q +q +b +r +c
        again: p.q.b p.r.c | -c -r -b -q -p +p +q +b +r +c
        ",
    );
}

#[test]
fn guards_see_the_other_regions_as_they_were_before_the_microstep() {
    check(
        "
        initial: p
        states:
          p:
            type: parallel
            states:
              q: { initial: a, states: { a: { on: { go: b } }, b: } }
              r: { initial: c, states: { c: { on: { go: { guard: { in_state: b }, target: d } } }, d: } }
        ",
        "
        start: p.q.a p.r.c | +m +p +q +a +r +c
        go: p.q.b p.r.c | -a +b
        go: p.q.b p.r.d | -c +d
        ",
    );
}

#[test]
fn a_region_can_wait_for_another_one() {
    check(
        "
        initial: p
        states:
          p:
            type: parallel
            states:
              q: { initial: a, states: { a: { on: { go: b } }, b: } }
              r: { initial: c, states: { c: { always: { guard: { in_state: b }, target: d } }, d: } }
        ",
        "
        start: p.q.a p.r.c | +m +p +q +a +r +c
        go: p.q.b p.r.d | -a +b -c +d
        ",
    );
}

#[test]
fn a_raised_event_reaches_all_regions() {
    check(
        "
        initial: p
        states:
          p:
            type: parallel
            states:
              q: { initial: a, states: { a: { on: { go: { actions: { raise: e } }, e: b } }, b: } }
              r: { initial: c, states: { c: { on: { e: d } }, d: } }
        ",
        "
        start: p.q.a p.r.c | +m +p +q +a +r +c
        go: p.q.b p.r.d | -c -a +b +d
        ",
    );
}

#[test]
fn done_events_come_region_by_region_and_the_parallel_state_s_own_last() {
    check(
        "
        initial: p
        on:
          done.state.p.q: { actions: { log: q } }
          done.state.p.r: { actions: { log: r } }
          done.state.p: { actions: { log: p } }
        states:
          p:
            type: parallel
            states:
              q: { initial: a, states: { a: { on: { one: x, all: x } }, x: { type: final } } }
              r: { initial: c, states: { c: { on: { all: y } }, y: { type: final } } }
        ",
        "
        start: p.q.a p.r.c | +m +p +q +a +r +c
        one: p.q.x p.r.c | -a +x q
        all: p.q.x p.r.y | -c +y r p
        ",
    );
    check(
        "
        initial: p
        on: { done.state.*: { actions: { log: '{{event.type}}' } } }
        states:
          p:
            type: parallel
            states:
              q: { initial: x, states: { x: { type: final } } }
              r: { initial: y, states: { y: { type: final } } }
        ",
        "
        start: p.q.x p.r.y | +m +p +q +x +r +y done.state.p.q done.state.p.r done.state.p
        ",
    );
}

#[test]
fn a_parallel_state_inside_a_parallel_state_makes_it_done_too() {
    check(
        "
        initial: p
        states:
          p:
            type: parallel
            onDone: z
            states:
              q: { type: parallel, states: { a: { initial: b, states: { b: { on: { go: c } }, c: { type: final } } } } }
              r: { initial: x, states: { x: { type: final } } }
          z:
        ",
        "
        start: p.q.a.b p.r.x | +m +p +q +a +b +r +x
        go: z | -b +c -x -r -c -a -q -p +z
        ",
    );
}

#[test]
fn a_machine_of_regions_completes_when_all_of_them_are_final() {
    check(
        "
        type: parallel
        states:
          q: { initial: a, states: { a: { on: { one: x } }, x: { type: final } } }
          r: { initial: c, states: { c: { on: { two: y } }, y: { type: final } } }
        ",
        "
        start: q.a r.c | +m +q +a +r +c
        one: q.x r.c | -a +x
        two: q.x r.y | -c +y -y -r -x -q -m
        ",
    );
}
