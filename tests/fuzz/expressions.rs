//! Expressions: filters, schedules, templates, `JSONLogic`, patches. What is accepted is evaluated too, within its bounds.

use serde_json::{Value, json};
use sprag_core::document::json;
use sprag_core::document::patch::{self, Operation};
use sprag_core::expression::logic::{Fuel, Logic, STEPS_DEFAULT};
use sprag_core::expression::template::{Template, TemplateLimits};
use sprag_core::filter::{Parsed, Resource};
use sprag_core::time::schedule::Cron;

use crate::run::{Verdict, fuzz};

fn text(input: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(input)
}

/// What expressions can name.
fn scope() -> Value {
    json!({
        "variables": { "a": 1, "b": "text", "list": [1, 2, { "c": null }], "deep": { "er": { "est": true } } },
        "message": { "type": "GO", "payload": { "items": [{ "name": "x", "price": 1.5 }] } },
        "secrets": { "k": "a secret" },
    })
}

#[test]
fn filters() {
    let corpus = [
        r#"status = "running" AND createdAt > "2026-01-01""#,
        r#"machine = "a" AND (key != "b" OR NOT tag IN ("x", "y"))"#,
        r#"actionId = "charge" AND executionId = "exe_00000000000000000000000000""#,
    ];
    fuzz("filter", &corpus, |input| {
        let Ok(parsed) = Parsed::parse(&text(input)) else {
            return Verdict::Refused;
        };
        for resource in [
            Resource::Executions,
            Resource::Actions,
            Resource::DeadLetters,
            Resource::Jobs,
        ] {
            let _ = parsed.check(resource);
        }
        Verdict::Accepted
    });
}

#[test]
fn schedules() {
    let corpus = [
        "0 9 * * MON-FRI",
        "*/5 * * * *",
        "0 0 29 2 *",
        "@daily",
        "30 2 L * ?",
        "0 0 1 1 * | Europe/Berlin",
    ];
    fuzz("cron", &corpus, |input| {
        let text = text(input);
        let (expression, zone) = match text.split_once(" | ") {
            Some((expression, zone)) => (expression, Some(zone)),
            None => (&*text, None),
        };
        let Ok(cron) = Cron::parse(expression, zone) else {
            return Verdict::Refused;
        };
        for after in [0, 1_772_000_000_000, i64::MAX, i64::MIN] {
            if let Some(next) = cron.next_after(after) {
                assert!(next > after, "the next firing after {after} is {next}");
            }
        }
        Verdict::Accepted
    });
}

#[test]
fn templates() {
    let corpus = [
        "{{variables.a}}",
        "Hello {{ variables.b | upper | default('x') }}, {{message.payload.items[0].name}}",
        "{{ variables.list | map(attribute=\"c\") | join(\",\") if variables.a > 0 else 'none' }}",
        "{{ variables.b[1:3] ~ (variables.a + 1) * 2 // 3 }} {{ secrets.k }}",
        "{{ {\"a\": [1, variables.deep.er.est]} | tojson }}",
    ];
    fuzz("template", &corpus, |input| {
        let Ok(template) = Template::compile(&Value::String(text(input).into_owned())) else {
            return Verdict::Refused;
        };
        let limits = TemplateLimits { output_bytes: 1_000 };
        if let Ok(rendered) = template.render(&scope(), limits) {
            let bytes = rendered.as_str().map_or_else(|| json::size(&rendered), str::len);
            assert!(bytes <= limits.output_bytes, "{bytes} bytes were rendered");
        }
        if let Ok(frozen) = template.freeze(&scope(), limits) {
            let _ = frozen.bind(&scope(), limits);
        }
        Verdict::Accepted
    });
}

#[test]
fn logic() {
    let corpus = [
        r#"{">":[{"var":"variables.a"},0]}"#,
        r#"{"and":[{"==":[{"var":"variables.b"},"text"]},{"in":[1,{"var":"variables.list"}]}]}"#,
        r#"{"reduce":[{"var":"variables.list"},{"+":[{"var":"current"},{"var":"accumulator"}]},0]}"#,
        r#"{"map":[{"filter":[{"var":"message.payload.items"},{"var":"price"}]},{"cat":[{"var":"name"},"!"]}]}"#,
    ];
    fuzz("logic", &corpus, |input| {
        let Ok(rule) = json::parse_bounded(input, &sprag_core::document::source::Limits::default()) else {
            return Verdict::Refused;
        };
        let Ok(logic) = Logic::compile(&rule) else {
            return Verdict::Refused;
        };
        let _ = logic.evaluate(&scope(), &mut Fuel::new(STEPS_DEFAULT));
        Verdict::Accepted
    });
}

#[test]
fn patches() {
    let corpus = [
        r#"[{"op":"replace","path":"/variables/a","value":2},{"op":"add","path":"/variables/list/-","value":null}]"#,
        r#"[{"op":"test","path":"/message/type","value":"GO"},{"op":"remove","path":"/variables/list/0"}]"#,
    ];
    fuzz("patch", &corpus, |input| {
        let Ok(operations) = serde_json::from_slice::<Vec<Operation>>(input) else {
            return Verdict::Refused;
        };
        Verdict::from(&patch::apply(&scope(), &operations))
    });
}
