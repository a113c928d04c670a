//! Which rules are refused, and where evaluation gives up.

use serde_json::{Value, json};

use super::tests::{Made, assert_values, try_value};
use super::{BYTES_DEFAULT, EvaluateError, Fuel, Logic, LogicError, RULE_DEPTH_MAX, STEPS_DEFAULT, VALUE_DEPTH_MAX};

/// Asserts that every rule is refused at the pointer beside it, for a reason that has the text beside that.
fn assert_refused(cases: impl IntoIterator<Item = (Value, &'static str, &'static str)>) {
    for (rule, pointer, detail) in cases {
        let error = Logic::compile(&rule).unwrap_err();
        assert_eq!(error.pointer, pointer, "{rule}: {error}");
        assert!(error.detail.contains(detail), "{rule}: {error}");
    }
}

/// `rule` inside as many negations as make it `depth` operators deep.
fn nested(depth: usize, rule: Value) -> Value {
    (0..depth).fold(rule, |rule, _| json!({ "!": rule }))
}

#[test]
fn an_unknown_operator_is_refused_with_the_nearest_name() {
    assert_refused([
        (json!({"=": [1, 2]}), "/=", "the nearest is `==`"),
        (
            json!({"and": [true, {"AND": []}]}),
            "/and/1/AND",
            "the nearest is `and`",
        ),
        (json!({"!": {"exist": "x"}}), "/!/exist", "the nearest is `exists`"),
        (
            json!({"/": [1, {"missing-some": []}]}),
            "/~1/1/missing-some",
            "the nearest is `missing_some`",
        ),
        (json!([1, {"a~b": 1}]), "/1/a~0b", "unknown operator `a~b`"),
        (json!({"frobnicate": 1}), "/frobnicate", "unknown operator `frobnicate`"),
    ]);
    let error = Logic::compile(&json!({"frobnicate": 1})).unwrap_err();
    assert_eq!(error.to_string(), "unknown operator `frobnicate` at `/frobnicate`");
}

#[test]
fn arguments_without_a_meaning_are_refused() {
    assert_refused([
        (json!({"==": [1]}), "/==", "needs 2 arguments or more, not 1"),
        (json!({"and": {"var": "x"}}), "/and", "takes a list of arguments"),
        (json!({"if": true}), "/if", "takes a list of arguments"),
        (json!({"-": []}), "/-", "needs an argument"),
        (json!({"length": [1, 2]}), "/length", "takes one argument, not 2"),
        (
            json!({"map": [{"var": "x"}]}),
            "/map",
            "needs 2 arguments or more, not 1",
        ),
        (json!({"map": [{"var": "x"}, null]}), "/map/1", "no body"),
        (json!({"all": [null, true]}), "/all/0", "no list"),
        (json!({"in_state": {"var": "x"}}), "/in_state", "literal text"),
        (json!({"in_state": 4}), "/in_state", "literal text"),
        (json!({"var": [["a"], 1]}), "/var", "path"),
        (json!({"val": [["a"]]}), "/val", "path"),
        (json!({"missing": [[["a"]]]}), "/missing", "path"),
    ]);
}

#[test]
fn an_operator_beside_other_members_is_refused_because_the_object_would_be_a_literal() {
    assert_refused([
        (json!({">": [2, 1], "<": [1, 2]}), "/>", "must be the only member"),
        (
            json!({"and": [{"x": 1, "var": "y"}]}),
            "/and/0/var",
            "must be the only member",
        ),
    ]);
    assert_values(
        &Value::Null,
        [(json!({"min": 1, "max": 2}), json!({"min": 1, "max": 2}))],
    );
}

#[test]
fn a_rule_may_be_nested_to_its_bound_and_no_deeper() {
    assert!(Logic::compile(&nested(RULE_DEPTH_MAX, json!(1))).is_ok());
    assert!(Logic::compile(&nested(RULE_DEPTH_MAX - 1, json!([[1]]))).is_ok());
    assert!(Logic::compile(&nested(RULE_DEPTH_MAX - 1, json!({}))).is_ok());
    let too_deep = [
        nested(RULE_DEPTH_MAX + 1, json!(1)),
        nested(RULE_DEPTH_MAX, json!([[1]])),
        nested(RULE_DEPTH_MAX, json!({})),
        nested(RULE_DEPTH_MAX - 1, json!({"preserve": [1]})),
        (0..=RULE_DEPTH_MAX).fold(json!(1), |inner, _| json!([inner])),
    ];
    for rule in too_deep {
        let LogicError { detail, .. } = Logic::compile(&rule).unwrap_err();
        assert_eq!(detail, "nested more than 64 deep");
    }
}

#[test]
fn iterators_may_be_nested_two_deep() {
    let over = |body: Value| json!({"map": [{"var": "list"}, body]});
    assert!(Logic::compile(&over(over(json!(1)))).is_ok());
    assert_refused([(over(over(over(json!(1)))), "/map/1/map/1/map", "more than 2 deep")]);
    let list = json!({"reduce": [{"map": [{"filter": [{"var": "list"}, true]}, {"var": ""}]}, {"var": "current"}]});
    assert!(
        Logic::compile(&list).is_ok(),
        "what an iterator goes over is evaluated once"
    );
}

#[test]
fn text_and_lists_do_not_grow_inside_reduce() {
    let reduce = |body: Value| json!({"reduce": [{"merge": [[1], [2]]}, body, {"cat": "x"}]});
    assert!(Logic::compile(&reduce(json!({"var": "current"}))).is_ok());
    assert_refused([
        (
            reduce(json!({"cat": [{"var": "accumulator"}, "x"]})),
            "/reduce/1/cat",
            "inside `reduce`",
        ),
        (
            reduce(json!({"merge": [{"var": "accumulator"}, 1]})),
            "/reduce/1/merge",
            "inside `reduce`",
        ),
        (
            reduce(json!({"some": [[1], {"!": {"cat": "x"}}]})),
            "/reduce/1/some/1/!/cat",
            "inside `reduce`",
        ),
    ]);
}

#[test]
fn every_evaluation_takes_from_the_same_fuel() {
    let logic = Logic::compile(&json!({"==": [{"var": "x"}, 1]})).unwrap();
    let mut fuel = Fuel::new(6);
    assert_eq!(logic.test(&json!({"x": 1}), &mut fuel), Ok(true));
    assert_eq!((fuel.steps(), fuel.bytes()), (3, BYTES_DEFAULT));
    assert_eq!(logic.test(&json!({"x": 1}), &mut fuel), Ok(true));
    assert_eq!(logic.test(&json!({"x": 1}), &mut fuel), Err(EvaluateError::TooLarge));
    assert_eq!(EvaluateError::TooLarge.code(), "expression-too-large");
    assert_eq!(Fuel::default().steps(), STEPS_DEFAULT);
}

#[test]
fn evaluation_gives_up_on_what_grows_too_large() {
    let items: Vec<u32> = (0..1000).collect();
    let data = json!({"items": items, "text": "x".repeat(10_000)});
    let list = json!({"var": "items"});
    for rule in [
        // A million steps.
        json!({"all": [list, {"all": [{"val": [[2], "items"]}, true]}]}),
        // Ten megabytes of text, and as much again in pieces.
        json!({"map": [list, {"cat": [{"val": [[2], "text"]}, "!"]}]}),
        json!({"map": [list, {"substr": [{"val": [[2], "text"]}, 1]}]}),
        json!({"map": [list, {"val": [[2], "text"]}]}),
        // A list that doubles with every item, and one that gets deeper.
        json!({"reduce": [list, [{"var": "accumulator"}, {"var": "accumulator"}], 1]}),
        json!({"reduce": [list, [{"var": "accumulator"}], 1]}),
        json!({"reduce": [list, {"var": ""}, 1]}),
    ] {
        assert_eq!(try_value(&rule, &data), Err(EvaluateError::TooLarge), "{rule}");
    }
}

#[test]
fn a_result_may_not_be_deeper_than_what_can_be_read_again() {
    let deep = (0..VALUE_DEPTH_MAX - 1).fold(json!(1), |inner, _| json!([inner]));
    assert!(try_value(&json!([{"var": "deep"}]), &json!({"deep": deep})).is_ok());
    let deeper = try_value(&json!([[{"var": "deep"}]]), &json!({"deep": deep}));
    assert_eq!(deeper, Err(EvaluateError::TooLarge));
}

#[test]
fn long_texts_and_lists_take_steps_to_read() {
    let data = json!({
        "left": "x".repeat(100_000),
        "right": "x".repeat(100_000),
        "lists": [vec![1; 400], vec![1; 400]],
    });
    let (left, right) = (json!({"var": "left"}), json!({"var": "right"}));
    for rule in [
        json!({"==": [left, right]}),
        json!({"<": [left, right]}),
        json!({"in": [left, right]}),
        json!({"in": [left, [right]]}),
        json!({"-": [left]}),
        json!({"+": [left]}),
        json!({"length": left}),
        json!({"==": [{"var": "lists.0"}, {"var": "lists.1"}]}),
        json!({"max": {"var": "lists.0"}}),
        json!({"in": [2, {"var": "lists.0"}]}),
    ] {
        let mut fuel = Fuel::default();
        Logic::compile(&rule).unwrap().test(&data, &mut fuel).unwrap();
        assert!(fuel.steps() < STEPS_DEFAULT - 300, "{rule}");
    }
}

#[test]
fn values_that_the_scope_makes_take_bytes() {
    let rule = json!({"all": [[1, 2, 3], {"val": [[2], "made"]}]});
    let mut fuel = Fuel::default();
    assert_eq!(Logic::compile(&rule).unwrap().test(&Made, &mut fuel), Ok(true));
    assert!(fuel.bytes() < BYTES_DEFAULT - 3000);
}

#[test]
fn data_nested_too_deep_is_an_error_not_an_exhausted_stack() {
    let deep = |levels: usize| json!({"deep": (0..levels).fold(json!(1), |inner, _| json!([inner]))});
    let value = json!({"var": "deep"});
    for rule in [
        value.clone(),
        json!({"cat": value}),
        json!({"-": [value]}),
        json!({"==": [value, value]}),
        json!({"==": [value, "x"]}),
        json!({"merge": [value, 1]}),
    ] {
        assert!(try_value(&rule, &deep(VALUE_DEPTH_MAX - 1)).is_ok(), "{rule}");
        assert_eq!(
            try_value(&rule, &deep(VALUE_DEPTH_MAX + 1)),
            Err(EvaluateError::TooLarge),
            "{rule}"
        );
    }
    let logic = Logic::compile(&value).unwrap();
    assert_eq!(logic.test(&deep(VALUE_DEPTH_MAX + 1), &mut Fuel::default()), Ok(true));
}
