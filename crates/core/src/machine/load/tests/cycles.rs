//! Automatic transitions that never rest are refused; those that may are not.

use super::load;

fn is_cycle(states: &str) -> bool {
    let loaded = load(&format!("id: m\ninitial: a\nstates: {states}\n"));
    let found = loaded.findings.iter().any(|finding| finding.code == "always-cycle");
    assert_eq!(found, loaded.machine.is_none(), "{states}\n{:#?}", loaded.findings);
    found
}

#[test]
fn what_certainly_goes_round_is_refused() {
    for states in [
        "{a: {always: a}}",
        "{a: {always: {actions: {log: x}}}}",
        "{a: {always: {target: a, reenter: true}}}",
        "{a: {always: b}, b: {always: c}, c: {always: b}}",
        "{a: {always: .b, initial: b, states: {b: {}}}}",
        "{a: {initial: b, states: {b: {always: c}, c: {always: '#m.a'}}}}",
        "{a: {initial: b, always: '#m.a', states: {b: {type: final}}}}",
        "{a: {on: {X: p}}, p: {type: parallel, states: {r: {initial: x, states: {x: {always: y}, y: {always: x}}}, s: {}}}}",
    ] {
        assert!(is_cycle(states), "{states}");
    }
}

#[test]
fn what_may_come_to_rest_is_not() {
    for states in [
        "{a: {always: b}, b: {always: c}, c: {}}",
        "{a: {always: [{target: z, guard: {var: variables.x}}, a]}, z: {}}",
        "{a: {always: b}, b: {always: {target: a, guard: {var: variables.x}}}}",
        "{a: {initial: b, states: {b: {always: z}}}, z: {type: final}}",
        // An inner transition comes first, and leads out.
        "{a: {initial: b, always: .b, states: {b: {always: z}}}, z: {type: final}}",
        // What history leads to is not known.
        "{a: {always: p.h}, p: {initial: x, states: {x: {always: a}, h: {type: history}}}}",
        // The machine ends there, and what has ended takes no transition.
        "{a: {}, z: {type: final}}\nalways: z",
        // Another region may leave before it goes round.
        "{a: {on: {X: p}}, p: {type: parallel, states: {r: {initial: x, states: {x: {always: y}, y: {always: x}}}, s: {always: {target: a, guard: {var: variables.x}}}}}}",
    ] {
        assert!(!is_cycle(states), "{states}");
    }
}
