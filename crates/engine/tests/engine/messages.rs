//! Starts, messages, failed decisions.

use serde_json::{Map, Value, json};
use sprag_core::action::Outcome;
use sprag_engine::convert::Entry;
use sprag_engine::requests::{Cancel, Code, Migrate, Resume, SendMessage, Start, Target};
use sprag_store::records::ExecutionStatus;

use crate::rig::{Rig, code};

const DOOR: &str = r"
id: door
variables: { opened: 0 }
initial: closed
states:
  closed:
    on:
      OPEN: { target: open, assign: { opened: '{{variables.opened + 1}}' } }
      BREAK: { target: open, assign: { by: '{{message.payload.by}}' } }
  open: { on: { CLOSE: closed, REMOVE: gone } }
  gone: { type: final, output: { opened: '{{variables.opened}}' } }
";

fn keyed(key: &str) -> Start {
    Start {
        machine: "door".into(),
        key: Some(key.into()),
        ..Start::default()
    }
}

#[test]
fn a_message_takes_one_macrostep_and_is_answered_with_where_it_led() {
    let mut rig = Rig::new(DOOR);
    let id = rig.start("door").id;
    let sent = rig.send(id, "OPEN").unwrap();
    assert!(sent.handled && !sent.queued);
    assert_eq!(sent.configuration, ["open"]);
    assert_eq!(sent.sequence, 2);
    assert_eq!(rig.variables(id), json!({ "opened": 1 }));
}

#[test]
fn a_message_nobody_handles_is_recorded_and_answered_so() {
    let mut rig = Rig::new(DOOR);
    let id = rig.start("door").id;
    let sent = rig.send(id, "KNOCK").unwrap();
    assert!(!sent.handled);
    assert!(matches!(&rig.history(id)[1], Entry::Step { handled: false, .. }));
}

#[test]
fn the_same_message_id_gives_the_first_answer_for_the_executions_life() {
    let mut rig = Rig::new(DOOR);
    let id = rig.start("door").id;
    let first = rig.send_message(id, "OPEN", Value::Null, Some("m1")).unwrap();
    rig.send(id, "CLOSE").unwrap();
    rig.crash();
    let again = rig.send_message(id, "OPEN", Value::Null, Some("m1")).unwrap();
    assert_eq!(again, first);
    assert_eq!(rig.variables(id), json!({ "opened": 1 }));
    assert_eq!(rig.configuration(id), ["closed"]);
}

#[test]
fn a_message_whose_decision_fails_is_refused_and_its_id_may_be_used_again() {
    let mut rig = Rig::new(DOOR);
    let id = rig.start("door").id;
    assert_eq!(
        code(rig.send_message(id, "BREAK", json!({}), Some("m1"))),
        Code::DecisionFailed
    );
    assert_eq!(rig.configuration(id), ["closed"], "nothing changed");
    assert_eq!(rig.status(id), ExecutionStatus::Running, "the execution goes on");
    assert!(
        matches!(&rig.history(id)[1], Entry::Refused { .. }),
        "the refusal is recorded"
    );
    let sent = rig
        .send_message(id, "BREAK", json!({ "by": "wind" }), Some("m1"))
        .unwrap();
    assert!(sent.handled);
}

#[test]
fn a_message_to_a_closed_execution_is_refused() {
    let mut rig = Rig::new(DOOR);
    let id = rig.start("door").id;
    rig.send(id, "OPEN").unwrap();
    rig.send(id, "REMOVE").unwrap();
    assert_eq!(rig.status(id), ExecutionStatus::Completed);
    assert_eq!(rig.configuration(id), ["gone"]);
    assert_eq!(code(rig.send(id, "OPEN")), Code::ExecutionClosed);
}

#[test]
fn message_types_of_the_engine_are_refused_from_outside() {
    let mut rig = Rig::new(DOOR);
    let id = rig.start("door").id;
    for kind in ["done.x", "failed.x", "skipped.x", "after.5m", "error.x", "sprag.start"] {
        assert_eq!(code(rig.send(id, kind)), Code::ReservedType, "{kind}");
    }
}

#[test]
fn a_key_is_unique_among_the_open_executions_of_a_machine() {
    let mut rig = Rig::new(DOOR);
    let id = rig.start_with(keyed("front")).unwrap().id;
    assert_eq!(code(rig.start_with(keyed("front"))), Code::KeyInUse);
    rig.start_with(keyed("back")).unwrap();
    rig.control(Cancel(id)).unwrap();
    let again = rig.start_with(keyed("front")).unwrap().id;
    let to = Target::Key {
        machine: "door".into(),
        key: "front".into(),
    };
    let message = SendMessage {
        to,
        kind: "OPEN".into(),
        payload: Value::Null,
        id: None,
    };
    rig.ask(message).unwrap();
    assert_eq!(
        rig.configuration(again),
        ["open"],
        "a message by key reaches the open one"
    );
    assert_eq!(rig.configuration(id), ["closed"]);
}

#[test]
fn the_slot_of_a_keyed_execution_is_the_slot_of_its_key() {
    let mut rig = Rig::new(DOOR);
    let id = rig.start_with(keyed("front")).unwrap().id;
    assert_eq!(id.slot(), sprag_core::ids::Slot::of_key("door", "front"));
}

#[test]
fn a_start_that_errs_is_refused_and_nothing_is_stored() {
    let text = "{id: m, initial: a, states: {a: {entry: [{assign: {x: '{{variables.missing}}'}}]}}}";
    let mut rig = Rig::new(text);
    let refused = rig.start_with(Start {
        machine: "m".into(),
        ..Start::default()
    });
    assert_eq!(code(refused), Code::DecisionFailed);
    let query = sprag_store::traits::ExecutionQuery {
        page: sprag_store::Page::first(10),
        ..Default::default()
    };
    assert!(
        sprag_store::Reader::executions(&rig.store, &query)
            .unwrap()
            .rows
            .is_empty()
    );
}

#[test]
fn start_variables_stand_over_the_machines_own_and_meet_its_input() {
    let text = r"
id: m
variables: { currency: EUR, rate: 1 }
input: { type: object, required: [name], properties: { name: { type: string } } }
initial: a
states: { a: {} }
";
    let mut rig = Rig::new(text);
    let start = |variables: Value| Start {
        machine: "m".into(),
        variables: variables.as_object().cloned().unwrap_or_else(Map::new),
        ..Start::default()
    };
    let view = rig.start_with(start(json!({ "name": "Ada", "rate": 2 }))).unwrap();
    assert_eq!(
        Value::Object(view.variables),
        json!({ "currency": "EUR", "rate": 2, "name": "Ada" })
    );
    let refused = rig.start_with(start(json!({ "name": 7 }))).unwrap_err();
    assert_eq!(refused.code, Code::InputInvalid);
    assert_eq!(refused.errors[0].0, "/variables/name");
}

#[test]
fn unknown_things_are_said_to_be_unknown() {
    let mut rig = Rig::new(DOOR);
    let unknown = Start {
        machine: "window".into(),
        ..Start::default()
    };
    assert_eq!(code(rig.start_with(unknown)), Code::MachineUnknown);
    let version = Start {
        machine: "door".into(),
        version: Some(9),
        ..Start::default()
    };
    assert_eq!(code(rig.start_with(version)), Code::VersionUnknown);
    let id = sprag_core::ids::ExecutionId::from_bytes([7; 16]);
    assert_eq!(code(rig.send(id, "OPEN")), Code::ExecutionUnknown);
}

#[test]
fn names_that_cannot_be_stored_are_refused_at_the_edge() {
    let mut rig = Rig::new(DOOR);
    for key in ["", "nul\0", &"x".repeat(600)] {
        assert_eq!(code(rig.start_with(keyed(key))), Code::NameInvalid);
    }
    let id = rig.start("door").id;
    assert_eq!(
        code(rig.send_message(id, "OPEN", Value::Null, Some("a\0b"))),
        Code::NameInvalid
    );
}

#[test]
fn a_message_over_its_bound_is_refused_by_name() {
    let mut rig = Rig::new(DOOR);
    let id = rig.start("door").id;
    let payload = json!("x".repeat(256 * 1024));
    assert_eq!(code(rig.send_message(id, "OPEN", payload, None)), Code::MessageTooLarge);
}

#[test]
fn variables_over_their_bound_discard_the_macrostep() {
    let text = "{id: m, initial: a, states: {a: {on: {KEEP: {assign: {kept: '{{message.payload}}'}}}}}}";
    let mut options = sprag_engine::Options::default();
    options.limits.variables_bytes = 1_000;
    let mut rig = Rig::with_options(text, options);
    let id = rig.start("m").id;
    let refused = rig
        .send_message(id, "KEEP", json!("x".repeat(2_000)), None)
        .unwrap_err();
    assert_eq!(refused.code, Code::DecisionFailed);
    assert!(refused.detail.contains("the limit is 1000"), "{}", refused.detail);
    assert_eq!(rig.variables(id), json!({}));
    let start = Start {
        machine: "m".into(),
        variables: json!({ "big": "x".repeat(2_000) }).as_object().cloned().unwrap(),
        ..Start::default()
    };
    assert_eq!(code(rig.start_with(start)), Code::VariablesTooLarge);
}

#[test]
fn an_end_whose_decision_fails_leaves_the_execution_failed_until_somebody_mends_it() {
    let broken = r"
id: m
initial: a
states:
  a: { on: { done.work: { target: b, assign: { x: '{{variables.missing}}' } } } }
  b: {}
actions: [{ actionId: work, type: noop, triggerState: a, config: {} }]
";
    let mut rig = Rig::new(broken);
    let id = rig.start("m").id;
    rig.done("work");
    assert_eq!(rig.status(id), ExecutionStatus::Failed);
    assert_eq!(rig.configuration(id), ["a"], "nothing changed");
    let sent = rig.send(id, "HELLO").unwrap();
    assert!(sent.queued, "messages are queued as in pause");
    rig.control(Resume(id)).unwrap();
    assert_eq!(rig.status(id), ExecutionStatus::Failed, "the same input fails again");
    rig.crash();
    rig.apply(&broken.replace("'{{variables.missing}}'", "1"));
    let migrate = Migrate {
        execution: id,
        version: Some(2),
        states: std::collections::BTreeMap::new(),
    };
    rig.control(migrate).unwrap();
    rig.control(Resume(id)).unwrap();
    assert_eq!(rig.status(id), ExecutionStatus::Running);
    assert_eq!(
        rig.configuration(id),
        ["b"],
        "the input that failed was processed, first"
    );
    let handled = rig
        .history(id)
        .iter()
        .filter(|entry| matches!(entry, Entry::Step { .. }))
        .count();
    assert_eq!(handled, 3, "start, the end, and the message that waited");
}

#[test]
fn new_executions_use_what_was_applied_last() {
    let mut rig = Rig::new(DOOR);
    let apply = |rig: &mut Rig, text: &str| {
        let applied = rig.apply(text);
        (applied.version, applied.created, applied.same_as)
    };
    let other = DOOR.replace("KNOCK", "RING").replace("REMOVE", "TAKE");
    assert_eq!(apply(&mut rig, DOOR), (1, false, None));
    assert_eq!(apply(&mut rig, &other), (2, true, None));
    assert_eq!(rig.start("door").version, 2);
    assert_eq!(apply(&mut rig, DOOR), (3, true, Some(1)));
    assert_eq!(rig.start("door").version, 3);
    assert_eq!(
        apply(&mut rig, DOOR),
        (3, false, None),
        "the newest again changes nothing"
    );
    assert_eq!(apply(&mut rig, &other), (4, true, Some(2)));
    assert_eq!(
        apply(&mut rig, DOOR),
        (5, true, Some(3)),
        "the latest version with that content"
    );
}

#[test]
fn an_outcome_reported_twice_is_fed_once() {
    let text = r"
id: m
variables: { n: 0 }
initial: a
states:
  a: { on: { done.work: { assign: { n: '{{variables.n + 1}}' } } } }
actions: [{ actionId: work, type: noop, triggerState: a, config: {} }]
";
    let mut rig = Rig::new(text);
    let id = rig.start("m").id;
    let attempt = rig.job("work").attempt;
    rig.finish_attempt(attempt, Outcome::done(json!(1)));
    rig.finish_attempt(attempt, Outcome::done(json!(2)));
    assert_eq!(rig.variables(id), json!({ "n": 1 }));
    assert_eq!(rig.action(id, "work").body.result, Some(json!(1)));
}
