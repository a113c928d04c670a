//! Attempts: how many, when, and what ends them early.

use std::sync::Arc;
use std::sync::mpsc::channel;

use super::world::*;
use crate::runtime::executor::{Attempted, CancelReason, Event, Refused, class};
use crate::worker::action::{ActionError, Outcome};

// 14.
#[test]
fn attempts_start_at_0_1_3_and_7_seconds() {
    let world = ExecutorWorld::new();
    let (started, starts) = channel();
    let fails = perform(move |context: crate::worker::action::ActionContext| {
        started.send(context.attempt).unwrap();
        async { Err(ActionError::temporary("not today")) }
    });
    world.start(request("open", patient(), fails), 0).unwrap();
    let mut seen = Vec::new();
    for tick in 0..100 {
        world.tick(tick * 100);
        seen.extend(starts.try_iter().map(|attempt| (tick * 100, attempt)));
    }
    assert_eq!(seen, [(0, 1), (1_000, 2), (3_000, 3), (7_000, 4)]);
    let status = world.status();
    assert_eq!((status.attempt, status.error.as_deref()), (4, Some("not today")));
    assert_eq!(world.class(), "temporary_failure");
    assert_eq!(status.started, Some(at(0)));
}

#[test]
fn a_later_attempt_may_succeed() {
    let world = ExecutorWorld::new();
    let second_time = perform(|context: crate::worker::action::ActionContext| async move {
        if context.attempt == 1 {
            Err(ActionError::temporary("not today"))
        } else {
            Ok(())
        }
    });
    world.start(request("open", patient(), second_time), 0).unwrap();
    let events = world.tick(0);
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::Retrying { due, .. } if *due == at(1_000)))
    );
    assert!(world.status().in_progress());
    world.tick(1_000);
    let status = world.status();
    assert_eq!((status.attempt, &status.outcome), (2, &Outcome::Succeeded));
}

// 15. D16: a configuration that is invalid is not tried again, and there is one rule that says so.
#[test]
fn an_error_that_no_retry_can_help_ends_the_action_and_names_its_class() {
    for kind in ["invalid_configuration", "authorization_failed"] {
        let world = ExecutorWorld::new();
        world.start(failing("open", kind), 0).unwrap();
        assert_eq!(ends(&world.tick(0)), 1);
        assert_eq!((world.class().as_str(), world.status().attempt), (kind, 1));
    }
    let world = ExecutorWorld::new();
    let hopeless = perform(|_| async { Err(ActionError::temporary("never").hopeless()) });
    world.start(request("open", patient(), hopeless), 0).unwrap();
    assert_eq!(ends(&world.tick(0)), 1);
    assert_eq!(world.status().attempt, 1);
}

// 16. D14.
#[test]
fn a_retry_that_waits_ends_at_once_when_it_is_cancelled_or_all_stops() {
    let world = ExecutorWorld::new();
    world.start(failing("open", "timeout"), 0).unwrap();
    world.tick(0);
    assert!(world.executor.cancel("plant/pump", CancelReason::Interrupt, at(10)));
    assert_eq!(world.class(), class::CANCELLED);
    assert_eq!(world.status().error.as_deref(), Some("interrupted by its worker"));
    assert_eq!(ends(&world.tick(10)), 1);
    assert!(world.tick(60_000).is_empty());

    world.start(failing("open", "timeout"), 60_000).unwrap();
    world.tick(60_000);
    world.executor.stop(at(60_010));
    assert_eq!(world.executor.stopped().map(|stopped| stopped.leaked), Some(0));
    assert_eq!(world.start(fine("open"), 60_010).unwrap_err(), Refused::Stopped);
}

// 16. D13: a running one hears of it at once, and is given up when it does not listen.
#[test]
fn a_running_action_hears_of_its_cancellation_and_is_given_up_within_the_bound() {
    let world = ExecutorWorld::new();
    world.start(obedient("open"), 0).unwrap();
    world.tick(0);
    world.executor.cancel("plant/pump", CancelReason::Operator, at(100));
    assert!(world.status().in_progress());
    assert_eq!(ends(&world.tick(100)), 1);
    assert_eq!(world.class(), class::CANCELLED);

    let mut endless = deaf("open");
    endless.options.timeout_millis = None;
    world.start(endless, 200).unwrap();
    world.tick(200);
    world.executor.cancel("plant/pump", CancelReason::Operator, at(300));
    assert_eq!(ends(&world.tick(5_299)), 0);
    assert_eq!(ends(&world.tick(5_300)), 1);
    assert_eq!(world.class(), class::ABANDONED);
    assert!(!world.executor.cancel("plant/pump", CancelReason::Operator, at(5_300)));
}

#[test]
fn what_succeeded_before_it_heard_of_its_cancellation_has_succeeded() {
    let world = ExecutorWorld::new();
    world.start(fine("open"), 0).unwrap();
    world.executor.scan(at(0));
    world.threads.drive();
    world.executor.cancel("plant/pump", CancelReason::Operator, at(0));
    world.tick(0);
    assert_eq!(world.status().outcome, Outcome::Succeeded);

    let heedless = perform(|context: crate::worker::action::ActionContext| async move {
        context.cancelled().await;
        Ok(())
    });
    world.start(request("open", once(), heedless), 100).unwrap();
    world.tick(100);
    world.executor.cancel("plant/pump", CancelReason::Operator, at(200));
    world.tick(200);
    assert_eq!(world.status().outcome, Outcome::Succeeded);
}

#[test]
fn what_was_cancelled_before_it_was_polled_does_nothing() {
    let world = ExecutorWorld::new();
    let (started, has_started) = channel();
    let telling = perform(move |_| {
        started.send(()).unwrap();
        async { Ok(()) }
    });
    world.start(request("open", once(), telling), 0).unwrap();
    world.executor.cancel("plant/pump", CancelReason::Operator, at(0));
    assert_eq!(ends(&world.tick(0)), 1);
    assert_eq!(
        (world.class().as_str(), has_started.try_recv().is_err()),
        (class::CANCELLED, true)
    );
    assert_eq!(world.status().attempt, 0);
}

#[test]
fn timeouts_are_ordinary_attempts() {
    let world = ExecutorWorld::new();
    let mut slow = obedient("open");
    slow.options = patient();
    slow.options.retry.max_attempts = 2;
    world.start(slow, 0).unwrap();
    world.tick(0);
    world.tick(1_000);
    assert!(world.status().in_progress());
    assert_eq!(world.status().error.as_deref(), Some("no end within `1000` ms"));
    world.tick(2_000);
    assert_eq!(world.status().attempt, 2);
    world.tick(3_000);
    assert_eq!(world.class(), "timeout");
}

#[test]
fn every_attempt_is_told_for_the_metrics() {
    let world = ExecutorWorld::new();
    world.start(failing("open", "timeout"), 0).unwrap();
    let seen: Vec<Event> = (0..100).flat_map(|tick| world.tick(tick * 100)).collect();
    let told = seen.iter().filter(
        |event| matches!(event, Event::Attempted(Attempted { action, error: Some(error), .. }) if &**action == "open" && error.kind == "timeout"),
    );
    assert_eq!(told.count(), 4);
    let world: Arc<str> = worker();
    let started = seen.iter().filter(|event| matches!(event, Event::Started { .. }));
    assert_eq!(started.count(), 1, "once for the action");
    assert!(seen.iter().all(|event| matches!(event,
        Event::Started { worker, .. } | Event::Attempted(Attempted { worker, .. }) | Event::Retrying { worker, .. }
            | Event::Ended { worker, .. } if *worker == world)));
}
