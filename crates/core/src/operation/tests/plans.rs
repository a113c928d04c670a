//! Plans: what a proposal comes to, what is wrong with one, and what changes its digest.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{NOW, catalog_of, faults, plan, plan_in, plan_of, read, steps};
use crate::document::Finding;
use crate::operation::{Catalog, OnFailure, Plan, PlanFacts, PlanOptions, PlanRisk, Risk, compare, propose};

#[test]
fn a_single_operation_is_a_workflow_of_one_step_with_every_value_rendered() {
    let plan = plan(&json!({
        "operation": "redis.drain", "params": { "node": "cache-1:6379" }, "reason": "maintenance", "urgency": "now", "delay": "5m",
    }));
    let step = &plan.steps[0];
    assert_eq!(
        (plan.steps.len(), plan.name.as_str(), step.name.as_str()),
        (1, "redis.drain", "redis_drain")
    );
    assert_eq!((plan.risk_level, plan.requires_approval), (Risk::High, true));
    assert_eq!(
        step.scheduled_at,
        Some(NOW.plus(300_000)),
        "the delay counts from the proposal"
    );
    assert_eq!(
        (step.action.version, step.action.params["seconds"].clone()),
        (3, json!(60))
    );
    let action = &step.action.action;
    assert_eq!(
        action["config"]["command"],
        json!(["redis-cli", "-u", "redis://cache-1:6379", "CLIENT", "PAUSE", 60])
    );
    assert_eq!(action["tags"], json!(["operation:redis.drain", "subject:redis"]));
    assert_eq!(action["limits"], json!([{ "key": "subject:redis", "concurrency": 1 }]));
    assert_eq!(action["priority"], 80);
    assert_eq!(step.action.permissions[0].to_string(), "process redis-cli");
    let undo = step.compensation.as_ref().unwrap();
    assert_eq!(
        (undo.operation.as_str(), undo.action["config"]["command"][2].clone()),
        ("redis.undrain", json!("redis://cache-1:6379"))
    );
    assert!(step.action.open.is_empty());
}

#[test]
fn a_workflow_operation_expands_into_its_steps() {
    let whole = plan(&json!({
        "operation": "redis.drain-and-verify", "params": { "node": "n:1", "host": "n" }, "reason": "r",
    }));
    let shape = |plan: &Plan| -> Vec<String> {
        let line = |step: &crate::operation::PlanStep| {
            format!(
                "{} {} after {} delay {:?}",
                step.name,
                step.action.operation,
                step.depends_on.join(","),
                step.delay
            )
        };
        plan.steps.iter().map(line).collect()
    };
    assert_eq!(
        shape(&whole),
        [
            "drain redis.drain after  delay None",
            "verify tcp_check after drain delay None",
            "later redis.info after verify delay Some(300000)",
        ]
    );
    let inside = plan(&steps(&json!([
        { "name": "find", "operation": "redis.info", "params": { "node": "n:1" } },
        { "name": "fix", "operation": "redis.drain-and-verify", "params": { "node": "{{steps.find.result.node}}", "host": "n" }, "delay": "1m" },
        { "name": "tell", "operation": "log_message", "params": { "message": "{{steps.fix__later.result.text}}" } },
    ])));
    assert_eq!(
        shape(&inside),
        [
            "find redis.info after  delay None",
            "fix__drain redis.drain after find delay Some(60000)",
            "fix__verify tcp_check after fix__drain delay None",
            "fix__later redis.info after fix__verify delay Some(300000)",
            "tell log_message after fix__later delay None",
        ]
    );
    let drain = inside.step("fix__drain").unwrap();
    assert_eq!(drain.action.params["node"], "{{steps.find.result.node}}");
    assert_eq!(drain.action.open, ["/action/config/command/2", "/params/node"]);
    assert_eq!(drain.action.action["config"]["command"][2], "redis://{{params.node}}");
    assert_eq!(inside.expanded[0].operation, "redis.drain-and-verify");
}

#[test]
fn a_step_inside_a_workflow_uses_the_results_of_steps_beside_it() {
    let catalog = "
operation: look
kind: workflow
steps:
  - { name: a, operation: wait, params: { seconds: 1 } }
  - { name: b, operation: log_message, params: { message: '{{steps.a.result.x}}' } }
";
    let inside = plan_in(catalog, &steps(&json!([{ "name": "fix", "operation": "look" }]))).unwrap();
    assert_eq!(
        inside.steps[1].action.params["message"],
        "{{steps.fix__a[\"result\"][\"x\"]}}"
    );
    assert_eq!(inside.steps[1].action.results_used(), ["fix__a"]);
}

#[test]
fn a_workflow_that_became_too_deep_by_a_new_version_inside_it_is_refused() {
    let flow = |name: &str, inner: &str| {
        let params = if inner == "wait" {
            ", params: { seconds: 1 }"
        } else {
            ""
        };
        format!("operation: {name}\nkind: workflow\nsteps: [ {{ name: a, operation: {inner}{params} }} ]\n")
    };
    let chain = |pairs: &[(&str, &str)]| {
        pairs
            .iter()
            .map(|(name, inner)| flow(name, inner))
            .collect::<Vec<_>>()
            .join("---\n")
    };
    let mut catalog = catalog_of(&chain(&[("w0", "wait"), ("w1", "w0"), ("w2", "w1"), ("w3", "w2")]));
    let body = json!({ "operation": "w3", "reason": "r" });
    let facts = PlanFacts {
        id: "exe_1",
        proposer: "ann",
        now: NOW,
    };
    let proposed = |catalog: &Catalog| {
        let options = PlanOptions {
            catalog,
            runners: &(),
            permissions: &|_, _| Vec::new(),
        };
        propose(&body, &facts, &options).map_err(|findings| super::lines(&findings))
    };
    assert_eq!(proposed(&catalog).unwrap().steps[0].name, "a__a__a__a");
    for (document, _) in read(&chain(&[("w0", "v1"), ("v1", "v0"), ("v0", "wait")])).documents {
        catalog.insert(4, document);
    }
    assert_eq!(
        proposed(&catalog).unwrap_err(),
        [": workflows stand more than `4` deep in each other"]
    );
}

#[test]
fn values_are_data_and_never_templates() {
    let single = plan(
        &json!({ "operation": "log_message", "params": { "message": "{{secrets.key}} {{ broken" }, "reason": "r" }),
    );
    let step = &single.steps[0].action;
    assert_eq!(step.action["config"]["message"], "{{secrets.key}} {{ broken");
    assert!(step.open.is_empty());
    let body = steps(&json!([{ "name": "a", "operation": "log_message", "params": { "message": "{{secrets.key}}" } }]));
    assert_eq!(
        faults(&body)[0],
        "/steps/0/params/message: `secrets.key` is not known here"
    );
}

#[test]
fn a_secret_parameter_takes_the_name_of_a_listed_secret_and_the_plan_holds_no_value() {
    let body = |token: &str| json!({ "operation": "note", "params": { "text": "hi", "token": token }, "reason": "r" });
    let plan = plan(&body("github"));
    let step = &plan.steps[0].action;
    assert_eq!(
        step.action["config"]["headers"]["auth"],
        "Bearer {{secrets[\"github\"]}}"
    );
    assert_eq!(step.open, ["/action/config/headers/auth"]);
    assert_eq!(step.permissions[0].to_string(), "secret github");
    assert_eq!(
        faults(&body("other")),
        ["/params/token: `other` is not a secret that the operation lists"]
    );
    let open = steps(&json!([
        { "name": "a", "operation": "wait", "params": { "seconds": 1 } },
        { "name": "b", "operation": "note", "params": { "text": "t", "token": "{{steps.a.result.x}}" } },
    ]));
    assert_eq!(faults(&open).len(), 1, "{:?}", faults(&open));
}

#[test]
fn everything_wrong_with_a_proposal_is_said_at_once() {
    let body = json!({
        "name": "w", "reason": "", "onFailure": "stpo",
        "steps": [
            { "name": "a", "operation": "redis.dran", "params": { "node": "n" } },
            { "name": "b", "operation": "redis.info", "params": { "nod": "n" }, "dependsOn": ["x"] },
            { "name": "c", "operation": "redis.drain", "params": { "node": "BAD", "seconds": 0 }, "dependsOn": ["d"] },
            { "name": "d", "operation": "tcp_check", "params": { "host": "h", "port": "{{steps.c.result.port}}" }, "dependsOn": ["c"] },
            { "name": "e", "operation": "wait", "params": { "seconds": "{{steps.f.result.x}}" }, "dependsOn": [] },
            { "name": "f", "operation": "call", "params": { "url": "{{steps.e.result.url}}" } },
        ],
    });
    let found = faults(&body);
    let expected = [
        "/onFailure: `stpo` is not a known value",
        "/reason: `reason` is empty",
        "/steps/0/operation: there is no operation `redis.dran`",
        "/steps/1/dependsOn: there is no step `x`",
        "/steps/1/params/nod: there is no parameter `nod`",
        "/steps/1/params/node: parameter `node` is missing",
        "/steps/2/dependsOn: step `c` waits for itself",
        "/steps/2/params/node: `BAD` does not match `^[a-z0-9.:-]+$`",
        "/steps/2/params/seconds: `0` is less than `1`",
        "/steps/3/dependsOn: step `d` waits for itself",
        "/steps/4/params/seconds: step `f` does not run before `e`",
        "/steps/5/params: the result of a step would choose `config.url` of operation `call`",
    ];
    for line in expected {
        assert!(found.iter().any(|one| one == line), "{line} is not in {found:#?}");
    }
}

#[test]
fn a_result_of_a_step_chooses_no_program_host_or_address() {
    for (operation, params) in [
        ("call", json!({ "url": "{{steps.a.result.url}}" })),
        ("tcp_check", json!({ "host": "{{steps.a.result.host}}", "port": 1 })),
        ("http_check", json!({ "url": "https://{{steps.a.result.host}}/x" })),
    ] {
        let body = steps(&json!([
            { "name": "a", "operation": "wait", "params": { "seconds": 1 } },
            { "name": "b", "operation": operation, "params": params },
        ]));
        let findings: Vec<Finding> = plan_of(&body).unwrap_err();
        assert_eq!(findings[0].code, "run-time-choice", "{operation} {findings:?}");
    }
}

#[test]
fn only_steps_of_the_plan_have_results() {
    let uses = |path: &str| {
        steps(&json!([
            { "name": "fix", "operation": "redis.drain-and-verify", "params": { "node": "n:1", "host": "n" } },
            { "name": "tell", "operation": "log_message", "params": { "message": format!("{{{{{path}}}}}") } },
        ]))
    };
    assert_eq!(
        plan(&uses("steps.fix__drain.result.x")).steps[3].action.results_used(),
        ["fix__drain"]
    );
    for path in ["steps.fix.result.x", "steps.fix__none.result.x"] {
        assert!(
            faults(&uses(path))[0].contains("which is no step that runs before"),
            "{path}"
        );
    }
}

#[test]
fn a_plan_reads_back_from_its_canonical_bytes() {
    let plan = plan(
        &json!({ "operation": "redis.drain-and-verify", "params": { "node": "n:1", "host": "n" }, "reason": "r", "ticket": "T-1" }),
    );
    let bytes = plan.canonical();
    let read = Plan::from_canonical(&bytes).unwrap();
    assert_eq!(read, plan);
    assert_eq!(read.digest(), plan.digest());
    assert_eq!(plan.digest_text().len(), 64);
}

const RISKS: &str = "
operation: careful
kind: tool
riskLevel: low
action: { type: noop }
compensate: { operation: undo }
---
operation: undo
kind: tool
riskLevel: critical
requiresApproval: true
action: { type: noop }
---
operation: medium
kind: tool
riskLevel: medium
action: { type: noop }
---
operation: asked
kind: tool
requiresApproval: true
action: { type: noop }
---
operation: plain
kind: workflow
steps: [ { name: a, operation: wait, params: { seconds: 1 } }, { name: b, operation: medium } ]
---
operation: risky
kind: workflow
riskLevel: high
requiresApproval: true
onFailure: compensate
steps: [ { name: a, operation: medium } ]
---
operation: nested
kind: workflow
steps: [ { name: a, operation: risky } ]
";

#[test]
fn a_plan_has_the_highest_risk_of_its_steps_compensations_and_workflows_and_needs_what_any_declares() {
    for (operation, risk, declared, on_failure) in [
        ("medium", Risk::Medium, false, OnFailure::Stop),
        ("asked", Risk::Low, true, OnFailure::Stop),
        ("careful", Risk::Critical, true, OnFailure::Stop),
        ("plain", Risk::Medium, false, OnFailure::Stop),
        ("risky", Risk::High, true, OnFailure::Compensate),
        ("nested", Risk::High, true, OnFailure::Compensate),
    ] {
        let single = plan_in(RISKS, &json!({ "operation": operation, "reason": "r" })).unwrap();
        let listed = plan_in(RISKS, &steps(&json!([{ "name": "x", "operation": operation }]))).unwrap();
        for plan in [single, listed] {
            assert_eq!(
                (plan.risk_level, plan.requires_approval, plan.on_failure),
                (risk, declared, on_failure),
                "{operation}"
            );
            let expected = PlanRisk {
                digest: plan.digest_text(),
                proposer: "ann".to_owned(),
                asked_at: NOW,
                risk,
                declared,
            };
            assert_eq!(PlanRisk::of(&plan), expected);
        }
    }
}

#[test]
fn a_step_is_a_follow_up_if_it_or_one_before_it_has_a_due_time() {
    let plan = plan(&steps(&json!([
        { "name": "a", "operation": "wait", "params": { "seconds": 1 } },
        { "name": "b", "operation": "wait", "params": { "seconds": 1 }, "delay": "5m" },
        { "name": "c", "operation": "wait", "params": { "seconds": 1 } },
        { "name": "d", "operation": "wait", "params": { "seconds": 1 }, "dependsOn": [], "scheduledAt": "2030-01-01T00:00:00Z" },
        { "name": "e", "operation": "wait", "params": { "seconds": 1 }, "dependsOn": ["a", "d"] },
        { "name": "f", "operation": "wait", "params": { "seconds": 1 }, "dependsOn": ["a"] },
    ])));
    let found = plan.steps.iter().filter(|step| plan.is_follow_up(step));
    assert_eq!(
        found.map(|step| step.name.as_str()).collect::<Vec<_>>(),
        ["b", "c", "d", "e"]
    );
}

#[test]
fn the_same_plan_has_one_fingerprint_whatever_its_id_and_time() {
    let first = plan(&json!({ "operation": "redis.drain", "params": { "node": "a" }, "reason": "r" }));
    let again = Plan {
        id: "exe_2".to_owned(),
        proposed_at: NOW.plus(1),
        ..first.clone()
    };
    assert_eq!(again.fingerprint(), first.fingerprint());
    assert_ne!(again.digest(), first.digest());
}

#[test]
fn a_list_of_steps_has_its_bounds() {
    let list = |names: &[String]| -> Vec<Value> {
        let step = |name: &String| json!({ "name": name, "operation": "wait", "params": { "seconds": 1 } });
        names.iter().map(step).collect()
    };
    let many: Vec<String> = (0..=64).map(|at| format!("s{at}")).collect();
    assert_eq!(plan(&steps(&json!(list(&many[..64])))).steps.len(), 64);
    assert_eq!(
        faults(&steps(&json!(list(&many)))),
        [": the plan has `65` steps, at most `64` are allowed"]
    );
    let long = "s".repeat(49);
    assert_eq!(
        faults(&steps(&json!(list(&[long.clone(), "a__b".to_owned()])))),
        [
            format!("/steps/0/name: `{long}` is longer than `48` characters"),
            "/steps/1/name: `a__b` holds `__`, which stands between the names of nested steps".to_owned(),
        ]
    );
    let both = json!([{ "name": "a", "operation": "wait", "params": { "seconds": 1 }, "delay": "1m", "scheduledAt": "2030-01-01T00:00:00Z" }]);
    assert_eq!(
        faults(&steps(&both)),
        ["/steps/0/delay: `delay` and `scheduledAt` are both given"]
    );
}

#[test]
fn steps_of_nested_workflows_whose_names_meet_are_refused() {
    let catalog = "
operation: one
kind: workflow
steps: [ { name: b, operation: wait, params: { seconds: 1 } } ]
---
operation: other
kind: workflow
steps: [ { name: _b, operation: wait, params: { seconds: 1 } } ]
";
    let body = steps(&json!([{ "name": "a_", "operation": "one" }, { "name": "a", "operation": "other" }]));
    let found = plan_in(catalog, &body).unwrap_err();
    assert_eq!(super::lines(&found), [": two steps come to the name `a___b`"]);
}

#[test]
fn a_workflow_as_a_step_neither_continues_on_error_nor_takes_unknown_parameters() {
    let of = |step: Value| faults(&steps(&json!([step])));
    let mut step =
        json!({ "name": "fix", "operation": "redis.drain-and-verify", "params": { "node": "n:1", "host": "n" } });
    step["continueOnError"] = json!(true);
    assert_eq!(
        of(step.clone()),
        ["/steps/0: step `fix` is a workflow, which cannot have `continueOnError`"]
    );
    step["continueOnError"] = json!(false);
    step["params"]["nod"] = json!("x");
    assert_eq!(of(step), ["/steps/0/params/nod: there is no parameter `nod`"]);
}

#[test]
fn two_plans_are_compared_by_path() {
    let body = |node: &str| json!({ "operation": "redis.drain", "params": { "node": node }, "reason": "r" });
    let (old, new) = (plan(&body("a")), plan(&body("b")));
    let paths: Vec<String> = compare(&old, &new).into_iter().map(|change| change.path).collect();
    assert_eq!(
        paths,
        [
            "/steps/redis_drain/action/config/command",
            "/steps/redis_drain/compensation/action/config/command",
            "/steps/redis_drain/compensation/params/node",
            "/steps/redis_drain/params/node",
        ]
    );
    assert!(compare(&old, &old).is_empty());
    assert_eq!(old.fingerprint(), plan(&body("a")).fingerprint());
    assert_ne!(old.fingerprint(), new.fingerprint());
}

/// Every place in a value that holds a value of its own.
fn places(value: &Value, pointer: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(at, item)| places(item, &format!("{pointer}/{at}"), found)),
        Value::Object(members) => {
            members
                .iter()
                .for_each(|(name, member)| places(member, &format!("{pointer}/{name}"), found));
        }
        _ => found.push(pointer.to_owned()),
    }
}

proptest! {
    #[test]
    fn the_digest_changes_with_every_field_of_the_plan(which in any::<prop::sample::Index>()) {
        let plan = plan(&json!({
            "operation": "redis.drain-and-verify", "params": { "node": "n:1", "host": "n" }, "reason": "r", "ticket": "t", "delay": "1h",
        }));
        let value: Value = serde_json::from_slice(&plan.canonical()).unwrap();
        let mut found = Vec::new();
        places(&value, "", &mut found);
        let pointer = which.get(&found);
        let mut changed = value.clone();
        let slot = changed.pointer_mut(pointer).unwrap();
        *slot = match &*slot {
            Value::Bool(truth) => (!*truth).into(),
            Value::Number(number) => json!(number.as_u64().unwrap_or(0) + 1),
            Value::String(text) => format!("{text}x").into(),
            _ => json!("x"),
        };
        let digest = |value: &Value| crate::document::json::digest(&crate::operation::canonical::canonical(value));
        prop_assert_eq!(digest(&value), plan.digest());
        prop_assert_ne!(digest(&changed), plan.digest(), "{}", pointer);
    }
}
