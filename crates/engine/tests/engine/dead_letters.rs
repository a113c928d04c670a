//! Dead letters that somebody edits, and bulk retries that go slowly, with canaries.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sprag_core::action::{Outcome, Status};
use sprag_core::document::patch::Operation;
use sprag_core::ids::{ActionId, ExecutionId, JobId};
use sprag_engine::jobs::{JobView, RetryAll};
use sprag_engine::requests::{Code, PauseJob, Request, ResumeJob, RetryDead};
use sprag_store::records::{JobItem, JobStatus};
use sprag_store::traits::Reader;
use sprag_wire::CanaryState;

use crate::rig::{Rig, code};

const CALLING: &str = r"
id: m
initial: a
variables: { name: Ada }
states: { a: { on: { done.work: b, failed.work: c } }, b: {}, c: {} }
actions:
  - actionId: work
    type: webhook
    triggerState: a
    timeout: 10s
    config: { url: 'http://x/{{variables.name}}', key: 'Bearer {{secrets.token}}', costEstimate: 0.5 }
    retryPolicy: { maxAttempts: 1, retryableErrors: [timeout] }
";

fn died(rig: &mut Rig) -> (ExecutionId, ActionId) {
    rig.advance(1);
    let execution = rig.start("m").id;
    rig.finish("work", Outcome::not_done("network_error", "refused"));
    let action = rig.action(execution, "work");
    assert_eq!(action.status, Status::Dead);
    rig.script.lock().unwrap().jobs.clear();
    (execution, action.id)
}

fn letters(count: usize) -> (Rig, Vec<(ExecutionId, ActionId)>) {
    let mut rig = Rig::new(CALLING);
    let letters = (0..count).map(|_| died(&mut rig)).collect();
    (rig, letters)
}

fn patch(patch: Value) -> Vec<Operation> {
    serde_json::from_value(patch).unwrap()
}

#[test]
fn a_dead_letter_says_when_it_died_and_what_it_has_in_common_until_it_is_retried() {
    let (mut rig, letters) = letters(2);
    let row = |rig: &Rig, id| rig.store.action(id).unwrap().unwrap();
    let (one, other) = (row(&rig, letters[0].1), row(&rig, letters[1].1));
    assert_eq!(one.fingerprint, other.fingerprint);
    assert!(one.fingerprint.is_some() && one.died_at < other.died_at);
    assert_eq!(other.died_at, Some(rig.now()));
    rig.act(RetryDead::as_is(letters[0].1)).unwrap();
    let retried = row(&rig, letters[0].1);
    assert_eq!((retried.fingerprint, retried.died_at), (None, None));
}

#[test]
fn a_patch_changes_timeout_and_list_for_this_action_and_keeps_its_key() {
    let (mut rig, letters) = letters(1);
    let (execution, id) = letters[0];
    let retry = RetryDead {
        patch: patch(json!([
            {"op": "replace", "path": "/timeout", "value": 60_000},
            {"op": "add", "path": "/retryPolicy/retryableErrors/-", "value": "network_error"},
            {"op": "replace", "path": "/retryPolicy/maxAttempts", "value": 2},
        ])),
        ..RetryDead::as_is(id)
    };
    rig.act(retry).unwrap();
    let job = rig.job("work");
    assert_eq!((job.timeout_millis, job.idempotency_key), (60_000, format!("{id}.0")));
    rig.finish("work", Outcome::not_done("network_error", "refused"));
    assert_eq!(
        rig.action_status(execution, "work"),
        Status::Retrying,
        "the list counts"
    );
    rig.advance(60_000);
    assert_eq!(rig.job("work").timeout_millis, 60_000);
    rig.finish("work", Outcome::not_done("network_error", "refused"));
    // Another version is the definition's word again.
    let anew = RetryDead {
        version: Some(1),
        ..RetryDead::as_is(id)
    };
    rig.act(anew).unwrap();
    assert_eq!(rig.job("work").timeout_millis, 10_000);
}

#[test]
fn an_edited_config_has_another_key_and_its_secrets_are_still_bound_late() {
    let (mut rig, letters) = letters(1);
    let id = letters[0].1;
    let retry = RetryDead {
        patch: patch(json!([{"op": "replace", "path": "/config/url", "value": "http://y/{{secrets.path}}"}])),
        ..RetryDead::as_is(id)
    };
    rig.act(retry).unwrap();
    let job = rig.job("work");
    assert_eq!(job.idempotency_key, format!("{id}.1"));
    let mut late = job.config.late.clone();
    late.sort();
    assert_eq!(late, ["/key", "/url"]);
    assert_eq!(job.config.config["key"], "Bearer {{secrets.token}}");
}

#[test]
fn what_a_dead_letter_cannot_be_changed_into_is_refused_and_it_stays_dead() {
    let (mut rig, letters) = letters(1);
    let (execution, id) = letters[0];
    let wrong = [
        (
            json!([{"op": "replace", "path": "/timeout", "value": 0}]),
            "/patch/timeout",
        ),
        (json!([{"op": "remove", "path": "/nothing"}]), "/patch"),
        (
            json!([{"op": "replace", "path": "/config/url", "value": "{{variables.name}}"}]),
            "/patch/config/url",
        ),
    ];
    for (operations, pointer) in wrong {
        let retry = RetryDead {
            patch: patch(operations),
            ..RetryDead::as_is(id)
        };
        let refusal = rig.act(retry).unwrap_err();
        assert_eq!(refusal.code, Code::EditInvalid);
        assert_eq!(refusal.errors[0].0, pointer);
    }
    assert_eq!(rig.action_status(execution, "work"), Status::Dead);
}

#[test]
fn only_a_dead_letter_can_be_retried_as_one() {
    let mut rig = Rig::new(&CALLING.replace("maxAttempts: 1", "maxAttempts: 3"));
    let execution = rig.start("m").id;
    rig.finish("work", Outcome::not_done("timeout", "late"));
    let action = rig.action(execution, "work");
    assert_eq!(action.status, Status::Retrying);
    let refused = rig.act(RetryDead::as_is(action.id));
    assert_eq!(code(refused), Code::StatusConflict);
}

#[test]
fn what_an_attempt_costs_is_the_runners_word_or_the_estimate() {
    let mut rig = Rig::new(&CALLING.replace("maxAttempts: 1", "maxAttempts: 4"));
    let execution = rig.start("m").id;
    rig.finish("work", Outcome::not_done("timeout", "refused before anything left"));
    rig.advance(60_000);
    rig.finish("work", Outcome::unknown("timeout", "no answer"));
    rig.advance(60_000);
    let done = sprag_core::action::Done {
        cost: Some(0.25),
        ..Default::default()
    };
    rig.finish("work", Outcome::Done(done));
    let costs: Vec<Option<f64>> = rig
        .action(execution, "work")
        .body
        .attempts
        .iter()
        .map(|attempt| attempt.cost)
        .collect();
    assert_eq!(costs, [None, Some(0.5), Some(0.25)]);
}

fn made(rig: &mut Rig, retry: RetryAll) -> JobId {
    rig.ask(retry).unwrap().id
}

fn job(rig: &mut Rig, request: impl Request<Answer = Box<JobView>>) -> JobView {
    *rig.ask(request).unwrap()
}

fn all() -> RetryAll {
    RetryAll {
        filter: "machine = \"m\"".to_owned(),
        ..RetryAll::default()
    }
}

fn items(rig: &Rig, job: JobId) -> Vec<JobItem> {
    rig.store
        .job_items(job, &sprag_store::Page::first(10_000))
        .unwrap()
        .rows
}

fn stored(rig: &Rig, job: JobId) -> (JobStatus, Value) {
    let row = rig.store.job(job).unwrap().expect("a stored job");
    (row.status, serde_json::from_slice(&row.body).unwrap())
}

#[test]
fn a_paced_job_retries_so_many_a_second_and_no_more_after_a_crash() {
    let (mut rig, letters) = letters(100);
    let id = made(
        &mut rig,
        RetryAll {
            rate: Some(20),
            ..all()
        },
    );
    let began = items(&rig, id).len();
    assert!(began <= 2, "{began} at once");
    rig.advance(1_000);
    let after_one = items(&rig, id).len();
    assert!((19..=22).contains(&after_one), "{after_one} after a second");
    rig.clock.advance_to(rig.now().plus(60_000));
    rig.crash();
    let after_crash = items(&rig, id).len();
    assert!(after_crash - after_one <= 6, "a burst of {}", after_crash - after_one);
    rig.advance(10_000);
    assert_eq!(stored(&rig, id).0, JobStatus::Completed);
    let distinct: BTreeSet<ActionId> = items(&rig, id).iter().map(|item| item.action).collect();
    assert_eq!((items(&rig, id).len(), distinct.len()), (letters.len(), letters.len()));
}

#[test]
fn a_paused_job_waits_without_a_pace_of_its_own_and_goes_on_where_it_was() {
    let (mut rig, _) = letters(50);
    let id = made(
        &mut rig,
        RetryAll {
            rate: Some(10),
            ..all()
        },
    );
    rig.advance(1_000);
    job(&mut rig, PauseJob(id));
    let before = items(&rig, id).len();
    rig.advance(60_000);
    assert_eq!(items(&rig, id).len(), before);
    job(&mut rig, ResumeJob(id));
    rig.advance(10_000);
    assert_eq!((items(&rig, id).len(), stored(&rig, id).0), (50, JobStatus::Completed));
}

/// Ends the attempts that were started, newest first, with this outcome each.
fn end_started(rig: &mut Rig, outcome: impl Fn(usize) -> Outcome) -> usize {
    let jobs = std::mem::take(&mut rig.script.lock().unwrap().jobs);
    for (number, job) in jobs.iter().enumerate() {
        rig.finish_attempt(job.attempt, outcome(number));
    }
    jobs.len()
}

#[test]
fn canaries_go_ahead_and_the_rest_follows_once_none_of_them_died() {
    let (mut rig, _) = letters(40);
    let id = made(
        &mut rig,
        RetryAll {
            canary: Some(5),
            ..all()
        },
    );
    rig.advance(60_000);
    assert_eq!(items(&rig, id).len(), 5, "the rest waits");
    assert_eq!(stored(&rig, id).1["canary"]["state"], "waiting");
    // A process that dies meanwhile looks again; what it cut off is dead, which is an end.
    assert_eq!(end_started(&mut rig, |_| Outcome::done(json!({}))), 5);
    rig.advance(1);
    assert_eq!(stored(&rig, id).1["canary"]["state"], "passed");
    assert_eq!((items(&rig, id).len(), stored(&rig, id).0), (40, JobStatus::Completed));
}

#[test]
fn a_canary_that_dies_again_pauses_the_job_which_says_so_and_can_be_resumed() {
    let (mut rig, _) = letters(40);
    let id = made(
        &mut rig,
        RetryAll {
            canary: Some(5),
            rate: Some(1_000),
            ..all()
        },
    );
    rig.advance(1_000);
    let outcome = |number: usize| match number {
        0 | 3 => Outcome::not_done("not_found", "nobody"),
        _ => Outcome::done(json!({})),
    };
    assert_eq!(end_started(&mut rig, outcome), 5);
    rig.advance(60_000);
    let (status, body) = stored(&rig, id);
    assert_eq!((status, items(&rig, id).len()), (JobStatus::Paused, 5));
    let note = body["note"].as_str().unwrap();
    assert!(note.starts_with("2 of 5 canaries died again"), "{note}");
    rig.crash();
    assert_eq!(stored(&rig, id).0, JobStatus::Paused, "it stays so");
    let view = job(&mut rig, ResumeJob(id));
    let canary = view.canary.unwrap();
    assert_eq!((canary.state, canary.died, view.note), (CanaryState::Failed, 2, None));
    rig.advance(10_000);
    assert_eq!((items(&rig, id).len(), stored(&rig, id).0), (40, JobStatus::Completed));
}

#[test]
fn a_job_whose_canaries_were_under_way_when_the_process_died_goes_on_and_retries_none_twice() {
    let (mut rig, letters) = letters(20);
    let id = made(
        &mut rig,
        RetryAll {
            canary: Some(4),
            ..all()
        },
    );
    rig.script.lock().unwrap().can_settle = true;
    rig.crash();
    assert_eq!(items(&rig, id).len(), 4);
    assert_eq!(
        end_started(&mut rig, |_| Outcome::done(json!({}))),
        4,
        "the new process asks what became of them"
    );
    rig.advance(1);
    assert_eq!(stored(&rig, id).0, JobStatus::Completed);
    for (_, letter) in letters {
        assert!(rig.stored_action(letter).body.attempts.len() <= 2);
    }
}

#[test]
fn fewer_letters_than_canaries_are_all_canaries() {
    let (mut rig, _) = letters(2);
    let id = made(
        &mut rig,
        RetryAll {
            canary: Some(10),
            ..all()
        },
    );
    rig.advance(1_000);
    assert_eq!(stored(&rig, id).0, JobStatus::Running);
    end_started(&mut rig, |_| Outcome::done(json!({})));
    rig.advance(1);
    let (status, body) = stored(&rig, id);
    assert_eq!((status, &body["canary"]["retried"]), (JobStatus::Completed, &json!(2)));
}
