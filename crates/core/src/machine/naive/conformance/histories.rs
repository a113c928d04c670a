//! History states: what they remember, and how far restoring it reaches.

use super::check;

/// A state with an inside of two levels, and a way out and back.
fn remembering(history: &str) -> String {
    "
        initial: a
        states:
          a:
            initial: b
            on: { out: z, again: { target: .h, reenter: true }, in: .h }
            states:
              b: { initial: c, states: { c: { on: { go: d } }, d: } }
              e:
              h: HISTORY
          z: { on: { back: a.h, deeper: a.b.d } }
    "
    .replace("HISTORY", history)
}

#[test]
fn shallow_history_remembers_the_child_and_nothing_inside_it() {
    check(
        &remembering("{ history: shallow }"),
        "
        start: a.b.c | +m +a +b +c
        go: a.b.d | -c +d
        out: z | -d -b -a +z
        back: a.b.c | -z +a +b +c
        ",
    );
}

#[test]
fn deep_history_remembers_the_innermost_states() {
    check(
        &remembering("{ history: deep }"),
        "
        start: a.b.c | +m +a +b +c
        go: a.b.d | -c +d
        out: z | -d -b -a +z
        back: a.b.d | -z +a +b +d
        ",
    );
}

#[test]
fn history_that_remembers_nothing_leads_to_its_own_target() {
    check(
        &remembering("{ history: shallow, target: e }").replace("initial: a\n", "initial: z\n"),
        "
        start: z | +m +z
        back: a.e | -z +a +e
        out: z | -e -a +z
        deeper: a.b.d | -z +a +b +d
        out: z | -d -b -a +z
        back: a.b.c | -z +a +b +c
        ",
    );
}

#[test]
fn what_is_left_on_the_way_to_a_history_state_is_what_it_remembers() {
    check(
        &remembering("{ history: deep, target: e }"),
        "
        start: a.b.c | +m +a +b +c
        go: a.b.d | -c +d
        again: a.b.d | -d -b -a +a +b +d
        ",
    );
}

#[test]
fn history_is_not_recorded_while_its_parent_stays_active() {
    check(
        &remembering("{ history: deep, target: e }"),
        "
        start: a.b.c | +m +a +b +c
        in: a.e | -c -b +e
        in: a.e | -e +e
        ",
    );
}

#[test]
fn history_of_a_parallel_state_restores_every_region() {
    let machine = |history: &str| {
        "
        initial: p
        states:
          p:
            type: parallel
            on: { out: z }
            states:
              q: { initial: a, states: { a: { on: { one: b } }, b: { initial: x, states: { x: { on: { two: y } }, y: } } } }
              r: { initial: c, states: { c: { on: { one: d } }, d: } }
              h: { history: HISTORY }
          z: { on: { back: p.h } }
        "
        .replace("HISTORY", history)
    };
    check(
        &machine("deep"),
        "
        start: p.q.a p.r.c | +m +p +q +a +r +c
        one: p.q.b.x p.r.d | -c -a +b +x +d
        two: p.q.b.y p.r.d | -x +y
        out: z | -d -r -y -b -q -p +z
        back: p.q.b.y p.r.d | -z +p +q +b +y +r +d
        ",
    );
    check(
        &machine("shallow"),
        "
        start: p.q.a p.r.c | +m +p +q +a +r +c
        one: p.q.b.x p.r.d | -c -a +b +x +d
        out: z | -d -r -x -b -q -p +z
        back: p.q.a p.r.c | -z +p +q +a +r +c
        ",
    );
}

#[test]
fn history_of_one_region_leaves_the_others_to_their_initial_states() {
    check(
        "
        initial: p
        states:
          p:
            type: parallel
            on: { out: z }
            states:
              q: { initial: a, states: { a: { on: { one: b } }, b: , h: { history: shallow } } }
              r: { initial: c, states: { c: { on: { one: d } }, d: } }
          z: { on: { back: p.q.h } }
        ",
        "
        start: p.q.a p.r.c | +m +p +q +a +r +c
        one: p.q.b p.r.d | -c -a +b +d
        out: z | -d -r -b -q -p +z
        back: p.q.b p.r.c | -z +p +q +b +r +c
        ",
    );
}

#[test]
fn histories_may_be_targets_beside_states() {
    check(
        "
        initial: p
        states:
          p:
            type: parallel
            on: { out: z }
            states:
              q: { initial: a, states: { a: { on: { one: b } }, b: , h: { history: shallow } } }
              r: { initial: c, states: { c: , d: } }
              s: { initial: e, states: { e: } }
          z: { on: { back: { target: [ p.q.h, p.r.d ] } } }
        ",
        "
        start: p.q.a p.r.c p.s.e | +m +p +q +a +r +c +s +e
        one: p.q.b p.r.c p.s.e | -a +b
        out: z | -e -s -c -r -b -q -p +z
        back: p.q.b p.r.d p.s.e | -z +p +q +b +r +d +s +e
        ",
    );
}

/// The procedures of appendix D, taken to the letter, would enter `b` a second time here; section 3.13 has it that an
/// active state that is not left is not entered.
#[test]
fn history_deeper_than_the_transition_reaches_enters_nothing_that_stays_active() {
    check(
        "
        initial: a
        states:
          a:
            initial: b
            on: { out: z }
            states:
              b: { initial: c, states: { c: { on: { go: d } }, d: { on: { go: a.h } } } }
              h: { history: deep, target: c }
          z: { on: { back: a } }
        ",
        "
        start: a.b.c | +m +a +b +c
        go: a.b.d | -c +d
        go: a.b.c | -d +c
        out: z | -c -b -a +z
        back: a.b.c | -z +a +b +c
        go: a.b.d | -c +d
        go: a.b.c | -d +c
        ",
    );
    check(
        "
        initial: a
        states:
          a:
            initial: b
            states: { b: { initial: c, on: { go: a.h }, states: { c: } }, h: { history: shallow, target: b } }
        ",
        "
        start: a.b.c | +m +a +b +c
        go: a.b.c | -c +c
        ",
    );
}

/// The first region's transition leads, by way of a history state, to its own source and so nowhere. That the second
/// region's leaves both regions, and makes the history state remember them, must not give it a reach.
#[test]
fn what_a_history_state_comes_to_remember_gives_no_transition_a_longer_reach() {
    check(
        "
        type: parallel
        on: { go: r.d }
        states:
          p: { type: parallel, states: { a: { on: { go: { target: p.h, actions: { log: t } } } }, b: , h: { history: shallow, target: a } } }
          r: { initial: c, states: { c: , d: } }
        ",
        "
        start: p.a p.b r.c | +m +p +a +b +r +c
        go: p.a p.b r.d | -c -r -b -a -p t +p +a +b +r +d
        ",
    );
}
