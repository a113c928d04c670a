//! Every error of an action or a hook, with its exact place.

use super::{check, load};
use crate::document::Severity::Error;

#[test]
fn an_action_can_happen_and_says_nothing_that_cannot_be_honoured() {
    let start = "id: m\ninitial: a\nstates: {a: {on: {X: b}}, b: {type: final}, c: {initial: d, states: {d: {}, h: {history: deep}}}}\nactions:\n  - actionId: x\n    type: email\n    config: {to: y}\n";
    let cases = r#"
bad-trigger /actions/0/triggerState | `c.h` is a history state | another
    triggerState: «c.h
---
bad-trigger /actions/0/triggerState | `b` is final | another
    schedule: "@daily"
    triggerState: «b
---
bad-schedule /actions/0/schedule | wrong number of fields | write five
    triggerState: a
    schedule: «"* *"
---
bad-schedule /actions/0/schedule/cron | time zone `Mars` | IANA
    triggerState: a
    schedule: {cron: «"* * * * *", timezone: Mars}
---
never-fires /actions/0/schedule | `0 0 30 2 *` never fires | fix
    triggerState: a
    schedule: «0 0 30 2 *
---
bad-value /actions/0/priority | `101` is not a whole number from 0 to 100 | write
    triggerState: a
    priority: «101
---
bad-value /actions/0/retryPolicy/maxAttempts | `0` | from 1
    triggerState: a
    retryPolicy: {maxAttempts: «0}
---
bad-value /actions/0/retryPolicy/backoffStrategy | `exponentail` | `exponential`?
    triggerState: a
    retryPolicy: {backoffStrategy: «exponentail}
---
bad-value /actions/0/retryPolicy/multiplier | `0.5` | from 1
    triggerState: a
    retryPolicy: {multiplier: «0.5}
---
bad-retry /actions/0/retryPolicy | `custom` has no `delays` | add
    triggerState: a
    retryPolicy: «{backoffStrategy: custom}
---
given-twice /actions/0/retryPolicy/backoffDelay | `backoffDelay` and `baseDelay` | keep `baseDelay`
    triggerState: a
    retryPolicy: {baseDelay: 1, «backoffDelay: 2}
---
bad-duration /actions/0/timeout | `0s` is too short | `1ms`
    triggerState: a
    timeout: «0
---
bad-duration /actions/0/delay | `-5` is negative
    triggerState: a
    delay: «-5
---
bad-limit /actions/0/limits/0 | neither `concurrency` nor `rate` | add one
    triggerState: a
    limits: [«{key: k}]
"#;
    check(start, cases, Error);
}

#[test]
fn an_action_names_its_risk_what_takes_it_back_and_no_tag_of_ours() {
    let start = "id: m\ninitial: a\nstates: {a: {}}\nactions:\n  - actionId: x\n    type: email\n    config: {to: y}\n";
    let cases = r#"
bad-value /actions/0/riskLevel | `hgih` | `high`?
    triggerState: a
    riskLevel: «hgih
---
unknown-action /actions/0/compensate | no action `undo` | define it
    triggerState: a
    compensate: «undo
---
contradiction /actions/0/compensate | `x` would take back its own effect | another
    triggerState: a
    compensate: «x
---
reserved-tag /actions/0/tags/1 | `operation:a` begins with `operation:` | another tag
    triggerState: a
    tags: [a, «"operation:a"]
---
reserved-tag /actions/0/tags | `subject:a` begins with `subject:` | another tag
    triggerState: a
    tags: «subject:a
"#;
    check(start, cases, Error);
}

#[test]
fn durations_of_an_action_do_not_contradict_each_other() {
    let start = "id: m\ninitial: a\nstates: {a: {type: final}}\nactions:\n  - actionId: x\n    type: email\n    config: {to: y}\n";
    let cases = "
contradiction /actions/0/retryPolicy/baseDelay | `1m` is longer than `maxDelay: 5s` | at least `1m`
    triggerState: a
    retryPolicy: {baseDelay: «1m, maxDelay: 5s}
---
contradiction /actions/0/retryPolicy/backoffDelay | `5m` is longer than `maxDelay: 1m`, which holds | at least `5m`
    triggerState: a
    retryPolicy: {backoffStrategy: fixed, backoffDelay: «5m}
---
contradiction /actions/0/retryPolicy/delays/1 | `10s` is longer than `maxDelay: 9s` | at least `10s`
    triggerState: a
    retryPolicy: {backoffStrategy: custom, baseDelay: 1h, delays: [1s, «10s], maxDelay: 9s}
---
contradiction /actions/0/deadline | `deadline: 5s` is over before the first attempt | longer than `delay`
    triggerState: a
    delay: 5s
    deadline: «5000
";
    check(start, cases, Error);
}

#[test]
fn a_secret_stands_alone_and_where_the_type_takes_one() {
    let start = "id: m\ninitial: a\nstates: {a: {type: final}}\n";
    let action = "actions:\n  - actionId: x\n    type: email\n    triggerState: a\n";
    let cases = r#"
secret-misused /actions/0/config/text/0 | `secrets.k|reverse` computes with the value of a secret | write `{{secrets.k}}`
    config: {to: y, text: [«"x {{ secrets.k|reverse }}"]}
---
secret-misused /actions/0/config/costEstimate | accepts no secret here | leave the secret out
    runner: elsewhere
    config: {to: y, costEstimate: «"{{secrets.k}}"}
---
secret-misused /actions/0/config/to | type `email` accepts no secret here, and `secrets.k` is one | leave the secret out
    config: {to: «"{{secrets.k}}"}
---
secret-misused /actions/0/config/text | machine `m` may not use the secret `locked` | `"m=locked"` to `[secrets] allow`
    config: {to: y, text: «"{{secrets.locked}}"}
---
secret-misused /actions/0/config/to | machine `m` may not use the secret `locked` | `[secrets] allow`
    runner: elsewhere
    config: {to: «"{{secrets.locked}}"}
"#;
    check(&format!("{start}{action}"), cases, Error);
    let hooks = r#"
secret-misused /hooks/h/secret/1 | `secrets.b[1:]` computes with the value | write `{{secrets.b}}`
  h: {verify: standard-webhooks, secret: ["{{secrets.a}}", «"{{secrets.b[1:]}}"], key: k, type: A}
---
secret-misused /hooks/h/secret | machine `m` may not use the secret `locked` | `[secrets] allow`
  h: {verify: docusign-hmac, secret: «"{{secrets.locked}}", key: k, type: A}
"#;
    check(&format!("{start}hooks:\n"), hooks, Error);
}

#[test]
fn a_hook_has_known_keys_and_templates_that_can_be_rendered() {
    let start = "id: m\ninitial: a\nstates: {a: {type: final}}\nhooks:\n";
    let cases = r#"
unknown-key /hooks/h/sercet | a hook has no key `sercet` | `secret`?
  h: {verify: none, key: k, type: A, «sercet: x}
---
bad-value /hooks/h/verify | `standard-webhook` | `standard-webhooks`?
  h: {verify: «standard-webhook, secret: "{{secrets.a}}", key: k, type: A}
---
missing-key /hooks/h | a hook has no `key` | `key`
  «h: {verify: none, type: A}
---
missing-key /hooks/h | a hook has no `type` | `type`
  «h: {verify: none, key: k}
---
missing-secret /hooks/h | no `secret` | `{{secrets.hook}}`
  «h: {verify: standard-webhooks, key: k, type: A}
---
missing-secret /hooks/h/secret | no `secret` | add
  h: {verify: docusign-hmac, secret: «[], key: k, type: A}
---
unused-secret /hooks/h/secret | does not check it | `verify`
  h: {verify: none, secret: «"{{secrets.a}}", key: k, type: A}
---
unknown-root /hooks/h/secret/1 | `variables.x` is not a secret | secrets
  h: {verify: standard-webhooks, secret: ["{{secrets.a}}", «"{{variables.x}}"], key: k, type: A}
---
unknown-root /hooks/h/key | begins with `execution` | `request.body`
  h: {verify: none, key: «"{{execution.key}}", type: A}
---
unknown-root /hooks/h/payload | begins with `secrets` | nothing else
  h: {verify: none, key: k, type: A, payload: «{a: "{{secrets.x}}"}}
---
unknown-field /hooks/h/type | `request` has no `header` | `request.headers`?
  h: {verify: none, key: k, type: «"{{request.header.x}}"}
---
bad-template /hooks/h/payload/a | `{{` is not closed | braces
  h: {verify: none, key: k, type: A, payload: {a: «"{{request.body"}}
---
reserved-type /hooks/h/type | `done.x` | another
  h: {verify: none, key: k, type: «done.x}
---
bad-name /hooks/a~1b | `/` | segment
  «a/b: {verify: none, key: k, type: A}
"#;
    check(start, cases, Error);
}

#[test]
fn a_hook_that_was_stored_before_a_rule_is_left_out_and_its_machine_still_loads() {
    let definition = serde_json::json!({
        "id": "m", "initial": "a", "states": {"a": {}},
        "hooks": {"old": {"verify": "none"}, "bad": {"verify": "none", "key": "{{", "type": "A"},
                  "good": {"verify": "none", "key": "k", "type": "A"}},
    });
    let machine = crate::machine::load_stored(&definition).unwrap();
    let names: Vec<&str> = machine.hooks.iter().map(|hook| hook.name.as_str()).collect();
    assert_eq!(names, ["good"]);
}

#[test]
fn an_action_is_triggered_by_something() {
    let cases = r#"
never-triggered /actions/0 | nothing triggers action `x` | `triggerState`
  - «actionId: x
    type: email
    config: {to: y}
---
bad-trigger /actions/0 | scheduled action `x` has no `triggerState` | name the state
  - «actionId: x
    type: email
    config: {to: y}
    schedule: "@daily"
---
contradiction /actions/0 | `keepOnExit` and `cancelOnExit` | remove one
  - «actionId: x
    type: email
    config: {to: y}
    triggerState: a
    keepOnExit: true
    cancelOnExit: true
"#;
    check("id: m\ninitial: a\nstates: {a: {}}\nactions:\n", cases, Error);
}

#[test]
fn a_config_is_judged_by_its_runner() {
    let cases = r"
unknown-type /actions/0/type | type `emial` | `email`?
type: «emial, config: {}}]
---
unknown-type /actions/0/type | type `carrier_pigeon` | external `runner`
type: «carrier_pigeon, config: {}}]
---
invalid-config /actions/0/config/to | `nobody` | address
type: email, config: {to: «nobody}}]
---
invalid-config /actions/0/config/to | an address is missing | address
type: email, config: {cc: x, to: «{name: Ada}}}]
---
invalid-config /actions/0/config | `to` is missing | address
type: email, config: «{cc: x}}]
";
    check(
        "id: m\ninitial: a\nstates: {a: {}}\nactions: [{actionId: x, triggerState: a, ",
        cases,
        Error,
    );
    let elsewhere =
        "id: m\ninitial: a\nstates: {a: {}}\nactions: [{actionId: x, triggerState: a, type: pigeon, runner: loft}]\n";
    assert!(
        load(elsewhere).machine.is_some(),
        "another runner may serve other types"
    );
}
