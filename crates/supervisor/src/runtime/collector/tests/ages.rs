//! The effects of the age of an observation.

use super::world::*;
use crate::runtime::collector::{CollectorEvent, Observation};

// 23.
#[test]
fn an_observation_is_current_then_stale_then_collected_anew() {
    let mut world = CollectorWorld::new(Mood::Well);
    world.tick(0);
    world.eye.be(Mood::Hung);
    let mut events = world.run(100, 9_900);
    assert!(world.standing(9_900).is_current);
    assert!(restarts(&events).is_empty());
    events = world.run(10_000, 19_900);
    let stale = events
        .iter()
        .filter(|(_, event)| matches!(event, CollectorEvent::Stale { .. }));
    assert_eq!(stale.map(|(now, _)| *now).collect::<Vec<_>>(), [10_000]);
    assert!(!world.standing(10_000).is_current);
    assert!(restarts(&events).is_empty());
    assert_eq!(restarts(&world.run(20_000, 20_000)), [(20_000, 1)]);
}

#[test]
fn before_the_first_observation_nothing_is_current() {
    let mut world = CollectorWorld::new(Mood::Hung);
    world.tick(0);
    assert_eq!(world.observation(0), Observation::Stale);
    assert!(!world.standing(0).is_current);
}

// 25.
#[test]
fn after_three_restarts_it_is_reported_once_and_goes_on() {
    let mut world = CollectorWorld::new(Mood::Hung);
    let events = world.run(0, 60_000);
    let expected = [20_000, 24_000, 30_000, 36_000, 42_000, 48_000, 54_000, 60_000];
    let restarts = restarts(&events);
    assert_eq!(restarts.iter().map(|(now, _)| *now).collect::<Vec<_>>(), expected);
    assert_eq!(
        restarts.iter().map(|(_, count)| *count).collect::<Vec<_>>(),
        [1, 2, 3, 4, 5, 6, 7, 8]
    );
    assert_eq!(exhausted(&events), [36_000]);
    assert_eq!(world.collector.len(), 1);
    world.eye.be(Mood::Well);
    assert_eq!(observed(&world.run(60_100, 66_000)).first(), Some(&65_000));
}

// 26.
#[test]
fn what_is_seen_after_restarts_resets_them_and_is_told_once() {
    let mut world = CollectorWorld::new(Mood::Hung);
    world.run(0, 25_000);
    assert_eq!(world.standing(25_000).restarts, 2);
    world.eye.be(Mood::Well);
    let events = world.run(25_100, 40_000);
    let recovered: Vec<_> = events
        .iter()
        .filter(|(_, event)| matches!(event, CollectorEvent::Recovered { restarts: 2, .. }))
        .collect();
    assert_eq!(recovered.len(), 1);
    assert_eq!(world.standing(40_000).restarts, 0);
    assert!(restarts(&events).is_empty());
    // The next trouble begins with its first restart again.
    world.eye.be(Mood::Hung);
    let events = world.run(40_100, 61_000);
    assert_eq!(restarts(&events), [(60_000, 1)]);
}

#[test]
fn a_pass_that_takes_too_long_is_dropped_and_the_next_follows() {
    let mut world = CollectorWorld::new(Mood::Hung);
    let events = world.run(0, 5_000);
    assert!(
        matches!(&events[..], [(5_000, CollectorEvent::Failed { error, .. })] if &**error == "no observation within `5000` ms")
    );
    assert_eq!(world.collector.counts().timed_out, 1);
    world.eye.be(Mood::Well);
    // The one that began at 5 s is hung too.
    let events = world.run(5_100, 11_000);
    assert_eq!(observed(&events).first(), Some(&10_000));
    assert_eq!(world.standing(11_000).strays, 0);
}
