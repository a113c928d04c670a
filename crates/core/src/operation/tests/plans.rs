//! Plans: what a proposal comes to, what is wrong with one, and what changes its digest.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{NOW, faults, plan, plan_of, steps};
use crate::document::Finding;
use crate::operation::{Approvals, Plan, Risk, compare};

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

#[test]
fn modes_and_the_threshold_decide_which_plans_need_approval() {
    let low = plan(&json!({ "operation": "redis.info", "params": { "node": "n" }, "reason": "r" }));
    let high = plan(&json!({ "operation": "redis.drain", "params": { "node": "n" }, "reason": "r" }));
    let needs = |mode, threshold| {
        (
            low.needs_approval(mode, threshold),
            high.needs_approval(mode, threshold),
        )
    };
    assert_eq!(needs(Approvals::DeclaredOrRisk, Risk::High), (false, true));
    assert_eq!(needs(Approvals::DeclaredOrRisk, Risk::Low), (true, true));
    assert_eq!(needs(Approvals::Declared, Risk::Low), (false, true));
    assert_eq!(needs(Approvals::All, Risk::Critical), (true, true));
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
