//! Cron occurrences: one per nominal time, by overlap and catch-up.

use sprag_core::action::Status;
use sprag_core::machine::SkipReason;
use sprag_engine::requests::{Pause, Resume};

use crate::rig::{Rig, START};

fn cron(extra: &str) -> String {
    format!(
        r"
id: m
variables: {{ n: 0 }}
initial: on
states:
  on: {{ on: {{ OFF: off, BUMP: {{ assign: {{ n: '{{{{variables.n + 1}}}}' }} }} }} }}
  off: {{ on: {{ ON: on }} }}
actions:
  - actionId: report
    type: noop
    triggerState: on
    config: {{ n: '{{{{variables.n}}}}' }}
    schedule: {{ cron: '*/5 * * * *', {extra} }}
"
    )
}

const FIVE_MINUTES: u64 = 300_000;

#[test]
fn occurrences_fire_by_the_clock_on_the_facts_of_their_time() {
    let mut rig = Rig::new(&cron("overlap: allow"));
    let id = rig.start("m").id;
    assert!(rig.started().is_empty());
    rig.advance(FIVE_MINUTES);
    rig.done("report");
    rig.send(id, "BUMP").unwrap();
    rig.advance(FIVE_MINUTES);
    let configs: Vec<_> = rig
        .script
        .lock()
        .unwrap()
        .jobs
        .iter()
        .map(|job| job.config.config["n"].clone())
        .collect();
    assert_eq!(configs, [0, 1]);
    let nominal: Vec<_> = rig.actions(id)["report"]
        .iter()
        .map(|action| action.body.nominal.unwrap().as_millis())
        .collect();
    assert_eq!(nominal, [START + 300_000, START + 600_000]);
}

#[test]
fn an_occurrence_while_the_last_one_runs_is_skipped_queued_or_allowed() {
    let mut skip = Rig::new(&cron("overlap: skip"));
    let id = skip.start("m").id;
    skip.advance(2 * FIVE_MINUTES);
    assert_eq!(skip.started().len(), 1);
    assert_eq!(skip.action(id, "report").body.skipped, Some(SkipReason::Overlap));

    let mut queue = Rig::new(&cron("overlap: queue"));
    let id = queue.start("m").id;
    queue.advance(2 * FIVE_MINUTES);
    assert_eq!(queue.started().len(), 1);
    assert_eq!(queue.action_status(id, "report"), Status::Scheduled);
    queue.done("report");
    assert_eq!(
        queue.started().len(),
        2,
        "the next one starts when the one before it ends"
    );

    let mut allow = Rig::new(&cron("overlap: allow"));
    allow.start("m");
    allow.advance(2 * FIVE_MINUTES);
    assert_eq!(allow.started().len(), 2);
}

#[test]
fn what_was_missed_is_caught_up_as_the_schedule_says() {
    for (catch_up, expected) in [("skip", 0), ("one", 1), ("all", 12)] {
        let mut rig = Rig::new(&cron(&format!("overlap: allow, catchUp: {catch_up}")));
        rig.start("m");
        rig.clock
            .advance_to(sprag_core::time::Timestamp::from_millis(START + 3_600_000 + 120_000));
        rig.crash();
        assert_eq!(rig.started().len(), expected, "{catch_up}");
    }
}

#[test]
fn up_to_a_minute_late_is_on_time() {
    let mut rig = Rig::new(&cron("overlap: allow, catchUp: skip"));
    rig.start("m");
    rig.clock
        .advance_to(sprag_core::time::Timestamp::from_millis(START + 300_000 + 59_000));
    rig.crash();
    assert_eq!(rig.started().len(), 1);
}

#[test]
fn a_schedule_ends_with_its_visit() {
    let mut rig = Rig::new(&cron("overlap: allow"));
    let id = rig.start("m").id;
    rig.send(id, "OFF").unwrap();
    rig.advance(10 * FIVE_MINUTES);
    assert!(rig.started().is_empty());
    rig.send(id, "ON").unwrap();
    rig.advance(FIVE_MINUTES);
    assert_eq!(rig.started().len(), 1);
}

#[test]
fn a_paused_execution_catches_up_on_resume() {
    let mut rig = Rig::new(&cron("overlap: allow, catchUp: one"));
    let id = rig.start("m").id;
    rig.control(Pause(id)).unwrap();
    rig.advance(6 * FIVE_MINUTES + 120_000);
    assert!(rig.started().is_empty());
    rig.control(Resume(id)).unwrap();
    assert_eq!(rig.started().len(), 1);
}

#[test]
fn an_occurrence_fires_once_across_a_crash_at_its_instant() {
    let mut rig = Rig::new(&cron("overlap: allow, catchUp: all"));
    let id = rig.start("m").id;
    rig.advance(FIVE_MINUTES);
    rig.crash();
    rig.crash();
    rig.advance(1_000);
    assert_eq!(
        rig.actions(id)["report"].len(),
        1,
        "one occurrence, however often the process died"
    );
}
