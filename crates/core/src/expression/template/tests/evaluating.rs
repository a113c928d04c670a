//! What expressions yield.

use serde_json::{Value, json};

use super::super::{RenderErrorKind, Template, TemplateLimits};
use super::{compile, kind, missing, render, scope, try_render};

#[test]
fn a_string_that_is_one_expression_keeps_the_type() {
    for (template, value) in [
        ("{{variables.count}}", json!(3)),
        ("{{ variables.price }}", json!(9.5)),
        ("{{variables.yes}}", json!(true)),
        ("{{variables.none}}", json!(null)),
        ("{{variables.object}}", json!({"zulu": 1, "alpha": [1, "x"]})),
        ("{{ variables.count + 1 }}", json!(4)),
        ("{{ [variables.count, 'a'] }}", json!([3, "a"])),
        ("{{ {'a': {'b': variables.count}} }}", json!({"a": {"b": 3}})),
        ("{{ variables.none if true else 1 }}", json!(null)),
    ] {
        assert_eq!(render(template), value, "{template}");
    }
}

#[test]
fn integers_are_exact_to_both_ends() {
    assert_eq!(render("{{variables.largest}}"), json!(u64::MAX));
    assert_eq!(render("{{variables.largest | default(0)}}"), json!(u64::MAX));
    assert_eq!(render("{{variables.smallest | default(0)}}"), json!(i64::MIN));
    assert_eq!(render("{{variables.largest - 1}}"), json!(u64::MAX - 1));
    assert_eq!(render("is {{variables.smallest}}"), json!(format!("is {}", i64::MIN)));
    assert!(matches!(
        kind("{{variables.largest + 1}}"),
        RenderErrorKind::Failed { .. }
    ));
}

#[test]
fn a_quotient_is_a_float_even_where_it_is_whole() {
    assert_eq!(render("{{ 10 / 2 }}"), json!(5.0));
    assert_eq!(render("{{ 10 // 3 }}"), json!(3));
    assert_eq!(render("each {{ 10 / 2 }}"), json!("each 5.0"));
    assert_eq!(render("{{ (variables.price * 2) | int }}"), json!(19));
}

#[test]
fn a_result_that_is_not_finite_is_an_error() {
    for template in [
        "{{ 1e308 * 10 }}",
        "{{ 1e308 * 10 - 1e308 * 10 }}",
        "{{ 1 / 0 }}",
        "{{ 'nan' | float }}",
    ] {
        assert!(matches!(kind(template), RenderErrorKind::Failed { .. }), "{template}");
    }
}

#[test]
fn in_a_text_each_expression_becomes_text() {
    for (template, text) in [
        ("Dear {{variables.name}},", "Dear Ada,"),
        ("{{variables.name}}{{variables.count}}", "Ada3"),
        ("{{variables.price}} {{variables.yes}}", "9.5 true"),
        ("is {{variables.object}}", r#"is {"zulu":1,"alpha":[1,"x"]}"#),
        ("is {{variables.tags}}", r#"is ["b","a","b"]"#),
        (" {{variables.name}}", " Ada"),
    ] {
        assert_eq!(render(template), json!(text), "{template}");
    }
}

#[test]
fn null_has_no_text() {
    let expected = RenderErrorKind::Null {
        expression: "variables.none".into(),
    };
    assert_eq!(kind("Dear {{variables.none}}"), expected);
    assert!(matches!(
        kind("{{ 'Dear ' ~ variables.none }}"),
        RenderErrorKind::Failed { .. }
    ));
    assert!(matches!(
        kind("{{ [variables.none] | join }}"),
        RenderErrorKind::Failed { .. }
    ));
    assert_eq!(
        render("Dear {{ variables.none | default('friend', true) }}"),
        json!("Dear friend")
    );
    assert_eq!(
        render("{{ 'none' if variables.none is none else 'some' }}"),
        json!("none")
    );
}

#[test]
fn concatenation_makes_text_as_a_text_does() {
    for (template, text) in [
        ("{{ 'n' ~ variables.count * 2 ~ '!' }}", "n6!"),
        ("{{ variables.object ~ '' }}", r#"{"zulu":1,"alpha":[1,"x"]}"#),
        ("{{ ('a' ~ 1) ~ ('b' ~ 2) }}", "a1b2"),
        ("{{ 'a' ~ 1 if variables.yes else 'b' ~ 2 }}", "a1"),
        ("{{ -variables.count ~ 'x' }}", "-3x"),
        ("{{ variables.tags | join('-') ~ variables.tags[0] }}", "b-a-bb"),
        ("{{ 'yes' if 'Ada!' == variables.name ~ '!' else 'no' }}", "yes"),
        ("{{ [1 ~ 2, {'k': 3 ~ 4}] | tojson }}", r#"["12",{"k":"34"}]"#),
        ("{{ variables.tags | join(',' ~ ' ') }}", "b, a, b"),
    ] {
        assert_eq!(render(template), json!(text), "{template}");
    }
}

#[test]
fn a_missing_value_is_an_error_that_names_its_path() {
    for (template, path) in [
        ("{{variables.absent}}", "variables.absent"),
        ("Dear {{ variables.absent }}", "variables.absent"),
        ("{{variables.a.b}}", "variables.a.b"),
        ("{{variables.name.first}}", "variables.name.first"),
        ("{{ variables.items[7].name }}", "variables.items.7.name"),
        ("{{ variables.absent + 1 }}", "variables.absent"),
        ("{{ 1 - variables.absent }}", "variables.absent"),
        ("{{ -variables.absent }}", "variables.absent"),
        ("{{ variables.absent * 2 }}", "variables.absent"),
        ("{{ variables.absent > 2 }}", "variables.absent"),
        ("{{ variables.absent == none }}", "variables.absent"),
        ("{{ variables.name ~ variables.absent }}", "variables.absent"),
        ("{{ variables.absent | upper }}", "variables.absent"),
        ("{{ variables.absent | length }}", "variables.absent"),
        ("{{ 1.5 | round(variables.absent) }}", "variables.absent"),
        ("{{ 1.5 | round(precision=variables.absent) }}", "variables.absent"),
        ("{{ variables.absent is none }}", "variables.absent"),
        ("{{ variables.absent in [1] }}", "variables.absent"),
        ("{{ not variables.absent }}", "variables.absent"),
        ("{{ variables.absent and true }}", "variables.absent"),
        ("{{ 1 if variables.absent else 2 }}", "variables.absent"),
        ("{{ [1, variables.absent] }}", "variables.absent"),
        ("{{ {'a': variables.absent} }}", "variables.absent"),
        ("{{ variables.absent[0:2] }}", "variables.absent"),
        (
            "{{ variables.other | default(1) + variables.absent }}",
            "variables.absent",
        ),
        ("{{ absent }}", "absent"),
    ] {
        assert_eq!(missing(template), path, "{template}");
    }
}

#[test]
fn where_no_path_is_to_blame_the_expression_is_named() {
    for expression in [
        "variables[variables.name]",
        "variables.empty | first",
        "[] | min",
        "{'a': 1}.b",
    ] {
        assert_eq!(missing(json!(format!("{{{{ {expression} }}}}"))), expression);
    }
}

#[test]
fn a_failure_of_its_own_is_not_taken_for_a_missing_value() {
    for template in [
        "{{ variables.absent | default(1) / 0 }}",
        "{{ variables.absent | default('x') + 1 }}",
    ] {
        assert!(
            matches!(kind(template), RenderErrorKind::Failed { .. }),
            "{template}: {}",
            kind(template)
        );
    }
}

#[test]
fn a_default_allows_a_missing_value_at_any_depth() {
    for (template, value) in [
        ("{{ message.payload.x | default(0) }}", json!({"y": 1})),
        ("{{ message.payload.z | default(0) }}", json!(0)),
        ("{{ variables.a.b | default('n') }}", json!("n")),
        ("{{ variables.a.b.c.d | d(variables.count) }}", json!(3)),
        ("{{ variables.a.b | default(variables.a | default(1)) }}", json!(1)),
        ("{{ variables.items[9].name | default('none') }}", json!("none")),
        ("{{ variables.none.b | default('n') }}", json!("n")),
        ("{{ variables.none | default('n') }}", json!(null)),
        ("{{ variables.a.b is defined }}", json!(false)),
        (
            "{{ variables.name is defined and variables.a is undefined }}",
            json!(true),
        ),
        (
            "{{ variables.a.b if variables.a is defined else 'no a' }}",
            json!("no a"),
        ),
    ] {
        assert_eq!(render(template), value, "{template}");
    }
}

#[test]
fn paths_may_be_written_with_literal_subscripts() {
    for (template, value) in [
        ("{{ variables['a-b'] }}", json!("dashed")),
        ("{{ variables.items[0].name }}", json!("pen")),
        ("{{ variables.items.1.name }}", json!("ink")),
        ("{{ variables.items[0]['name'] | upper }}", json!("PEN")),
        ("{{ variables . name }}", json!("Ada")),
    ] {
        assert_eq!(render(template), value, "{template}");
    }
}

#[test]
fn computed_subscripts_work() {
    for (template, value) in [
        ("{{ variables[variables.key] }}", json!("Ada")),
        ("{{ variables.items[variables.count - 2].name }}", json!("ink")),
        ("{{ variables.items[-1].name }}", json!("ink")),
        ("{{ (variables.items | first).name }}", json!("pen")),
        ("{{ variables['a' ~ '-b'] }}", json!("dashed")),
        ("{{ variables['a.b'] }}", json!("dotted")),
        (r"{{ variables['it\'s'] }}", json!("quoted")),
    ] {
        assert_eq!(render(template), value, "{template}");
    }
}

#[test]
fn filters_and_tests_do_what_they_say() {
    for (template, value) in [
        ("{{ variables.name | upper ~ variables.name | lower }}", json!("ADAada")),
        ("{{ ' a ' | trim }}", json!("a")),
        ("{{ 'xxaxx' | trim('x') }}", json!("a")),
        ("{{ variables.tags | length + variables.tags | count }}", json!(6)),
        ("{{ variables.tags | join(', ') }}", json!("b, a, b")),
        ("{{ [1, 2.5, true, {'a': 1}] | join }}", json!("12.5true{\"a\":1}")),
        ("{{ 2.567 | round(2) }}", json!(2.57)),
        ("{{ '42' | int + '1.5' | float }}", json!(43.5)),
        ("{{ -3 | abs }}", json!(3)),
        (
            "{{ variables.object | tojson }}",
            json!(r#"{"zulu":1,"alpha":[1,"x"]}"#),
        ),
        ("{{ '<a>' | tojson }}", json!("\"<a>\"")),
        ("{{ 'a-b-c' | replace('-', '+') }}", json!("a+b+c")),
        ("{{ 'abc' | replace('', '.') }}", json!(".a.b.c.")),
        ("{{ (variables.tags | first) ~ (variables.tags | last) }}", json!("bb")),
        ("{{ [3, 1, 2] | min + [3, 1, 2] | max }}", json!(4)),
        ("{{ variables.items | map(attribute='price') | sum }}", json!(7)),
        ("{{ variables.tags | sort | unique | list }}", json!(["a", "b"])),
        ("{{ variables.tags | map('upper') | list }}", json!(["B", "A", "B"])),
        ("{{ [1, 2, 3, 4] | select('odd') | list }}", json!([1, 3])),
        ("{{ [1, 2, 3, 4] | reject('>', 2) | list }}", json!([1, 2])),
        (
            "{{ variables.items | selectattr('price', 'gt', 3) | map(attribute='name') | list }}",
            json!(["ink"]),
        ),
        (
            "{{ variables.object | items | list }}",
            json!([["zulu", 1], ["alpha", [1, "x"]]]),
        ),
        ("{{ variables.object | list }}", json!(["zulu", "alpha"])),
        ("{{ [1, 2, 3] | reverse | list }}", json!([3, 2, 1])),
        ("{{ 'a b' | split | last }}", json!("b")),
        (
            "{{ '%.2f EUR, %d%%' | format(variables.price, 7) }}",
            json!("9.50 EUR, 7%"),
        ),
        ("{{ 'ä b/c?d=e' | urlencode }}", json!("%C3%A4%20b/c%3Fd%3De")),
        ("{{ 5 | string }}", json!("5")),
        ("{{ 'ada lovelace' | title }}", json!("Ada Lovelace")),
        ("{{ 10 is divisibleby 5 }}", json!(true)),
        ("{{ 10 is divisibleby 0 }}", json!(false)),
        (
            "{{ variables.name is startingwith 'A' and variables.count is odd }}",
            json!(true),
        ),
        ("{{ 'a' is not in variables.tags }}", json!(false)),
        ("{{ 'c' not in variables.tags }}", json!(true)),
        ("{{ 1 < 2 <= 2 }}", json!(true)),
        ("{{ variables.name[0:2] }}", json!("Ad")),
        ("{{ [1, 2, 3][1:] + [4] }}", json!([2, 3, 4])),
        ("{{ 'a' + 'b' }}", json!("ab")),
        ("{{ 2 * -variables.count | abs }}", json!(6)),
        ("{{ 2 * (variables.tags | length) * 2 }}", json!(12)),
        (
            "{{ variables.items[0].price * variables.items[1]['price'] }}",
            json!(10),
        ),
    ] {
        assert_eq!(render(template), value, "{template}");
    }
}

#[test]
fn an_item_without_the_attribute_is_missing_not_zero() {
    let template = json!("{{ [{'price': 1}, {}] | map(attribute='price') | sum }}");
    assert!(matches!(kind(template), RenderErrorKind::Missing { .. }));
    let template = json!("{{ [{'name': 'a'}, {}] | map(attribute='name') | join }}");
    assert!(matches!(kind(template), RenderErrorKind::Missing { .. }));
    let template = json!("{{ [{'price': 1}, {}] | map(attribute='price', default=0) | sum }}");
    assert_eq!(render(template), json!(1));
}

#[test]
fn a_rendered_value_is_never_read_as_a_template_again() {
    assert_eq!(render("{{variables.braces}}"), json!("{{ variables.name }}"));
    assert_eq!(render("<{{variables.braces}}>"), json!("<{{ variables.name }}>"));
    assert_eq!(render("{{variables.braces | upper}}"), json!("{{ VARIABLES.NAME }}"));
}

#[test]
fn names_of_members_are_not_templates() {
    let template = json!({"{{variables.name}}": "{{variables.name}}"});
    assert_eq!(render(template), json!({"{{variables.name}}": "Ada"}));
}

#[test]
fn values_are_rendered_wherever_they_stand_and_keep_their_order() {
    let template = json!({
        "to": ["{{variables.name}}", {"deep": "{{variables.count}}"}],
        "amount": 3, "fixed": {"z": null, "a": false}, "about": "",
    });
    let rendered = render(template);
    let expected = json!({
        "to": ["Ada", {"deep": 3}], "amount": 3, "fixed": {"z": null, "a": false}, "about": "",
    });
    assert_eq!(rendered.to_string(), expected.to_string());
}

#[test]
fn objects_keep_the_order_of_their_members_through_an_expression() {
    let rendered = render("{{ variables.object | default({}) }}");
    assert_eq!(rendered.to_string(), r#"{"zulu":1,"alpha":[1,"x"]}"#);
    let rendered = render("{{ {'z': 1, 'a': variables.count} }}");
    assert_eq!(rendered.to_string(), r#"{"z":1,"a":3}"#);
}

#[test]
fn an_error_says_where() {
    let error = try_render(json!({"a/b": ["ok", {"c~d": "{{variables.absent}}"}]})).expect_err("it is missing");
    assert_eq!(error.pointer, "/a~1b/1/c~0d");
    let expected = "`variables.absent` has no value; where it may be missing, write `variables.absent | default(…)` \
                    (at `/a~1b/1/c~0d`)";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn every_path_is_known() {
    let template = compile(&json!({
        "a": "{{message.payload.x}} and {{ secrets.token ~ attempt.number }}",
        "b": ["{{ variables.items[0].name | default(variables['a-b']) }}", "{{ variables.s[0:1] }}"],
        "c": "{{ variables[variables.key].x if message.payload.x is eq execution.id else 'variables.no' }}",
        "d": "{{ list | map(attribute=names.attribute, default=names.fallback) | first }}",
    }));
    let paths: Vec<String> = template.paths().map(ToString::to_string).collect();
    let expected = [
        "attempt.number",
        "execution.id",
        "list",
        "message.payload.x",
        "names.attribute",
        "names.fallback",
        "secrets.token",
        "variables",
        "variables.a-b",
        "variables.items.0.name",
        "variables.key",
        "variables.s",
    ];
    assert_eq!(paths, expected);
}

#[test]
fn only_a_template_without_paths_is_constant() {
    assert!(compile(&json!({"a": [1, "x"]})).is_constant());
    assert!(compile(&json!("{{ '{{' ~ 1 }}")).is_constant());
    assert!(!compile(&json!(["{{variables.a}}"])).is_constant());
}

#[test]
fn templates_are_shared_between_threads() {
    fn shared<T: Clone + Send + Sync + std::fmt::Debug>(_: &T) {}
    let template = compile(&json!("{{ variables.count * 2 }}"));
    shared(&template);
    let other = template.clone();
    let rendered = std::thread::spawn(move || other.render(&scope(), TemplateLimits::default()))
        .join()
        .expect("no panic");
    assert_eq!(rendered.expect("it renders"), json!(6));
    assert_eq!(format!("{template:?}").matches("variables.count * 2").count(), 2);
}

#[test]
fn a_scope_is_asked_only_for_the_paths_named() {
    use crate::expression::scope::{Path, Scope};
    struct Strict;
    impl Scope for Strict {
        fn lookup(&self, path: &Path) -> Option<std::borrow::Cow<'_, Value>> {
            assert!(
                matches!(path.to_string().as_str(), "variables.a.b" | "variables.c"),
                "asked for {path}"
            );
            Some(std::borrow::Cow::Owned(json!(2)))
        }
    }
    let template =
        Template::compile(&json!("{{variables.a.b}} {{ variables.a.b + variables.c }}")).expect("it compiles");
    assert_eq!(
        template.render(&Strict, TemplateLimits::default()).expect("it renders"),
        json!("2 4")
    );
}
