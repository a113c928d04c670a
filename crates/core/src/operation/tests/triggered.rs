//! Actions of machines as steps: what a plan holds of them, and what takes back their effects.

use serde_json::{Value, json};

use super::NOW;
use crate::action::{LimitUse, Permission};
use crate::document::source::Format;
use crate::ids::{ExecutionId, Slot};
use crate::machine::{
    Cause, Effect, End, Execution, Facts, Fate, How, Input, Limits, LoadOptions, Machine, compensation, load_stored,
    load_text, step,
};
use crate::operation::{Plan, PlanHead, PlanStep, Risk, TriggeredAction, compile};

const HOTEL: &str = "
id: hotel
variables: { guest: '{{ann}}' }
initial: a
states: { a: { on: { done.book: b } }, b: {} }
actions:
  - actionId: book
    type: webhook
    triggerState: a
    requiresApproval: true
    riskLevel: critical
    compensate: release
    config: { name: '{{variables.guest}}', token: '{{secrets.key}} {{variables.guest}} {{attempt.number}}' }
    retryPolicy: { maxAttempts: 2, backoffDelay: 5s }
    limits: [ { key: rooms, concurrency: 1 } ]
    tags: [night]
  - actionId: release
    type: webhook
    condition: { '!=': [ { var: event.result.room }, 0 ] }
    config: { room: '{{results.book.result.room}}', again: '{{event.result.room}}', token: '{{secrets.key}} {{now}}' }
";

fn machine() -> Machine {
    let loaded = load_text(HOTEL, Format::Yaml, &LoadOptions::default());
    let findings = loaded.findings;
    loaded.machine.unwrap_or_else(|| panic!("{findings:#?}"))
}

fn execution(machine: &Machine) -> Execution {
    let facts = Facts {
        id: ExecutionId::compose(NOW, Slot(1), 1),
        key: None,
        version: 1,
        created_at: NOW,
    };
    Execution::new(facts, machine.variables.clone())
}

fn stepped(machine: &Machine, at: &Execution, cause: Cause) -> (Execution, Vec<Fate>) {
    let input = Input {
        now: NOW,
        cause,
        limits: Limits::default(),
    };
    let taken = step(machine, at, &input).unwrap();
    let fates = taken.effects.into_iter().filter_map(|effect| match effect {
        Effect::Trigger(trigger) => Some(trigger.fate),
        _ => None,
    });
    (taken.execution, fates.collect())
}

fn planned(machine: &Machine, position: usize, fate: &Fate) -> PlanStep {
    let Fate::Ready { frozen, .. } = fate else {
        panic!("{fate:?}");
    };
    let limits = [LimitUse {
        key: "rooms".to_owned(),
        concurrency: Some(1),
        rate: None,
    }];
    let triggered = TriggeredAction {
        machine,
        version: 3,
        position,
        frozen: frozen.as_ref(),
        limits: &limits,
    };
    let reach = |_: &str, _: &Value| {
        vec![Permission {
            scope: "network".to_owned(),
            object: "hotel".to_owned(),
        }]
    };
    triggered.plan_step(&reach).unwrap()
}

fn plan_of(step: PlanStep) -> Plan {
    let head = PlanHead {
        id: "wfl_1".to_owned(),
        name: "hotel/book".to_owned(),
        description: None,
        reason: "see".to_owned(),
        proposer: "machine:hotel".to_owned(),
        execution: None,
        now: NOW,
    };
    Plan::of_steps(head, vec![step])
}

fn ended(room: u32) -> End {
    End {
        action_id: "book".to_owned(),
        ordinal: 1,
        how: How::Done,
        event: None,
        result: json!({ "room": room }),
        error: None,
    }
}

#[test]
fn the_step_of_an_action_holds_what_its_attempts_do_and_reads_back() {
    let machine = machine();
    let (_, fates) = stepped(&machine, &execution(&machine), Cause::Start);
    let plan = plan_of(planned(&machine, 0, &fates[0]));
    assert_eq!((plan.risk_level, plan.requires_approval), (Risk::Critical, true));
    let step = &plan.steps[0];
    assert_eq!((step.name.as_str(), step.action.version), ("book", 3));
    assert_eq!(
        Value::from(step.action.action.clone()),
        json!({
            "type": "webhook",
            "config": {
                "name": "{{ann}}",
                "token": "{{secrets.key}} {{params[\"variables.guest\"]}} {{attempt.number}}",
            },
            "retryPolicy": { "maxAttempts": 2, "backoffDelay": "5s" },
            "limits": [ { "key": "rooms", "concurrency": 1 } ],
            "tags": ["night"],
        })
    );
    assert_eq!(
        Value::from(step.action.params.clone()),
        json!({ "variables.guest": "{{ann}}" })
    );
    let reached: Vec<String> = step.action.permissions.iter().map(Permission::to_string).collect();
    assert_eq!(reached, ["network hotel", "secret key"]);
    assert_eq!(Plan::from_canonical(&plan.canonical()).unwrap(), plan);
}

#[test]
fn a_compensation_sees_the_end_that_it_takes_back_and_runs_as_a_workflow() {
    let machine = machine();
    let (started, _) = stepped(&machine, &execution(&machine), Cause::Start);
    let (after, _) = stepped(&machine, &started, Cause::Ended(ended(7)));
    let fate = compensation(&machine, &after, 1, ended(7), NOW).unwrap();
    let plan = plan_of(planned(&machine, 1, &fate));
    let config = &plan.steps[0].action.action["config"];
    assert_eq!((&config["room"], &config["again"]), (&json!(7), &json!(7)));
    assert_eq!(plan.steps[0].action.secret_owner(), "hotel");
    // The workflow sends the same: what was data stays data, and only the secret is left.
    let workflow = load_stored(&compile(&plan, NOW)).unwrap();
    let (_, fates) = stepped(&workflow, &execution(&workflow), Cause::Start);
    let Fate::Ready {
        frozen: Some(frozen), ..
    } = &fates[0]
    else {
        panic!("{fates:?}");
    };
    let late = json!({"secrets": {"key": "s3cret"}});
    let sent = frozen
        .bind(&late, crate::expression::template::TemplateLimits::default())
        .unwrap();
    assert_eq!(sent, json!({"room": 7, "again": 7, "token": format!("s3cret {NOW}")}));
    assert_eq!(workflow.actions[0].owner.as_deref(), Some("hotel"));
}

#[test]
fn what_an_action_sends_with_braces_stays_data_in_its_workflow() {
    let machine = machine();
    let (_, fates) = stepped(&machine, &execution(&machine), Cause::Start);
    let plan = plan_of(planned(&machine, 0, &fates[0]));
    let workflow = load_stored(&compile(&plan, NOW)).unwrap();
    let (_, fates) = stepped(&workflow, &execution(&workflow), Cause::Start);
    let Fate::Ready {
        frozen: Some(frozen), ..
    } = &fates[0]
    else {
        panic!("{fates:?}");
    };
    let late = json!({"secrets": {"key": "k"}, "attempt": {"number": 1}});
    let sent = frozen
        .bind(&late, crate::expression::template::TemplateLimits::default())
        .unwrap();
    assert_eq!(sent, json!({"name": "{{ann}}", "token": "k {{ann}} 1"}));
}

#[test]
fn a_compensation_whose_condition_is_false_takes_nothing_back() {
    let machine = machine();
    let (started, _) = stepped(&machine, &execution(&machine), Cause::Start);
    let fate = compensation(&machine, &started, 1, ended(0), NOW).unwrap();
    assert!(matches!(fate, Fate::Skipped(_)), "{fate:?}");
}
