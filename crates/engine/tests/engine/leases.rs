//! Programs outside the process: routing, leases, heartbeats, restarts, fences.

use serde_json::json;
use sprag_core::action::{Outcome, Status, Verdict};
use sprag_core::ids::{AttemptId, ExecutionId};
use sprag_core::time::Timestamp;
use sprag_engine::AttemptJob;
use sprag_engine::leases::{Beat, Finished, LeaseAnswer, Poll, Wants};
use sprag_engine::queue::control::Mode;
use sprag_engine::requests::{
    CancelAction, Code, Command, Explain, Finish, Heartbeat, Matches, Pause, Refusal, Replied, Resume, SwitchOff,
    SwitchOn,
};
use sprag_wire::{ActionStatus, Waiting, WaitingFor};
use tokio::sync::oneshot::Receiver;

use crate::rig::{Rig, code};

const LEASE_MILLIS: u64 = 60_000;

const RENDER: &str = r"
id: m
initial: a
states: { a: { on: { done.work: b, failed.work: c } }, b: {}, c: {} }
actions:
  - actionId: work
    type: render
    runner: gpu
    triggerState: a
    tags: [big, night]
    config: { size: 3 }
    timeout: 10m
    retryPolicy: { jitter: false, maxAttempts: 3, baseDelay: 100, maxDelay: 100 }
";

/// A program that takes two attempts at most and waits for a minute.
fn gpu() -> Poll {
    Poll {
        wants: Wants {
            runner: Some("gpu".to_owned()),
            kinds: vec!["render".to_owned()],
            tags: Vec::new(),
        },
        max: 2,
        wait_millis: 60_000,
        lease_millis: LEASE_MILLIS,
    }
}

impl Rig {
    /// A program asks; the answer comes when there is one.
    fn poll(&mut self, poll: Poll) -> Receiver<Replied<LeaseAnswer>> {
        let (command, answer) = Command::asked(poll);
        self.tick(vec![command]);
        self.run();
        answer
    }

    /// What was handed over since the last look, poll by poll.
    fn granted(&mut self) -> Vec<Vec<AttemptJob>> {
        let grants = std::mem::take(&mut self.script.lock().unwrap().grants);
        grants.into_iter().map(|grant| grant.jobs).collect()
    }

    /// The one attempt that was handed over.
    fn leased(&mut self) -> AttemptJob {
        let mut granted: Vec<AttemptJob> = self.granted().into_iter().flatten().collect();
        assert_eq!(granted.len(), 1, "{granted:?}");
        granted.remove(0)
    }

    fn beat(&mut self, attempt: AttemptId) -> Result<Beat, Refusal> {
        self.ask(Heartbeat {
            attempt,
            checkpoint: None,
        })
    }

    fn end(&mut self, attempt: AttemptId, outcome: Outcome) -> Result<Finished, Refusal> {
        self.ask(Finish { attempt, outcome })
    }

    fn lease_until(&self, id: ExecutionId) -> Timestamp {
        let action = self.action(id, "work");
        action
            .current()
            .and_then(|current| current.lease.clone())
            .unwrap()
            .until
    }

    fn waits(&mut self, id: ExecutionId) -> Waiting {
        let action = self.action(id, "work").id;
        self.act(Explain(action)).unwrap().waiting
    }
}

#[test]
fn an_action_waits_for_its_runner_and_says_since_when_nobody_asked() {
    let mut rig = Rig::new(RENDER);
    let began = rig.now();
    rig.advance(5_000);
    let id = rig.start("m").id;
    assert_eq!(rig.action_status(id, "work"), Status::Queued);
    assert!(rig.started().is_empty(), "no hands of this process touch it");
    let expected = |since| Waiting::Waiting {
        reason: WaitingFor::Runner,
        object: "gpu".to_owned(),
        since,
        until: None,
    };
    assert_eq!(rig.waits(id), expected(began));
    let shown = rig.control(Resume(id)).unwrap();
    assert_eq!(shown.waiting, expected(began), "the execution says the same");
    let other = Wants {
        kinds: vec!["paint".to_owned()],
        ..gpu().wants
    };
    rig.poll(Poll {
        wants: other,
        wait_millis: 0,
        ..gpu()
    });
    assert_eq!(rig.waits(id), expected(began), "nobody asked for this");
    assert_eq!(
        rig.granted(),
        [Vec::new()],
        "who asks for other work is told that there is none"
    );
}

#[test]
fn an_attempt_is_stored_with_its_lease_before_it_is_handed_over() {
    let mut rig = Rig::new(RENDER);
    let id = rig.start("m").id;
    rig.poll(gpu());
    let job = rig.leased();
    let action = rig.action(id, "work");
    assert_eq!(action.status, Status::Running);
    let stored = action.current().unwrap();
    assert_eq!(stored.id, job.attempt.attempt);
    let lease = stored.lease.clone().unwrap();
    assert_eq!(Some(&lease), job.lease.as_ref());
    assert_eq!(lease.runner.as_deref(), Some("gpu"));
    assert_eq!(lease.until, rig.now().plus(LEASE_MILLIS));
    assert_eq!(lease.deadline, rig.now().plus(600_000));
    let ended = rig
        .end(job.attempt.attempt, Outcome::done(json!({"frames": 3})))
        .unwrap();
    assert_eq!(
        (ended.outcome, ended.status),
        (sprag_wire::Outcome::Done, ActionStatus::Succeeded)
    );
    assert_eq!(rig.configuration(id), ["b"]);
    assert_eq!(rig.action(id, "work").body.result, Some(json!({"frames": 3})));
}

#[test]
fn work_that_comes_while_a_program_waits_begins_with_its_trigger() {
    let mut rig = Rig::new(RENDER);
    let _waits = rig.poll(gpu());
    assert!(rig.granted().is_empty(), "the poll goes on");
    rig.advance(59_000);
    let id = rig.start("m").id;
    assert_eq!(rig.leased().attempt.execution, id);
    let _waits = rig.poll(gpu());
    rig.advance(60_000);
    assert_eq!(
        rig.granted(),
        [Vec::new()],
        "and ends with its time where nothing comes"
    );
}

#[test]
fn a_program_is_given_no_more_than_it_asked_for_and_the_next_gets_the_rest() {
    let mut rig = Rig::new(RENDER);
    for _ in 0..5 {
        rig.start("m");
    }
    let sizes = |rig: &mut Rig| -> Vec<usize> { rig.granted().iter().map(Vec::len).collect() };
    rig.poll(gpu());
    assert_eq!(sizes(&mut rig), [2]);
    rig.poll(Poll { max: 100, ..gpu() });
    assert_eq!(sizes(&mut rig), [3]);
}

#[test]
fn runners_types_and_tags_say_whose_work_it_is() {
    let wants = |runner: Option<&str>, kind: &str, tags: &[&str]| Wants {
        runner: runner.map(str::to_owned),
        kinds: vec![kind.to_owned()],
        tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
    };
    let cases = [
        (wants(Some("gpu"), "render", &[]), 1),
        (wants(None, "render", &["night"]), 1),
        (wants(Some("gpu"), "render", &["night", "big"]), 1),
        (wants(Some("gpu"), "render", &["night", "small"]), 0),
        (wants(Some("cpu"), "render", &[]), 0),
        (wants(Some("gpu"), "encode", &[]), 0),
    ];
    for (wants, expected) in cases {
        // Known by name only after a restart, as well as from its trigger.
        for restarts in [false, true] {
            let mut rig = Rig::new(RENDER);
            rig.start("m");
            if restarts {
                rig.crash();
            }
            let poll = Poll {
                wants: wants.clone(),
                wait_millis: 0,
                ..gpu()
            };
            rig.poll(poll);
            let granted: usize = rig.granted().iter().map(Vec::len).sum();
            assert_eq!(granted, expected, "{wants:?}, restarted: {restarts}");
        }
    }
}

#[test]
fn a_program_that_has_gone_is_given_nothing() {
    let mut rig = Rig::new(RENDER);
    drop(rig.poll(gpu()));
    let id = rig.start("m").id;
    assert_eq!(rig.action_status(id, "work"), Status::Queued);
    assert_eq!(rig.granted().concat(), []);
}

#[test]
fn heartbeats_keep_an_attempt_and_silence_loses_it() {
    let mut rig = Rig::new(RENDER);
    let id = rig.start("m").id;
    rig.poll(gpu());
    let attempt = rig.leased().attempt.attempt;
    for _ in 0..5 {
        rig.advance(50_000);
        let beat = rig.beat(attempt).unwrap();
        assert_eq!(beat.lease_until, rig.now().plus(LEASE_MILLIS));
        assert!(!beat.cancel_requested);
    }
    rig.advance(LEASE_MILLIS - 1);
    assert_eq!(rig.action_status(id, "work"), Status::Running);
    rig.advance(1);
    let action = rig.action(id, "work");
    assert_eq!(action.status, Status::Retrying);
    let lost = &action.body.attempts[0];
    assert_eq!(lost.outcome, Some(Verdict::Unknown));
    let error = lost.error.clone().unwrap();
    assert_eq!(error.kind, "timeout");
    assert!(
        error.message.contains("lease lost") && error.message.contains("`gpu`"),
        "{error:?}"
    );
    assert_eq!(code(rig.beat(attempt)), Code::AttemptSuperseded);
}

#[test]
fn with_review_a_lost_lease_is_left_to_a_person() {
    let mut rig = Rig::new(&RENDER.replace("timeout: 10m", "timeout: 10m\n    onUnknown: review"));
    let id = rig.start("m").id;
    rig.poll(gpu());
    rig.advance(LEASE_MILLIS);
    assert_eq!(rig.action_status(id, "work"), Status::Dead);
    assert_eq!(rig.configuration(id), ["c"]);
}

#[test]
fn the_actions_timeout_bounds_the_attempt_whatever_the_heartbeats_say() {
    let mut rig = Rig::new(&RENDER.replace("timeout: 10m", "timeout: 100s"));
    let id = rig.start("m").id;
    rig.poll(gpu());
    let job = rig.leased();
    rig.advance(50_000);
    let beat = rig.beat(job.attempt.attempt).unwrap();
    assert_eq!(beat.lease_until, job.lease.unwrap().deadline);
    rig.advance(49_999);
    rig.beat(job.attempt.attempt).unwrap();
    rig.advance(1);
    let ended = rig.action(id, "work").body.attempts[0].clone();
    assert_eq!(ended.outcome, Some(Verdict::Unknown));
    assert!(ended.error.unwrap().message.contains("timeout"));
}

#[test]
fn a_restart_does_not_disturb_leased_work() {
    let mut rig = Rig::new(RENDER);
    let id = rig.start("m").id;
    rig.poll(gpu());
    let attempt = rig.leased().attempt.attempt;
    rig.advance(50_000);
    rig.beat(attempt).unwrap();
    for _ in 0..5 {
        // Short lives make no suspect of what another process performs.
        rig.crash();
        assert_eq!(rig.action_status(id, "work"), Status::Running);
        assert_eq!(rig.settle_jobs(), 0);
    }
    rig.advance(LEASE_MILLIS - 1);
    assert_eq!(
        rig.action_status(id, "work"),
        Status::Running,
        "one full lease from the restart on"
    );
    assert_eq!(rig.beat(attempt).unwrap().lease_until, rig.now().plus(LEASE_MILLIS));
    rig.crash();
    rig.end(attempt, Outcome::done(json!(1))).unwrap();
    assert_eq!(rig.configuration(id), ["b"]);
    assert_eq!(rig.action(id, "work").body.attempts.len(), 1);
}

#[test]
fn a_lease_that_nobody_renews_after_a_restart_is_lost_in_its_time() {
    let mut rig = Rig::new(RENDER);
    let id = rig.start("m").id;
    rig.poll(gpu());
    rig.advance(10_000);
    rig.crash();
    rig.advance(LEASE_MILLIS - 1);
    assert_eq!(rig.action_status(id, "work"), Status::Running);
    rig.advance(1);
    assert_eq!(rig.action_status(id, "work"), Status::Retrying);
}

#[test]
fn the_outcome_of_a_lost_attempt_is_refused_and_counted() {
    let mut rig = Rig::new(RENDER);
    let id = rig.start("m").id;
    rig.poll(gpu());
    let old = rig.leased().attempt.attempt;
    rig.advance(LEASE_MILLIS + 100);
    rig.poll(gpu());
    let current = rig.leased();
    assert_eq!(current.number, 2);
    let refused = rig.end(old, Outcome::done(json!("late")));
    assert_eq!(code(refused), Code::AttemptSuperseded);
    assert_eq!(rig.metrics.superseded.get(), 1);
    assert_eq!(
        rig.action_status(id, "work"),
        Status::Running,
        "the present one goes on"
    );
    rig.end(current.attempt.attempt, Outcome::done(json!("current")))
        .unwrap();
    assert_eq!(rig.action(id, "work").body.result, Some(json!("current")));
}

#[test]
fn a_cancelled_attempt_hears_of_it_and_has_ten_seconds() {
    let mut rig = Rig::new(RENDER);
    let id = rig.start("m").id;
    rig.poll(gpu());
    let attempt = rig.leased().attempt.attempt;
    let action = rig.action(id, "work").id;
    let shown = rig.act(CancelAction(action)).unwrap();
    assert!(shown.cancel_requested && shown.status == ActionStatus::Running);
    assert!(rig.beat(attempt).unwrap().cancel_requested);
    rig.advance(5_000);
    rig.crash();
    assert!(rig.beat(attempt).unwrap().cancel_requested, "a restart forgets nothing");
    rig.advance(4_999);
    assert_eq!(rig.action_status(id, "work"), Status::Running);
    rig.advance(1);
    let cancelled = rig.action(id, "work");
    assert_eq!(cancelled.status, Status::Cancelled);
    assert_eq!(cancelled.body.attempts[0].outcome, Some(Verdict::Unknown));
    assert_eq!(code(rig.beat(attempt)), Code::AttemptSuperseded);
}

#[test]
fn a_cancelled_attempt_that_ends_in_time_ends_as_it_says() {
    for (outcome, status) in [
        (Outcome::done(json!(1)), Status::Succeeded),
        (Outcome::not_done("stopped", "as asked"), Status::Cancelled),
    ] {
        let mut rig = Rig::new(RENDER);
        let id = rig.start("m").id;
        rig.poll(gpu());
        let attempt = rig.leased().attempt.attempt;
        let action = rig.action(id, "work").id;
        rig.act(CancelAction(action)).unwrap();
        assert_eq!(rig.end(attempt, outcome).unwrap().status, status.into());
    }
}

#[test]
fn a_checkpoint_is_stored_with_the_lease_and_given_to_the_next_attempt() {
    let mut rig = Rig::new(RENDER);
    let id = rig.start("m").id;
    rig.poll(gpu());
    let attempt = rig.leased().attempt.attempt;
    rig.advance(10_000);
    let request = Heartbeat {
        attempt,
        checkpoint: Some(json!({"frame": 7})),
    };
    rig.ask(request).unwrap();
    assert_eq!(rig.action(id, "work").body.checkpoint, Some(json!({"frame": 7})));
    assert_eq!(rig.lease_until(id), rig.now().plus(LEASE_MILLIS));
    rig.advance(LEASE_MILLIS + 100);
    rig.poll(gpu());
    assert_eq!(rig.leased().checkpoint, Some(json!({"frame": 7})));
}

#[test]
fn pauses_switches_and_limits_hold_leases_like_everything_else() {
    let limited = RENDER.replace(
        "timeout: 10m",
        "timeout: 10m\n    limits: [{ key: farm, concurrency: 1 }]",
    );
    let mut rig = Rig::new(&limited);
    let paused = rig.start("m").id;
    rig.control(Pause(paused)).unwrap();
    let _first = rig.poll(gpu());
    assert!(rig.granted().is_empty(), "of a paused execution nothing begins");
    let switch = SwitchOn {
        scope: "type:render".parse().unwrap(),
        mode: Mode::Hold,
        reason: "a test".to_owned(),
        by: "test".to_owned(),
        lasts: None,
    };
    let on = rig.ask(switch).unwrap();
    let held = rig.start("m").id;
    assert!(rig.granted().is_empty(), "nor under a switch");
    let off = SwitchOff {
        id: on.id,
        matches: Matches::Any,
        held: sprag_engine::queue::control::Held::Run,
        rate: None,
    };
    rig.ask(off).unwrap();
    assert_eq!(rig.leased().attempt.execution, held);
    rig.control(Resume(paused)).unwrap();
    let _second = rig.poll(gpu());
    assert!(rig.granted().is_empty(), "one at a time under the key");
    let Waiting::Waiting { reason, object, .. } = rig.waits(paused) else {
        panic!("it waits")
    };
    assert_eq!((reason, object.as_str()), (WaitingFor::Permit, "farm"));
    rig.crash();
    let _third = rig.poll(gpu());
    assert!(rig.granted().is_empty(), "a lease holds its permit over a restart");
    let attempt = rig.action(held, "work").current().unwrap().id;
    rig.end(attempt, Outcome::done(json!(1))).unwrap();
    assert_eq!(rig.leased().attempt.execution, paused);
}

#[test]
fn the_highest_priority_is_leased_first() {
    let two = RENDER.replace(
        "actions:",
        "actions:\n  - { actionId: soon, type: render, runner: gpu, triggerState: a, priority: 90 }",
    );
    let mut rig = Rig::new(&two);
    rig.start("m");
    rig.poll(Poll { max: 1, ..gpu() });
    assert_eq!(rig.leased().action_id, "soon");
}

#[test]
fn an_outcome_that_says_when_to_try_again_is_heeded() {
    let mut rig = Rig::new(RENDER);
    let id = rig.start("m").id;
    rig.poll(gpu());
    let attempt = rig.leased().attempt.attempt;
    let mut outcome = Outcome::not_done("rate_limit", "later");
    if let Outcome::NotDone(failure) = &mut outcome {
        failure.retry_after = Some(900);
    }
    assert_eq!(rig.end(attempt, outcome).unwrap().status, ActionStatus::Retrying);
    assert_eq!(rig.action(id, "work").run_at, rig.now().plus(900));
}

#[test]
fn a_suspect_need_not_wait_for_what_others_perform() {
    let two = RENDER.replace("actions:", "actions:\n  - { actionId: own, type: noop, triggerState: a, retryPolicy: { jitter: false, maxAttempts: 50, baseDelay: 100, maxDelay: 100 } }");
    let mut rig = Rig::new(&two);
    let id = rig.start("m").id;
    rig.poll(gpu());
    let attempt = rig.leased().attempt.attempt;
    for _ in 0..3 {
        rig.crash();
        rig.advance(1_000);
    }
    assert_eq!(rig.started(), ["own"], "it runs alone, beside the lease");
    assert!(rig.beat(attempt).is_ok());
    rig.done("own");
    rig.end(attempt, Outcome::done(json!(1))).unwrap();
    assert_eq!(rig.configuration(id), ["b"]);
}

#[test]
fn more_work_than_a_line_keeps_in_memory_is_leased_to_the_last() {
    let mut rig = Rig::new(RENDER);
    for _ in 0..600 {
        rig.start("m");
    }
    rig.crash();
    let mut given = 0;
    for _ in 0..20 {
        rig.poll(Poll {
            max: 100,
            wait_millis: 0,
            ..gpu()
        });
        given += rig.granted().concat().len();
    }
    assert_eq!(given, 600);
}
