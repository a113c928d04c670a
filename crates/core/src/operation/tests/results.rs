//! Results of steps: what they may not choose, and which steps have one.

use serde_json::{Value, json};

use super::{faults, lines, plan_in, plan_with, read, steps};
use crate::action::Permission;
use crate::document::Finding;

/// A catalog of one operation with this configuration and a parameter `x` of any shape. An external runner performs it.
fn external(config: &Value) -> String {
    let action = json!({ "type": "webhook", "runner": "elsewhere", "config": config });
    format!(
        "operation: act\nkind: tool\nparameters: {{ x: {{ type: object }}, y: {{ type: string }} }}\naction: {action}\n"
    )
}

/// Two steps: the second is `act` with these parameters, and may use the result of `a`.
fn after(params: &Value) -> Value {
    steps(&json!([
        { "name": "a", "operation": "wait", "params": { "seconds": 1 } },
        { "name": "b", "operation": "act", "params": params },
    ]))
}

fn codes(planned: Result<crate::operation::Plan, Vec<Finding>>) -> Vec<&'static str> {
    planned
        .err()
        .into_iter()
        .flatten()
        .map(|finding| finding.code)
        .collect()
}

#[test]
fn each_place_that_says_what_is_reached_takes_known_values_only() {
    for config in [
        json!({ "authentication": { "tokenEndpoint": "{{params.y}}" } }),
        json!({ "authentication": "{{params.y}}" }),
        json!({ "command": ["{{params.y}}", "-v"] }),
        json!({ "command": "{{params.y}}" }),
        json!({ "contract": "{{params.y}}" }),
        json!({ "host": "db-{{params.y}}" }),
        json!({ "lookup": { "url": "{{params.y}}" } }),
        json!({ "lookup": "{{params.y}}" }),
        json!({ "network": "{{params.y}}" }),
        json!({ "program": "{{params.y}}" }),
        json!({ "provider": "{{params.y}}" }),
        json!({ "service": "{{params.y}}" }),
        json!({ "signer": "{{params.y}}" }),
        json!({ "url": "{{params.y}}" }),
        json!({ "url": "https://{{params.y}}" }),
        json!({ "url": "https://{{params.y}}.example.com/x" }),
        json!({ "url": "https://example.com{{params.y}}/x" }),
        json!({ "user": "{{params.y}}" }),
    ] {
        let catalog = external(&config);
        let open = plan_in(&catalog, &after(&json!({ "y": "{{steps.a.result.y}}" })));
        assert_eq!(codes(open), ["run-time-choice"], "{config}");
        let known = plan_in(&catalog, &after(&json!({ "y": "known" })));
        assert_eq!(codes(known), [""; 0], "{config}");
    }
    for config in [
        json!({ "url": "https://example.com/{{params.y}}" }),
        json!({ "lookup": { "url": "https://example.com/{{params.y}}" } }),
        json!({ "command": ["ls", "{{params.y}}"] }),
        json!({ "hosts": "{{params.y}}", "urls": ["{{params.y}}"] }),
    ] {
        let open = plan_in(&external(&config), &after(&json!({ "y": "{{steps.a.result.y}}" })));
        assert_eq!(codes(open), [""; 0], "{config}");
    }
}

#[test]
fn a_result_inside_a_parameter_chooses_nothing_either() {
    let catalog = external(&json!({ "host": "{{params.x.deep[0]}}" }));
    let open = plan_in(&catalog, &after(&json!({ "x": { "deep": ["{{steps.a.result.y}}"] } })));
    assert_eq!(codes(open), ["run-time-choice"]);
    let known = plan_in(&catalog, &after(&json!({ "x": { "deep": ["db-1"] } })));
    assert_eq!(codes(known), [""; 0]);
}

#[test]
fn a_runner_that_shows_what_it_reaches_elsewhere_is_heeded_too() {
    let catalog = "
operation: act
kind: tool
parameters: { x: { type: object }, y: { type: string } }
action: { type: custom, config: { target: '{{params.y}}' } }
";
    let shown = |_: &str, config: &Value| {
        let object = config["target"].as_str().unwrap_or_default().to_owned();
        vec![Permission {
            scope: "network".to_owned(),
            object,
        }]
    };
    let open = after(&json!({ "y": "{{steps.a.result.y}}" }));
    assert_eq!(codes(plan_with(catalog, &(), &shown, &open)), ["run-time-choice"]);
    let known = plan_with(catalog, &(), &shown, &after(&json!({ "y": "db-1" }))).unwrap();
    assert_eq!(known.steps[1].action.permissions[0].to_string(), "network db-1");
    assert_eq!(codes(plan_with(catalog, &(), &|_, _| Vec::new(), &open)), [""; 0]);
    let external = plan_with(
        &external(&json!({ "target": "{{params.y}}" })),
        &(),
        &shown,
        &after(&json!({ "y": "k" })),
    );
    assert_eq!(
        external.unwrap().steps[1].action.permissions[0].to_string(),
        "runner elsewhere"
    );
}

#[test]
fn no_expression_chooses_an_operation_or_a_subject() {
    let found = faults(&steps(&json!([
        { "name": "a", "operation": "wait", "params": { "seconds": 1 } },
        { "name": "b", "operation": "{{steps.a.result.operation}}" },
    ])));
    assert!(found[0].starts_with("/steps/1/operation: "), "{found:#?}");
    let file =
        read("operation: a\nsubject: '{{params.x}}'\nparameters: { x: { type: string } }\naction: { type: noop }\n");
    assert_eq!(file.findings[0].code, "bad-name", "{:#?}", file.findings);
}

#[test]
fn the_key_of_a_limit_is_known_and_well_formed() {
    let catalog = "
operation: act
kind: tool
parameters: { y: { type: string } }
action: { type: noop, limits: [ { key: '{{params.y}}', concurrency: 1 } ] }
";
    let open = plan_in(catalog, &after(&json!({ "y": "{{steps.a.result.y}}" })));
    assert_eq!(codes(open), ["run-time-choice"]);
    let bad = plan_in(catalog, &after(&json!({ "y": "" })));
    assert_eq!(codes(bad), ["bad-limit"]);
    let plan = plan_in(catalog, &after(&json!({ "y": "tenant-1" }))).unwrap();
    assert_eq!(plan.steps[1].action.action["limits"][0]["key"], "tenant-1");
}

#[test]
fn a_workflow_hands_a_result_on_whole_or_not_at_all() {
    let catalog = |message: &str| {
        format!(
            "operation: act\nkind: workflow\nparameters: {{ x: {{ type: string }} }}\nsteps:\n  - {{ name: tell, operation: log_message, params: {{ message: \"{message}\" }} }}\n"
        )
    };
    let open = after(&json!({ "x": "{{steps.a.result.x}}" }));
    let plan = plan_in(&catalog("{{params.x}}"), &open).unwrap();
    assert_eq!(plan.steps[1].action.params["message"], "{{steps.a.result.x}}");
    let part = plan_in(&catalog("took {{params.x}}"), &open).unwrap_err();
    assert_eq!(
        lines(&part),
        ["/steps/1/params/message: `params.x` is known only when the step runs"]
    );
    let mixed = "
operation: act
kind: workflow
parameters: { x: { type: string } }
steps:
  - { name: a, operation: wait, params: { seconds: 1 } }
  - { name: b, operation: log_message, params: { message: '{{steps.a.result.y}} {{params.x}}' } }
";
    let mixed = plan_in(mixed, &after(&json!({ "x": "known" }))).unwrap_err();
    assert_eq!(
        lines(&mixed),
        ["/steps/1/params/message: a text that names a result of a step names other values too"]
    );
}

#[test]
fn a_compensation_uses_the_result_of_its_step_and_of_steps_before() {
    let catalog = |params: &str| {
        format!(
            "
operation: act
kind: tool
parameters: {{ y: {{ type: string }} }}
action: {{ type: noop }}
compensate: {{ operation: undo, params: {params} }}
---
operation: undo
kind: tool
parameters: {{ y: {{ type: string }} }}
action: {{ type: noop, config: {{ y: '{{{{params.y}}}}' }} }}
"
        )
    };
    let plan = plan_in(&catalog("{ y: '{{result.id}}' }"), &after(&json!({ "y": "k" }))).unwrap();
    let undo = plan.steps[1].compensation.as_ref().unwrap();
    assert_eq!(undo.results_used(), ["b"]);
    let handed = plan_in(
        &catalog("{ y: '{{params.y}}' }"),
        &after(&json!({ "y": "{{steps.a.result.y}}" })),
    );
    let handed = handed.unwrap();
    assert_eq!(handed.steps[1].compensation.as_ref().unwrap().results_used(), ["a"]);
    let flow = "
operation: act
kind: tool
parameters: { y: { type: string } }
action: { type: noop }
compensate: { operation: undo }
---
operation: undo
kind: workflow
steps: [ { name: a, operation: wait, params: { seconds: 1 } } ]
";
    assert_eq!(
        lines(&plan_in(flow, &after(&json!({}))).unwrap_err()),
        ["/steps/1: the compensation `undo` of `act` is a workflow"]
    );
    for (params, word) in [
        ("{ y: '{{params.z}}' }", "there is no parameter `z`"),
        ("{ y: '{{secrets.key}}' }", "`secrets.key` is not known here"),
    ] {
        let found = lines(&read(&catalog(params)).findings);
        assert!(found.iter().any(|line| line.contains(word)), "{found:#?}");
    }
}
