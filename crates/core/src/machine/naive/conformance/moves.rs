//! How far a transition reaches: without a target, to itself, inside its source, across the tree.

use super::check;

#[test]
fn a_transition_without_a_target_leaves_and_enters_nothing() {
    check(
        "
        initial: a
        states:
          a: { initial: b, on: { go: { actions: { log: t } } }, states: { b: } }
        ",
        "
        start: a.b | +m +a +b
        go: a.b | t
        ",
    );
}

#[test]
fn a_transition_to_itself_leaves_an_atomic_state_only_when_told_to() {
    check(
        "
        initial: a
        states:
          a: { on: { stay: { target: a, actions: { log: t } }, again: { target: a, reenter: true, actions: { log: t } } } }
        ",
        "
        start: a | +m +a
        stay: a | t
        again: a | -a t +a
        ",
    );
}

#[test]
fn a_compound_state_s_transition_to_itself_goes_back_to_its_initial_state() {
    check(
        "
        initial: a
        states:
          a:
            initial: b
            on: { stay: { target: a }, again: { target: a, reenter: true } }
            states: { b: { on: { go: c } }, c: }
        ",
        "
        start: a.b | +m +a +b
        go: a.c | -b +c
        stay: a.b | -c +b
        again: a.b | -b -a +a +b
        ",
    );
}

#[test]
fn a_transition_to_a_descendant_leaves_its_source_only_when_told_to() {
    check(
        "
        initial: a
        states:
          a:
            initial: b
            on: { in: .c.d, again: { target: .c.d, reenter: true } }
            states: { b: , c: { initial: e, states: { d: , e: } } }
        ",
        "
        start: a.b | +m +a +b
        in: a.c.d | -b +c +d
        in: a.c.d | -d -c +c +d
        again: a.c.d | -d -c -a +a +c +d
        ",
    );
}

#[test]
fn a_transition_to_its_ancestor_leaves_and_enters_that() {
    check(
        "
        initial: a
        states:
          a: { initial: b, states: { b: { on: { go: c } }, c: { on: { up: a } } } }
        ",
        "
        start: a.b | +m +a +b
        go: a.c | -b +c
        up: a.b | -c -a +a +b
        ",
    );
}

#[test]
fn a_transition_leaves_everything_below_the_least_common_ancestor() {
    check(
        "
        initial: a
        states:
          a: { initial: b, states: { b: { initial: c, states: { c: { on: { near: d, far: f } }, d: } }, e: { initial: f, states: { f: } } } }
        ",
        "
        start: a.b.c | +m +a +b +c
        near: a.b.d | -c +d
        ",
    );
    check(
        "
        initial: a
        states:
          a: { initial: b, states: { b: { initial: c, states: { c: { on: { far: f } } } }, e: { initial: f, states: { f: } } } }
        ",
        "
        start: a.b.c | +m +a +b +c
        far: a.e.f | -c -b +e +f
        ",
    );
}

#[test]
fn the_root_is_left_only_when_told_to() {
    check(
        "
        initial: a
        on: { go: .b, again: { target: .b, reenter: true } }
        states: { a: { on: { all: '#m' } }, b: { on: { back: a } } }
        ",
        "
        start: a | +m +a
        go: b | -a +b
        again: b | -b -m +m +b
        back: a | -b +a
        all: a | -a -m +m +a
        ",
    );
}

#[test]
fn the_initial_state_may_lie_deep_and_in_several_regions() {
    check(
        "
        initial: [ p.q.b, p.r.d ]
        states:
          p:
            type: parallel
            states:
              q: { initial: a, states: { a: , b: } }
              r: { initial: c, states: { c: , d: } }
              s: { initial: e, states: { e: } }
        ",
        "
        start: p.q.b p.r.d p.s.e | +m +p +q +b +r +d +s +e
        ",
    );
}

#[test]
fn several_targets_enter_their_regions_and_the_others_by_default() {
    check(
        "
        initial: a
        states:
          a: { on: { go: { target: [ d, f ] } } }
          p:
            type: parallel
            states:
              q: { initial: c, states: { c: , d: } }
              r: { initial: e, states: { e: , f: } }
              s: { initial: g, states: { g: } }
        ",
        "
        start: a | +m +a
        go: p.q.d p.r.f p.s.g | -a +p +q +d +r +f +s +g
        ",
    );
}

#[test]
fn a_final_state_of_the_machine_leaves_everything_for_good() {
    check(
        "
        initial: a
        exit: { log: last }
        states:
          a: { on: { go: z } }
          z: { type: final, exit: { raise: never }, entry: { raise: nor this } }
        on: { never: { actions: { log: wrong } }, nor this: { actions: { log: wrong } } }
        ",
        "
        start: a | +m +a
        go: z | -a +z -z -m last
        ",
    );
}

#[test]
fn a_compound_state_is_done_when_it_reaches_a_final_state() {
    check(
        "
        initial: a
        states:
          a:
            initial: b
            onDone:
              - { guard: { '==': [ { var: event.payload }, well ] }, target: c }
              - d
            states:
              b: { on: { good: y, bad: n } }
              y: { type: final, output: well }
              n: { type: final }
          c: { on: { back: a } }
          d: { entry: { log: '{{event.type}}' } }
        ",
        "
        start: a.b | +m +a +b
        good: c | -b +y -y -a +c
        back: a.b | -c +a +b
        bad: d | -b +n -n -a +d done.state.a
        ",
    );
}
