//! What holds for any rule and any data: evaluation ends, within its fuel, and says the same twice.

use std::borrow::Cow;
use std::cell::Cell;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

use super::operand::OperandValue;
use super::operator;
use super::{EvaluateError, Fuel, Logic};
use crate::expression::scope::{Path, Scope};

/// The steps that random rules get: enough for most of them, few enough for some to run out.
const STEPS: u64 = 300;

/// A scope that counts how often it is asked.
struct Counting<'a> {
    data: &'a Value,
    lookups: Cell<u64>,
}

impl<'a> Counting<'a> {
    fn new(data: &'a Value) -> Self {
        let lookups = Cell::new(0);
        Self { data, lookups }
    }
}

impl Scope for Counting<'_> {
    fn lookup(&self, path: &Path) -> Option<Cow<'_, Value>> {
        self.lookups.set(self.lookups.get() + 1);
        self.data.lookup(path)
    }
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..40).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|float| json!(float)),
        "[ -~]{0,6}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop::sample::select(vec![
            "a",
            "b",
            "a.b",
            "a.0",
            "list",
            "current",
            "accumulator",
            "12",
            "1e9",
            "0x1f",
            ""
        ])
        .prop_map(Value::from),
    ]
}

fn data() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec!["a", "b", "list", "c", ""]);
    scalar().prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..4).prop_map(|members| {
                members
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect::<Map<_, _>>()
                    .into()
            }),
        ]
    })
}

fn rule() -> impl Strategy<Value = Value> {
    let names: Vec<_> = operator::names().collect();
    let var = prop::sample::select(vec!["", "a", "b", "list", "a.b", "current", "accumulator"])
        .prop_map(|path| json!({ "var": path }));
    prop_oneof![2 => scalar(), 3 => var].prop_recursive(6, 60, 4, move |inner| {
        let name = prop::sample::select(names.clone());
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            1 => (name.clone(), inner.clone()).prop_map(|(name, argument)| json!({ name: argument })),
            6 => (name, prop::collection::vec(inner, 0..4)).prop_map(|(name, arguments)| json!({ name: arguments })),
        ]
    })
}

proptest! {
    #[test]
    fn evaluation_is_total_and_test_agrees_with_it(rule in rule(), data in data()) {
        let Ok(logic) = Logic::compile(&rule) else { return Ok(()) };
        let value = logic.evaluate(&data, &mut Fuel::default());
        let truth = logic.test(&data, &mut Fuel::default());
        prop_assert_eq!(&value, &logic.evaluate(&data, &mut Fuel::default()));
        if let (Ok(value), Ok(truth)) = (value, truth) {
            prop_assert_eq!(OperandValue::from(&value).is_truthy(), truth, "{}", value);
        }
    }

    #[test]
    fn no_evaluation_asks_more_or_gives_more_than_its_fuel(rule in rule(), data in data()) {
        let Ok(logic) = Logic::compile(&rule) else { return Ok(()) };
        let scope = Counting::new(&data);
        let mut fuel = Fuel::new(STEPS);
        let value = logic.evaluate(&scope, &mut fuel);
        prop_assert!(scope.lookups.get() <= STEPS - fuel.steps());
        if let Ok(value) = value {
            let mut weighed = Fuel::default();
            prop_assert_eq!(weighed.weigh(&value), Ok(()));
            prop_assert!(fuel.bytes() <= weighed.bytes(), "{} was not paid for", value);
        }
    }

    #[test]
    fn nested_iterators_over_long_lists_end_with_their_fuel(
        length in 1000_usize..2000,
        steps in 1_u64..50_000,
        outer in prop::sample::select(vec!["map", "filter", "all", "none"]),
        inner in prop::sample::select(vec!["map", "filter", "all", "none"]),
    ) {
        let data = json!({ "list": vec![json!({ "list": vec![1; length] }); 3], "long": vec![1; length] });
        let body = json!({ "!==": [{ "val": [[4], "absent"] }, 1] });
        let rule = json!({ outer: [{ "var": "long" }, { inner: [{ "val": [[2], "long"] }, body] }] });
        let scope = Counting::new(&data);
        let mut fuel = Fuel::new(steps);
        let value = Logic::compile(&rule).unwrap().test(&scope, &mut fuel);
        // A `none` is settled by its first item.
        if inner != "none" && outer != "none" {
            prop_assert_eq!(value, Err(EvaluateError::TooLarge));
        }
        prop_assert!(scope.lookups.get() <= steps);
    }
}

#[test]
fn most_random_rules_are_worth_evaluating() {
    let mut runner = TestRunner::deterministic();
    let compiled = (0..500).filter(|_| {
        let rule = rule().new_tree(&mut runner).unwrap().current();
        rule.is_object() && Logic::compile(&rule).is_ok()
    });
    assert!(compiled.count() > 100);
}
