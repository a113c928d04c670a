//! What a key counts for, and that what is kept comes back as it was.

mod golden;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Map;
use sprag_core::ids::{ActionId, ExecutionId, JobId, SwitchId};
use sprag_core::time::Timestamp;

use super::*;
use crate::jobs::JobView;
use crate::queue::control;
use crate::queue::control::SwitchView;
use crate::read::view::ExecutionView;
use crate::requests::{
    Archive, Cancel, CancelJob, Explain, Matches, Migrate, Pause, PauseJob, Resume, ResumeJob, RetryAll, RetryNow,
    SendMessage, ShowQueue, Start, SwitchOff, SwitchOn, Target,
};

fn key(text: &str) -> Key {
    Key::new("somebody", text).unwrap()
}

fn start(variables: Value) -> Start {
    let Value::Object(variables) = variables else {
        panic!("an object")
    };
    Start {
        machine: "order".to_owned(),
        variables,
        ..Start::default()
    }
}

fn of(text: &str, request: &impl Request) -> Idempotency {
    Idempotency::of(&key(text), request).unwrap()
}

fn execution(number: u64) -> ExecutionId {
    ExecutionId::compose(Timestamp::from_millis(1), Slot(7), number)
}

#[test]
fn a_key_has_from_1_to_255_visible_ascii_characters() {
    for text in ["a", "!~", "8e03978e-40d5-43e8-bc93-6894a57f9324", &"k".repeat(255)] {
        assert!(Key::new("p", text).is_ok(), "{text}");
    }
    for text in ["", " ", "a b", "a\tb", "ä", "\u{7f}", "a\0", &"k".repeat(256)] {
        assert_eq!(Key::new("p", text), Err(KeyError), "{text:?}");
    }
}

#[test]
fn the_order_of_members_says_nothing_and_their_values_everything() {
    let one = of("k", &start(json!({"a": 1, "b": {"c": 2, "d": 3}})));
    let same = of("k", &start(json!({"b": {"d": 3, "c": 2}, "a": 1})));
    let other = of("k", &start(json!({"a": 1, "b": {"c": 2, "d": 4}})));
    assert_eq!(one, same);
    assert_eq!(one.scope, other.scope);
    assert_ne!(one.digest, other.digest);
}

#[test]
fn another_principal_key_route_or_target_is_another_scope() {
    let id = execution(1);
    let one = of("k", &Pause(id)).scope;
    let other_principal = Idempotency::of(&Key::new("else", "k").unwrap(), &Pause(id)).unwrap();
    for other in [
        other_principal,
        of("l", &Pause(id)),
        of("k", &Resume(id)),
        of("k", &Cancel(id)),
        of("k", &Pause(execution(2))),
        of("k", &RetryNow(ActionId::from_bytes(id.to_bytes()))),
        of("k", &Archive(ActionId::from_bytes(id.to_bytes()))),
    ] {
        assert_ne!(one, other.scope);
    }
}

#[test]
fn a_start_counts_for_its_machine_and_key_and_stands_in_their_slot() {
    let keyed = |business: &str| Start {
        key: Some(business.to_owned()),
        ..start(json!({}))
    };
    let (red, blue) = (of("k", &keyed("red")), of("k", &keyed("blue")));
    assert_ne!(red.scope, blue.scope);
    assert_eq!(red.scope.slot(), Slot::of_key("order", "red"));
    let free = of("k", &start(json!({})));
    assert_eq!(free.scope.slot(), Slot::of_idempotency_key("k"));
    assert_ne!(
        free.scope,
        of(
            "k",
            &Start {
                machine: "refund".to_owned(),
                ..start(json!({}))
            }
        )
        .scope
    );
}

#[test]
fn what_is_asked_of_somebody_is_decided_in_their_slot() {
    let id = execution(1);
    let migrate = Migrate {
        execution: id,
        version: None,
        states: BTreeMap::new(),
    };
    assert_eq!(of("k", &Pause(id)).scope.slot(), id.slot());
    assert_eq!(of("k", &migrate).scope.slot(), id.slot());
    let by_key = SendMessage {
        to: Target::Key {
            machine: "order".to_owned(),
            key: "red".to_owned(),
        },
        kind: "GO".to_owned(),
        payload: Value::Null,
        id: None,
    };
    assert_eq!(of("k", &by_key).scope.slot(), Slot::of_key("order", "red"));
}

fn switch_on() -> SwitchOn {
    SwitchOn {
        scope: control::Scope::All,
        mode: control::Mode::Hold,
        reason: "the host is down".to_owned(),
        by: "somebody".to_owned(),
        lasts: Some(60_000),
    }
}

#[test]
fn what_operators_ask_is_decided_in_the_control_shard_and_compared_whole() {
    let job = JobId::from_bytes([1; 16]);
    let switch = SwitchId::from_bytes([2; 16]);
    let off = |matches| {
        of(
            "k",
            &SwitchOff {
                id: switch,
                matches,
                held: control::Held::Run,
                rate: None,
            },
        )
    };
    let all = |filter: &str| {
        let retry = RetryAll {
            filter: filter.to_owned(),
            ..RetryAll::default()
        };
        of("k", &retry)
    };
    let shorter = SwitchOn {
        lasts: Some(1),
        ..switch_on()
    };
    for (one, other) in [
        (all("id = \"a\""), all("id = \"b\"")),
        (of("k", &switch_on()), of("k", &shorter)),
        (off(Matches::Any), off(Matches::Revision(1))),
    ] {
        assert_eq!((one.scope, one.scope.slot()), (other.scope, Slot::default()));
        assert_ne!(one.digest, other.digest);
    }
    let verbs = [
        of("k", &PauseJob(job)),
        of("k", &ResumeJob(job)),
        of("k", &CancelJob(job)),
    ];
    let scopes: BTreeSet<Scope> = verbs.iter().map(|verb| verb.scope).collect();
    assert_eq!(scopes.len(), verbs.len());
}

#[test]
fn what_changes_nothing_has_no_idempotency() {
    let action = ActionId::from_bytes([1; 16]);
    assert_eq!(Idempotency::of(&key("k"), &ShowQueue), None);
    assert_eq!(Idempotency::of(&key("k"), &Explain(action)), None);
}

#[test]
fn decisions_are_kept_and_what_may_be_tried_again_is_not() {
    for code in [
        Code::KeyInUse,
        Code::StatusConflict,
        Code::ExecutionClosed,
        Code::MigrationImpossible,
        Code::DecisionFailed,
    ] {
        assert!(is_stored(&refused(code), Repeats::AtTarget), "{code:?}");
    }
    for code in [
        Code::InputInvalid,
        Code::NameInvalid,
        Code::InboxFull,
        Code::StoreFull,
        Code::Overloaded,
        Code::ExecutionUnknown,
        Code::IdempotencyKeyReused,
    ] {
        assert!(!is_stored(&refused(code), Repeats::AtTarget), "{code:?}");
    }
    assert!(!is_stored(&Ok(()), Repeats::AtTarget));
}

/// A request that is answered with an execution was refused so.
fn refused(code: Code) -> Result<Box<ExecutionView>, Refusal> {
    Err(Refusal::new(code, "no"))
}

fn view() -> ExecutionView {
    ExecutionView {
        id: execution(1),
        key: Some("red".to_owned()),
        machine: "order".to_owned(),
        version: 3,
        status: sprag_wire::ExecutionStatus::Running,
        configuration: vec!["a.b".to_owned()],
        variables: Map::from_iter([
            ("z".to_owned(), json!(0.1)),
            ("a".to_owned(), json!([1, null, "\u{e9}"])),
        ]),
        tags: Vec::new(),
        waiting: crate::read::view::Waiting::Waiting {
            reason: crate::read::view::WaitingFor::Timer,
            object: "x".to_owned(),
            since: Timestamp::from_millis(1_767_225_600_001),
            until: None,
        },
        sequence: 9,
        created_at: Timestamp::from_millis(1_767_225_600_000),
        updated_at: Timestamp::from_millis(1_767_225_600_002),
        output: Some(Value::Null),
        failure: None,
    }
}

#[test]
fn an_execution_comes_back_to_the_last_byte() {
    let reply = Ok(Box::new(view()));
    let back: Box<ExecutionView> = decode(&encode(&reply).unwrap()).unwrap();
    assert_eq!(
        serde_json::to_string(&back).unwrap(),
        serde_json::to_string(&view()).unwrap()
    );
}

#[test]
fn a_job_and_a_switch_come_back_to_the_last_byte() {
    let at = Timestamp::from_millis(1_767_225_600_000);
    let retry = RetryAll {
        filter: "tag = \"eu\"".to_owned(),
        config: Some(json!({"url": "https://example.com"})),
        version: Some(2),
        rate: Some(50),
        canary: Some(10),
        ..RetryAll::default()
    };
    let job = crate::jobs::Job::new(JobId::from_bytes([1; 16]), at, &retry);
    let reply = Ok(Box::new(JobView::from(&job)));
    let back: Box<JobView> = decode(&encode(&reply).unwrap()).unwrap();
    assert_eq!(*back, JobView::from(&job));
    let switch = control::Switch {
        id: SwitchId::from_bytes([2; 16]),
        scope: control::Scope::Machine("order".to_owned()),
        mode: control::Mode::Cancel,
        reason: "why".to_owned(),
        by: "who".to_owned(),
        since: at,
        expires_at: None,
        swept: false,
        rate: control::DRAIN_DEFAULT,
        release: None,
    };
    let view = switch.shown(sprag_wire::SwitchStatus::Released);
    let back: SwitchView = decode(&encode(&Ok(view.clone())).unwrap()).unwrap();
    assert_eq!(back, view);
}

#[test]
fn a_refusal_comes_back_with_its_pointers() {
    let refusal = Refusal {
        errors: vec![("/key".to_owned(), "is held".to_owned())],
        ..Refusal::new(Code::KeyInUse, "key `red` is held")
    };
    let reply: Result<Box<ExecutionView>, Refusal> = Err(refusal);
    assert_eq!(decode(&encode(&reply).unwrap()), reply);
}

#[test]
fn every_code_that_is_kept_can_be_read_back() {
    for &code in Code::ALL {
        let back: Result<Box<ExecutionView>, Refusal> = decode(&encode(&refused(code)).unwrap());
        assert_eq!(back.err().map(|refusal| refusal.code), Some(code));
    }
}

#[test]
fn an_answer_that_cannot_be_read_is_a_refusal_and_never_another_act() {
    for bytes in [
        &b"{}"[..],
        b"no",
        br#"{"refused":{"code":"x","detail":"","errors":[]}}"#,
    ] {
        let back: Result<Box<ExecutionView>, Refusal> = decode(bytes);
        assert_eq!(back.err().map(|refusal| refusal.code), Some(Code::StoreFailed));
    }
}

#[test]
fn an_answer_kept_by_an_earlier_process_can_be_read() {
    let kept = br#"{"execution":{"id":"exe_000000000t0007000000000001","key":null,"machine":"order","version":1,
        "status":"completed","configuration":["done"],"variables":{},"tags":[],"waiting":{"state":"done"},
        "sequence":2,"createdAt":"2026-01-01T00:00:00.000Z","updatedAt":"2026-01-01T00:00:00.000Z"}}"#;
    let back: Box<ExecutionView> = decode(kept).unwrap();
    assert!(!back.is_open());
}
