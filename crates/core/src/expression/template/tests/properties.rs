//! What holds for every template and every value.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::{Template, TemplateLimits};

/// Pieces of templates, so that random strings are often nearly right.
const PIECES: [&str; 64] = [
    "{{",
    "}}",
    "{{ ",
    " }}",
    "{%",
    "{#",
    "#}",
    " ",
    ".",
    ",",
    ":",
    "|",
    "~",
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "==",
    "<",
    "=",
    "'",
    "\"",
    "\\",
    "variables",
    "a",
    "b",
    "variables.a",
    "secrets.s",
    "0",
    "1",
    "7.5",
    "1e9",
    "'x'",
    "\"y\"",
    "true",
    "none",
    " is ",
    " not ",
    " in ",
    " if ",
    " else ",
    " and ",
    "defined",
    "odd",
    "divisibleby",
    "|default(1)",
    "|length",
    "|join(',')",
    "|replace('','x')",
    "|map('upper')",
    "|format(1)",
    "|round(-3)",
    "|int",
    "[1:2]",
    "ä",
];

const OPERANDS: [&str; 18] = [
    "1",
    "0",
    "-2",
    "2.5",
    "1e308",
    "'x'",
    "''",
    "true",
    "none",
    "[]",
    "[1,'a']",
    "{'a': 1}",
    "variables",
    "variables.a",
    "variables.b",
    "variables['c']",
    "variables.a[0]",
    "variables.absent",
];

const OPERATORS: [&str; 15] = [
    "+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", ">=", "in", "not in", "and", "or",
];

const FILTERS: [&str; 36] = [
    "abs",
    "base64",
    "bool",
    "default(1)",
    "first",
    "float",
    "format(1)",
    "int",
    "items",
    "join",
    "last",
    "length",
    "list",
    "lower",
    "map('string')",
    "max",
    "min",
    "reverse",
    "round",
    "round(-2)",
    "round(400)",
    "select",
    "sort",
    "split",
    "split('')",
    "string",
    "sum",
    "title",
    "tojson",
    "trim",
    "unique",
    "upper",
    "urlencode",
    "replace('', 'ab')",
    "map(attribute='a')",
    "selectattr('a')",
];

const TESTS: [&str; 9] = [
    "defined",
    "none",
    "odd",
    "divisibleby 0",
    "divisibleby(2)",
    "string",
    "in [1]",
    "not eq 1",
    "lt 'a'",
];

fn expression() -> impl Strategy<Value = String> {
    expression_over(OPERANDS.to_vec())
}

/// Well-formed expressions, built up from these operands.
pub(super) fn expression_over(operands: Vec<&'static str>) -> impl Strategy<Value = String> {
    let operand = prop::sample::select(operands).prop_map(str::to_owned);
    operand.prop_recursive(4, 24, 3, |inner| {
        let pair = (inner.clone(), inner.clone());
        let three = (inner.clone(), inner.clone(), inner.clone());
        let joined = (inner.clone(), prop::sample::select(OPERATORS.to_vec()), inner.clone());
        let filtered = (inner.clone(), prop::sample::select(FILTERS.to_vec()));
        let tested = (inner.clone(), prop::sample::select(TESTS.to_vec()));
        prop_oneof![
            joined.prop_map(|(left, operator, right)| format!("{left} {operator} {right}")),
            inner.clone().prop_map(|inner| format!("({inner})")),
            inner.clone().prop_map(|inner| format!("not {inner}")),
            inner.clone().prop_map(|inner| format!("[{inner}, 1]")),
            inner.prop_map(|inner| format!("{{'k': {inner}}}.k")),
            filtered.prop_map(|(inner, filter)| format!("({inner})|{filter}")),
            tested.prop_map(|(inner, test)| format!("({inner}) is {test}")),
            pair.clone().prop_map(|(value, at)| format!("({value})[{at}]")),
            pair.prop_map(|(from, to)| format!("'abc'[{from}:{to}]")),
            three.prop_map(|(yes, test, no)| format!("{yes} if {test} else {no}")),
        ]
    })
}

pub(super) fn pieces() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..16).prop_map(|pieces| pieces.concat())
}

/// Any JSON value; its texts are often templates.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        pieces().prop_map(Value::from),
        Just(json!("{{ variables.a }}")),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-c]", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn scope() -> impl Strategy<Value = Value> {
    (value(), value(), value(), value())
        .prop_map(|(a, b, c, s)| json!({"variables": {"a": a, "b": b, "c": c}, "secrets": {"s": s}}))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn compiling_and_rendering_any_string_is_total(source in pieces(), scope in scope()) {
        if let Ok(template) = Template::compile(&json!(source)) {
            let once = template.render(&scope, TemplateLimits::default());
            prop_assert_eq!(&once, &template.render(&scope, TemplateLimits::default()), "it is the same every time");
            let _ = template.freeze(&scope, TemplateLimits::default()).map(|frozen| frozen.bind(&scope, TemplateLimits::default()));
        }
    }

    #[test]
    fn evaluating_any_expression_is_total(source in expression(), scope in scope()) {
        if let Ok(template) = Template::compile(&json!(format!("{{{{ {source} }}}}"))) {
            let once = template.render(&scope, TemplateLimits::default());
            prop_assert_eq!(&once, &template.render(&scope, TemplateLimits::default()), "it is the same every time");
        }
    }

    #[test]
    fn data_is_never_evaluated(data in value()) {
        let scope = json!({"variables": {"a": "evaluated", "data": data}});
        let render = |template: Value| Template::compile(&template).expect("it compiles").render(&scope, TemplateLimits::default());
        prop_assert_eq!(render(json!("{{variables.data}}")).expect("it is there"), data.clone());
        prop_assert_eq!(render(json!("{{ variables.data | default(1) }}")).expect("it is there"), data.clone());
        if let Some(text) = data.as_str() {
            prop_assert_eq!(render(json!("<{{variables.data}}>")).expect("it is text"), json!(format!("<{text}>")));
            prop_assert_eq!(render(json!("{{ '<' ~ variables.data }}")).expect("it is text"), json!(format!("<{text}")));
        }
    }

    #[test]
    fn where_nothing_is_late_freezing_and_binding_is_rendering(template in value(), scope in scope()) {
        let Ok(template) = Template::compile(&template) else { return Ok(()) };
        if template.paths().all(|path| path.root() != Some("secrets")) {
            let rendered = template.render(&scope, TemplateLimits::default());
            let frozen = template.freeze(&scope, TemplateLimits::default());
            prop_assert_eq!(frozen.and_then(|frozen| frozen.bind(&json!({}), TemplateLimits::default())), rendered);
        }
    }

    #[test]
    fn what_holds_no_expression_is_itself(value in value()) {
        if let Ok(template) = Template::compile(&value) && !value.to_string().contains("{{") {
            prop_assert_eq!(template.render(&json!({}), TemplateLimits::default()).expect("it is constant"), value);
        }
    }
}
