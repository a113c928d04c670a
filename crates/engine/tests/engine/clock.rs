//! Clocks that were ahead, are behind, or jumped; and variables that are not what was written.

use std::sync::Arc;

use sprag_core::clock::Manual;
use sprag_core::ids::ExecutionId;
use sprag_core::time::Timestamp;
use sprag_engine::requests::{AcceptClock, Code};
use sprag_engine::{Options, Retention};
use sprag_store::Mutation;
use sprag_store::records::ExecutionStatus;
use sprag_store::traits::{CommitStore as _, LaneReads as _, Reader, ShardId, Variables};

use crate::rig::{Rig, code};

const HOUR: u64 = 60 * 60 * 1_000;
const DAY: u64 = 24 * HOUR;

const MACHINE: &str = r"
id: m
initial: a
variables: { amount: 100 }
states:
  a: { on: { END: over }, after: { 5s: over } }
  over: { type: final }
";

fn rig() -> Rig {
    let retention = Some(Retention { closed_millis: DAY });
    Rig::with_options(
        MACHINE,
        Options {
            retention,
            ..Options::default()
        },
    )
}

/// Another process starts, with a clock that says `at`.
fn restart(rig: &mut Rig, at: Timestamp) {
    rig.clock = Arc::new(Manual::new(at));
    rig.crash();
}

fn closed(rig: &mut Rig) -> ExecutionId {
    let id = rig.start("m").id;
    rig.send(id, "END").unwrap();
    id
}

fn is_there(rig: &Rig, id: ExecutionId) -> bool {
    rig.store.execution(id).unwrap().is_some()
}

fn accept(rig: &mut Rig) {
    let request = AcceptClock { by: "ada".to_owned() };
    rig.ask(request).unwrap();
}

#[test]
fn after_a_process_with_a_fast_clock_everything_follows_the_real_one_but_the_order_of_ids() {
    let mut rig = rig();
    let began = rig.now();
    restart(&mut rig, began.plus(HOUR));
    let ahead = rig.start("m").id;
    restart(&mut rig, began.plus(10_000));
    let present = rig.start("m").id;
    assert!(present > ahead, "newer ones sort after older ones");
    assert_eq!(
        rig.row(present).created_at,
        began.plus(10_000),
        "it bears the real time"
    );
    rig.advance(5_000);
    assert_eq!(
        rig.status(present),
        ExecutionStatus::Completed,
        "timers follow the real clock"
    );
    assert_eq!(rig.status(ahead), ExecutionStatus::Running, "and none is early");
}

const SCHEDULED: &str = r"
id: s
initial: a
states: { a: {}, over: { type: final } }
actions:
  - { actionId: often, type: noop, triggerState: a, schedule: { cron: '*/10 * * * * *', overlap: allow } }
  - { actionId: later, type: noop, triggerState: a, delay: 2m, schedule: { cron: '*/10 * * * * *', overlap: allow } }
";

/// How many occurrences of an action there were.
fn occurrences(rig: &Rig, id: ExecutionId, action: &str) -> usize {
    rig.actions(id).get(action).map_or(0, Vec::len)
}

#[test]
fn schedules_continue_by_the_real_clock_after_a_process_with_a_fast_one() {
    let mut rig = Rig::new(SCHEDULED);
    let id = rig.start("s").id;
    let began = rig.now();
    for fast in [HOUR, 3_650 * DAY] {
        restart(&mut rig, began.plus(fast));
        rig.advance(30_000);
        restart(&mut rig, began.plus(1_000));
        let before = (occurrences(&rig, id, "often"), occurrences(&rig, id, "later"));
        rig.advance(20_000);
        assert_eq!(occurrences(&rig, id, "often"), before.0 + 2);
        assert_eq!(occurrences(&rig, id, "later"), before.1, "its delay is not over");
        rig.advance(120_000);
        assert!(occurrences(&rig, id, "later") > before.1);
    }
}

#[test]
fn a_person_who_accepts_the_clock_has_ids_follow_it_too_also_after_a_restart() {
    let mut rig = rig();
    let began = rig.now();
    restart(&mut rig, began.plus(HOUR));
    let ahead = rig.start("m").id;
    restart(&mut rig, began.plus(10_000));
    accept(&mut rig);
    let first = rig.start("m").id;
    restart(&mut rig, began.plus(20_000));
    let second = rig.start("m").id;
    assert!(first < second && second < ahead);
}

#[test]
fn a_crash_is_told_from_a_long_run_although_the_clock_is_behind() {
    let mut rig = rig();
    let began = rig.now();
    restart(&mut rig, began.plus(HOUR));
    restart(&mut rig, began.plus(10_000));
    let first = rig.store.last_run().unwrap().unwrap();
    assert!(
        first.started_at > began.plus(HOUR),
        "the newest process is the newest in the store"
    );
    rig.advance(2 * 60_000);
    rig.start("m");
    let life = rig.store.last_run().unwrap().unwrap();
    assert_eq!(life.started_at, first.started_at);
    assert!(life.seen_at.since(life.started_at) >= 60_000, "it has run for a while");
    assert!(
        life.seen_at < began.plus(HOUR + 70_000),
        "the clock can catch up with the store"
    );
}

#[test]
fn retention_waits_after_a_jump_of_more_than_a_day_until_a_person_says_so() {
    let mut rig = rig();
    let (began, id) = (rig.now(), closed(&mut rig));
    for restarts in 1..=2 {
        restart(&mut rig, began.plus(3_650 * DAY + restarts));
        rig.advance(3 * HOUR);
        assert!(is_there(&rig, id), "the clock is not believed");
    }
    accept(&mut rig);
    rig.advance(2 * HOUR);
    assert!(!is_there(&rig, id));
}

#[test]
fn retention_goes_on_by_itself_once_the_clock_is_right_again() {
    let mut rig = rig();
    let (began, id) = (rig.now(), closed(&mut rig));
    restart(&mut rig, began.plus(3_650 * DAY));
    rig.advance(HOUR);
    restart(&mut rig, began.plus(2 * HOUR));
    rig.advance(20 * HOUR);
    assert!(is_there(&rig, id), "not a day old");
    rig.advance(6 * HOUR);
    assert!(!is_there(&rig, id));
}

#[test]
fn changed_variables_are_an_error_of_their_execution_and_of_no_other() {
    let mut rig = rig();
    let (damaged, other) = (rig.start("m").id, rig.start("m").id);
    let mut row = rig.row(damaged);
    row.variables = String::from_utf8(row.variables)
        .unwrap()
        .replace("100", "999")
        .into_bytes();
    let change = Mutation::UpdateExecution {
        execution: row,
        variables: Variables::Changed,
    };
    let fence = rig.store.acquire(ShardId(0)).unwrap();
    rig.store.commit(&[fence], &[change]).unwrap();
    rig.crash();
    assert_eq!(code(rig.send(damaged, "END")), Code::RecordDamaged);
    rig.advance(6_000);
    assert_eq!(
        rig.status(damaged),
        ExecutionStatus::Running,
        "its timer is not served either"
    );
    assert_eq!(rig.status(other), ExecutionStatus::Completed);
}

#[test]
fn an_execution_without_a_checksum_is_read_and_gets_one_when_it_changes() {
    let mut rig = rig();
    let id = rig.start("m").id;
    let mut row = rig.row(id);
    let body = String::from_utf8(row.body).unwrap();
    let (before, _) = body.split_once(",\"checksum\"").unwrap();
    row.body = format!("{before}}}").into_bytes();
    let change = Mutation::UpdateExecution {
        execution: row,
        variables: Variables::Unchanged,
    };
    let fence = rig.store.acquire(ShardId(0)).unwrap();
    rig.store.commit(&[fence], &[change]).unwrap();
    rig.crash();
    rig.send(id, "END").unwrap();
    assert!(String::from_utf8(rig.row(id).body).unwrap().contains("\"checksum\""));
}
