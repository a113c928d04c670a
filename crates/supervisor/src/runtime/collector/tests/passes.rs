//! When passes begin, and how the collector uses their results.

use std::sync::Arc;

use sprag_core::time::Timestamp;

use super::world::*;
use crate::runtime::collector::{Collector, CollectorEvent, CollectorOptions, Observation, ThresholdsError};
use crate::runtime::pool::{Pool, Threads};

#[test]
fn a_worker_is_looked_at_at_once_and_then_every_second() {
    let mut world = CollectorWorld::new(Mood::Well);
    let events = world.run(0, 3_000);
    assert_eq!(observed(&events), [0, 1_000, 2_000, 3_000]);
    assert_eq!(world.observation(3_000), Observation::Fresh);
    assert!(matches!(&events[1].1, CollectorEvent::Observed { at, value: 2, .. } if *at == super::world::at(1_000)));
}

#[test]
fn a_worker_keeps_its_pace_although_ticks_come_late() {
    let mut world = CollectorWorld::new(Mood::Well);
    // Each look begins up to a tick after it was due, and the next is due as if it had not.
    for now in (0..60_000).step_by(110) {
        world.tick(now);
    }
    assert_eq!(world.eye.calls(), 60);
}

#[test]
fn looks_that_were_missed_are_not_made_up_for() {
    let mut world = CollectorWorld::new(Mood::Well);
    for now in (0..17_000).step_by(1_700) {
        world.tick(now);
    }
    assert_eq!(world.eye.calls(), 10, "one for each tick");
    // The last one began at 15.3 s and much too late.
    assert_eq!(observed(&world.run(15_400, 16_400)), [16_300]);
}

// 19.
#[test]
fn a_second_start_is_refused_and_a_second_stop_does_nothing() {
    let mut world = CollectorWorld::new(Mood::Well);
    let again = Arc::new(world.eye.clone());
    let refused = world.collector.start(&PUMP.into(), again.clone(), at(0)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`plant/pump` is being collected already; stop that first"
    );
    assert!(world.collector.stop(PUMP));
    assert!(!world.collector.stop(PUMP));
    assert!(world.tick(1_000).is_empty());
    world.collector.start(&PUMP.into(), again, at(1_000)).unwrap();
    assert_eq!(world.tick(1_000).len(), 1);
}

// 20.
#[test]
fn however_often_it_is_triggered_one_more_pass_follows() {
    let mut world = CollectorWorld::new(Mood::Hung);
    world.tick(0);
    for _ in 0..50 {
        world.collector.trigger(PUMP, at(100));
    }
    world.eye.be(Mood::Well);
    assert!(world.run(100, 4_900).is_empty());
    // The pass in progress ends by its timeout; the extra one follows at once, the next after its interval.
    let events = world.run(5_000, 5_900);
    assert_eq!(observed(&events), [5_000]);
    assert_eq!(world.eye.calls(), 2);
}

// 17.
#[test]
fn a_trigger_starts_a_pass_without_waiting_for_the_interval() {
    let mut world = CollectorWorld::new(Mood::Well);
    world.tick(0);
    assert!(world.tick(300).is_empty());
    world.collector.trigger(PUMP, at(400));
    let events = world.tick(400);
    assert!(matches!(&events[..], [CollectorEvent::Observed { at, .. }] if *at == super::world::at(400)));
    assert_eq!(observed(&world.run(500, 2_000)), [1_400]);
    world.collector.trigger("nobody", at(2_000));
}

// 21.
#[test]
fn without_a_desired_state_nothing_is_collected_and_nothing_counted() {
    let mut world = CollectorWorld::new(Mood::Idle);
    assert!(world.run(0, 60_000).is_empty());
    assert_eq!(world.eye.calls(), 0);
    assert_eq!(
        world.collector.counts(),
        crate::runtime::collector::CollectorCounts::default()
    );
    world.eye.be(Mood::Hung);
    let events = world.run(60_100, 81_000);
    assert_eq!(
        restarts(&events),
        [(81_000, 1)],
        "the age counts from when there was something to look for"
    );
}

// 22.
#[test]
fn after_a_panic_collection_continues() {
    let mut world = CollectorWorld::new(Mood::Mad);
    let events = world.run(0, 2_000);
    assert!(observed(&events).is_empty());
    let error = "collection panicked: pump on fire".into();
    assert_eq!(world.observation(2_000), Observation::Failing { error });
    assert_eq!(
        (world.collector.counts().panicked, world.collector.counts().failed),
        (3, 3)
    );
    world.eye.be(Mood::Well);
    assert_eq!(observed(&world.run(2_100, 3_000)), [3_000]);
}

/// Whoever listens to the log and panics.
struct Shrieking;

impl tracing::Subscriber for Shrieking {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, _: &tracing::Event<'_>) {
        panic!("the log panics");
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

// 22.
#[test]
fn after_a_panic_of_the_log_collection_continues() {
    let mut world = CollectorWorld::new(Mood::Mad);
    tracing::subscriber::with_default(Shrieking, || {
        world.run(0, 30_000);
        world.eye.be(Mood::Well);
        assert_eq!(observed(&world.run(30_100, 31_100)).len(), 1);
    });
    assert!(world.collector.counts().panicked > 20);
}

// 27.
#[test]
fn thresholds_that_contradict_each_other_are_refused() {
    let pool = || Pool::new(Arc::new(Threads::none()), 1);
    let build = |interval_millis, pass_timeout_millis, stale_millis, abandon_millis| {
        let options = CollectorOptions {
            interval_millis,
            pass_timeout_millis,
            stale_millis,
            abandon_millis,
        };
        Collector::<u64>::new(options, pool()).err()
    };
    assert_eq!(build(1_000, 5_000, 10_000, 20_000), None);
    assert_eq!(build(0, 5_000, 10_000, 20_000), Some(ThresholdsError::ZeroInterval));
    for interval in [10_000, 10_001] {
        let error = build(interval, 5_000, 10_000, 20_000);
        assert!(
            matches!(error, Some(ThresholdsError::IntervalTooLong { .. })),
            "{error:?}"
        );
    }
    for pass_timeout in [0, 10_000, 30_000] {
        let error = build(1_000, pass_timeout, 10_000, 20_000);
        assert!(
            matches!(error, Some(ThresholdsError::PassTimeoutTooLong { .. })),
            "{error:?}"
        );
    }
    for abandon in [0, 9_999, 10_000] {
        let error = build(1_000, 5_000, 10_000, abandon);
        assert!(matches!(error, Some(ThresholdsError::StaleTooLong { .. })), "{error:?}");
    }
    assert_eq!(
        build(1_000, 5_000, 5_000, 20_000).unwrap().to_string(),
        "`passTimeout` is `5000` ms, `stale` is `5000` ms; make the timeout shorter, and above `0`"
    );
}

// 29.
#[test]
fn errors_show_as_failing_and_touch_nothing_else() {
    let mut world = CollectorWorld::new(Mood::Well);
    world.tick(0);
    world.eye.be(Mood::Ill);
    let events = world.run(100, 60_000);
    let error: Arc<str> = "no route to pump".into();
    assert_eq!(world.observation(60_000), Observation::Failing { error });
    assert!(observed(&events).is_empty());
    assert!(world.standing(60_000).observed_at == Some(Timestamp::from_millis(0)));
    assert!(world.eye.calls() >= 55, "it goes on looking");
    let failures = events
        .iter()
        .filter(|(_, event)| matches!(event, CollectorEvent::Failed { .. }));
    assert!(failures.count() >= 55);
    world.eye.be(Mood::Well);
    world.run(60_100, 61_000);
    assert_eq!(world.observation(61_000), Observation::Fresh);
}

// 32. Nothing here knows of circuits: as long as it is not stopped, a worker is looked at.
#[test]
fn observations_advance_whatever_holds_the_worker() {
    let mut world = CollectorWorld::new(Mood::Well);
    for second in 0..120 {
        world.run(second * 1_000, second * 1_000 + 900);
        assert_eq!(world.standing(second * 1_000).observed_at, Some(at(second * 1_000)));
    }
}

#[test]
fn many_workers_that_were_added_at_once_are_looked_at_in_turns() {
    let threads = Arc::new(Threads::none());
    let pool = Pool::new(Arc::clone(&threads), 1_000_000);
    let mut collector: Collector<u64> = Collector::new(CollectorOptions::default(), pool).unwrap();
    let eye = Arc::new(Eye::new(Mood::Well));
    for number in 0..20_000 {
        let worker = format!("plant/{number}").into();
        collector.start(&worker, Arc::clone(&eye) as _, at(0)).unwrap();
    }
    let mut most = 0;
    for now in (0..=3_000).step_by(100) {
        let before = collector.counts().passes;
        collector.scan(at(now));
        most = most.max(collector.counts().passes - before);
        threads.drive();
    }
    assert!(most <= 16_384);
    assert!(eye.calls() >= 60_000, "each of them every second: {}", eye.calls());
}
