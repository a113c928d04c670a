//! The published vectors: the original ones hold without exception, of the community's suites it is written down how
//! many do and why the others do not.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::{Fuel, Logic};

/// How many vectors the original set has.
const ORIGINAL_VECTORS: usize = 277;

/// The shared vectors, or none (with a note) where they are not at hand.
fn specs() -> Option<PathBuf> {
    let nearby = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/specs");
    let folder = std::env::var_os("SPRAG_SPECS")
        .map_or_else(nearby, PathBuf::from)
        .join("jsonlogic");
    if !folder.is_dir() {
        println!("skipped: no vectors in {}", folder.display());
        return None;
    }
    Some(folder)
}

fn read(file: PathBuf) -> Vec<Value> {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// Evaluates `rule`, or says how it was refused.
fn run(rule: &Value, data: &Value) -> Result<Value, String> {
    let logic = Logic::compile(rule).map_err(|error| error.detail)?;
    logic
        .evaluate(data, &mut Fuel::default())
        .map_err(|error| error.to_string())
}

#[test]
fn every_original_vector_holds() {
    let Some(folder) = specs() else { return };
    let vectors = read(folder.join("tests.json"));
    let mut count = 0;
    for vector in vectors.iter().filter_map(Value::as_array) {
        let [rule, data, expected] = vector.as_slice() else {
            panic!("not a vector: {vector:?}")
        };
        assert_eq!(run(rule, data).as_ref(), Ok(expected), "{rule} with {data}");
        count += 1;
    }
    assert_eq!(count, ORIGINAL_VECTORS);
}

const ALL: &str = "";
const THROW: &str = "`throw` and `try` are not ours: a rule gives a value, and one with an unknown operator is refused";
const NOT_A_NUMBER: &str = "what is no number is null, or is converted as JavaScript does, and is not an error";
const NOT_A_NUMBER_OR_THROW: &str =
    "what cannot be compared is false, as in JavaScript, not an error; `throw` is not ours";
const LOOSE_EQUALITY: &str =
    "null equals only null, and what cannot be converted is unequal, as in JavaScript; `throw` is not ours";
const NO_ARGUMENTS: &str = "a computed list of arguments may be empty: null, not an error";
const NO_LIST: &str = "a missing list is an empty one, as in the original, not an error";
const GROWTH: &str = "`cat` inside `reduce` is refused";

/// Each suite: how many of its vectors hold, how many there are, and why the others do not.
const SUITES: &[(&str, usize, usize, &str)] = &[
    ("compatible.json", 278, 278, ALL),
    ("arithmetic/plus.json", 24, 32, NOT_A_NUMBER),
    ("arithmetic/plus.extra.json", 3, 3, ALL),
    ("arithmetic/multiply.json", 25, 28, NOT_A_NUMBER),
    ("arithmetic/multiply.extra.json", 3, 3, ALL),
    ("arithmetic/minus.json", 20, 22, NOT_A_NUMBER),
    ("arithmetic/minus.extra.json", 2, 3, NO_ARGUMENTS),
    ("arithmetic/divide.json", 20, 31, NOT_A_NUMBER),
    ("arithmetic/divide.extra.json", 2, 3, NO_ARGUMENTS),
    ("arithmetic/modulo.json", 29, 31, NOT_A_NUMBER),
    ("arithmetic/modulo.extra.json", 2, 2, ALL),
    ("comparison/greaterThan.json", 28, 35, NOT_A_NUMBER_OR_THROW),
    ("comparison/greaterThanEquals.json", 21, 28, NOT_A_NUMBER_OR_THROW),
    ("comparison/lessThan.json", 38, 45, NOT_A_NUMBER_OR_THROW),
    ("comparison/lessThanEquals.json", 13, 20, NOT_A_NUMBER_OR_THROW),
    ("comparison/softEquals.json", 27, 35, LOOSE_EQUALITY),
    ("comparison/softNotEquals.json", 26, 34, LOOSE_EQUALITY),
    ("comparison/strictEquals.json", 30, 31, THROW),
    ("comparison/strictNotEquals.json", 29, 30, THROW),
    ("control/and.json", 22, 25, THROW),
    ("control/if.json", 40, 44, THROW),
    ("control/or.json", 21, 24, THROW),
    ("control/not.json", 23, 23, ALL),
    ("control/doublebang.json", 23, 23, ALL),
    ("string/in.json", 8, 8, ALL),
    ("string/cat.json", 9, 9, ALL),
    ("string/substr.json", 12, 12, ALL),
    ("array/map.json", 14, 14, ALL),
    ("array/filter.json", 12, 12, ALL),
    ("array/reduce.json", 8, 9, GROWTH),
    ("array/merge.json", 8, 8, ALL),
    ("array/all.json", 11, 12, NO_LIST),
    ("array/some.json", 12, 13, NO_LIST),
    ("array/none.json", 12, 13, NO_LIST),
    ("truthiness.json", 13, 13, ALL),
    ("additional.json", 4, 4, ALL),
    ("coalesce.json", 15, 15, ALL),
    ("chained.json", 7, 7, ALL),
    ("iterators.extra.json", 34, 34, ALL),
    ("exists.json", 8, 8, ALL),
    ("scopes.json", 4, 4, ALL),
    ("throw.json", 0, 3, THROW),
    ("try.json", 0, 18, THROW),
    ("try.extra.json", 0, 1, THROW),
    ("val.json", 13, 13, ALL),
    ("val.extra.json", 3, 3, ALL),
    ("val-compat.json", 60, 60, ALL),
    ("var.extra.json", 12, 12, ALL),
];

#[test]
fn the_suites_hold_as_far_as_the_table_says() {
    let Some(folder) = specs() else { return };
    let folder = folder.join("suites");
    let index = read(folder.join("index.json"));
    let mut found = Vec::new();
    for name in index.iter().filter_map(Value::as_str) {
        let vectors = read(folder.join(name));
        let vectors = vectors.iter().filter(|vector| vector.is_object());
        found.push((
            name,
            vectors.clone().filter(|vector| holds(vector)).count(),
            vectors.count(),
        ));
    }
    let expected: Vec<_> = SUITES
        .iter()
        .map(|(name, held, total, _)| (*name, *held, *total))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn every_gap_in_the_suites_has_a_reason() {
    for (name, held, total, why) in SUITES {
        assert_eq!(held == total, *why == ALL, "{name}");
    }
}

/// Whether `vector` holds. One that asks for an error holds if the rule is refused for its arguments; a rule that is
/// refused for an operator we do not have holds nothing.
fn holds(vector: &Value) -> bool {
    let outcome = run(&vector["rule"], &vector["data"]);
    match (&vector["error"]["type"], &outcome) {
        (Value::Null, Ok(value)) => *value == vector["result"],
        (Value::String(kind), Err(detail)) => kind == "Invalid Arguments" && !detail.starts_with("unknown operator"),
        _ => false,
    }
}
