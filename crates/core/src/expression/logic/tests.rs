//! What rules mean beyond the published vectors.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{EvaluateError, Fuel, Logic};
use crate::expression::scope::{Path, Scope};

/// The value of `rule`, with `data` as the scope.
pub(super) fn try_value(rule: &Value, data: &Value) -> Result<Value, EvaluateError> {
    Logic::compile(rule).unwrap().evaluate(data, &mut Fuel::default())
}

/// Asserts that every rule has the value beside it, with `data` as the scope.
pub(super) fn assert_values(data: &Value, cases: impl IntoIterator<Item = (Value, Value)>) {
    for (rule, expected) in cases {
        assert_eq!(try_value(&rule, data).as_ref(), Ok(&expected), "{rule}");
    }
}

#[test]
fn a_default_is_for_a_path_that_leads_nowhere_not_for_null() {
    let data = json!({"a": null, "b": {"c": 1}});
    assert_values(
        &data,
        [
            (json!({"var": ["a", 9]}), json!(null)),
            (json!({"var": ["b.d", {"var": "b.c"}]}), json!(1)),
            (json!({"var": {"cat": ["b", ".", "c"]}}), json!(1)),
            (json!({"var": [[{"var": "a"}], 7]}), json!(7)),
        ],
    );
}

#[test]
fn a_member_is_found_in_objects_of_any_size() {
    for size in [1, 16, 17, 100] {
        let members: serde_json::Map<_, _> = (0..size).map(|at| (format!("m{at}"), json!(at))).collect();
        let last = format!("all.m{}", size - 1);
        let absent = format!("all.m{size}");
        let data = json!({ "all": members });
        assert_values(
            &data,
            [
                (json!({"var": last}), json!(size - 1)),
                (json!({"var": absent}), json!(null)),
            ],
        );
    }
}

#[test]
fn whole_numbers_of_64_bits_stay_exact() {
    let data = json!({"id": 9_007_199_254_740_993_u64, "next": 9_007_199_254_740_992_u64, "most": u64::MAX, "least": i64::MIN});
    assert_values(
        &data,
        [
            (json!({"==": [{"var": "id"}, {"var": "next"}]}), json!(false)),
            (json!({">": [{"var": "id"}, {"var": "next"}]}), json!(true)),
            (json!({"==": [{"var": "id"}, "9007199254740993"]}), json!(true)),
            (json!({"+": [{"var": "id"}, 2]}), json!(9_007_199_254_740_995_u64)),
            (json!({"-": [{"var": "most"}, 1]}), json!(u64::MAX - 1)),
            (json!({"max": [{"var": "most"}, {"var": "least"}]}), json!(u64::MAX)),
            (
                json!({"*": [{"var": "most"}, {"var": "most"}]}),
                json!(18_446_744_073_709_551_615_f64.powi(2)),
            ),
            (
                json!({"-": [{"+": [{"var": "most"}, 1]}, 1]}),
                json!(18_446_744_073_709_551_615_f64),
            ),
            (json!({"-": [{"var": "least"}]}), json!(9_223_372_036_854_775_808_u64)),
            (
                json!({"cat": [{"var": "most"}, {"var": "least"}]}),
                json!("18446744073709551615-9223372036854775808"),
            ),
        ],
    );
}

#[test]
fn a_number_without_a_fraction_has_none_when_printed() {
    let data = json!({"one": 1.0, "big": 1e20});
    assert_values(
        &data,
        [
            (json!({"var": "one"}), json!(1)),
            (json!({"+": [0.5, 0.5]}), json!(1)),
            (json!({"*": [1.5, 1.5]}), json!(2.25)),
            (json!({"/": [{"var": "one"}, 4]}), json!(0.25)),
            (json!({"+": [{"var": "big"}]}), json!(1e20)),
            (json!({"-": [0.0]}), json!(0)),
        ],
    );
}

#[test]
fn what_is_not_finite_is_null_as_a_value_and_falsy() {
    let endless = json!({"/": [1, 0]});
    let nothing = json!({"/": [0, 0]});
    assert_values(
        &Value::Null,
        [
            (endless.clone(), json!(null)),
            (nothing.clone(), json!(null)),
            (json!({"%": [1, 0]}), json!(null)),
            (json!({"max": []}), json!(null)),
            (json!({"+": ["much"]}), json!(null)),
            (json!([endless, nothing]), json!([null, null])),
            (json!({"!!": endless}), json!(false)),
            (json!({"??": [endless, nothing, 7]}), json!(7)),
            (json!({"cat": ["<", nothing, ">"]}), json!("<>")),
            (json!({">": [endless, 5]}), json!(true)),
            (json!({"<": [nothing, 5]}), json!(false)),
            (json!({">=": [nothing, 5]}), json!(false)),
            (json!({"==": [nothing, nothing]}), json!(false)),
            (json!({"max": [nothing, 5]}), json!(null)),
        ],
    );
}

#[test]
fn numbers_become_text_as_javascript_writes_them() {
    let cases = [
        (json!(1.0), "1"),
        (json!(-0.0), "0"),
        (json!(0.1), "0.1"),
        (json!(-1.5), "-1.5"),
        (json!(1e20), "100000000000000000000"),
        (json!(1e21), "1e+21"),
        (json!(-1.25e30), "-1.25e+30"),
        (json!(0.000_001), "0.000001"),
        (json!(0.000_000_15), "1.5e-7"),
        (json!({"+": [0.1, 0.2]}), "0.30000000000000004"),
        (json!([1, [2, null, "x"], true, {}]), "1,2,,x,true,[object Object]"),
        (json!(null), ""),
    ];
    assert_values(
        &Value::Null,
        cases.map(|(part, text)| (json!({"cat": [part]}), json!(text))),
    );
}

#[test]
fn text_becomes_a_number_as_javascript_reads_it() {
    let cases = [
        ("", json!(0)),
        (" \t12\n", json!(12)),
        ("-1.5e2", json!(-150)),
        (".5", json!(0.5)),
        ("5.", json!(5)),
        ("0x1F", json!(31)),
        ("0b101", json!(5)),
        ("0o17", json!(15)),
        ("0x", json!(null)),
        ("1,000", json!(null)),
        ("3 days", json!(null)),
        ("inf", json!(null)),
        ("nan", json!(null)),
        ("1_000", json!(null)),
    ];
    assert_values(
        &Value::Null,
        cases.map(|(text, number)| (json!({"-": [text, 0]}), number)),
    );
}

#[test]
fn a_sum_takes_the_number_a_text_starts_with() {
    let cases = [
        (json!("3 days"), json!(3)),
        (json!("-1.5e2x"), json!(-150)),
        (json!("1e"), json!(1)),
        (json!("."), json!(null)),
        (json!("days"), json!(null)),
        (json!([4, 5]), json!(4)),
        (json!({}), json!(null)),
        (json!(true), json!(1)),
        (json!(null), json!(0)),
    ];
    assert_values(&Value::Null, cases.map(|(term, sum)| (json!({"+": [term]}), sum)));
}

#[test]
fn loose_equality_converts_as_javascript_does() {
    let cases = [
        (json!(1), json!("1"), true),
        (json!(1), json!(" 1.0 "), true),
        (json!(true), json!("1"), true),
        (json!(false), json!(""), true),
        (json!(0), json!(null), false),
        (json!(false), json!(null), false),
        (json!(""), json!(null), false),
        (json!([1]), json!(1), true),
        (json!([]), json!(0), true),
        (json!([1, 2]), json!("1,2"), true),
        (json!({}), json!("[object Object]"), true),
        (json!("a"), json!("A"), false),
    ];
    for (left, right, equal) in cases {
        assert_values(
            &Value::Null,
            [
                (json!({"==": [left, right]}), json!(equal)),
                (json!({"!=": [right, left]}), json!(!equal)),
                (json!({"===": [left, right]}), json!(false)),
            ],
        );
    }
}

#[test]
fn lists_and_objects_equal_by_content() {
    let data = json!({"a": {"x": [1, {"y": 2.0}], "z": null}, "b": {"z": null, "x": [1.0, {"y": 2}]}, "c": {"z": null, "w": []}});
    assert_values(
        &data,
        [
            (json!({"===": [{"var": "a"}, {"var": "b"}]}), json!(true)),
            (json!({"==": [{"var": "a"}, {"var": "c"}]}), json!(false)),
            (json!({"in": [{"var": "a"}, [1, {"var": "b"}]]}), json!(true)),
            (json!({"in": ["", ""]}), json!(false)),
            (json!({"==": [[1, 2], [1, 2, 3]]}), json!(false)),
        ],
    );
}

#[test]
fn texts_are_ordered_by_their_utf_16_units() {
    assert_values(
        &Value::Null,
        [
            (json!({"<": ["10", "9"]}), json!(true)),
            (json!({"<": ["10", 9]}), json!(false)),
            (json!({"<": ["\u{1f600}", "\u{ff5e}"]}), json!(true)),
            (json!({"<": ["2024-01-01", "2024-01-02", "2024-01-03"]}), json!(true)),
        ],
    );
}

#[test]
fn no_character_is_cut_in_half() {
    assert_values(
        &json!({"name": "a😀é"}),
        [
            (json!({"substr": [{"var": "name"}, 1, 1]}), json!("😀")),
            (json!({"substr": [{"var": "name"}, -1]}), json!("é")),
            (json!({"substr": [{"var": "name"}, 0, -1]}), json!("a😀")),
            (json!({"substr": [{"var": "name"}, 0, -9]}), json!("")),
            (json!({"substr": [{"var": "name"}, 1e300]}), json!("")),
            (json!({"length": {"var": "name"}}), json!(3)),
        ],
    );
}

#[test]
fn the_length_of_what_is_missing_is_zero_and_of_a_number_null() {
    let data = json!({"list": [1, 2], "object": {"a": 1}});
    assert_values(
        &data,
        [
            (json!({"length": {"var": "list"}}), json!(2)),
            (json!({"length": [{"var": "object"}]}), json!(1)),
            (json!({"length": {"var": "nowhere"}}), json!(0)),
            (json!({"length": 12}), json!(null)),
        ],
    );
}

#[test]
fn log_and_preserve_give_what_they_are_given() {
    assert_values(
        &json!({"x": 1}),
        [
            (json!({"log": {"var": "x"}}), json!(1)),
            (json!({"preserve": {"var": "x"}}), json!({"var": "x"})),
            (json!({"a": {"var": "x"}, "b": 2}), json!({"a": {"var": "x"}, "b": 2})),
        ],
    );
}

#[test]
fn an_item_hides_what_is_around_it_except_from_val() {
    let data = json!({"limit": 2, "rows": [[1, 2], [3]]});
    assert_values(
        &data,
        [
            (json!({"map": [{"var": "rows"}, {"var": "limit"}]}), json!([null, null])),
            (
                json!({"map": [{"var": "rows"}, {"val": [[2], "limit"]}]}),
                json!([2, 2]),
            ),
            (
                json!({"map": [{"var": "rows"}, {"map": [{"var": ""}, {"val": [[-4], "limit"]}]}]}),
                json!([[2, 2], [2]]),
            ),
            (
                json!({"map": [{"var": "rows"}, {"map": [{"var": ""}, {"val": [[3], "index"]}]}]}),
                json!([[0, 0], [1]]),
            ),
            (
                json!({"map": [{"var": "rows"}, {"val": [[6], "limit"]}]}),
                json!([null, null]),
            ),
            (json!({"reduce": [{"var": "limit"}, {"var": ""}, 5]}), json!(5)),
            (
                json!({"reduce": [[7], {"var": ""}, 5]}),
                json!({"current": 7, "accumulator": 5}),
            ),
        ],
    );
}

#[test]
fn a_rule_says_which_paths_and_states_it_names() {
    let logic = Logic::compile(&json!({"and": [
        {">=": [{"var": "message.payload.daysAhead"}, {"var": ["variables.least", 30]}]},
        {"some": [{"val": ["variables", "rows"]}, {"==": [{"var": "kind"}, {"val": [[2], "event", "type"]}]}]},
        {"exists": ["results", "a.b"]},
        {"!": {"missing": ["event.payload", "variables.least"]}},
        {"missing_some": [1, ["variables.x"]]},
        {"var": {"cat": ["never", "literal"]}},
        {"in_state": "review.open"},
        {"not": 1, "preserved": {"var": "never"}},
        {"in_state": ["idle"]},
        {"in_state": "review.open"},
    ]}))
    .unwrap();
    let paths: Vec<_> = logic.paths().map(Path::to_string).collect();
    let expected = [
        "event.payload",
        "event.type",
        "message.payload.daysAhead",
        "results.a.b",
        "variables.least",
        "variables.rows",
        "variables.x",
    ];
    assert_eq!(paths, expected);
    assert_eq!(logic.in_states().collect::<Vec<_>>(), ["idle", "review.open"]);
}

/// A scope of one active state and one value that is made when it is asked for.
pub(super) struct Made;

impl Scope for Made {
    fn lookup(&self, path: &Path) -> Option<Cow<'_, Value>> {
        (path.root() == Some("made")).then(|| Cow::Owned(json!(["x".repeat(1000)])))
    }

    fn in_state(&self, target: &str) -> bool {
        target == "open"
    }
}

#[test]
fn in_state_asks_the_scope_from_inside_iterators_too() {
    for (rule, expected) in [
        (json!({"in_state": "open"}), json!(true)),
        (json!({"in_state": ["closed"]}), json!(false)),
        (json!({"map": [[1, 2], {"in_state": "open"}]}), json!([true, true])),
    ] {
        let value = Logic::compile(&rule).unwrap().evaluate(&Made, &mut Fuel::default());
        assert_eq!(value, Ok(expected), "{rule}");
    }
}

#[test]
fn a_compiled_rule_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + Clone + std::fmt::Debug>(_: &T) {}
    shared(&Logic::compile(&json!(true)).unwrap());
}
