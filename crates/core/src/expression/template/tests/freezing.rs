//! Facts freeze at trigger time; secrets and the attempt are bound per attempt.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::super::{Frozen, RenderErrorKind, TemplateLimits};
use super::{compile, scope};
use crate::expression::scope::{Path, Scope, walk};

/// Offers what an attempt offers, and nothing else may be asked of it.
struct Late(Value);

impl Scope for Late {
    fn lookup(&self, path: &Path) -> Option<Cow<'_, Value>> {
        assert!(matches!(path.root(), Some("secrets" | "attempt")), "asked for {path}");
        walk(&self.0, path.segments()).map(Cow::Borrowed)
    }
}

/// Offers the facts, and must not be asked for what is late.
struct Facts;

impl Scope for Facts {
    fn lookup(&self, path: &Path) -> Option<Cow<'_, Value>> {
        assert!(!matches!(path.root(), Some("secrets" | "attempt")), "asked for {path}");
        walk(&scope(), path.segments()).cloned().map(Cow::Owned)
    }
}

fn late() -> Late {
    Late(json!({"secrets": {"token": "s3cret", "pin": 1234, "json": {"a": [1]}}, "attempt": {"number": 2}}))
}

fn freeze(template: &Value) -> Frozen {
    compile(template)
        .freeze(&Facts, TemplateLimits::default())
        .expect("the template freezes")
}

fn bind(frozen: &Frozen) -> Value {
    frozen
        .bind(&late(), TemplateLimits::default())
        .expect("the config binds")
}

#[test]
fn strings_that_name_nothing_late_are_rendered_now() {
    let frozen = freeze(&json!({"to": "{{variables.name}}", "count": "{{variables.count}}", "fixed": [1]}));
    assert_eq!(frozen.config, json!({"to": "Ada", "count": 3, "fixed": [1]}));
    assert!(frozen.late.is_empty() && frozen.bindings.is_empty());
    assert_eq!(bind(&frozen), frozen.config);
}

#[test]
fn strings_that_name_something_late_stay_templates_with_their_other_values() {
    let frozen = freeze(&json!({
        "a/b": ["{{variables.name}}", "Bearer {{secrets.token}} for {{variables.name}} ({{ variables.count + 1 }})"],
        "try": "{{attempt.number}}",
    }));
    assert_eq!(frozen.late, ["/a~1b/1", "/try"]);
    assert_eq!(
        Value::Object(frozen.bindings.clone()),
        json!({"variables.name": "Ada", "variables.count": 3})
    );
    assert_eq!(
        bind(&frozen),
        json!({"a/b": ["Ada", "Bearer s3cret for Ada (4)"], "try": 2})
    );
}

#[test]
fn the_stored_form_never_holds_a_secret_and_survives_storage() {
    let frozen = freeze(&json!({"header": "Bearer {{ secrets.token }}", "body": "{{secrets.json}}", "n": 1}));
    let stored = serde_json::to_string(&frozen).expect("it is JSON");
    assert!(!stored.contains("s3cret"));
    let loaded: Frozen = serde_json::from_str(&stored).expect("it loads");
    assert_eq!(loaded, frozen);
    assert_eq!(
        bind(&loaded),
        json!({"header": "Bearer s3cret", "body": {"a": [1]}, "n": 1})
    );
}

#[test]
fn the_late_paths_are_exactly_those_needed() {
    let frozen = freeze(&json!([
        "{{secrets.token}}{{variables.name}}",
        "{{ secrets.pin ~ attempt.number }}",
        "{{ secrets.pin }}"
    ]));
    let paths: Vec<String> = frozen
        .late_paths()
        .expect("they parse")
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(paths, ["attempt.number", "secrets.pin", "secrets.token"]);
}

#[test]
fn every_attempt_sees_the_same_facts() {
    let template = compile(&json!("{{variables.count}}/{{attempt.number}}"));
    let frozen = template
        .freeze(&json!({"variables": {"count": 1}}), TemplateLimits::default())
        .expect("it freezes");
    for number in 1..4 {
        let late = Late(json!({"attempt": {"number": number}, "variables": {"count": 99}}));
        assert_eq!(
            frozen.bind(&late, TemplateLimits::default()).expect("it binds"),
            json!(format!("1/{number}"))
        );
    }
}

#[test]
fn a_frozen_value_that_looks_like_a_template_is_left_alone() {
    let scope = json!({"variables": {"evil": "{{secrets.token}}"}});
    let template = compile(&json!({"a": "{{variables.evil}}", "b": "{{variables.evil}} {{attempt.number}}"}));
    let frozen = template.freeze(&scope, TemplateLimits::default()).expect("it freezes");
    assert_eq!(frozen.late, ["/b"]);
    assert_eq!(
        bind(&frozen),
        json!({"a": "{{secrets.token}}", "b": "{{secrets.token}} 2"})
    );
}

#[test]
fn a_fact_that_is_missing_is_an_error_when_frozen() {
    let error = compile(&json!({"a": "{{secrets.token}} {{ variables.absent | upper }}"}))
        .freeze(&Facts, TemplateLimits::default())
        .expect_err("it is missing");
    assert_eq!(error.pointer, "/a");
    assert_eq!(
        error.kind,
        RenderErrorKind::Missing {
            path: "variables.absent".into()
        }
    );
}

#[test]
fn a_fact_that_has_a_default_may_be_missing_when_bound_too() {
    let frozen = freeze(&json!("{{ attempt.number ~ (variables.absent | default('!')) }}"));
    assert!(frozen.bindings.is_empty());
    assert_eq!(bind(&frozen), json!("2!"));
}

#[test]
fn a_secret_that_is_missing_is_named_when_bound() {
    let frozen = freeze(&json!({"a": "{{ secrets.absent | urlencode }}"}));
    let error = frozen
        .bind(&late(), TemplateLimits::default())
        .expect_err("it is missing");
    assert_eq!(
        (error.pointer.as_str(), error.kind),
        (
            "/a",
            RenderErrorKind::Missing {
                path: "secrets.absent".into()
            }
        )
    );
}

#[test]
fn an_error_never_quotes_what_a_late_expression_worked_on() {
    for template in [
        "{{ attempt.pin / 0 }}",
        "{{ attempt.pin % 0 }}",
        "{{ attempt.token | int }}",
        "{{ attempt.json + 1 }}",
    ] {
        let late = Late(json!({"attempt": {"token": "s3cret", "pin": 1234, "json": {"a": [1]}}}));
        let error = freeze(&json!(template))
            .bind(&late, TemplateLimits::default())
            .expect_err("it fails");
        assert!(
            matches!(error.kind, RenderErrorKind::Failed { .. }),
            "{template}: {error}"
        );
        assert!(!format!("{error} {error:?}").contains("1234"), "{template}: {error}");
        assert!(error.to_string().contains("does not suit"), "{template}: {error}");
    }
    let error = compile(&json!("{{ variables.count / 0 }}"))
        .render(&Facts, TemplateLimits::default())
        .expect_err("it fails");
    assert!(error.to_string().contains('3'), "facts may be quoted: {error}");
}

#[test]
fn a_damaged_stored_form_is_an_error_not_a_panic() {
    for (config, pointer) in [
        (json!({"a": "plain"}), "/a"),
        (json!({"a": "{{ broken"}), "/a"),
        (json!({"a": 1}), "/a"),
        (json!({}), "/b"),
        (json!("{{secrets.token}}"), "no pointer"),
    ] {
        let frozen = Frozen {
            config,
            late: vec![pointer.into()],
            bindings: serde_json::Map::new(),
        };
        let error = frozen
            .bind(&late(), TemplateLimits::default())
            .expect_err("it is damaged");
        assert_eq!(error.pointer, pointer);
        assert!(frozen.late_paths().is_err());
    }
}

#[test]
fn what_is_captured_and_what_is_bound_count_against_the_limit() {
    let template = compile(&json!("{{ secrets.token }}{{ variables.text }}"));
    let facts = json!({"variables": {"text": "x".repeat(500)}});
    let limits = TemplateLimits { output_bytes: 500 };
    let too_large = RenderErrorKind::TooLarge { limit: 500 };
    assert_eq!(
        template.freeze(&facts, limits).expect_err("it is too large").kind,
        too_large
    );
    let frozen = template.freeze(&facts, TemplateLimits::default()).expect("it freezes");
    assert_eq!(
        frozen.bind(&late(), limits).expect_err("it is too large").kind,
        too_large
    );
    let frozen = freeze(&json!(["{{secrets.token}}", "x".repeat(500)]));
    assert_eq!(
        frozen.bind(&late(), limits).expect_err("it is too large").kind,
        too_large
    );
}
