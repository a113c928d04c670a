//! Records that the store refuses: only what causes the refusal fails, and everything else continues at once.

use std::sync::Arc;

use serde_json::json;
use sprag_core::action::error::kind;
use sprag_core::action::{LINE_DIGEST, Outcome, Status};
use sprag_core::ids::ExecutionId;
use sprag_core::machine::{Machine, load_stored};
use sprag_engine::read::view::ExecutionView;
use sprag_engine::requests::{Apply, Code, Command, Refusal, Replied, ReportOutcome, Start};
use sprag_store::records::ExecutionStatus;
use sprag_store::{Mutation, Reader};
use tokio::sync::oneshot::Receiver;

use crate::rig::Rig;

const CALL: &str = r"
id: m
initial: a
states:
  a: { on: { done.call: b, failed.call: c } }
  b: { type: final }
  c: { type: final }
actions:
  - { actionId: call, type: noop, triggerState: a, retryPolicy: { maxAttempts: 5 } }
";

const SLEEP: &str = r"
id: sleep
initial: a
states:
  a: { after: { 1s: b } }
  b: { type: final }
";

type Started = Result<Box<ExecutionView>, Refusal>;

fn start(machine: &str, key: &str) -> (Command, Receiver<Replied<Box<ExecutionView>>>) {
    Command::asked(Start {
        machine: machine.to_owned(),
        key: Some(key.to_owned()),
        ..Start::default()
    })
}

/// Starts executions in one batch and gives what each was answered.
fn start_all<'k>(rig: &mut Rig, machine: &str, keys: impl Iterator<Item = &'k str>) -> Vec<Started> {
    let (commands, answers): (Vec<_>, Vec<_>) = keys.map(|key| start(machine, key)).unzip();
    rig.tick(commands);
    let answered = answers.into_iter().map(|mut answer| answer.try_recv());
    answered.map(|answer| answer.expect("an answer").answer).collect()
}

fn id(reply: &Started) -> ExecutionId {
    reply.as_ref().unwrap().id
}

fn is_bad_start(mutation: &Mutation) -> bool {
    matches!(mutation, Mutation::InsertExecution(execution) if execution.key.as_deref() == Some("bad"))
}

fn commits(rig: &Rig) -> f64 {
    rig.sample("commit_duration_seconds_count")
}

#[test]
fn one_bad_command_among_a_thousand_fails_alone_and_costs_about_twenty_commits() {
    let mut rig = Rig::new(SLEEP);
    rig.store.refuse_where(Some(is_bad_start));
    let mut keys: Vec<String> = (0..1_000).map(|number| format!("k{number}")).collect();
    keys[700] = "bad".to_owned();
    let before = commits(&rig);
    let replies = start_all(&mut rig, "sleep", keys.iter().map(String::as_str));
    for (key, reply) in keys.iter().zip(&replies) {
        match reply {
            Err(refusal) => assert_eq!((key.as_str(), refusal.code), ("bad", Code::StoreRefused)),
            Ok(_) => assert_eq!(rig.status(id(reply)), ExecutionStatus::Running, "{key}"),
        }
    }
    assert_eq!(replies.iter().filter(|reply| reply.is_err()).count(), 1);
    let commits = commits(&rig) - before;
    let failed = rig.sample("commits_failed_total");
    assert!(commits + failed <= 24.0, "{commits} commits and {failed} refused ones");
    rig.advance(2_000);
    assert_eq!(
        rig.status(id(&replies[0])),
        ExecutionStatus::Completed,
        "timers continue"
    );
}

fn is_poisoned(mutation: &Mutation) -> bool {
    matches!(mutation, Mutation::UpdateAction(action) if action.body.windows(6).any(|part| part == b"poison"))
}

#[test]
fn an_outcome_that_the_store_refuses_ends_its_attempt_and_leaves_the_others_alone() {
    let mut rig = Rig::new(CALL);
    let replies = start_all(&mut rig, "m", ["x", "y", "z"].into_iter());
    let jobs = rig.script.lock().unwrap().jobs.clone();
    assert_eq!(jobs.len(), 3);
    rig.store.refuse_where(Some(is_poisoned));
    let outcome = |result: &str| Outcome::done(json!(result));
    let outcomes = [outcome("fine"), outcome("poison"), outcome("fine")];
    let attempt = |reply| {
        jobs.iter()
            .find(|job| job.attempt.execution == id(reply))
            .unwrap()
            .attempt
    };
    let settled = replies.iter().zip(outcomes).map(|(reply, outcome)| {
        let attempt = attempt(reply);
        Command::own(ReportOutcome { attempt, outcome })
    });
    rig.tick(settled.collect());
    rig.run();
    for (reply, expected) in replies.iter().zip(["b", "c", "b"]) {
        assert_eq!(rig.configuration(id(reply)), [expected]);
    }
    let guilty = rig.action(id(&replies[1]), "call");
    assert_eq!(guilty.status, Status::Dead, "what may have happened is not tried again");
    assert_eq!(guilty.attempts_made(), 1);
    let error = guilty.body.last_error.unwrap();
    assert_eq!(error.kind, kind::OUTCOME_REFUSED);
    assert!(!error.message.contains("poison"), "{error:?}");
}

#[test]
fn an_error_type_that_no_store_holds_ends_its_attempt_too() {
    let mut rig = Rig::new(CALL);
    for odd in ["a\0b".to_owned(), "x".repeat(20_000)] {
        let id = rig.start("m").id;
        for _ in 0..5 {
            let job = rig.job("call");
            rig.finish_attempt(job.attempt, Outcome::not_done(&odd, "no"));
            rig.advance(3_600_000);
        }
        let action = rig.action(id, "call");
        assert_eq!((action.status, action.attempts_made()), (Status::Dead, 5));
        let stored = rig.store.action(action.id).unwrap().unwrap().error_kind.unwrap();
        assert!(sprag_core::text::check_name(&stored).is_ok(), "{stored:?}");
    }
    assert_eq!(rig.metrics.commits_failed.get(), 0);
}

fn begins_bad(mutation: &Mutation) -> bool {
    let (Mutation::InsertAction(action) | Mutation::UpdateAction(action)) = mutation else {
        return false;
    };
    action.status == Status::Running as u8 && action.tags.iter().any(|tag| tag == "bad")
}

const BAD_BEGIN: &str = r"
id: bad
initial: a
states: { a: {} }
actions:
  - { actionId: stuck, type: noop, triggerState: a, tags: bad }
";

#[test]
fn an_attempt_that_cannot_be_begun_waits_and_all_others_begin() {
    let mut rig = Rig::new(CALL);
    rig.apply(BAD_BEGIN);
    rig.store.refuse_where(Some(begins_bad));
    let (commands, answers): (Vec<_>, Vec<_>) = (0..100)
        .map(|number| start(if number == 40 { "bad" } else { "m" }, &format!("k{number}")))
        .unzip();
    rig.tick(commands);
    rig.run();
    for mut answer in answers {
        assert!(
            answer.try_recv().expect("an answer").answer.is_ok(),
            "nobody's start is to blame"
        );
    }
    assert_eq!(rig.started(), vec!["call"; 99]);
    rig.done("call");
    let later = rig.start("m").id;
    rig.done("call");
    assert_eq!(rig.status(later), ExecutionStatus::Completed);
    rig.store.refuse_where(None);
    rig.crash();
    assert!(
        rig.started().contains(&"stuck".to_owned()),
        "another process tries again"
    );
}

const BAD_PACED: &str = r"
id: paced
initial: a
states: { a: {} }
actions:
  - { actionId: stuck, type: noop, triggerState: a, tags: bad, limits: [{ key: pace, rate: { count: 1, per: 1000 } }] }
";

#[test]
fn an_attempt_that_lacks_its_rate_while_the_guilty_one_is_looked_for_is_tried_once_more_and_alone() {
    let mut rig = Rig::new(CALL);
    rig.apply(BAD_PACED);
    rig.store.refuse_where(Some(begins_bad));
    let starts = ["m", "paced", "m"].into_iter().zip(["x", "y", "z"]);
    let (commands, answers): (Vec<_>, Vec<_>) = starts.map(|(machine, key)| start(machine, key)).unzip();
    rig.tick(commands);
    rig.run();
    for mut answer in answers {
        assert!(answer.try_recv().expect("an answer").answer.is_ok());
    }
    assert_eq!(rig.started(), ["call", "call"]);
    let failed = rig.metrics.commits_failed.get();
    // Its rate lets it begin again and again: once, and not in company.
    rig.advance(1_500);
    assert_eq!(rig.metrics.commits_failed.get(), failed + 1);
    rig.advance(60_000);
    assert_eq!(
        rig.metrics.commits_failed.get(),
        failed + 1,
        "what is refused alone is left alone"
    );
}

fn completes_bad(mutation: &Mutation) -> bool {
    matches!(mutation, Mutation::UpdateExecution { execution, .. }
        if execution.key.as_deref() == Some("bad") && execution.status == ExecutionStatus::Completed)
}

#[test]
fn a_timer_whose_step_is_refused_is_set_aside_and_all_others_fire() {
    let mut rig = Rig::new(SLEEP);
    let replies = start_all(&mut rig, "sleep", ["x", "bad", "y"].into_iter());
    rig.store.refuse_where(Some(completes_bad));
    rig.advance(5_000);
    let statuses: Vec<_> = replies.iter().map(|reply| rig.status(id(reply))).collect();
    assert_eq!(
        statuses,
        [
            ExecutionStatus::Completed,
            ExecutionStatus::Running,
            ExecutionStatus::Completed
        ]
    );
    rig.store.refuse_where(None);
    rig.crash();
    rig.advance(1);
    assert_eq!(rig.status(id(&replies[1])), ExecutionStatus::Completed);
}

/// A definition of a time in which names had no bounds.
fn unbounded() -> Machine {
    let long = |letter: &str| letter.repeat(3_000);
    let keys = ["a", "b", "c"].map(|letter| json!({ "key": letter.repeat(900), "concurrency": 1 }));
    let definition = json!({
        "id": "old",
        "initial": "a",
        "states": { "a": { "on": { format!("done.{}", long("x")): "b" } }, "b": { "type": "final" } },
        "actions": [{
            "actionId": long("x"),
            "type": "noop",
            "triggerState": "a",
            "tags": [long("t"), "two\nlines"],
            "limits": keys,
        }],
    });
    load_stored(&definition).unwrap()
}

#[test]
fn a_definition_of_a_time_without_bounds_runs_and_its_queue_is_found_again_by_its_digest() {
    let mut rig = Rig::new(SLEEP);
    rig.ask(Apply::from(Arc::new(unbounded()))).unwrap();
    let (first, second) = (rig.start("old").id, rig.start("old").id);
    let name = "x".repeat(3_000);
    assert_eq!(rig.started(), std::slice::from_ref(&name), "one at a time");
    let waiting = rig.store.action(rig.action(second, &name).id).unwrap().unwrap();
    assert_eq!(waiting.status, Status::Queued as u8);
    assert!(
        waiting.line.starts_with(LINE_DIGEST) && waiting.line.len() < 100,
        "{:?}",
        waiting.line
    );
    rig.crash();
    assert_eq!(
        rig.started(),
        std::slice::from_ref(&name),
        "what was interrupted waits for its next attempt"
    );
    rig.done(&name);
    assert_eq!(rig.status(second), ExecutionStatus::Completed);
    rig.advance(3_600_000);
    rig.done(&name);
    assert_eq!(rig.status(first), ExecutionStatus::Completed);
}
