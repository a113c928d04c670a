//! In which order things happen inside a macrostep.

use serde_json::json;

use super::{Bench, Limits};
use crate::machine::{Effect, StepError};

const LOUD: &str = "
id: m
initial: a
entry: { log: +m }
exit: { log: -m }
states:
  a:
    entry: { log: +a }
    exit: { log: -a }
    initial: a1
    on:
      SELF: { target: a, actions: { log: self } }
      AGAIN: { target: a, reenter: true, actions: { log: again } }
      IN: { target: .a2, actions: { log: in } }
      IN_AGAIN: { target: .a2, reenter: true, actions: { log: in } }
      ACT: { actions: { log: act } }
      P: { target: p, actions: [ { log: t1 }, { log: t2 } ] }
    states:
      a1: { entry: { log: +a1 }, exit: { log: -a1 } }
      a2: { entry: { log: +a2 }, exit: { log: -a2 } }
  p:
    type: parallel
    entry: { log: +p }
    exit: { log: -p }
    on: { END: z }
    states:
      l: { entry: { log: +l }, exit: { log: -l }, on: { BOTH: { actions: { log: left } } } }
      r: { entry: { log: +r }, exit: { log: -r }, on: { BOTH: { actions: { log: right } } } }
  z: { type: final, entry: { log: +z }, exit: { log: -z } }
";

#[test]
fn states_are_left_from_inside_and_entered_from_outside_in_document_order() {
    let mut bench = Bench::start(LOUD);
    assert_eq!(bench.log(), "+m +a +a1");
    for (event, expected) in [
        ("ACT", "act"),
        ("SELF", "-a1 self +a1"),
        ("AGAIN", "-a1 -a again +a +a1"),
        ("IN", "-a1 in +a2"),
        ("IN_AGAIN", "-a2 -a in +a +a2"),
        ("P", "-a2 -a t1 t2 +p +l +r"),
        ("BOTH", "left right"),
        ("END", "-r -l -p +z -z -m"),
    ] {
        bench.send(event).unwrap();
        assert_eq!(bench.log(), expected, "{event}");
    }
    assert_eq!(bench.states(), "z", "a completed machine keeps its final state");
}

#[test]
fn an_atomic_state_that_targets_itself_stays_unless_it_reenters() {
    let text = "
id: m
initial: a
states: { a: { entry: { log: in }, exit: { log: out }, on: { X: a, Y: { target: a, reenter: true } } } }
";
    let mut bench = Bench::start(text);
    let visit = bench.execution.visits[1].number;
    bench.log();
    let taken = bench.send("X").unwrap();
    assert!(taken.handled && taken.effects.is_empty());
    assert_eq!(bench.execution.visits[1].number, visit);
    bench.send("Y").unwrap();
    assert_eq!(bench.log(), "out in");
    assert!(bench.execution.visits[1].number > visit);
}

#[test]
fn raised_events_wait_for_automatic_transitions_and_keep_their_order() {
    let text = "
id: m
initial: a
states:
  a: { on: { GO: { target: b, actions: [ { raise: ONE }, { raise: TWO } ] } } }
  b: { entry: { raise: THREE }, always: { target: c, actions: { log: always } } }
  c:
    on:
      ONE: { actions: [ { log: one }, { raise: FOUR } ] }
      TWO: { actions: { log: two } }
      THREE: { actions: { log: three } }
      FOUR: { actions: { log: four } }
";
    let mut bench = Bench::start(text);
    let taken = bench.send("GO").unwrap();
    assert_eq!(bench.log(), "always one two three four");
    let events: Vec<Option<&str>> = taken
        .microsteps
        .iter()
        .map(|microstep| microstep.event.as_deref())
        .collect();
    assert_eq!(
        events,
        [Some("GO"), None, Some("ONE"), Some("TWO"), Some("THREE"), Some("FOUR")]
    );
}

#[test]
fn what_a_transition_assigns_comes_before_its_actions_and_after_the_exit() {
    let text = "
id: m
initial: a
variables: { n: 1 }
states:
  a: { exit: { assign: { n: '{{variables.n * 10}}' } }, on: { X: { target: b, assign: { n: '{{variables.n + 1}}' }, actions: { log: 'n={{variables.n}}' } } } }
  b: { entry: { assign: { n: '{{variables.n + 100}}' } } }
";
    let mut bench = Bench::start(text);
    let taken = bench.send("X").unwrap();
    assert_eq!((bench.log().as_str(), bench.variable("n")), ("n=11", json!(111)));
    assert_eq!(taken.changed, ["n"]);
}

#[test]
fn all_right_sides_of_an_assignment_see_the_values_before_it() {
    let text = "
id: m
initial: a
variables: { x: 1, y: 2 }
states: { a: { on: { SWAP: { assign: { x: '{{variables.y}}', y: '{{variables.x}}' } } } } }
";
    let mut bench = Bench::start(text);
    bench.send("SWAP").unwrap();
    assert_eq!((bench.variable("x"), bench.variable("y")), (json!(2), json!(1)));
}

#[test]
fn a_macrostep_that_does_not_rest_changes_nothing() {
    let text = "
id: m
initial: a
variables: { n: 0 }
states:
  a: { on: { GO: { actions: { raise: LOOP } }, LOOP: { assign: { n: '{{variables.n + 1}}' }, actions: { raise: LOOP } } } }
";
    let mut bench = Bench::start(text);
    bench.limits = Limits {
        microsteps: 50,
        ..Limits::default()
    };
    let before = bench.execution.clone();
    let error = bench.send("GO").unwrap_err();
    assert_eq!(
        (error.clone(), error.code()),
        (StepError::Runaway { limit: 50 }, "runaway")
    );
    assert_eq!(bench.execution, before);
    assert_eq!(bench.variable("n"), 0);
}

#[test]
fn leaving_a_state_ends_its_visit_and_a_new_visit_has_a_new_number() {
    let text = "id: m\ninitial: a\nstates: { a: { on: { X: b } }, b: { on: { X: a } } }\n";
    let mut bench = Bench::start(text);
    let first = bench.execution.visits[1].number;
    let taken = bench.send("X").unwrap();
    assert!(taken.effects.contains(&Effect::EndVisit(first)));
    bench.send("X").unwrap();
    assert!(bench.execution.visits[1].number > first + 1);
    assert_eq!(bench.execution.visits.len(), 2, "one for the root, one for `a`");
}
