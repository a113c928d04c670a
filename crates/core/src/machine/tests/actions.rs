//! From an entered state to an action that is ready, skipped or dead.

use serde_json::json;

use super::Bench;
use crate::machine::{Cause, Effect, Fate, SkipReason};
use crate::time::Timestamp;

fn with_action(action: &str) -> String {
    format!(
        "id: m\ninitial: a\nstates: {{ a: {{ on: {{ GO: b }} }}, b: {{ on: {{ BACK: a }} }} }}\nactions:\n  - {{ actionId: x, type: t, triggerState: b, {action} }}\n"
    )
}

fn fate(action: &str, payload: serde_json::Value) -> Fate {
    let mut bench = Bench::start(&with_action(action));
    bench.send_with("GO", payload).unwrap();
    assert_eq!(bench.states(), "b", "the step stands whatever becomes of the action");
    let [trigger] = bench.triggers.as_slice() else {
        panic!("{:?}", bench.triggers)
    };
    trigger.fate.clone()
}

#[test]
fn facts_freeze_at_the_trigger_and_secrets_stay_templates() {
    let action = "config: { to: '{{message.payload.to}}', at: '{{now}}', auth: 'Bearer {{secrets.key}} for {{message.payload.to}}' }";
    let Fate::Ready {
        frozen: Some(frozen),
        limit_keys,
    } = fate(action, json!({"to": "ada"}))
    else {
        panic!("not ready")
    };
    assert_eq!(frozen.config["to"], "ada");
    assert_eq!(frozen.config["at"], "2023-11-14T22:13:20.000Z");
    assert_eq!(
        frozen.config["auth"],
        "Bearer {{secrets.key}} for {{message.payload.to}}"
    );
    assert_eq!(frozen.late, ["/auth"]);
    assert_eq!(frozen.bindings["message.payload.to"], "ada");
    assert!(limit_keys.is_empty());
}

#[test]
fn a_constant_config_is_not_copied() {
    assert!(matches!(
        fate("config: { to: ada }", json!({})),
        Fate::Ready { frozen: None, .. }
    ));
}

#[test]
fn a_config_whose_expressions_name_nothing_is_rendered_all_the_same() {
    let Fate::Ready {
        frozen: Some(frozen), ..
    } = fate("config: { n: '{{ 1 + 1 }}' }", json!({}))
    else {
        panic!("not frozen")
    };
    assert_eq!(frozen.config, json!({ "n": 2 }));
}

#[test]
fn a_false_condition_or_a_disabled_action_is_skipped() {
    let condition = "condition: { '==': [ { var: message.payload.n }, 1 ] }";
    assert_eq!(fate(condition, json!({"n": 2})), Fate::Skipped(SkipReason::Condition));
    assert!(matches!(fate(condition, json!({"n": 1})), Fate::Ready { .. }));
    assert_eq!(fate("enabled: false", json!({})), Fate::Skipped(SkipReason::Disabled));
}

#[test]
fn an_error_in_the_config_or_a_limit_key_makes_the_action_dead_and_nothing_else() {
    for (action, said) in [
        (
            "config: { to: '{{message.payload.none}}' }",
            "config: `message.payload.none`",
        ),
        (
            "limits: [ { key: '{{message.payload.none}}', concurrency: 1 } ]",
            "limits key: `message.payload.none`",
        ),
        (
            "limits: [ { key: '{{message.payload.n}}', concurrency: 1 } ]",
            "limits key: `5` is not a text",
        ),
    ] {
        let Fate::Dead(error) = fate(action, json!({"n": 5})) else {
            panic!("{action} is not dead")
        };
        assert_eq!(error.kind, "invalid_configuration");
        assert!(error.message.starts_with(said), "{}", error.message);
    }
}

#[test]
fn limit_keys_are_rendered_or_made_of_machine_and_action() {
    let action = "limits: [ { concurrency: 1 }, { key: 'crm-{{message.payload.n}}', rate: { count: 1, per: 1s } } ]";
    let Fate::Ready { limit_keys, .. } = fate(action, json!({"n": 5})) else {
        panic!("not ready")
    };
    assert_eq!(limit_keys, ["m/x", "crm-5"]);
}

#[test]
fn an_action_of_a_state_belongs_to_its_visit_and_one_of_a_transition_to_the_execution() {
    let text = "
id: m
initial: a
states:
  a: { exit: { run: x }, on: { GO: { target: b, actions: y } } }
  b: { entry: [ { run: z }, { cancel: x } ] }
actions:
  - { actionId: x, type: t, triggerState: b }
  - { actionId: y, type: t }
  - { actionId: z, type: t }
";
    let mut bench = Bench::start(text);
    let taken = bench.send("GO").unwrap();
    let visit = bench
        .execution
        .visit_of(bench.machine.by_path("b").unwrap())
        .unwrap()
        .number;
    let owners: Vec<(usize, u64, Option<u64>)> = bench
        .triggers
        .iter()
        .map(|trigger| (trigger.action, trigger.ordinal, trigger.visit))
        .collect();
    assert_eq!(
        owners,
        [(0, 1, None), (1, 1, None), (2, 1, Some(visit)), (0, 2, Some(visit))]
    );
    assert!(taken.effects.contains(&Effect::CancelAction { action: 0 }));
    assert_eq!(bench.execution.triggered["x"], 2);
}

#[test]
fn a_state_entered_and_left_within_one_macrostep_still_triggers() {
    let text = "
id: m
initial: a
states: { a: { on: { GO: b } }, b: { always: c }, c: {} }
actions: [ { actionId: x, type: t, triggerState: b } ]
";
    let mut bench = Bench::start(text);
    bench.send("GO").unwrap();
    assert_eq!((bench.states().as_str(), bench.triggers.len()), ("c", 1));
}

#[test]
fn a_scheduled_action_fires_by_the_clock_on_the_facts_of_each_time() {
    let mut bench = Bench::start(&with_action(
        "schedule: '0 0 * * *', config: { at: '{{now}}', who: '{{variables.who}}' }",
    ));
    let taken = bench.send("GO").unwrap();
    let visit = bench
        .execution
        .visit_of(bench.machine.by_path("b").unwrap())
        .unwrap()
        .number;
    let midnight = Timestamp::from_millis(1_700_006_400_000);
    assert!(taken.effects.contains(&Effect::StartSchedule {
        action: 0,
        visit,
        next: midnight
    }));
    assert!(bench.triggers.is_empty());
    bench.now = midnight;
    let taken = bench
        .take(Cause::Occurrence {
            action: "x".into(),
            visit,
            nominal: midnight,
        })
        .unwrap();
    assert!(taken.handled);
    let trigger = &bench.triggers[0];
    assert_eq!((trigger.nominal, trigger.visit), (Some(midnight), Some(visit)));
    assert!(matches!(&trigger.fate, Fate::Dead(error) if error.message.contains("variables.who")));
}
