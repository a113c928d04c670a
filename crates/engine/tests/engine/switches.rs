//! Kill switches: nothing in scope begins, everything else goes on.

use serde_json::json;
use sprag_core::action::{Outcome, Rate, Status};
use sprag_core::ids::{ExecutionId, SwitchId};
use sprag_engine::Task;
use sprag_engine::queue::control::{Held, Mode, SWITCHES_MAX, Scope, SwitchView};
use sprag_engine::read::view::{Waiting, WaitingFor};
use sprag_engine::requests::{
    Begin, Code, Command, Explain, ListSwitches, Matches, Pause, Refusal, Resume, RetryNow, SwitchOff, SwitchOn,
};
use sprag_store::traits::Reader;
use sprag_wire::SwitchStatus;

use crate::rig::{Rig, code};

/// Two machines whose actions stand in the same line, and one of another type.
fn machines() -> [String; 3] {
    let machine = |id: &str, kind: &str| {
        format!(
            r"
id: {id}
initial: a
states:
  a: {{ on: {{ done.call: b, AGAIN: a }}, after: {{ 60s: a }} }}
  b: {{}}
actions:
  - actionId: call
    type: {kind}
    triggerState: a
    config: {{}}
    retryPolicy: {{ jitter: false, maxAttempts: 10, baseDelay: 1000, maxDelay: 1000 }}
"
        )
    };
    [
        machine("m", "noop"),
        machine("other", "noop"),
        machine("third", "webhook"),
    ]
}

fn rig() -> Rig {
    let [m, other, third] = machines();
    let mut rig = Rig::new(&m);
    rig.apply(&other);
    rig.apply(&third);
    rig
}

fn on(rig: &mut Rig, scope: &str, mode: Mode) -> SwitchView {
    switched(rig, scope, mode, None).unwrap()
}

fn switched(rig: &mut Rig, scope: &str, mode: Mode, lasts: Option<u64>) -> Result<SwitchView, Refusal> {
    rig.ask(SwitchOn {
        scope: scope.parse::<Scope>().unwrap(),
        mode,
        reason: "a test".to_owned(),
        by: "test".to_owned(),
        lasts,
    })
}

fn off(rig: &mut Rig, id: SwitchId, matches: Matches) -> Result<(), Refusal> {
    rig.ask(SwitchOff {
        id,
        matches,
        held: Held::Run,
        rate: None,
    })
    .map(drop)
}

fn switches(rig: &mut Rig) -> Vec<SwitchView> {
    rig.ask(ListSwitches).unwrap()
}

fn waits_for(rig: &mut Rig, id: ExecutionId) -> (WaitingFor, String) {
    let action = rig.action(id, "call").id;
    match rig.act(Explain(action)).unwrap().waiting {
        Waiting::Waiting { reason, object, .. } => (reason, object),
        other => panic!("{other:?}"),
    }
}

fn begun(rig: &Rig) -> usize {
    let script = rig.script.lock().unwrap();
    script.jobs.iter().filter(|job| job.task == Task::Run).count()
}

#[test]
fn nothing_begins_under_a_switch_over_everything_and_all_of_it_begins_after() {
    let mut rig = rig();
    let switch = on(&mut rig, "all", Mode::Hold);
    let held: Vec<_> = ["m", "other", "third"].map(|name| rig.start(name).id).into();
    assert_eq!(rig.started(), Vec::<String>::new());
    for &id in &held {
        assert_eq!(rig.action_status(id, "call"), Status::Queued);
        assert_eq!(waits_for(&mut rig, id), (WaitingFor::KillSwitch, switch.id.to_string()));
    }
    off(&mut rig, switch.id, Matches::Any).unwrap();
    assert_eq!(rig.started().len(), 3);
    assert_eq!(switches(&mut rig), []);
}

#[test]
fn the_answer_to_a_start_says_that_a_switch_holds_it() {
    let mut rig = rig();
    let switch = on(&mut rig, "type:noop", Mode::Hold);
    let view = rig.start("m");
    assert_eq!(
        view.waiting,
        Waiting::Waiting {
            reason: WaitingFor::KillSwitch,
            object: switch.id.to_string(),
            since: switch.since,
            until: None,
        }
    );
}

#[test]
fn a_switch_holds_its_scope_and_nothing_else() {
    for (scope, begins) in [
        ("machine:m", vec!["other", "third"]),
        ("type:noop", vec!["third"]),
        ("actionId:m/call", vec!["other", "third"]),
        ("actionId:m/another", vec!["m", "other", "third"]),
    ] {
        let mut rig = rig();
        on(&mut rig, scope, Mode::Hold);
        let started = ["m", "other", "third"].map(|name| (name, rig.start(name).id));
        let running = started
            .into_iter()
            .filter(|(_, id)| rig.action_status(*id, "call") == Status::Running);
        let running: Vec<_> = running.map(|(name, _)| name).collect();
        assert_eq!(running, begins, "{scope}");
    }
}

#[test]
fn an_attempt_under_way_goes_on_and_its_retry_waits() {
    let mut rig = rig();
    let id = rig.start("m").id;
    let switch = on(&mut rig, "machine:m", Mode::Hold);
    assert_eq!(rig.action_status(id, "call"), Status::Running);
    rig.finish("call", Outcome::not_done("timeout", "no"));
    rig.advance(5_000);
    assert_eq!(rig.action_status(id, "call"), Status::Queued, "its time has come");
    assert_eq!(rig.started().len(), 1, "but it does not begin");
    assert_eq!(waits_for(&mut rig, id), (WaitingFor::KillSwitch, switch.id.to_string()));
    off(&mut rig, switch.id, Matches::Any).unwrap();
    assert_eq!(rig.started().len(), 2);
}

#[test]
fn executions_decide_and_timers_fire_while_effects_wait() {
    let mut rig = rig();
    on(&mut rig, "all", Mode::Hold);
    let id = rig.start("m").id;
    assert!(rig.send(id, "AGAIN").unwrap().handled);
    let before = rig.row(id).sequence;
    rig.advance(60_000);
    assert!(rig.row(id).sequence > before, "the timer fired");
    assert_eq!(rig.started(), Vec::<String>::new());
}

#[test]
fn it_survives_a_crash_whatever_its_scope() {
    for scope in ["all", "type:noop", "machine:m", "actionId:m/call"] {
        let mut rig = rig();
        let switch = on(&mut rig, scope, Mode::Hold);
        let ids: Vec<_> = (0..100).map(|_| rig.start("m").id).collect();
        rig.crash();
        assert_eq!(rig.started(), Vec::<String>::new(), "{scope}");
        off(&mut rig, switch.id, Matches::Any).unwrap();
        drained(&mut rig);
        assert_eq!(begun(&rig), 100, "{scope}");
        assert_eq!(rig.action_status(ids[99], "call"), Status::Running);
    }
}

#[test]
fn what_was_set_aside_is_found_again_when_the_process_dies_right_after_the_release() {
    let mut rig = rig();
    let switch = on(&mut rig, "machine:m", Mode::Hold);
    for _ in 0..150 {
        rig.start("m");
    }
    let request = SwitchOff {
        id: switch.id,
        matches: Matches::Any,
        held: Held::Run,
        rate: None,
    };
    rig.tick(vec![Command::own(request)]);
    rig.crash();
    drained(&mut rig);
    assert_eq!(begun(&rig), 150);
}

/// Lets time pass until no switch is being released.
fn drained(rig: &mut Rig) {
    for _ in 0..100 {
        if switches(rig).is_empty() {
            return;
        }
        rig.advance(100);
    }
    panic!("{:?}", switches(rig));
}

#[test]
fn what_was_held_begins_at_the_rate_whatever_the_scope_and_later_work_at_once() {
    for scope in ["all", "type:noop", "machine:m", "actionId:m/call"] {
        let mut rig = rig();
        let switch = on(&mut rig, scope, Mode::Hold);
        for _ in 0..60 {
            rig.start("m");
        }
        let rate = Rate {
            count: 20,
            per_millis: 1_000,
        };
        let request = SwitchOff {
            id: switch.id,
            matches: Matches::Any,
            held: Held::Run,
            rate: Some(rate),
        };
        assert_eq!(rig.ask(request).unwrap().status, SwitchStatus::Released);
        for tenths in 0..25 {
            assert!(begun(&rig) <= 4 + 2 * tenths, "{scope}: {} after {tenths}", begun(&rig));
            assert_eq!(switches(&mut rig)[0].status, SwitchStatus::Releasing, "{scope}");
            rig.advance(100);
        }
        assert!(begun(&rig) >= 45, "{scope}: {}", begun(&rig));
        drained(&mut rig);
        assert_eq!(begun(&rig), 60, "{scope}");
    }
    let mut rig = rig();
    let switch = on(&mut rig, "machine:m", Mode::Hold);
    rig.start("m");
    rig.start("m");
    rig.advance(1_000);
    let slow = Rate {
        count: 1,
        per_millis: 60_000,
    };
    let request = SwitchOff {
        id: switch.id,
        matches: Matches::Any,
        held: Held::Run,
        rate: Some(slow),
    };
    rig.ask(request).unwrap();
    rig.advance(10);
    let later = rig.start("m").id;
    assert_eq!((begun(&rig), rig.action_status(later, "call")), (2, Status::Running));
}

#[test]
fn what_was_held_is_skipped_and_later_work_runs() {
    for scope in ["all", "type:noop", "machine:m", "actionId:m/call"] {
        let mut rig = rig();
        let switch = on(&mut rig, scope, Mode::Hold);
        let held: Vec<_> = (0..100).map(|_| rig.start("m").id).collect();
        rig.advance(1_000);
        let request = SwitchOff {
            id: switch.id,
            matches: Matches::Any,
            held: Held::Skip,
            rate: None,
        };
        rig.tick(vec![Command::own(request)]);
        rig.crash();
        drained(&mut rig);
        for id in held {
            assert_eq!(rig.action_status(id, "call"), Status::Cancelled, "{scope}");
        }
        assert_eq!(begun(&rig), 0, "{scope}");
        let later = rig.start("m").id;
        assert_eq!(rig.action_status(later, "call"), Status::Running, "{scope}");
    }
}

#[test]
fn a_release_may_be_changed_while_it_goes_on() {
    let mut rig = rig();
    let switch = on(&mut rig, "machine:m", Mode::Hold);
    for _ in 0..10 {
        rig.start("m");
    }
    let mut release = SwitchOff {
        id: switch.id,
        matches: Matches::Any,
        held: Held::Run,
        rate: Some(Rate {
            count: 1,
            per_millis: 60_000,
        }),
    };
    rig.ask(release).unwrap();
    rig.advance(1_000);
    assert_eq!(begun(&rig), 1);
    release.held = Held::Skip;
    rig.ask(release).unwrap();
    drained(&mut rig);
    assert_eq!(begun(&rig), 1);
}

#[test]
fn what_was_held_begins_in_the_order_of_its_line_and_under_its_limits() {
    let [m, ..] = machines();
    let mut rig = Rig::new(&format!("{m}    limits: [{{ concurrency: 1 }}]\n"));
    let switch = on(&mut rig, "machine:m", Mode::Hold);
    let ids: Vec<_> = (0..5)
        .map(|_| {
            rig.advance(10);
            rig.start("m").id
        })
        .collect();
    off(&mut rig, switch.id, Matches::Any).unwrap();
    for &id in &ids {
        assert_eq!(rig.action_status(id, "call"), Status::Running);
        assert_eq!(rig.job("call").attempt.execution, id);
        rig.done("call");
    }
}

#[test]
fn what_another_switch_still_holds_stays_held() {
    let mut rig = rig();
    let (wide, narrow) = (on(&mut rig, "all", Mode::Hold), on(&mut rig, "machine:m", Mode::Hold));
    let (held, free) = (rig.start("m").id, rig.start("other").id);
    off(&mut rig, wide.id, Matches::Any).unwrap();
    assert_eq!(rig.action_status(free, "call"), Status::Running);
    assert_eq!(
        waits_for(&mut rig, held),
        (WaitingFor::KillSwitch, narrow.id.to_string())
    );
    off(&mut rig, narrow.id, Matches::Any).unwrap();
    assert_eq!(rig.action_status(held, "call"), Status::Running);
}

#[test]
fn an_execution_resumed_under_a_switch_stays_held() {
    let mut rig = rig();
    let switch = on(&mut rig, "machine:m", Mode::Hold);
    let id = rig.start("m").id;
    rig.control(Pause(id)).unwrap();
    rig.control(Resume(id)).unwrap();
    assert_eq!(rig.started(), Vec::<String>::new());
    rig.control(Pause(id)).unwrap();
    off(&mut rig, switch.id, Matches::Any).unwrap();
    assert_eq!(rig.started(), Vec::<String>::new(), "it is paused");
    rig.control(Resume(id)).unwrap();
    assert_eq!(rig.started().len(), 1);
}

#[test]
fn a_switch_holds_what_was_chosen_and_has_not_begun() {
    let mut rig = rig();
    let id = rig.start("m").id;
    rig.finish("call", Outcome::not_done("timeout", "no"));
    let action = rig.action(id, "call").id;
    on(&mut rig, "all", Mode::Hold);
    rig.act(RetryNow(action)).unwrap();
    let request = Begin { execution: id, action };
    rig.tick(vec![Command::own(request)]);
    rig.run();
    assert_eq!(rig.started().len(), 1);
}

#[test]
fn cancel_ends_what_waits_and_asks_what_runs_to_stop() {
    let mut rig = rig();
    let running = rig.start("m").id;
    let first = rig.job("call").attempt;
    let retrying = rig.start("m").id;
    rig.finish("call", Outcome::not_done("timeout", "no"));
    let untouched = rig.start("other").id;
    let switch = on(&mut rig, "machine:m", Mode::Cancel);
    assert_eq!(rig.action_status(retrying, "call"), Status::Cancelled);
    assert_eq!(rig.script.lock().unwrap().cancelled, [first]);
    rig.finish_attempt(first, Outcome::not_done("timeout", "stopped"));
    assert_eq!(rig.action_status(running, "call"), Status::Cancelled);
    assert_eq!(rig.action_status(untouched, "call"), Status::Running);
    assert_eq!(switches(&mut rig)[0].swept, Some(true));
    let later = rig.start("m").id;
    assert_eq!(
        rig.action_status(later, "call"),
        Status::Queued,
        "what comes later waits"
    );
    assert_eq!(
        waits_for(&mut rig, later),
        (WaitingFor::KillSwitch, switch.id.to_string())
    );
}

#[test]
fn cancelling_goes_on_after_a_crash() {
    let mut rig = rig();
    let hold = on(&mut rig, "machine:m", Mode::Hold);
    let ids: Vec<_> = (0..150).map(|_| rig.start("m").id).collect();
    let request = SwitchOn {
        scope: Scope::Machine("m".to_owned()),
        mode: Mode::Cancel,
        reason: "x".to_owned(),
        by: "x".to_owned(),
        lasts: None,
    };
    rig.tick(vec![Command::own(request)]);
    rig.crash();
    for id in ids {
        assert_eq!(rig.action_status(id, "call"), Status::Cancelled);
    }
    off(&mut rig, hold.id, Matches::Any).unwrap();
    assert_eq!(rig.started(), Vec::<String>::new());
}

#[test]
fn a_switch_with_an_end_goes_off_by_itself() {
    let mut rig = rig();
    switched(&mut rig, "machine:m", Mode::Hold, Some(10_000)).unwrap();
    rig.start("m");
    rig.advance(9_999);
    assert_eq!(rig.started(), Vec::<String>::new());
    rig.advance(1);
    assert_eq!(rig.started().len(), 1);
    assert_eq!(switches(&mut rig), []);
    rig.crash();
    assert_eq!(switches(&mut rig), []);
}

#[test]
fn a_release_must_mean_the_switch_that_is_there() {
    let mut rig = rig();
    let switch = on(&mut rig, "all", Mode::Hold);
    let wrong = off(&mut rig, switch.id, Matches::Revision(switch.revision + 1));
    assert_eq!(code(wrong), Code::PreconditionFailed);
    rig.start("m");
    assert_eq!(rig.started(), Vec::<String>::new());
    off(&mut rig, switch.id, Matches::Revision(switch.revision)).unwrap();
    assert_eq!(code(off(&mut rig, switch.id, Matches::Any)), Code::SwitchUnknown);
}

#[test]
fn there_are_only_so_many_switches() {
    let mut rig = rig();
    for _ in 0..SWITCHES_MAX {
        on(&mut rig, "type:x", Mode::Hold);
    }
    assert_eq!(code(switched(&mut rig, "all", Mode::Hold, None)), Code::SwitchesFull);
}

#[test]
fn an_action_that_must_run_alone_is_held_too() {
    for scope in ["all", "type:noop", "machine:m"] {
        let mut rig = rig();
        let id = rig.start("m").id;
        for _ in 0..3 {
            rig.advance(2_000);
            rig.crash();
        }
        let switch = on(&mut rig, scope, Mode::Hold);
        rig.advance(60_000);
        assert_eq!(begun(&rig), 0, "{scope}");
        assert_eq!(rig.action_status(id, "call"), Status::Queued, "{scope}");
        off(&mut rig, switch.id, Matches::Any).unwrap();
        assert_eq!(begun(&rig), 1, "{scope}");
        rig.finish("call", Outcome::done(json!({})));
    }
}

#[test]
fn a_held_action_stands_in_no_line_only_while_it_must() {
    let mut rig = rig();
    let switch = on(&mut rig, "machine:m", Mode::Hold);
    let id = rig.start("m").id;
    let line = |rig: &Rig| rig.store.action(rig.action(id, "call").id).unwrap().unwrap().line;
    assert_eq!(line(&rig), "", "so that it keeps nobody back, also after a restart");
    off(&mut rig, switch.id, Matches::Any).unwrap();
    assert_eq!(line(&rig), "noop");
}
