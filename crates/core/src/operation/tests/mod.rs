//! Operations by example: catalogs are read, proposals become plans, and plans run as machines.

mod documents;
mod parameters;
mod plans;
mod results;
mod runs;
mod secrets;
mod triggered;

use serde_json::{Value, json};

use super::{Catalog, CatalogFile, Plan, PlanFacts, PlanOptions, propose, read_catalog};
use crate::action::Permission;
use crate::document::Finding;
use crate::document::source::Format;
use crate::machine::ConfigCheck;
use crate::time::Timestamp;

const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

const REDIS: &str = r#"
subject: redis
description: The cache cluster
limits: { concurrency: 1 }
---
operation: redis.drain
title: Drain a Redis node
kind: subject
subject: redis
riskLevel: high
requiresApproval: true
parameters:
  node:    { type: string, required: true, pattern: "^[a-z0-9.:-]+$", description: host and port }
  seconds: { type: integer, default: 60, minimum: 1, maximum: 600 }
action:
  type: exec
  config: { command: [redis-cli, -u, "redis://{{params.node}}", CLIENT, PAUSE, "{{params.seconds}}"] }
  timeout: 2m
compensate: { operation: redis.undrain, params: { node: "{{params.node}}" } }
---
operation: redis.undrain
kind: subject
subject: redis
parameters: { node: { type: string, required: true } }
action: { type: exec, config: { command: [redis-cli, -u, "redis://{{params.node}}", CLIENT, UNPAUSE] } }
---
operation: redis.info
kind: subject
subject: redis
parameters: { node: { type: string, required: true, pattern: "^[a-z0-9.:-]+$" } }
action: { type: exec, config: { command: [redis-cli, -u, "redis://{{params.node}}", INFO] } }
---
operation: redis.drain-and-verify
kind: workflow
parameters: { node: { type: string, required: true }, host: { type: string, required: true } }
steps:
  - { name: drain,  operation: redis.drain, params: { node: "{{params.node}}" } }
  - { name: verify, operation: tcp_check,   params: { host: "{{params.host}}", port: 6379 } }
  - { name: later,  operation: redis.info,  params: { node: "{{params.node}}" }, delay: 5m }
---
operation: note
kind: tool
secrets: [github, gitlab]
parameters:
  text: { type: string, required: true }
  token: { type: string, secret: true, required: true }
action: { type: webhook, config: { url: "https://example.com/notes", headers: { auth: "Bearer {{params.token}}" }, body: "{{params.text}}" } }
---
operation: call
kind: tool
parameters: { url: { type: string, required: true } }
action: { type: webhook, config: { url: "{{params.url}}" } }
"#;

fn read(text: &str) -> CatalogFile {
    read_catalog(text, Format::Yaml, &())
}

/// The built-in operations and those above, in version 3.
fn catalog() -> Catalog {
    catalog_of(REDIS)
}

/// The built-in operations and those of a file, in version 3.
fn catalog_of(text: &str) -> Catalog {
    let file = read(text);
    assert!(file.is_sound(), "{:#?}", file.findings);
    let mut catalog = Catalog::default();
    let findings = catalog.check(&file.documents);
    assert!(findings.is_empty(), "{findings:#?}");
    for (document, _) in file.documents {
        catalog.insert(3, document);
    }
    catalog
}

fn permissions(kind: &str, config: &Value) -> Vec<Permission> {
    let program = config
        .pointer("/command/0")
        .and_then(Value::as_str)
        .filter(|_| kind == "exec");
    let of = |object: &str| Permission {
        scope: "process".to_owned(),
        object: object.to_owned(),
    };
    program.map(of).into_iter().collect()
}

fn plan_of(body: &Value) -> Result<Plan, Vec<Finding>> {
    plan_in(REDIS, body)
}

/// The plan of a proposal where this file is the catalog.
fn plan_in(catalog: &str, body: &Value) -> Result<Plan, Vec<Finding>> {
    plan_with(catalog, &(), &permissions, body)
}

fn plan_with(
    catalog: &str,
    runners: &dyn ConfigCheck,
    permissions: &dyn Fn(&str, &Value) -> Vec<Permission>,
    body: &Value,
) -> Result<Plan, Vec<Finding>> {
    let catalog = catalog_of(catalog);
    let facts = PlanFacts {
        id: "exe_1",
        proposer: "ann",
        now: NOW,
    };
    let options = PlanOptions {
        catalog: &catalog,
        runners,
        permissions,
    };
    propose(body, &facts, &options)
}

fn plan(body: &Value) -> Plan {
    plan_of(body).unwrap_or_else(|findings| panic!("{findings:#?}"))
}

/// A workflow of these steps.
fn steps(steps: &Value) -> Value {
    json!({ "name": "w", "reason": "r", "steps": steps })
}

/// `pointer: detail` of everything that is wrong.
fn faults(body: &Value) -> Vec<String> {
    lines(&plan_of(body).expect_err("the proposal was accepted"))
}

fn lines(findings: &[Finding]) -> Vec<String> {
    let mut lines: Vec<String> = findings
        .iter()
        .map(|one| format!("{}: {}", one.pointer, one.detail))
        .collect();
    lines.sort();
    lines.dedup();
    lines
}
