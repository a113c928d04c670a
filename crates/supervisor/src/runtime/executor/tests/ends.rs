//! How actions end: by themselves, by timeout, by panic, abandoned, by a stop.

use std::sync::Arc;
use std::sync::mpsc::channel;

use tokio::sync::Notify;

use super::world::*;
use crate::runtime::executor::{Event, Refused, Stopped, class};
use crate::worker::action::Outcome;

// 5.
#[test]
fn an_action_that_takes_too_long_is_cancelled_and_ends_as_timeout() {
    let world = ExecutorWorld::new();
    world.start(obedient("open"), 0).unwrap();
    world.tick(0);
    assert!(world.tick(999).is_empty());
    let events = world.tick(1_000);
    assert_eq!(ends(&events), 1);
    assert_eq!(world.class(), "timeout");
    assert_eq!(world.status().error.as_deref(), Some("no end within `1000` ms"));
    assert!(world.start(fine("open"), 1_000).is_ok());
}

// 6.
#[test]
fn an_action_with_a_timeout_of_its_own_keeps_that() {
    let world = ExecutorWorld::new();
    let mut quick = obedient("open");
    quick.options.timeout_millis = Some(50);
    world.start(quick, 0).unwrap();
    world.executor.start(of("plant/fan", obedient("spin")), at(0)).unwrap();
    world.tick(0);
    world.tick(50);
    assert_eq!(world.class(), "timeout");
    assert!(world.executor.status("plant/fan").in_progress());
    world.tick(1_000);
    assert!(world.executor.status("plant/fan").failed());
}

// 7.
#[test]
fn panics_are_failures_and_the_fourth_action_runs() {
    let world = ExecutorWorld::new();
    for round in 0..3 {
        // Before there is a future, and inside one.
        let panics = perform(move |_| {
            assert!(round != 1, "before the future");
            async { panic!("valve stuck") }
        });
        world.start(request("open", once(), panics), 0).unwrap();
        assert_eq!(ends(&world.tick(0)), 1);
        assert_eq!(world.class(), "panic");
    }
    assert_eq!(world.status().error.as_deref(), Some("valve stuck"));
    world.start(fine("open"), 0).unwrap();
    world.tick(0);
    assert_eq!(world.status().outcome, Outcome::Succeeded);
    assert_eq!(world.executor.counts().panicked, 3);
}

// 8.
#[test]
fn an_action_that_ignores_its_cancellation_is_warned_of_once() {
    let world = ExecutorWorld::new();
    world.start(deaf("open"), 0).unwrap();
    world.tick(0);
    let seen: Vec<Event> = (10..30).flat_map(|tick| world.tick(tick * 100)).collect();
    assert_eq!(warnings(&seen), 1);
    assert_eq!(world.executor.counts().stuck, 1);
    assert!(world.status().in_progress());
}

// 9.
#[test]
fn at_three_times_its_timeout_it_is_given_up_and_the_slot_is_free() {
    let world = ExecutorWorld::new();
    world.start(deaf("open"), 0).unwrap();
    world.tick(0);
    assert_eq!(ends(&world.tick(2_999)), 0);
    assert_eq!(ends(&world.tick(3_000)), 1);
    assert_eq!(world.class(), class::ABANDONED);
    assert_eq!(world.executor.counts().leaked, 1);
    world.start(fine("open"), 3_000).unwrap();
    world.tick(3_000);
    assert_eq!(world.status().outcome, Outcome::Succeeded);
}

// 10. D17: code that blocks cannot be ended; what it says later concerns nobody.
#[test]
fn the_end_of_an_orphan_is_dropped_and_the_new_action_stays() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let threads = Arc::new(crate::runtime::pool::Threads::start(
        crate::runtime::pool::ThreadsOptions { threads: 1 },
        runtime.handle().clone(),
    ));
    let pool = crate::runtime::pool::Pool::new(Arc::clone(&threads), 1);
    let executor = crate::runtime::executor::Executor::new(
        crate::runtime::executor::ExecutorOptions::default(),
        pool,
        Arc::new(crate::runtime::executor::NoMarks),
    );
    let (release, wait) = channel::<()>();
    let wait = Arc::new(std::sync::Mutex::new(wait));
    let blocks = perform(move |_| {
        let wait = Arc::clone(&wait);
        async move {
            let _ = wait.lock().unwrap().recv();
            Ok(())
        }
    });
    executor.start(request("open", once(), blocks), at(0)).unwrap();
    while executor.status("plant/pump").started.is_none() {
        executor.scan(at(0));
        std::thread::yield_now();
    }
    executor.scan(at(1_000));
    executor.scan(at(2_000));
    executor.scan(at(3_000));
    assert!(executor.status("plant/pump").failed());
    let second = executor.start(deaf("open"), at(3_000)).unwrap();
    while executor.status("plant/pump").started.is_none() {
        executor.scan(at(3_000));
        std::thread::yield_now();
    }
    release.send(()).unwrap();
    while executor.counts().late == 0 {
        assert_eq!(ends(&executor.scan(at(3_100))), 0);
        std::thread::yield_now();
    }
    let now = executor.status("plant/pump");
    assert_eq!((now.generation, now.in_progress()), (second.generation, true));
}

// 12.
#[test]
fn a_stopped_executor_refuses() {
    let world = ExecutorWorld::new();
    world.executor.stop(at(0));
    world.executor.stop(at(0));
    assert_eq!(world.start(fine("open"), 0).unwrap_err(), Refused::Stopped);
    assert_eq!(world.executor.stopped(), Some(Stopped { leaked: 0 }));
    assert_eq!(world.status().outcome, Outcome::None);
}

// 13.
#[test]
fn a_stop_ends_within_its_bound_and_says_what_was_left() {
    let world = ExecutorWorld::new();
    let mut endless = deaf("open");
    endless.options.timeout_millis = None;
    world.start(endless, 0).unwrap();
    world.executor.start(of("plant/fan", obedient("spin")), at(0)).unwrap();
    world.tick(0);
    world.executor.stop(at(100));
    world.tick(100);
    assert!(world.executor.status("plant/fan").failed());
    world.tick(5_099);
    assert_eq!(world.executor.stopped(), None);
    world.tick(5_100);
    assert_eq!(world.executor.stopped(), Some(Stopped { leaked: 1 }));
    assert_eq!(world.class(), class::ABANDONED);
}

// 18.
#[test]
fn a_result_is_told_exactly_once_however_long_the_tick_was_away() {
    let world = ExecutorWorld::new();
    let done = Arc::new(Notify::new());
    let waits = {
        let done = Arc::clone(&done);
        perform(move |_| {
            let done = Arc::clone(&done);
            async move {
                done.notified().await;
                Ok(())
            }
        })
    };
    world.start(request("open", once(), waits), 0).unwrap();
    world.tick(0);
    done.notify_one();
    world.threads.drive();
    assert!(
        world.status().in_progress(),
        "a status changes with the tick that tells of it"
    );
    assert_eq!(ends(&world.executor.scan(at(900))), 1);
    assert_eq!(ends(&world.executor.scan(at(900))), 0);
    assert_eq!(
        world.status().outcome,
        Outcome::Succeeded,
        "and stays until the next action"
    );
}
