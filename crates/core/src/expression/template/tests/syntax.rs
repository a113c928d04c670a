//! What is a template and what is refused, each with a remedy.

use serde_json::json;

use super::super::limits::{BRACKETS_MAX, DEPTH_MAX, EXPRESSION_BYTES_MAX, EXPRESSIONS_PER_STRING_MAX, PATHS_MAX};
use super::super::{Template, TemplateLimits};
use super::{compile, refusal, render};

#[test]
fn text_without_braces_is_literal() {
    for text in [
        "",
        "plain",
        "a { b } c",
        "}}",
        "{\"a\":{\"b\":1}}",
        "100 %}",
        "{#ffffff}",
        "#}",
        "{ {x} }",
        "ä{",
    ] {
        assert_eq!(render(text), json!(text));
        assert!(compile(&json!(text)).is_constant());
    }
}

#[test]
fn braces_can_be_written_as_text() {
    assert_eq!(render("{{ \"{{\" }}"), json!("{{"));
    assert_eq!(render("{{ '{{x}}' }}!"), json!("{{x}}!"));
    assert_eq!(render("{{ '{% x %}' }}"), json!("{% x %}"));
    assert_eq!(render("{{ 'it\\'s }}' }}"), json!("it's }}"));
}

#[test]
fn an_object_may_end_where_its_expression_ends() {
    assert_eq!(render("{{ {'a': {'b': 1}}}}"), json!({"a": {"b": 1}}));
    assert_eq!(render("{{{'a': 1}.a}}}"), json!("1}"));
}

#[test]
fn what_jinja_has_besides_expressions_is_refused() {
    for (template, remedy) in [
        ("{% if a %}x{% endif %}", "expressions only"),
        ("a {%", "write `{{ \"{%\" }}`"),
        ("{{variables.a}} {% set b = 1 %}", "expressions only"),
        ("{# note #}", "not a comment"),
        ("{{- variables.a }}", "write `{{ -1 }}`"),
        ("{{ variables.a -}}", "write `{{ -1 }}`"),
        ("{{+variables.a}}", "do not remove blanks"),
    ] {
        assert!(refusal(template).contains(remedy), "{template}: {}", refusal(template));
    }
}

#[test]
fn what_does_not_parse_is_refused() {
    for (template, reason) in [
        ("{{", "not closed"),
        ("{{ variables.a", "not closed"),
        ("{{ 'a }}", "not closed"),
        ("{{}}", "empty"),
        ("{{ }}", "empty"),
        ("{{ variables. }}", "not an expression"),
        ("{{ a b }}", "not an expression"),
        ("{{ a ~ }}", "not an expression"),
        ("{{ 1 + }}", "not an expression"),
        ("{{ (a }}", "closes nothing"),
        ("{{ a) }}", "closes nothing"),
        ("{{ a ? b : c }}", "`?` has no meaning"),
        ("{{ ä }}", "`ä` has no meaning"),
        ("{{ 0x1F }}", "decimal"),
        ("{{ a = 1 }}", "not an expression"),
        ("{{ {x} }}", "not an expression"),
    ] {
        assert!(refusal(template).contains(reason), "{template}: {}", refusal(template));
    }
}

#[test]
fn what_cannot_be_bounded_or_would_be_silent_is_refused() {
    for (template, remedy) in [
        ("{{ range(3) }}", "use a filter"),
        ("{{ variables.a.items() }}", "use a filter"),
        ("{{ 'a'.upper() }}", "use a filter"),
        ("{{ (a)(1) }}", "use a filter"),
        ("{{ 2 ** 3 }}", "`**` is not available"),
        ("{{ a | join(*b) }}", "between two numbers"),
        ("{{ a | join(**b) }}", "`**` is not available"),
        ("{{ 2 * }}", "between two numbers"),
        ("{{ 2 * a is odd | string }}", "in parentheses"),
        ("{{ a[0:2:-1] }}", "no step"),
        ("{{ a[::2] }}", "no step"),
        ("{{ a if b }}", "needs an `else`"),
        ("{{ [a if b] if c else d }}", "needs an `else`"),
    ] {
        assert!(refusal(template).contains(remedy), "{template}: {}", refusal(template));
    }
}

#[test]
fn words_are_operators_only_where_they_can_be() {
    for (template, remedy) in [
        ("{{ 1 + not a }}", "in parentheses"),
        ("{{ a in not b }}", "in parentheses"),
        ("{{ a not b }}", "in parentheses"),
        ("{{ and a }}", "nothing on its left"),
        ("{{ a + in }}", "nothing on its left"),
        ("{{ 1 if a else if }}", "nothing on its left"),
        ("{{ a is odd if b else c }}", "put the test before `if` in parentheses"),
        ("{{ a is odd not in b }}", "put the test before `not` in parentheses"),
    ] {
        assert!(refusal(template).contains(remedy), "{template}: {}", refusal(template));
    }
    let scope = json!({"a": {"is": 1, "in": 2, "not": 3, "if": [4]}});
    for (template, value) in [
        ("{{ a.is and a.in }}", json!(2)),
        ("{{ a.not in [3] }}", json!(true)),
        ("{{ a.if[0] if a.is else a.in }}", json!(4)),
        ("{{ not a.is or not not a.in }}", json!(true)),
        ("{{ 'x' ~ a.is is eq -a.in }}", json!("xfalse")),
    ] {
        let rendered = compile(&json!(template)).render(&scope, TemplateLimits::default());
        assert_eq!(rendered.expect("it renders"), value, "{template}");
    }
}

#[test]
fn unknown_filters_and_tests_are_refused_with_those_there_are() {
    assert!(refusal("{{ a | uper }}").contains("no filter `uper`; there are `abs`"));
    assert!(refusal("{{ a is strange }}").contains("no test `strange`; there are `boolean`"));
    for absent in [
        "_number", "_text", "indent", "pprint", "batch", "slice", "safe", "zip", "upper.x",
    ] {
        refusal(json!(format!("{{{{ a | {absent} }}}}")));
    }
}

#[test]
fn a_late_bound_root_must_be_named_with_its_member() {
    for template in [
        "{{ secrets }}",
        "{{ secrets[variables.name] }}",
        "{{ attempt | tojson }}",
    ] {
        assert!(refusal(template).contains("late-bound"), "{template}");
    }
    compile(&json!("{{ secrets['api-key'] ~ attempt.number }}"));
}

#[test]
fn all_problems_are_reported_with_their_places() {
    let errors = Template::compile(&json!({
        "a": ["ok", "x {{ a b }} y {{ c | nope }} {% z"],
        "b/c": "{{",
        "d": "{{variables.fine}}",
    }))
    .expect_err("it does not compile");
    let places: Vec<_> = errors
        .iter()
        .map(|error| (error.pointer.as_str(), error.offset))
        .collect();
    assert_eq!(
        places,
        [
            ("/a/1", Some(4)),
            ("/a/1", Some(21)),
            ("/a/1", Some(29)),
            ("/b~1c", Some(2))
        ]
    );
    assert!(errors[3].to_string().ends_with("(at `/b~1c`)"), "{}", errors[3]);
}

#[test]
fn an_expression_is_bounded_in_length_brackets_and_paths() {
    let long = format!("{{{{ '{}' }}}}", "x".repeat(EXPRESSION_BYTES_MAX));
    assert!(refusal(long).contains("bytes"));
    let deep = |depth: usize| format!("{{{{ {}1{} }}}}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(render(json!(deep(BRACKETS_MAX))), json!(1));
    assert!(refusal(json!(deep(BRACKETS_MAX + 1))).contains("brackets nest"));
    let paths = |count: usize| {
        let names: Vec<String> = (0..count).map(|at| format!("variables.v{at}|d(1)")).collect();
        json!(format!("{{{{ [{}] }}}}", names.join(",")))
    };
    compile(&paths(PATHS_MAX));
    assert!(refusal(paths(PATHS_MAX + 1)).contains("different paths"));
    let joined = |count: usize| json!(format!("{{{{ 'a'{} }}}}", " ~ 'b'".repeat(count)));
    assert_eq!(render(joined(32)).as_str().map(str::len), Some(33));
    assert!(refusal(joined(33)).contains("at most `32` of `+` and `~`"));
}

#[test]
fn a_template_is_bounded_in_expressions_and_depth() {
    let many = |count: usize| json!("{{ 1 }},".repeat(count));
    compile(&many(EXPRESSIONS_PER_STRING_MAX));
    assert!(refusal(many(EXPRESSIONS_PER_STRING_MAX + 1)).contains("a string has at most"));
    let wide = |count: usize| json!(vec!["{{ 1 }}"; count]);
    compile(&wide(1024));
    assert!(refusal(wide(1025)).contains("a template has at most"));
    let deep = |depth: usize| (0..depth).fold(json!("{{ 1 }}"), |inner, _| json!([inner]));
    compile(&deep(DEPTH_MAX));
    assert!(refusal(deep(DEPTH_MAX + 1)).contains("nests at most"));
}
