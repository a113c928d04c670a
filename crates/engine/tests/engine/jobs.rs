//! Bulk jobs: every dead letter that is meant, once, whatever dies in between.

use std::collections::BTreeSet;

use serde_json::json;
use sprag_core::action::{Outcome, Status};
use sprag_core::ids::{ActionId, ExecutionId, JobId};
use sprag_engine::jobs::{JOBS_KEPT, JOBS_OPEN_MAX, JobView, RetryAll};
use sprag_engine::requests::{Archive, CancelJob, Code, Command, PauseJob, Refusal, Request, ResumeJob, RetryDead};
use sprag_store::records::{JobItem, JobResult, JobStatus};
use sprag_store::traits::Reader;

use crate::rig::{Rig, code};

const DOOMED: &str = r"
id: m
initial: a
states: { a: { on: { done.work: b, failed.work: c } }, b: {}, c: {} }
actions:
  - actionId: work
    type: noop
    triggerState: a
    config: { to: here }
    tags: [first]
    retryPolicy: { maxAttempts: 1 }
";

/// A rig with that many dead letters, oldest first.
fn doomed(count: usize) -> (Rig, Vec<(ExecutionId, ActionId)>) {
    let mut rig = Rig::new(DOOMED);
    let letters = (0..count).map(|_| die(&mut rig)).collect();
    (rig, letters)
}

/// One more dead letter.
fn die(rig: &mut Rig) -> (ExecutionId, ActionId) {
    // Ids of the same instant have no order that a test could rely on.
    rig.advance(1);
    let execution = rig.start("m").id;
    rig.finish("work", Outcome::not_done("not_found", "nobody there"));
    let action = rig.action(execution, "work");
    assert_eq!(action.status, Status::Dead);
    rig.script.lock().unwrap().jobs.clear();
    (execution, action.id)
}

fn retry_all(filter: &str) -> RetryAll {
    RetryAll {
        filter: filter.to_owned(),
        ..RetryAll::default()
    }
}

/// Asks with one tick, so that whatever follows waits.
fn ask_once(rig: &mut Rig, request: impl Request<Answer = Box<JobView>>) -> Result<JobView, Refusal> {
    let (command, mut answer) = Command::asked(request);
    rig.tick(vec![command]);
    let answer = answer.try_recv().expect("an answer follows the commit").answer;
    answer.map(|view| *view)
}

fn items(rig: &Rig, job: JobId) -> Vec<JobItem> {
    rig.store
        .job_items(job, &sprag_store::Page::first(10_000))
        .unwrap()
        .rows
}

fn status(rig: &Rig, job: JobId) -> JobStatus {
    rig.store.job(job).unwrap().expect("a stored job").status
}

fn counts(rig: &Rig, job: JobId) -> serde_json::Value {
    let row = rig.store.job(job).unwrap().expect("a stored job");
    serde_json::from_slice::<serde_json::Value>(&row.body).unwrap()["counts"].clone()
}

#[test]
fn a_job_retries_every_dead_letter_that_meets_its_filter_once() {
    let (mut rig, letters) = doomed(150);
    let job = ask_once(&mut rig, retry_all("errorType = \"not_found\" AND tag = \"first\"")).unwrap();
    rig.run();
    assert_eq!(status(&rig, job.id), JobStatus::Completed);
    let met: Vec<ActionId> = items(&rig, job.id).iter().map(|item| item.action).collect();
    let newest_first: Vec<ActionId> = letters.iter().rev().map(|(_, letter)| *letter).collect();
    assert_eq!(met, newest_first);
    assert_eq!(
        counts(&rig, job.id),
        json!({"matched": 150, "done": 150, "skipped": 0, "failed": 0})
    );
    for (execution, _) in letters {
        assert_ne!(rig.action_status(execution, "work"), Status::Dead);
    }
}

#[test]
fn a_filter_that_meets_nothing_or_another_thing_leaves_dead_letters_alone() {
    let (mut rig, letters) = doomed(3);
    let filter = format!("id != \"{}\" AND machine = \"m\"", letters[1].1);
    let job = ask_once(&mut rig, retry_all(&filter)).unwrap();
    rig.run();
    assert_eq!(items(&rig, job.id).len(), 2);
    assert_eq!(rig.action_status(letters[1].0, "work"), Status::Dead);
    let none = ask_once(&mut rig, retry_all("machine = \"other\"")).unwrap();
    rig.run();
    assert_eq!(status(&rig, none.id), JobStatus::Completed);
    assert_eq!(items(&rig, none.id), []);
}

#[test]
fn a_process_that_dies_after_any_commit_leaves_a_job_that_ends_with_each_item_once() {
    for ticks in 0..8 {
        let (mut rig, letters) = doomed(200);
        let job = ask_once(&mut rig, retry_all("machine = \"m\"")).unwrap();
        for _ in 0..ticks {
            rig.tick(Vec::new());
        }
        let before = items(&rig, job.id).len();
        rig.crash();
        assert_eq!(status(&rig, job.id), JobStatus::Completed, "after {ticks} ticks");
        let items = items(&rig, job.id);
        let distinct: BTreeSet<ActionId> = items.iter().map(|item| item.action).collect();
        assert_eq!(
            (items.len(), distinct.len()),
            (200, 200),
            "after {ticks} ticks, {before} done"
        );
        assert!(items.iter().all(|item| item.result == JobResult::Done));
        assert!(items.iter().zip(1..).all(|(item, number)| item.number == number));
        for (_, letter) in letters {
            // What the crash cut off is dead again, and would have a third attempt had the job met it again.
            assert!(rig.stored_action(letter).body.attempts.len() <= 2);
        }
    }
}

#[test]
fn letters_that_died_after_the_job_was_made_are_not_its_business() {
    let (mut rig, old) = doomed(2);
    let job = ask_once(&mut rig, retry_all("machine = \"m\"")).unwrap();
    ask_once(&mut rig, PauseJob(job.id)).unwrap();
    rig.run();
    assert_eq!(items(&rig, job.id), [], "paused before its first step");
    rig.advance(1_000);
    let (execution, _) = die(&mut rig);
    // An old letter that somebody retried and that died again is a new one.
    rig.act(RetryDead::as_is(old[0].1)).unwrap();
    rig.finish("work", Outcome::not_done("not_found", "still nobody"));
    ask_once(&mut rig, ResumeJob(job.id)).unwrap();
    rig.run();
    let met: Vec<ActionId> = items(&rig, job.id).iter().map(|item| item.action).collect();
    assert_eq!(met, [old[1].1]);
    assert_eq!(rig.action_status(execution, "work"), Status::Dead);
    assert_eq!(status(&rig, job.id), JobStatus::Completed);
}

#[test]
fn what_is_no_dead_letter_any_more_is_skipped_and_what_cannot_be_retried_has_failed() {
    let (mut rig, letters) = doomed(3);
    let wrong_version = RetryAll {
        filter: "machine = \"m\"".to_owned(),
        version: Some(9),
        reason: Some("a try".to_owned()),
        ..RetryAll::default()
    };
    let job = ask_once(&mut rig, wrong_version).unwrap();
    // In the batch of the first step, and before it.
    rig.tick(vec![Command::own(Archive(letters[1].1))]);
    rig.run();
    let items = items(&rig, job.id);
    let results: Vec<JobResult> = items.iter().map(|item| item.result).collect();
    assert_eq!(results, [JobResult::Failed, JobResult::Skipped, JobResult::Failed]);
    assert_eq!(
        items[0].detail.as_deref(),
        Some("machine `m` has no version 9; use another version, or omit it for the newest")
    );
    assert_eq!(
        counts(&rig, job.id),
        json!({"matched": 3, "done": 0, "skipped": 1, "failed": 2})
    );
}

#[test]
fn another_configuration_gives_each_letter_another_key() {
    let (mut rig, letters) = doomed(2);
    let edited = RetryAll {
        filter: "machine = \"m\"".to_owned(),
        config: Some(json!({"to": "there"})),
        ..RetryAll::default()
    };
    ask_once(&mut rig, edited).unwrap();
    rig.run();
    for (_, letter) in letters {
        let action = rig.stored_action(letter);
        assert_eq!(action.idempotency_key(), format!("{letter}.1"));
        assert_eq!(action.body.frozen.unwrap().config, json!({"to": "there"}));
    }
}

#[test]
fn a_cancelled_job_stops_where_it_is_and_cannot_go_on() {
    let (mut rig, _) = doomed(200);
    let job = ask_once(&mut rig, retry_all("machine = \"m\"")).unwrap();
    rig.tick(Vec::new());
    let view = ask_once(&mut rig, CancelJob(job.id)).unwrap();
    assert_eq!((view.status, view.counts.done), (sprag_wire::JobStatus::Cancelled, 64));
    rig.crash();
    assert_eq!(items(&rig, job.id).len(), 64);
    assert_eq!(code(rig.ask(ResumeJob(job.id))), Code::JobUnknown);
}

#[test]
fn open_jobs_take_turns() {
    let (mut rig, letters) = doomed(200);
    let long = ask_once(&mut rig, retry_all("machine = \"m\"")).unwrap();
    let one = format!("id = \"{}\"", letters[0].1);
    let short = ask_once(&mut rig, retry_all(&one)).unwrap();
    rig.tick(Vec::new());
    rig.tick(Vec::new());
    assert_eq!(status(&rig, short.id), JobStatus::Completed);
    assert_eq!(status(&rig, long.id), JobStatus::Running);
    rig.run();
    assert_eq!(
        counts(&rig, long.id)["matched"],
        199,
        "the other one was no dead letter any more"
    );
}

#[test]
fn a_filter_that_cannot_be_used_and_one_job_too_many_are_refused() {
    let (mut rig, _) = doomed(1);
    let refused = ask_once(&mut rig, retry_all("machin = \"m\"")).unwrap_err();
    assert_eq!(refused.code, Code::FilterInvalid);
    assert_eq!(
        refused.errors,
        [(
            "/filter".to_owned(),
            "column 1: dead letters have no field `machin`; did you mean `machine`?".to_owned()
        )]
    );
    for _ in 0..JOBS_OPEN_MAX {
        let job = ask_once(&mut rig, retry_all("machine = \"other\"")).unwrap();
        ask_once(&mut rig, PauseJob(job.id)).unwrap();
    }
    assert_eq!(code(rig.ask(retry_all("machine = \"m\""))), Code::JobsFull);
}

#[test]
fn only_the_newest_of_the_jobs_that_are_over_are_kept() {
    let (mut rig, _) = doomed(1);
    let first = ask_once(&mut rig, retry_all("machine = \"m\"")).unwrap();
    rig.run();
    assert_eq!(items(&rig, first.id).len(), 1);
    for _ in 0..JOBS_KEPT {
        rig.advance(1);
        ask_once(&mut rig, retry_all("machine = \"other\"")).unwrap();
        rig.run();
    }
    assert_eq!(
        rig.store.jobs(&sprag_store::Page::first(5_000)).unwrap().rows.len(),
        JOBS_KEPT
    );
    assert_eq!(rig.store.job(first.id).unwrap(), None);
    assert_eq!(items(&rig, first.id), []);
}
