//! Overrides of limits: in force at once, kept, and never an interruption.

use serde_json::json;
use sprag_core::action::{Outcome, Rate, Status};
use sprag_core::ids::ExecutionId;
use sprag_core::text::LIMIT_KEY_BYTES_MAX;
use sprag_engine::limits::{LimitView, Numbers};
use sprag_engine::queue::control::OVERRIDES_MAX;
use sprag_engine::requests::{ClearLimit, Code, ListLimits, Matches, Refusal, SetLimit};

use crate::rig::{Rig, code};

fn limited(limits: &str) -> String {
    format!(
        r"
id: m
initial: a
states: {{ a: {{ on: {{ done.call: b }} }}, b: {{}} }}
actions:
  - actionId: call
    type: noop
    triggerState: a
    config: {{}}
    limits: [{limits}]
"
    )
}

fn set(rig: &mut Rig, key: &str, numbers: Numbers, matches: Matches) -> Result<LimitView, Refusal> {
    let request = SetLimit {
        key: key.to_owned(),
        numbers,
        by: "test".to_owned(),
        matches,
    };
    rig.ask(request)
}

fn clear(rig: &mut Rig, key: &str, matches: Matches) -> Result<LimitView, Refusal> {
    let key = key.to_owned();
    rig.ask(ClearLimit { key, matches })
}

fn limit(rig: &mut Rig, key: &str) -> LimitView {
    let views = rig.ask(ListLimits).unwrap();
    views.into_iter().find(|view| view.key == key).unwrap()
}

fn at_once(count: u32) -> Numbers {
    Numbers {
        concurrency: Some(count),
        rate: None,
    }
}

fn per_minute(count: u32) -> Numbers {
    let rate = Rate {
        count,
        per_millis: 60_000,
    };
    Numbers {
        concurrency: None,
        rate: Some(rate),
    }
}

fn start(rig: &mut Rig, count: usize) -> Vec<ExecutionId> {
    (0..count).map(|_| rig.start("m").id).collect()
}

#[test]
fn more_lets_what_waits_start_at_once_and_less_lets_nothing_start_until_there_is_room() {
    let mut rig = Rig::new(&limited("{ key: crm, concurrency: 2 }"));
    start(&mut rig, 8);
    assert_eq!(rig.started().len(), 2);
    set(&mut rig, "crm", at_once(5), Matches::Any).unwrap();
    assert_eq!(rig.started().len(), 5);
    set(&mut rig, "crm", at_once(1), Matches::Any).unwrap();
    assert_eq!(rig.script.lock().unwrap().cancelled, [], "nothing is interrupted");
    let attempts: Vec<_> = rig.script.lock().unwrap().jobs.iter().map(|job| job.attempt).collect();
    for attempt in &attempts[..4] {
        rig.finish_attempt(*attempt, Outcome::done(json!({})));
        assert_eq!(rig.started().len(), 5);
    }
    rig.finish_attempt(attempts[4], Outcome::done(json!({})));
    assert_eq!(rig.started().len(), 6);
    clear(&mut rig, "crm", Matches::Any).unwrap();
    assert_eq!(rig.started().len(), 7, "the definition counts again");
}

#[test]
fn none_at_once_lets_nothing_start() {
    let mut rig = Rig::new(&limited("{ concurrency: 2 }"));
    set(&mut rig, "m/call", at_once(0), Matches::Any).unwrap();
    let ids = start(&mut rig, 3);
    assert_eq!(rig.started().len(), 0);
    assert_eq!(rig.action_status(ids[0], "call"), Status::Queued);
}

#[test]
fn a_rate_is_overridden_in_both_directions() {
    let mut rig = Rig::new(&limited("{ key: crm, rate: { count: 1, per: 60000 } }"));
    start(&mut rig, 10);
    assert_eq!(rig.started().len(), 1);
    set(&mut rig, "crm", per_minute(4), Matches::Any).unwrap();
    assert_eq!(rig.started().len(), 4, "three more than before have room at once");
    set(&mut rig, "crm", per_minute(1), Matches::Any).unwrap();
    rig.advance(30_000);
    assert_eq!(rig.started().len(), 4);
    rig.advance(31_000);
    assert_eq!(rig.started().len(), 5);
}

#[test]
fn what_is_not_overridden_stays_as_the_definition_says() {
    let mut rig = Rig::new(&limited("{ key: crm, concurrency: 2 }"));
    set(&mut rig, "crm", per_minute(100), Matches::Any).unwrap();
    start(&mut rig, 5);
    assert_eq!(rig.started().len(), 2);
}

#[test]
fn an_override_survives_a_crash() {
    let mut rig = Rig::new(&limited("{ key: crm, concurrency: 1 }"));
    set(&mut rig, "crm", at_once(3), Matches::Any).unwrap();
    rig.crash();
    start(&mut rig, 5);
    assert_eq!(rig.started().len(), 3);
    clear(&mut rig, "crm", Matches::Any).unwrap();
    rig.crash();
    assert_eq!(limit(&mut rig, "crm").overridden, None);
}

#[test]
fn a_change_must_mean_what_is_there() {
    let mut rig = Rig::new(&limited("{ key: crm, concurrency: 1 }"));
    let first = set(&mut rig, "crm", at_once(2), Matches::Revision(0)).unwrap();
    assert_eq!(
        code(set(&mut rig, "crm", at_once(9), Matches::Revision(0))),
        Code::PreconditionFailed
    );
    let second = set(&mut rig, "crm", at_once(3), Matches::Revision(first.revision())).unwrap();
    assert!(second.revision() > first.revision());
    assert_eq!(
        code(clear(&mut rig, "crm", Matches::Revision(first.revision()))),
        Code::PreconditionFailed
    );
    clear(&mut rig, "crm", Matches::Revision(second.revision())).unwrap();
    assert_eq!(code(clear(&mut rig, "crm", Matches::Any)), Code::LimitUnknown);
    rig.advance(1);
    let third = set(&mut rig, "crm", at_once(2), Matches::Any).unwrap();
    assert_ne!(third.revision(), first.revision());
}

#[test]
fn the_list_says_what_counts_runs_and_waits() {
    let mut rig = Rig::new(&limited("{ key: crm, concurrency: 2 }"));
    start(&mut rig, 5);
    let view = limit(&mut rig, "crm");
    assert_eq!((view.running, view.waiting, view.more), (2, 3, false));
    assert_eq!(view.definitions, [at_once(2)]);
    set(&mut rig, "unused", at_once(1), Matches::Any).unwrap();
    let view = limit(&mut rig, "unused");
    assert_eq!((view.running, view.waiting), (0, 0));
    assert_eq!(view.overridden.map(|overridden| overridden.numbers), Some(at_once(1)));
}

#[test]
fn keys_that_cannot_be_kept_are_refused() {
    let mut rig = Rig::new(&limited("{ concurrency: 2 }"));
    for key in ["", "a\0b", &"k".repeat(LIMIT_KEY_BYTES_MAX + 1), "two\nlines"] {
        assert_eq!(code(set(&mut rig, key, at_once(1), Matches::Any)), Code::NameInvalid);
    }
}

#[test]
fn there_are_only_so_many_overrides() {
    let mut rig = Rig::new(&limited("{ concurrency: 2 }"));
    for number in 0..OVERRIDES_MAX {
        set(&mut rig, &format!("k{number}"), at_once(1), Matches::Any).unwrap();
    }
    assert_eq!(
        code(set(&mut rig, "one more", at_once(1), Matches::Any)),
        Code::LimitsFull
    );
    set(&mut rig, "k7", at_once(2), Matches::Any).unwrap();
}
