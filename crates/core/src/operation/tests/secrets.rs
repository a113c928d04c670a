//! Secrets and parameters: no parameter reads a secret, and one that names a secret names one that the operation lists.

use serde_json::{Value, json};

use super::{REDIS, lines, plan_in, plan_with, read, steps};
use crate::action::runner::{ConfigProblem, Fault};
use crate::action::secret::SecretRules;
use crate::machine::{ConfigCheck, UnknownType};

const POST: &str = "
operation: post
kind: tool
parameters:
  text: { type: string, default: '{{secrets.key}}' }
  data: { type: object, default: { deep: ['{{secrets.key}}'] } }
action: { type: webhook, config: { url: 'https://example.com/', body: '{{params.text}}', data: '{{params.data}}' } }
---
operation: relay
kind: workflow
parameters: { text: { type: string, required: true }, data: { type: object } }
steps:
  - { name: post, operation: post, params: { text: '{{params.text}}', data: '{{params.data}}' } }
---
operation: sign
kind: tool
secrets: [github, gitlab]
parameters: { token: { type: string, secret: true, default: other } }
action: { type: webhook, config: { url: 'https://example.com/', headers: { auth: '{{params.token}}' } } }
---
operation: signed
kind: workflow
parameters: { token: { type: string } }
steps:
  - { name: sign, operation: sign, params: { token: '{{params.token}}' } }
";

fn faults(body: &Value) -> Vec<String> {
    lines(&plan_in(POST, body).expect_err("the proposal was accepted"))
}

#[test]
fn a_parameter_of_a_step_names_no_secret_at_any_depth() {
    for (params, at) in [
        (json!({ "text": "{{secrets.key}}" }), "text"),
        (json!({ "text": "{{secrets['key'] | default('x')}}" }), "text"),
        (json!({ "data": { "deep": "{{secrets.key}}" } }), "data/deep"),
        (json!({ "data": { "deep": [1, "{{secrets.key}}"] } }), "data/deep/1"),
    ] {
        let body = steps(&json!([{ "name": "a", "operation": "post", "params": params }]));
        let found = faults(&body);
        assert_eq!(
            found,
            [format!("/steps/0/params/{at}: `secrets.key` is not known here")],
            "{params}"
        );
        let catalog = format!(
            "operation: w\nkind: workflow\nsteps: {}\n",
            json!([{ "name": "a", "operation": "post", "params": params }])
        );
        let found = lines(&read(&catalog).findings);
        assert_eq!(
            found,
            [format!("/steps/0/params/{at}: `secrets.key` is not known here")],
            "{params}"
        );
    }
}

#[test]
fn a_default_or_a_parameter_of_a_workflow_with_braces_is_data() {
    let written = json!({ "deep": ["{{secrets.key}}"] });
    for body in [
        json!({ "operation": "post", "reason": "r" }),
        json!({ "operation": "post", "params": { "text": "{{secrets.key}}", "data": written }, "reason": "r" }),
        json!({ "operation": "relay", "params": { "text": "{{secrets.key}}", "data": written }, "reason": "r" }),
        steps(&json!([{ "name": "post", "operation": "post" }])),
    ] {
        let plan = plan_in(POST, &body).unwrap();
        let action = &plan.steps[0].action;
        assert_eq!(action.open, [""; 0], "{body}");
        assert_eq!(action.action["config"]["body"], "{{secrets.key}}", "{body}");
        assert_eq!(action.action["config"]["data"], written, "{body}");
        assert!(action.permissions.is_empty(), "{body}");
    }
}

#[test]
fn a_secret_that_the_operation_does_not_list_is_refused_from_wherever_its_name_comes() {
    let refused = "`other` is not a secret that the operation lists";
    for (body, at) in [
        (json!({ "operation": "sign", "reason": "r" }), "/params/token"),
        (
            json!({ "operation": "sign", "params": { "token": "other" }, "reason": "r" }),
            "/params/token",
        ),
        (
            json!({ "operation": "signed", "params": { "token": "other" }, "reason": "r" }),
            "/params/token",
        ),
        (
            steps(&json!([{ "name": "a", "operation": "sign" }])),
            "/steps/0/params/token",
        ),
    ] {
        assert_eq!(faults(&body), [format!("{at}: {refused}")]);
    }
    let open = json!([
        { "name": "a", "operation": "wait", "params": { "seconds": 1 } },
        { "name": "b", "operation": "signed", "params": { "token": "{{steps.a.result.x}}" } },
    ]);
    let found = faults(&steps(&open));
    assert!(
        found[0].ends_with("is not a secret that the operation lists"),
        "{found:#?}"
    );
    let listed = json!({ "operation": "signed", "params": { "token": "gitlab" }, "reason": "r" });
    let plan = plan_in(POST, &listed).unwrap();
    assert_eq!(plan.steps[0].action.permissions[0].to_string(), "secret gitlab");
}

/// Lets secrets stand in headers only, and operations name `github` only. Refuses a configuration that holds `refuse`.
struct Strict;

impl SecretRules for Strict {
    fn takes_secret(&self, _kind: &str, pointer: &str) -> bool {
        pointer.starts_with("/headers/")
    }

    fn allows_secret(&self, _machine: &str, name: &str) -> bool {
        name == "github"
    }
}

impl ConfigCheck for Strict {
    fn check(&self, _kind: &str, config: &Value) -> Result<Vec<ConfigProblem>, UnknownType> {
        let refused = config.to_string().contains("refuse");
        Ok(refused
            .then(|| ConfigProblem {
                pointer: "/body".to_owned(),
                detail: "is refused".to_owned(),
                remedy: "change it".to_owned(),
                fault: Fault::default(),
            })
            .into_iter()
            .collect())
    }
}

#[test]
fn the_rules_of_secrets_and_of_the_runner_hold_for_what_the_parameters_came_to() {
    let plan = |text: &str, token: &str| {
        let body = json!({ "operation": "note", "params": { "text": text, "token": token }, "reason": "r" });
        let permissions = |_: &str, _: &Value| Vec::new();
        plan_with(REDIS, &Strict, &permissions, &body).map_err(|findings| lines(&findings))
    };
    assert!(plan("t", "github").is_ok());
    assert_eq!(
        plan("t", "gitlab").unwrap_err(),
        ["/params: `config.headers.auth` of `note`: machine `operation:note` may not use the secret `gitlab`"]
    );
    assert_eq!(
        plan("refuse", "github").unwrap_err(),
        ["/params: `config.body` of `note`: is refused"]
    );
}

#[test]
fn a_parameter_that_names_a_secret_stands_only_where_a_secret_may() {
    let found = |secrets: &str, config: &str| {
        let text = format!(
            "operation: a\nkind: tool\nsecrets: {secrets}\nparameters: {{ t: {{ type: string, secret: true, required: true }} }}\naction: {{ type: webhook, config: {config} }}\n"
        );
        let file = crate::operation::read_catalog(&text, crate::document::source::Format::Yaml, &Strict);
        file.findings
            .into_iter()
            .map(|finding| finding.code)
            .collect::<Vec<_>>()
    };
    assert_eq!(found("[github]", "{ headers: { a: '{{params.t}}' } }"), [""; 0]);
    assert_eq!(found("[github]", "{ body: '{{params.t}}' }"), ["secret-misused"]);
    assert_eq!(found("[]", "{ headers: { a: '{{params.t}}' } }"), ["missing-key"]);
    assert_eq!(found("['git hub']", "{ headers: { a: x } }"), ["bad-name"]);
}
