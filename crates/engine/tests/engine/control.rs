//! Pause, resume, cancel, migrate.

use std::collections::BTreeMap;

use serde_json::json;
use sprag_core::action::{Outcome, Status};
use sprag_engine::Options;
use sprag_engine::requests::{Cancel, Code, Migrate, Pause, Resume};
use sprag_store::records::ExecutionStatus;

use crate::rig::{Rig, code};

const JOB: &str = r"
id: m
variables: { got: [] }
initial: a
states:
  a:
    on:
      NOTE: { assign: { got: '{{variables.got + [message.payload]}}' } }
      done.work: b
      GO: b
  b: { after: { 1h: c } }
  c: { type: final }
actions: [{ actionId: work, type: noop, triggerState: a, config: {}, retryPolicy: { jitter: false } }]
";

#[test]
fn pause_queues_messages_and_resume_takes_them_in_arrival_order() {
    let mut rig = Rig::new(JOB);
    let id = rig.start("m").id;
    rig.control(Pause(id)).unwrap();
    for number in 1..=3 {
        let sent = rig.send_message(id, "NOTE", json!(number), None).unwrap();
        assert!(sent.queued);
    }
    rig.crash();
    assert_eq!(rig.variables(id), json!({ "got": [] }));
    let view = rig.control(Resume(id)).unwrap();
    assert_eq!(view.status, sprag_wire::ExecutionStatus::Running);
    assert_eq!(rig.variables(id), json!({ "got": [1, 2, 3] }));
}

#[test]
fn while_paused_running_attempts_end_normally_and_their_events_wait() {
    let mut rig = Rig::new(JOB);
    let id = rig.start("m").id;
    rig.control(Pause(id)).unwrap();
    rig.done("work");
    assert_eq!(rig.action_status(id, "work"), Status::Succeeded);
    assert_eq!(rig.configuration(id), ["a"]);
    rig.control(Resume(id)).unwrap();
    assert_eq!(rig.configuration(id), ["b"]);
}

#[test]
fn while_paused_no_attempt_and_no_retry_starts() {
    let mut rig = Rig::new(JOB);
    let id = rig.start("m").id;
    rig.finish("work", Outcome::not_done("timeout", "no answer"));
    rig.control(Pause(id)).unwrap();
    rig.advance(3_600_000);
    rig.crash();
    rig.advance(3_600_000);
    assert!(rig.started().is_empty());
    assert_eq!(rig.action_status(id, "work"), Status::Queued, "due, and held");
    rig.control(Resume(id)).unwrap();
    assert_eq!(rig.started(), ["work"]);
}

#[test]
fn a_full_inbox_refuses_by_name() {
    let mut options = Options::default();
    options.limits.inbox = 3;
    let mut rig = Rig::with_options(JOB, options);
    let id = rig.start("m").id;
    rig.control(Pause(id)).unwrap();
    for _ in 0..3 {
        rig.send_message(id, "NOTE", json!(1), None).unwrap();
    }
    assert_eq!(code(rig.send_message(id, "NOTE", json!(1), None)), Code::InboxFull);
}

#[test]
fn cancelling_an_execution_cancels_all_that_is_open_about_it() {
    let mut rig = Rig::new(JOB);
    let id = rig.start("m").id;
    rig.control(Cancel(id)).unwrap();
    assert_eq!(rig.status(id), ExecutionStatus::Cancelled);
    assert_eq!(rig.script.lock().unwrap().cancelled.len(), 1);
    rig.finish("work", Outcome::unknown("timeout", "cut off"));
    assert_eq!(rig.action_status(id, "work"), Status::Cancelled);
    rig.advance(7_200_000);
    assert_eq!(rig.configuration(id), ["a"], "no timer fires any more");
    assert_eq!(code(rig.control(Resume(id))), Code::StatusConflict);
    rig.control(Cancel(id)).expect("cancelling twice is the same");
}

#[test]
fn a_migrated_execution_keeps_its_entry_time_and_its_actions_under_way() {
    let mut rig = Rig::new(JOB);
    let id = rig.start("m").id;
    rig.send(id, "GO").unwrap();
    rig.advance(600_000);
    rig.apply(&JOB.replace("1h: c", "15m: c"));
    let migrate = Migrate {
        execution: id,
        version: None,
        states: BTreeMap::new(),
    };
    let view = rig.control(migrate).unwrap();
    assert_eq!(view.version, 2);
    rig.advance(299_999);
    assert_eq!(rig.configuration(id), ["b"]);
    rig.advance(1);
    assert_eq!(
        rig.status(id),
        ExecutionStatus::Completed,
        "15 minutes after the entry, not after the migration"
    );
    rig.done("work");
    assert_eq!(
        rig.action_status(id, "work"),
        Status::Succeeded,
        "it finished as it was frozen"
    );
}

#[test]
fn a_migration_without_a_counterpart_is_refused_and_a_map_helps() {
    let mut rig = Rig::new(JOB);
    let id = rig.start("m").id;
    rig.apply(
        &JOB.replace("  a:\n", "  first:\n")
            .replace("initial: a", "initial: first")
            .replace("triggerState: a", "triggerState: first"),
    );
    let migrate = |states: &[(&str, &str)]| {
        let states = states
            .iter()
            .map(|(old, new)| ((*old).to_owned(), (*new).to_owned()))
            .collect();
        Migrate {
            execution: id,
            version: Some(2),
            states,
        }
    };
    assert_eq!(code(rig.control(migrate(&[]))), Code::MigrationImpossible);
    assert_eq!(rig.row(id).version, 1);
    rig.control(migrate(&[("a", "first")])).unwrap();
    assert_eq!(rig.configuration(id), ["first"]);
    assert_eq!(rig.actions(id)["work"].len(), 1, "entry actions are not triggered");
}
