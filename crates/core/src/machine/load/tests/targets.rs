//! Which state a target means, seen from where it is written.

use super::machine;
use crate::machine::{Machine, StateIndex};

const TREE: &str = r"
id: m.x
initial: a
on: { TO_A: a }
states:
  a:
    id: first
    initial: b
    states:
      b: { initial: c, states: { c: {}, d: {} } }
      e: { id: deep.id }
      twin: {}
  b:
    initial: c
    states:
      c: {}
      twin: { initial: leaf, states: { leaf: {} } }
  single: { initial: only, states: { only: {} } }
";

fn resolve(machine: &Machine, source: &str, target: &str) -> Option<String> {
    let source = if source.is_empty() {
        StateIndex::ROOT
    } else {
        machine.by_path(source).unwrap()
    };
    machine
        .resolve(source, target)
        .ok()
        .map(|state| machine.display_path(state).to_owned())
}

#[test]
fn the_nearest_meaning_comes_first() {
    let machine = machine(TREE);
    let table = [
        ("", "a", Some("a")),
        ("", ".a", Some("a")),
        ("", "a.b.c", Some("a.b.c")),
        ("", "only", Some("single.only")),
        ("", "c", None),
        ("", "twin", None),
        ("a.e", "b", Some("a.b")),
        ("a", "b", Some("b")),
        ("a", ".b", Some("a.b")),
        ("a", ".b.d", Some("a.b.d")),
        ("a.e", "b.d", Some("a.b.d")),
        ("a.e", "b.c", Some("a.b.c")),
        ("single", "b.c", Some("b.c")),
        ("a.e", "single.only", Some("single.only")),
        ("a.e", "d", Some("a.b.d")),
        ("a.e", "leaf", Some("b.twin.leaf")),
        ("a.e", "twin", Some("a.twin")),
        ("single.only", "twin", None),
        ("single.only", "#first", Some("a")),
        ("single.only", "#first.b.c", Some("a.b.c")),
        ("single.only", "#deep.id", Some("a.e")),
        ("single.only", "#m.x", Some("m.x")),
        ("single.only", "#m.x.b.c", Some("b.c")),
        ("single.only", "#a", None),
        ("single.only", ".only", None),
        ("single.only", "", None),
    ];
    for (source, target, expected) in table {
        assert_eq!(
            resolve(&machine, source, target).as_deref(),
            expected,
            "`{target}` from `{source}`"
        );
    }
}

#[test]
fn who_asks_from_nowhere_asks_from_the_root() {
    let machine = machine(TREE);
    assert_eq!(machine.find("a.b"), machine.by_path("a.b"));
    assert_eq!(machine.find("only"), machine.by_path("single.only"));
    assert_eq!(machine.find("#first"), machine.by_path("a"));
    assert_eq!(machine.find("twin"), None);
}

#[test]
fn an_initial_state_is_a_child_before_it_is_anything_else() {
    let machine = machine(
        "id: m\ninitial: a\nstates: {a: {initial: b, states: {b: {initial: '#in', states: {c: {}, d: {id: in}}}}}, b: {}}\n",
    );
    let initial = |path: &str| machine.state(machine.by_path(path).unwrap()).initial.clone();
    assert_eq!(initial("a"), [machine.by_path("a.b").unwrap()]);
    assert_eq!(initial("a.b"), [machine.by_path("a.b.d").unwrap()]);
}
