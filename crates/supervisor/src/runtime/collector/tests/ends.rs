//! The last observation of a worker that leaves; the counters of workers.

use super::world::*;
use crate::runtime::collector::{CollectorEvent, Recorder, WorkerMetrics};

// 30.
#[test]
fn a_worker_that_leaves_is_looked_at_once_more() {
    let mut world = CollectorWorld::new(Mood::Well);
    world.tick(0);
    world.collector.finish(PUMP, at(300));
    let events = world.tick(300);
    assert_eq!(
        events,
        [CollectorEvent::Finished {
            worker: PUMP.into(),
            last: Some((at(300), 2)),
        }]
    );
    assert!(world.collector.is_empty());
}

// 30.
#[test]
fn a_last_look_that_fails_or_hangs_keeps_nobody() {
    for mood in [Mood::Ill, Mood::Mad, Mood::Hung, Mood::Idle] {
        let mut world = CollectorWorld::new(mood);
        world.tick(0);
        world.collector.finish(PUMP, at(300));
        let events = world.run(300, 10_300);
        let finished = events
            .iter()
            .filter(|(_, event)| matches!(event, CollectorEvent::Finished { last: None, .. }));
        assert_eq!(finished.count(), 1, "{mood:?}");
        assert!(world.collector.is_empty());
    }
}

// 30. What began before the worker reached its end does not count as having seen it.
#[test]
fn a_pass_that_was_under_way_is_not_the_last_look() {
    let mut world = CollectorWorld::new(Mood::Well);
    world.collector.scan(at(0));
    world.collector.finish(PUMP, at(0));
    let events = world.tick(0);
    assert!(matches!(
        &events[..],
        [
            CollectorEvent::Observed { value: 1, .. },
            CollectorEvent::Finished { last: Some((_, 2)), .. }
        ]
    ));
}

// 31.
#[test]
fn counters_add_up_and_gauges_are_replaced() {
    let mut stored = WorkerMetrics::default();
    stored.counters.insert("batches".to_owned(), 10);
    stored.gauges.insert("pressure".to_owned(), 1.5);
    let recorder = Recorder::default();
    recorder.add("batches", 1);
    recorder.add("batches", 2);
    recorder.set("pressure", 2.5);
    recorder.set("pressure", 3.5);
    stored.record(&recorder.take());
    assert_eq!((stored.counters["batches"], stored.gauges["pressure"]), (13, 3.5));
    assert!(recorder.take().is_empty());
    stored.record(&recorder.take());
    assert_eq!(stored.counters["batches"], 13);
    recorder.add("batches", u64::MAX);
    stored.record(&recorder.take());
    assert_eq!(stored.counters["batches"], u64::MAX);
}

#[test]
fn the_names_of_metrics_are_bounded() {
    let recorder = Recorder::default();
    for number in 0..100 {
        recorder.add(&format!("counter-{number}"), 1);
    }
    assert_eq!(recorder.take().counters.len(), crate::runtime::collector::METRICS_MAX);
}
