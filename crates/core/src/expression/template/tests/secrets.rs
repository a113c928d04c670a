//! Secrets in expressions: alone or encoded, and never in a form that masking does not recognise.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{RenderErrorKind, Template, TemplateLimits};
use super::compile;
use super::properties::{expression_over, pieces};
use crate::text::redact::Redactor;

/// Two values of one secret. They have nothing in common but the length modulo three, which base64 shows as padding. What
/// could begin an escape stands far from their ends: there masking takes it for one that was cut in two, and masks a
/// little more.
const CANARIES: [&str; 2] = ["Ze%bra/42 \"x\"+\u{fc}K9!aB", "mOOn\\stone&7=T0p;<wq\u{e9}>#L^-"];

/// What expressions are made of, secrets above all.
const OPERANDS: [&str; 12] = [
    "secrets.s",
    "secrets['s']",
    "secrets.s",
    "secrets.s.0",
    "1",
    "'x'",
    "true",
    "[]",
    "variables",
    "variables.text",
    "variables.list",
    "attempt.number",
];

fn misuses(source: &str) -> bool {
    let template = compile(&json!(source));
    let uses = template.secrets();
    assert!(!uses.is_empty(), "{source} names a secret");
    uses.iter().any(|one| one.misuse.is_some())
}

#[test]
fn a_secret_stands_alone_or_encoded_and_the_text_around_it_is_free() {
    for source in [
        "{{secrets.k}}",
        "{{ secrets.k }}",
        "{{secrets[\"k\"]}}",
        "Bearer {{secrets.k}}",
        "{{variables.a | upper}}:{{secrets.k}}:{{secrets.other}}",
        "Basic {{secrets.k | base64}}",
        "https://x/?k={{secrets.k|urlencode}}",
        "{\"k\": {{secrets.k | tojson}}}",
    ] {
        assert!(!misuses(source), "{source}");
    }
}

#[test]
fn whatever_else_an_expression_does_with_a_secret_is_a_misuse() {
    for source in [
        "{{secrets.k | reverse}}",
        "{{secrets.k | upper}}",
        "{{secrets.k | replace('a', 'b')}}",
        "{{secrets.k | default('x')}}",
        "{{secrets.k | base64 | urlencode}}",
        "{{secrets.k | urlencode()}}",
        "{{secrets.k | string}}",
        "{{secrets.k | length}}",
        "{{secrets.k[0]}}",
        "{{secrets.k.0}}",
        "{{secrets.k[1:3]}}",
        "{{secrets.k ~ 'x'}}",
        "{{'x' ~ secrets.k}}",
        "{{secrets.k + secrets.k}}",
        "{{(secrets.k)}}",
        "{{ -secrets.k }}",
        "{{[secrets.k]}}",
        "{{[secrets.k] | join(',')}}",
        "{{{'k': secrets.k}}}",
        "{{secrets.k == 'guess'}}",
        "{{secrets.k > 'm'}}",
        "{{'a' in secrets.k}}",
        "{{secrets.k is startingwith('a')}}",
        "{{secrets.k is defined}}",
        "{{not secrets.k}}",
        "{{secrets.k and 'x'}}",
        "{{'x' if secrets.k else 'y'}}",
        "{{secrets.k if true else 'y'}}",
        "{{variables[secrets.k]}}",
        "{{variables.a | default(secrets.k)}}",
        "{{variables.a | replace('x', secrets.k)}}",
        "{{'%s' | format(secrets.k)}}",
        "{{variables.list | map('default', secrets.k)}}",
    ] {
        assert!(misuses(source), "{source}");
    }
}

#[test]
fn binding_refuses_a_misuse_that_was_stored_and_quotes_no_value() {
    let template = compile(&json!({"list": ["{{secrets.k}} {{secrets.k | reverse}}"]}));
    let frozen = template
        .freeze(&json!({}), TemplateLimits::default())
        .expect("it freezes");
    let error = frozen
        .bind(&json!({"secrets": {"k": "hunter22"}}), TemplateLimits::default())
        .unwrap_err();
    assert_eq!(error.pointer, "/list/0");
    assert!(matches!(error.kind, RenderErrorKind::SecretMisused { .. }), "{error}");
    assert!(error.to_string().contains("`secrets.k | reverse`"), "{error}");
    assert!(!error.to_string().contains("hunter22"), "{error}");
}

#[test]
fn base64_encodes_the_text_of_a_value() {
    let scope = json!({"variables": {"text": "user:p\u{e4}ss", "number": 7}});
    let render = |source: &str| compile(&json!(source)).render(&scope, TemplateLimits::default());
    assert_eq!(
        render("{{variables.text | base64}}").expect("a text"),
        json!("dXNlcjpww6Rzcw==")
    );
    assert_eq!(
        render("{{variables.number | base64}}").expect("a number"),
        json!("Nw==")
    );
}

/// What an attempt would leave behind if its runner repeated its whole configuration.
fn masked(template: &Template, value: &str) -> Result<Value, String> {
    let facts = json!({"variables": {"text": "some text", "list": ["a", "b"]}});
    let frozen = template
        .freeze(&facts, TemplateLimits::default())
        .map_err(|error| error.to_string())?;
    let late = json!({"secrets": {"s": value}, "attempt": {"number": 2}});
    let mut bound = frozen
        .bind(&late, TemplateLimits::default())
        .map_err(|error| error.to_string())?;
    Redactor::new([("s", value)]).value(&mut bound);
    Ok(bound)
}

/// Strings that name a secret in every way that the grammar has, the allowed ones often.
fn template() -> impl Strategy<Value = String> {
    let allowed = prop::sample::select(vec![
        "{{secrets.s}}",
        "{{secrets.s|base64}}",
        "{{secrets['s'] | tojson}}",
        "{{ secrets.s | urlencode }}",
    ]);
    let any = expression_over(OPERANDS.to_vec()).prop_map(|expression| format!("{{{{ {expression} }}}}"));
    let part = prop_oneof![
        4 => allowed.prop_map(str::to_owned),
        2 => any,
        1 => pieces(),
        2 => "[a-zA-Z0-9 /+=%\\\\\"…]{0,5}",
    ];
    prop::collection::vec(part, 1..5).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_left_after_masking_does_not_depend_on_the_secret(source in template()) {
        prop_assert_eq!(CANARIES[0].len() % 3, CANARIES[1].len() % 3);
        let Ok(template) = Template::compile(&json!({"at": source})) else { return Ok(()) };
        let [one, other] = CANARIES.map(|canary| masked(&template, canary));
        if template.secrets().iter().any(|one| one.misuse.is_some()) {
            prop_assert!(one.is_err(), "a misuse is bound: {:?}", one);
        }
        prop_assert_eq!(one, other);
    }
}
