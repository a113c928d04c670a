//! Files that load as they are, and what becomes of them.

use serde_json::json;

use super::{load, machine};
use crate::action::retry::Backoff;
use crate::action::{OnExit, OnUnknown, Rate};
use crate::document::source::Format;
use crate::machine::load::{LoadOptions, load_text};
use crate::machine::{Depth, Descriptor, Instruction, Kind, Machine, StateIndex};
use crate::time::schedule::{CatchUp, Overlap};

/// The design's own example.
const LEASE: &str = r#"
id: lease-termination
description: A tenant gives notice; we tell the landlord, get a signature, close the lease.
variables: { currency: EUR }
input: { type: object, required: [tenantName, landlordEmail] }
initial: awaiting_notice
states:
  awaiting_notice:
    on:
      NOTICE_RECEIVED:
        - target: notice_received
          guard: { ">=": [ { var: message.payload.daysAhead }, 30 ] }
          assign: { terminationDate: "{{message.payload.terminationDate}}" }
        - target: rejected
  notice_received:
    on:
      done.send_termination_notice: contract_ready
      failed.send_termination_notice: manual_review
    after: { 3d: manual_review }
  contract_ready: { on: { SIGNED: closed } }
  manual_review:  { on: { RESOLVED: contract_ready } }
  rejected: { type: final }
  closed:   { type: final, output: { date: "{{variables.terminationDate}}" } }
actions:
  - actionId: send_termination_notice
    type: email
    triggerState: notice_received
    config: { provider: smtp, to: "{{execution.variables.landlordEmail}}", template: termination_notice }
    retryPolicy: { maxAttempts: 3, backoffStrategy: exponential, retryableErrors: [rate_limit, temporary_failure] }
    timeout: 30000
"#;

/// Every key there is, aliases included.
pub(super) const EVERYTHING: &str = r##"
$schema: ./machine.json
id: everything
description: every key
version: 7
context: { count: 0 }
type: compound
input: { type: object }
initial: [work.left.one, work.right]
tags: [a, b]
meta: { x: 1 }
on: { STOP: end, "billing.*": { actions: { log: "billed {{event.type}}" } }, "*": { actions: [] } }
always: { target: end, guard: { ">": [ { var: variables.count }, 5 ] } }
after: { 1000: end, 5m: { target: end }, PT5M: [ end ] }
entry: [ { log: hello } ]
exit: { log: bye }
output: { count: "{{variables.count}}" }
states:
  work:
    id: the-work
    type: parallel
    onDone: { target: end, description: both are done }
    states:
      left:
        initial: one
        on: { INNER: .two }
        states:
          one:
            entry: [ start, { type: start }, { run: start }, { raise: PING }, { raise: { type: PONG, payload: { n: 1 } } }, { assign: { n: 1 } } ]
            exit: [ { cancel: start } ]
            on:
              PING: { target: two, reenter: true, assign: { count: "{{variables.count + 1}}" }, actions: [ { log: x } ], meta: {} }
              GO: [ { target: two, guard: true }, two ]
          two: { type: final, output: done, description: d, tags: t, meta: m }
          back: { type: history, history: deep, target: one }
          again: { history: true }
      right:
        always: { target: end, guard: false }
        after: { 1d: end }
        on: { BACK: { target: [ left.back ] }, AGAIN: left.again, SLEEP: "#everything.work.left.two", "done.start": "#the-work.left.one", "failed.*": end }
  end: { type: final }
actions:
  - actionId: start
    type: email
    triggerState: work
    config: { to: "{{results.start.result.to | default('a@b')}}", cc: "{{secrets.cc}}" }
    retryPolicy:
      { maxAttempts: 2, backoffStrategy: custom, backoffDelay: 5s, multiplier: 1.5, maxDelay: 1m, delays: [ 1s, 2000 ],
        jitter: false, retryableErrors: [ timeout ], nonRetryableErrors: [ conflict ] }
    timeout: 30s
    deadline: 1h
    enabled: true
    delay: 250
    schedule: { cron: "*/5 * * * *", timezone: Europe/Berlin, overlap: queue, catchUp: all }
    condition: '{"<": [{"var": "variables.count"}, 3]}'
    priority: 90
    runner: loft
    onUnknown: review
    limits: [ { key: "crm-{{execution.machine}}", concurrency: 2 }, { rate: { count: 10, per: 1m } } ]
    keepOnExit: true
    cancelOnExit: false
    requiresApproval: false
    riskLevel: low
    compensate: undo
    description: d
    tags: [ t ]
    createdAt: 2024-01-01
    updatedAt: 2024-01-01
  - { actionId: undo, type: noop }
hooks: { signed: { verify: docusign-hmac, secret: "{{secrets.hook}}", key: "{{request.body.x}}", type: SIGNED, payload: { a: 1 } } }
templates: { notice: { subject: "Hello {{name}}", text: t, html: "<p>{{name}}</p>" } }
"##;

fn path(machine: &Machine, state: StateIndex) -> &str {
    machine.display_path(state)
}

#[test]
fn the_example_of_the_design_loads_without_a_finding() {
    // What `machine apply` fills in from the folder beside the file.
    let filled = format!("{LEASE}\ntemplates: {{ termination_notice: {{ subject: Notice, text: Dear landlord }} }}\n");
    let loaded = load(&filled);
    assert_eq!(loaded.findings, [], "{:#?}", loaded.findings);
    let machine = loaded.machine.unwrap();
    assert_eq!(
        (machine.id.as_str(), machine.states.len(), machine.transitions.len()),
        ("lease-termination", 7, 7)
    );
    assert_eq!(machine.variables["currency"], "EUR");
    let notice = machine.by_path("notice_received").unwrap();
    let state = machine.state(notice);
    assert_eq!(
        (state.triggers.as_slice(), state.after[0].millis),
        ([0].as_slice(), 259_200_000)
    );
    assert_eq!(state.after[0].event, "after.3d.notice_received");
    assert_eq!(
        machine.state(machine.by_path("closed").unwrap()).done_event,
        "done.state.closed"
    );
    assert_eq!(machine.actions[0].timeout, 30_000);
}

#[test]
fn every_key_of_the_tables_is_read() {
    let loaded = load_text(EVERYTHING, Format::Yaml, &LoadOptions::default());
    let errors: Vec<_> = loaded
        .findings
        .iter()
        .filter(|finding| finding.code != "unreachable")
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let machine = loaded.machine.unwrap();
    assert_eq!(machine.variables["count"], 0);
    assert_eq!(machine.templates.len(), 1);
    let root = machine.state(StateIndex::ROOT);
    let initial: Vec<&str> = root.initial.iter().map(|&state| path(&machine, state)).collect();
    assert_eq!(initial, ["work.left.one", "work.right"]);
    let after: Vec<(u64, &str)> = root
        .after
        .iter()
        .map(|after| (after.millis, after.event.as_str()))
        .collect();
    let expected = [
        (1000, "after.1000.everything"),
        (300_000, "after.5m.everything"),
        (300_000, "after.PT5M.everything"),
    ];
    assert_eq!(after, expected);
    let descriptors: Vec<&Descriptor> = root.on.iter().map(|(descriptor, _)| descriptor).collect();
    let (stop, billing) = (Descriptor::Exact("STOP".into()), Descriptor::Prefix("billing".into()));
    assert_eq!(descriptors, [&stop, &billing, &Descriptor::Any]);
    let work = machine.state(machine.by_path("work").unwrap());
    assert_eq!(
        (work.kind, work.done_event.as_str()),
        (Kind::Parallel, "done.state.the-work")
    );
    assert!(matches!(&work.on[0].0, Descriptor::Exact(name) if name == "done.state.the-work"));
    let one = machine.state(machine.by_path("work.left.one").unwrap());
    let runs = one
        .entry
        .iter()
        .filter(|operation| matches!(operation, Instruction::Run(0)))
        .count();
    assert_eq!((runs, one.entry.len(), one.exit.len()), (3, 6, 1));
    let back = machine.state(machine.by_path("work.left.back").unwrap());
    assert_eq!((back.kind, back.history_default.len()), (Kind::History(Depth::Deep), 1));
    let again = machine.state(machine.by_path("work.left.again").unwrap());
    assert_eq!(again.kind, Kind::History(Depth::Shallow));
    assert_eq!(
        again.history_default,
        machine.state(machine.by_path("work.left").unwrap()).initial
    );
    assert_eq!(machine.results_named, ["start"]);
}

#[test]
fn a_load_is_attempted_once_and_has_time_for_its_plan_unless_its_definition_says_otherwise() {
    let machine = |more: &str| {
        let text = format!(
            "id: m\ninitial: a\nstates: {{ a: {{}} }}\nactions:\n  - {{ actionId: x, type: load, triggerState: a{more} }}\n"
        );
        load_text(&text, Format::Yaml, &LoadOptions::default()).machine.unwrap()
    };
    let plain = machine("");
    assert_eq!(
        (plain.actions[0].policy.max_attempts, plain.actions[0].timeout),
        (1, 10_800_000)
    );
    let slow = machine(", retryPolicy: { baseDelay: 2s }");
    assert_eq!(slow.actions[0].policy.max_attempts, 1);
    let own = machine(", timeout: 1m, retryPolicy: { maxAttempts: 3 }");
    assert_eq!(
        (own.actions[0].policy.max_attempts, own.actions[0].timeout),
        (3, 60_000)
    );
}

#[test]
fn every_key_of_an_action_has_its_effect() {
    let loaded = load_text(EVERYTHING, Format::Yaml, &LoadOptions::default());
    let machine = loaded.machine.unwrap();
    let action = &machine.actions[0];
    assert_eq!((action.action_id.as_str(), action.kind.as_str()), ("start", "email"));
    assert_eq!(
        (action.timeout, action.deadline, action.delay),
        (30_000, Some(3_600_000), 250)
    );
    assert_eq!(
        (action.priority, action.runner.as_deref(), action.on_unknown),
        (90, Some("loft"), OnUnknown::Review)
    );
    assert_eq!(
        (action.on_exit, action.enabled, action.condition.is_some()),
        (OnExit::Keep, true, true)
    );
    let schedule = action.schedule.as_ref().unwrap();
    assert_eq!((schedule.overlap, schedule.catch_up), (Overlap::Queue, CatchUp::All));
    let policy = &action.policy;
    assert_eq!(
        (policy.max_attempts, policy.backoff_strategy, policy.base_delay),
        (2, Backoff::Custom, 5_000)
    );
    assert_eq!(
        (policy.max_delay, policy.delays.as_slice(), policy.jitter),
        (60_000, [1000, 2000].as_slice(), false)
    );
    assert_eq!(
        policy.retryable_errors.as_deref(),
        Some(["timeout".to_owned()].as_slice())
    );
    assert_eq!(policy.non_retryable_errors, ["conflict"]);
    assert!((policy.multiplier - 1.5).abs() < f64::EPSILON);
    assert_eq!(action.limits[0].concurrency, Some(2));
    assert_eq!(
        action.limits[1].rate,
        Some(Rate {
            count: 10,
            per_millis: 60_000
        })
    );
    assert_eq!((action.description.as_deref(), action.tags.len()), (Some("d"), 1));
}

#[test]
fn the_actions_of_the_seed_paste_unchanged() {
    let actions = json!([
        {"actionId": "notice", "type": "email", "triggerState": "s", "config": {"provider": "sendgrid",
            "to": "{{execution.variables.landlordEmail}}", "cc": ["legal@company.com"],
            "variables": {"date": "{{message.payload.terminationDate}}"}},
         "retryPolicy": {"maxAttempts": 3, "backoffStrategy": "exponential", "retryableErrors": ["rate_limit"]},
         "timeout": 30000},
        {"actionId": "sms", "type": "sms", "triggerState": "s", "config": {"to": "{{execution.variables.tenantPhone}}",
            "message": "Payment overdue for {{execution.variables.propertyAddress}}. Please contact us."},
         "retryPolicy": {"maxAttempts": 2, "backoffStrategy": "fixed", "backoffDelay": 5000}},
        {"actionId": "crm", "type": "webhook", "triggerState": "s", "config": {"url": "{{execution.variables.url}}",
            "headers": {"Authorization": "Bearer {{secrets.crm_api_token}}"}, "payload": {"at": "{{now}}", "id": "{{execution.id}}"},
            "expectedStatusCodes": [200, 201, 202]},
         "retryPolicy": {"maxAttempts": 5, "backoffStrategy": "exponential", "baseDelay": 1000, "maxDelay": 30000, "jitter": true}},
        {"actionId": "database", "type": "api_call", "triggerState": "s", "config": {"service": "external_db",
            "authentication": {"type": "oauth2", "tokenEndpoint": "{{secrets.token_url}}", "clientSecret": "{{secrets.client}}"},
            "payload": {"details": "{{message.payload}}"}}},
        {"actionId": "contract", "type": "docusign_envelope", "triggerState": "s", "config": {
            "recipients": [{"email": "{{execution.variables.signerEmail}}", "role": "signer"}],
            "customFields": {"executionId": "{{execution.id}}"}},
         "retryPolicy": {"maxAttempts": 3, "backoffStrategy": "exponential"}},
        {"actionId": "mint", "type": "blockchain_mint", "triggerState": "s", "config": {"network": "base",
            "contractAddress": "{{secrets.address}}", "parameters": {"tokenURI": "{{execution.variables.uri}}"},
            "gasLimit": 200_000, "gasPrice": "auto"},
         "retryPolicy": {"maxAttempts": 3, "backoffStrategy": "exponential", "retryableErrors": ["gas_price_too_low"]},
         "enabled": true, "createdAt": "2024-01-01T00:00:00Z", "updatedAt": "2024-01-01T00:00:00Z"},
    ]);
    let definition = json!({"id": "m", "initial": "s", "states": {"s": {"on": {"X": "z"}}, "z": {"type": "final"}}, "actions": actions});
    let loaded = load_text(&definition.to_string(), Format::Json, &LoadOptions::default());
    let machine = loaded.machine.unwrap_or_else(|| panic!("{:#?}", loaded.findings));
    assert_eq!(machine.actions.len(), 6);
    assert_eq!(machine.actions[1].policy.base_delay, 5000);
    assert!(
        loaded.findings.iter().all(|finding| finding.code != "secret-in-clear"),
        "{:#?}",
        loaded.findings
    );
}

#[test]
fn a_machine_of_another_editor_loads_as_it_is() {
    let definition = json!({
        "id": "player", "initial": "stopped", "context": {"volume": 5}, "version": "1.0.0",
        "states": {
            "stopped": {"on": {"PLAY": [{"target": "playing", "actions": [], "guard": {">": [{"var": "variables.volume"}, 0]}}]},
                "entry": [], "exit": [], "always": [], "after": {}, "tags": [], "description": "silent", "meta": {}},
            "playing": {"type": "parallel", "on": {"STOP": {"target": "stopped"}, "RESUME": {"target": "#player.playing.track.where"}},
                "onDone": {"target": "ended"},
                "states": {
                    "track": {"initial": "first", "states": {
                        "first": {"on": {"NEXT": {"target": "second", "reenter": false}}},
                        "second": {"type": "final"}, "where": {"type": "history", "history": "shallow", "target": "first"}}},
                    "light": {"initial": "on", "states": {"on": {"id": "lamp", "on": {"OFF": "off"}}, "off": {"type": "final", "on": {}}}}}},
            "ended": {"type": "final", "output": {"volume": "{{variables.volume}}"}}
        }
    });
    let loaded = load_text(&definition.to_string(), Format::Json, &LoadOptions::default());
    assert!(
        loaded.machine.is_some() && loaded.findings.is_empty(),
        "{:#?}",
        loaded.findings
    );
}

#[test]
fn results_and_skips_are_kept_for_actions_that_somebody_names() {
    let file = |behaviour: &str| {
        machine(&format!(
            "id: m\ninitial: a\nstates: {{a: {behaviour}, z: {{type: final}}}}\nactions:\n  - {{actionId: one, type: email, triggerState: a, config: {{to: x}}}}\n  - {{actionId: two, type: email, triggerState: a, config: {{to: x}}}}\n"
        ))
    };
    let none: [&str; 0] = [];
    let table = [
        ("{on: {X: z}}", none.as_slice(), none.as_slice()),
        ("{on: {X: z}, entry: {log: '{{results.two.success}}'}}", &["two"], &none),
        (
            "{on: {X: {target: z, guard: {var: results.one.success}}}}",
            &["one"],
            &none,
        ),
        (
            "{on: {X: {target: z, guard: {var: {cat: [results., one]}}}}}",
            &["one", "two"],
            &none,
        ),
        ("{on: {X: {target: z, guard: {var: ''}}}}", &["one", "two"], &none),
        (
            "{on: {X: z}, entry: {log: '{{results[currentState]}}'}}",
            &["one", "two"],
            &none,
        ),
        ("{on: {skipped.one: z}}", &none, &["one"]),
        ("{on: {skipped.*: z}}", &none, &["one", "two"]),
        ("{on: {'*': z}}", &none, &none),
    ];
    for (behaviour, results, skips) in table {
        let machine = file(behaviour);
        assert_eq!(machine.results_named, results, "{behaviour}");
        assert_eq!(machine.skips_named, skips, "{behaviour}");
    }
}

#[test]
fn a_digest_knows_content_and_the_order_of_states_and_nothing_else() {
    let digest = |text: &str| machine(text).digest;
    let first = digest("id: m\ninitial: a\nstates: {a: {on: {X: b, Y: b}}, b: {type: final}}\n");
    assert_eq!(
        first,
        digest("initial: a\nstates:\n  a:\n    on: {Y: b, X: b}\n  b: {type: final}\nid: m\n")
    );
    assert_ne!(
        first,
        digest("id: m\ninitial: a\nstates: {b: {type: final}, a: {on: {X: b, Y: b}}}\n"),
        "order of states"
    );
    assert_ne!(
        first,
        digest("id: m\ninitial: a\nstates: {a: {on: {X: b, Z: b}}, b: {type: final}}\n"),
        "content"
    );
    let with_mail =
        digest("id: m\ninitial: a\nstates: {a: {on: {X: b, Y: b}}, b: {type: final}}\ntemplates: {t: {text: x}}\n");
    assert_ne!(first, with_mail, "templates");
}
