//! Catalog files: what is read, and everything that is wrong with one.

use serde_json::json;

use super::{REDIS, catalog, read};
use crate::document::Finding;
use crate::operation::{Body, Catalog, Document, Kind, Operation, Risk, Weakening, read_stored, tool_name, weakenings};

/// `line:column code: detail` of everything that is wrong, the rules between documents included.
fn wrong(text: &str) -> Vec<String> {
    let file = read(text);
    let mut findings: Vec<Finding> = file.findings;
    findings.extend(catalog().check(&file.documents));
    findings.sort_by_key(|one| (one.line, one.column));
    findings
        .iter()
        .map(|one| format!("{}:{} {}: {}", one.line, one.column, one.code, one.detail))
        .collect()
}

fn operation(text: &str) -> Operation {
    let file = read(text);
    assert!(file.is_sound(), "{:#?}", file.findings);
    match file.documents.into_iter().next() {
        Some((Document::Operation(operation), _)) => *operation,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_of_several_documents_is_read_and_each_reads_back_from_its_definition() {
    let file = read(REDIS);
    assert_eq!(file.documents.len(), 7);
    for (document, _) in &file.documents {
        let stored = read_stored(document.definition()).unwrap();
        assert_eq!((stored.name(), stored.digest()), (document.name(), document.digest()));
    }
    let catalog = catalog();
    let drain = &catalog.operation("redis.drain").unwrap().operation;
    assert_eq!(
        (drain.kind, drain.risk, drain.requires_approval),
        (Kind::Subject, Risk::High, true)
    );
    assert!(matches!(&drain.body, Body::Action { compensate: Some(undo), .. } if undo.operation == "redis.undrain"));
    assert_eq!(
        drain.parameters.schema(&[]),
        json!({
            "type": "object",
            "properties": {
                "node": { "type": "string", "description": "host and port", "pattern": "^[a-z0-9.:-]+$" },
                "seconds": { "type": "integer", "default": 60, "minimum": 1, "maximum": 600 },
            },
            "required": ["node"],
            "additionalProperties": false,
        })
    );
    assert_eq!(catalog.subject("redis").unwrap().concurrency, Some(1));
}

#[test]
fn the_built_in_tools_are_in_every_catalog() {
    let catalog = Catalog::default();
    let names: Vec<&str> = catalog.operations().map(|one| one.operation.name.as_str()).collect();
    assert_eq!(names, ["http_check", "log_message", "tcp_check", "wait"]);
    assert_eq!(tool_name("redis.drain"), "redis_drain");
}

#[test]
fn everything_wrong_with_a_file_is_found_at_once_with_its_place() {
    let text = "operation: Bad Name
kind: subject
subject: nowhere
riskLevel: hihg
parameters:
  a: { type: text }
  b: { type: string, minimum: 1, pattern: '[' }
  c: { type: integer, minimum: 5, maximum: 1, default: x }
action: { type: exec, config: { command: [echo, '{{params.z}}', '{{variables.q}}'] }, triggerState: s }
---
operation: wait
action: { type: wait, config: {} }
---
operation: redis_drain
kind: workflow
parameters: { delay: { type: string } }
steps:
  - { name: a, operation: redis.dran }
  - { name: a, operation: wait, dependsOn: [b] }
  - { name: d, operation: wait, dependsOn: [d], params: { seconds: '{{steps.e.result.x}}' } }
  - { name: e, operation: redis_drain, params: { node: '{{params.dely}}' } }
---
operation: whole
kind: tool
parameters: { a: { type: string } }
action: { type: noop, config: { all: '{{params}}' } }
";
    let found = wrong(text);
    let has = |what: &str| {
        assert!(
            found.iter().any(|line| line.contains(what)),
            "{what} is not in {found:#?}"
        );
    };
    for what in [
        "1:12 bad-name: `Bad Name`",
        "unknown-subject: subject `nowhere` is not declared",
        "4:12 bad-value: `hihg` is not a known value",
        "6:14 bad-value: `text` is not a known value",
        "7:22 misplaced-key: `minimum` has no meaning for a parameter of type `string`",
        "bad-pattern: `[` is not a regular expression",
        "contradiction: `minimum: 5` is larger than `maximum: 1`",
        "`x` is not a whole number",
        "unknown-reference: there is no parameter `z`",
        "unknown-root: `variables.q` begins with `variables`",
        "not-supported: `triggerState`",
        "reserved-name: `wait` is a built-in operation",
        "reserved-name: parameter `delay` has the name of what every proposal has",
        "tool-taken: `redis_drain` and `redis.drain` would both be the tool `redis_drain`",
        "unknown-operation: there is no operation `redis.dran`",
        "bad-name: there is another step `a`",
        "unknown-step: there is no step `b`",
        "dependency-cycle: step `d` waits for itself",
        "step `e` does not run before `d`",
        "nested-too-deep: workflow `redis_drain` contains itself",
        "unknown-reference: there is no parameter `dely`",
        "unknown-reference: `params` is named as a whole",
    ] {
        has(what);
    }
}

#[test]
fn a_kind_needs_its_keys_and_refuses_those_of_others() {
    let found = wrong("operation: a\nkind: workflow\naction: { type: noop }\n");
    assert_eq!(
        found,
        [
            "1:1 missing-key: an operation of kind `workflow` has no `steps`",
            "3:1 misplaced-key: `action` has no meaning in an operation of kind `workflow`",
        ]
    );
    let found = wrong("operation: a\nkind: tool\nsubject: redis\n");
    assert_eq!(found.len(), 2, "{found:#?}");
    assert_eq!(wrong("title: a\n").len(), 1);
}

#[test]
fn a_document_cannot_hold_the_tags_by_which_switches_find_operations() {
    let found = wrong("operation: a\ntags: [ok, 'subject:redis']\naction: { type: noop }\n");
    assert_eq!(
        found,
        ["2:12 reserved-tag: the tag `subject:redis` begins with `subject:`, which Sprag writes itself"]
    );
}

#[test]
fn a_version_that_is_weaker_than_the_one_before_is_known() {
    let of = |risk: &str, approval: bool, seconds: u32| {
        operation(&format!(
            "operation: a\nriskLevel: {risk}\nrequiresApproval: {approval}\naction: {{ type: wait, config: {{ seconds: {seconds} }} }}\n"
        ))
    };
    let lowered = Weakening::RiskLowered {
        from: Risk::High,
        to: Risk::Low,
    };
    for (old, new, expected) in [
        (("high", true, 1), ("high", true, 1), vec![]),
        (("high", true, 1), ("low", true, 1), vec![lowered]),
        (("low", true, 1), ("low", false, 1), vec![Weakening::ApprovalDropped]),
        (("high", false, 1), ("high", false, 2), vec![Weakening::ActionChanged]),
        (("medium", false, 1), ("medium", false, 2), vec![]),
        (("low", false, 1), ("critical", true, 2), vec![]),
        (
            ("high", true, 1),
            ("low", false, 2),
            vec![lowered, Weakening::ApprovalDropped, Weakening::ActionChanged],
        ),
    ] {
        let found = weakenings(&of(old.0, old.1, old.2), &of(new.0, new.1, new.2));
        assert_eq!(found, expected, "{old:?} {new:?}");
    }
}

#[test]
fn each_part_of_what_a_high_risk_operation_does_is_its_action() {
    let tool = "operation: a\nriskLevel: high\nsubject: redis\nsecrets: [x]\naction: { type: noop }\ncompensate: { operation: wait, params: { seconds: 1 } }\n";
    let flow = "operation: a\nriskLevel: high\nonFailure: stop\nsteps: [ { name: a, operation: wait, params: { seconds: 1 } } ]\n";
    for (text, from, to) in [
        (tool, "type: noop", "type: wait"),
        (tool, "subject: redis", "subject: cache"),
        (tool, "[x]", "[x, y]"),
        (tool, "seconds: 1", "seconds: 2"),
        (flow, "onFailure: stop", "onFailure: compensate"),
        (flow, "seconds: 1", "seconds: 2"),
    ] {
        let new = text.replace(from, to);
        for risk in ["high", "critical"] {
            let of = |text: &str| operation(&text.replace("riskLevel: high", &format!("riskLevel: {risk}")));
            assert_eq!(weakenings(&of(text), &of(&new)), [Weakening::ActionChanged], "{to}");
        }
        let titled = format!("{text}title: T\n");
        assert_eq!(weakenings(&operation(text), &operation(&titled)), []);
    }
}
