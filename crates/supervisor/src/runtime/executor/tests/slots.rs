//! One slot per worker: taken, refused, released.

use super::world::*;
use crate::runtime::executor::{CancelReason, Refused, class};
use crate::worker::action::{ActionOptions, ActionStatus, Outcome};

// 1.
#[test]
fn an_accepted_action_is_in_progress_before_anything_ran() {
    let world = ExecutorWorld::new();
    let status = world.start(fine("open"), 0).unwrap();
    assert!(status.in_progress());
    assert!(world.status().in_progress());
    assert_eq!((status.id, status.started, status.attempt), (1, None, 0));
    let events = world.tick(0);
    assert_eq!(ends(&events), 1);
    assert_eq!(world.status().outcome, Outcome::Succeeded);
    assert_eq!((world.status().started, world.status().attempt), (Some(at(0)), 1));
}

// 2.
#[test]
fn the_same_action_is_refused_while_it_is_queued_or_runs() {
    let world = ExecutorWorld::new();
    world.start(deaf("open"), 0).unwrap();
    let refused = |now| world.start(deaf("open"), now).unwrap_err();
    assert!(matches!(refused(0), Refused::AlreadyInProgress { .. }));
    world.tick(100);
    assert!(matches!(refused(100), Refused::AlreadyInProgress { .. }));
    assert_eq!(
        refused(100).to_string(),
        "`open` of `plant/pump` is already in progress"
    );
}

// 3. D11: there is no second place, and no moment between the two.
#[test]
fn another_action_is_refused_by_the_name_of_the_holder_and_leaves_no_mark() {
    let world = ExecutorWorld::new();
    let held = world.start(deaf("open"), 0).unwrap();
    for now in [0, 100] {
        let refused = world.start(fine("close"), now).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "`close` of `plant/pump` must wait until `open` has ended"
        );
        assert_eq!(
            (world.status().generation, world.status().name.as_str()),
            (held.generation, "open")
        );
        world.tick(now);
    }
    assert_eq!(world.executor.counts().refused, 2);
    assert_eq!(world.pool.running() + world.pool.queued(), 1);
}

// 4. D12: what ended before is not taken for the end of what is asked for next.
#[test]
fn the_next_action_starts_after_the_first_ended_and_has_a_status_of_its_own() {
    let world = ExecutorWorld::new();
    let first = world.start(fine("open"), 0).unwrap();
    assert!(world.start(fine("close"), 0).is_err());
    world.tick(0);
    assert_eq!(world.status().outcome, Outcome::Succeeded);
    let second = world.start(deaf("open"), 100).unwrap();
    assert_eq!((second.id, second.name.as_str()), (2, "open"));
    assert!(second.generation > first.generation);
    assert!(world.status().in_progress());
}

#[test]
fn workers_do_not_wait_for_each_other() {
    let world = ExecutorWorld::new();
    world.start(deaf("open"), 0).unwrap();
    world.executor.start(of("plant/fan", fine("open")), at(0)).unwrap();
    world.tick(0);
    assert_eq!(world.executor.status("plant/fan").outcome, Outcome::Succeeded);
}

// 11.
#[test]
fn an_action_whose_slot_was_released_in_the_queue_never_starts() {
    let world = ExecutorWorld::bounded(1);
    world.executor.start(of("plant/fan", deaf("spin")), at(0)).unwrap();
    let (started, has_started) = std::sync::mpsc::channel();
    let telling = perform(move |_| {
        started.send(()).unwrap();
        async { Ok(()) }
    });
    world.start(request("open", once(), telling), 0).unwrap();
    world.tick(0);
    assert!(world.executor.cancel("plant/pump", CancelReason::Operator, at(50)));
    assert_eq!(world.class(), class::CANCELLED);
    // The fan is given up, so there is room.
    world.tick(3_000);
    world.tick(3_100);
    assert!(has_started.try_recv().is_err());
    assert_eq!(world.pool.running(), 0);
}

// 11. D13's other half: the clock of an attempt starts with the attempt.
#[test]
fn waiting_for_room_is_not_being_stuck() {
    let world = ExecutorWorld::bounded(1);
    world.executor.start(of("plant/fan", obedient("spin")), at(0)).unwrap();
    world.start(obedient("open"), 0).unwrap();
    world.tick(0);
    assert!(world.status().in_progress());
    assert_eq!(world.status().started, None);
    world.tick(1_000);
    assert_eq!(world.status().started, Some(at(1_000)), "the fan's timeout made room");
    assert!(world.tick(1_900).is_empty());
    world.tick(2_000);
    assert_eq!(world.class(), "timeout");
}

// D15.
#[test]
fn what_was_in_progress_when_the_process_ended_is_unknown() {
    let world = ExecutorWorld::new();
    let left = ActionStatus {
        id: 7,
        name: "open".to_owned(),
        generation: 41,
        started: Some(at(5)),
        attempt: 2,
        outcome: Outcome::InProgress,
        error: None,
    };
    let status = world.executor.restore(&worker(), left.clone());
    assert_eq!(status.outcome, Outcome::Unknown);
    assert_eq!((status.id, status.attempt, status.started), (7, 2, Some(at(5))));
    let next = world.start(fine("open"), 0).unwrap();
    assert_eq!(next.id, 8);
    assert!(next.generation > 41);
    let ended = ActionStatus {
        outcome: Outcome::Succeeded,
        ..left
    };
    let status = world.executor.restore(&"plant/fan".into(), ended);
    assert_eq!(status.outcome, Outcome::Succeeded);
}

// D14.
#[test]
fn none_is_none_and_nothing_becomes_a_default() {
    let world = ExecutorWorld::new();
    let endless = ActionOptions {
        timeout_millis: None,
        ..once()
    };
    let mut request = deaf("open");
    request.options = endless;
    world.start(request, 0).unwrap();
    world.tick(0);
    assert!(world.tick(1_000_000_000).is_empty());
    assert!(world.status().in_progress());
    let mut request = fine("spin");
    request.options.timeout_millis = Some(0);
    let refused = world.executor.start(of("plant/fan", request), at(0)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`spin` has a timeout of `0` ms; give it one it can keep, or none"
    );
}

#[test]
fn a_worker_that_is_gone_is_forgotten_with_its_action() {
    let world = ExecutorWorld::new();
    world.start(deaf("open"), 0).unwrap();
    world.tick(0);
    world.executor.forget("plant/pump");
    assert_eq!(*world.status(), ActionStatus::default());
    assert_eq!((world.executor.counts().leaked, world.pool.running()), (1, 0));
    assert!(world.tick(10_000).is_empty());
    world.executor.forget("plant/pump");
}
