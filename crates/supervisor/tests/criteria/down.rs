//! Down is what was seen to be down: a state alone says neither that something is up nor that nothing is.

use sprag_core::supervision::ShutdownFault;
use sprag_supervisor::ShutdownOutcome;

use crate::shared::{Theatre, depending, over, puppet, rule, theatre};

/// A service that failed because its child was given up, and is still up.
fn failed_and_up() -> Theatre {
    let mut theatre = theatre();
    theatre.service();
    theatre.breaks("service/pipeline");
    theatre.until_circuit("service/pipeline", "escalated");
    theatre.world.run_for(500);
    assert_eq!(theatre.world.state("service"), "failed");
    assert!(theatre.stage.read("service").is_up);
    theatre
}

/// A worker that did not stop in time and was replaced while it was up.
fn replaced_and_up(theatre: &mut Theatre) {
    theatre.declare(vec![puppet("a")]);
    theatre.up();
    theatre.stage.script("a", |script| {
        script.never_stops = true;
        script.wants_rebuild = true;
    });
    let forced = theatre
        .world
        .run_until(60_000, |world| world.metrics().forced_stops() == 1);
    assert!(forced.is_some());
    assert!(theatre.stage.read("a").is_up);
    theatre.stage.script("a", |script| script.never_stops = false);
}

fn exit(theatre: &mut Theatre) -> (u64, ShutdownOutcome) {
    theatre.world.shut_down();
    let waited = theatre.world.run_until(60_000, |world| world.outcome().is_some());
    (waited.unwrap(), theatre.world.outcome().unwrap())
}

// 76.
#[test]
fn a_worker_that_failed_and_is_still_up_is_brought_down_before_it_is_built_anew() {
    let mut theatre = failed_and_up();
    theatre.stage.script("service", |script| {
        script.stops = [2_000].into();
        script.wants_rebuild = true;
    });
    let stage = theatre.stage.clone();
    let rebuilt = theatre.world.run_until(20_000, |_| stage.read("service").built == 2);
    assert!(rebuilt.is_some_and(|millis| millis >= 2_000), "{rebuilt:?}");
    assert!(!theatre.stage.read("service").is_up);
    assert_eq!(theatre.world.metrics().forced_stops(), 0);
    assert_eq!(exit(&mut theatre).1, ShutdownOutcome::Clean);
}

// 54.
#[test]
fn a_failed_worker_that_cannot_be_asked_is_forced_as_any_other() {
    let mut theatre = failed_and_up();
    theatre.stage.script("service", |script| script.hangs = true);
    theatre.world.run_for(15_000);
    theatre.world.restart("service").unwrap();
    theatre.world.run_for(9_500);
    assert_eq!(theatre.stage.read("service").built, 1);
    theatre.world.run_for(1_000);
    assert_eq!(theatre.stage.read("service").built, 2);
    assert_eq!(theatre.world.metrics().forced_stops(), 1);
}

// 71.
#[test]
fn a_fresh_worker_that_leaves_stops_what_the_one_before_it_left_up() {
    let mut theatre = theatre();
    replaced_and_up(&mut theatre);
    assert_eq!(theatre.stage.read("a").built, 2);
    let (millis, outcome) = exit(&mut theatre);
    assert_eq!(outcome, ShutdownOutcome::Clean);
    assert!(!theatre.stage.read("a").is_up);
    assert!(millis < 3_000, "{millis}");
}

// 71.
#[test]
fn what_nobody_can_be_asked_to_stop_is_no_clean_end() {
    let mut theatre = theatre();
    theatre.stage.script("a", |script| script.unbuildable = false);
    theatre.declare(vec![puppet("a")]);
    theatre.up();
    theatre.stage.script("a", |script| {
        script.unbuildable = true;
        script.never_stops = true;
        script.wants_rebuild = true;
    });
    theatre.world.run_for(31_000);
    assert_eq!(
        theatre.world.status("a").unwrap().waiting.as_deref(),
        Some("being built")
    );
    let ShutdownOutcome::Unclean { cuts } = exit(&mut theatre).1 else {
        panic!("clean, and it is up");
    };
    assert_eq!(
        (cuts[0].path.as_str(), cuts[0].why, cuts.len()),
        ("a", ShutdownFault::Unasked, 1)
    );
}

// 71, 35.
#[test]
fn a_worker_that_was_never_seen_is_stopped_in_doubt() {
    let mut theatre = theatre();
    // An earlier process left it up, and looks at it hang from the first.
    theatre.stage.script("a", |script| {
        script.is_up = true;
        script.hangs = true;
    });
    theatre.declare(vec![puppet("a")]);
    theatre.world.run_for(3_000);
    let (millis, outcome) = exit(&mut theatre);
    assert_eq!(outcome, ShutdownOutcome::Clean);
    assert!(!theatre.stage.read("a").is_up);
    assert!(millis < 10_000, "{millis}");
}

// 71.
#[test]
fn a_shutdown_in_the_first_moments_waits_for_the_first_look() {
    for (is_up, acted) in [(true, 1), (false, 0)] {
        let mut theatre = theatre();
        theatre.stage.script("a", |script| {
            script.is_up = is_up;
            script.look_millis = 300;
        });
        theatre.declare(vec![puppet("a")]);
        theatre.world.step();
        let (millis, outcome) = exit(&mut theatre);
        assert_eq!(outcome, ShutdownOutcome::Clean);
        let script = theatre.stage.read("a");
        assert!(!script.is_up);
        assert_eq!(script.acted, acted, "what is seen to be down is not stopped in doubt");
        assert!((300..3_000).contains(&millis), "{millis}");
    }
}

// 76.
#[test]
fn a_constructor_that_fails_is_not_tried_more_often_because_it_was_asked_for() {
    let mut theatre = theatre();
    theatre.declare(vec![puppet("a")]);
    theatre.up();
    theatre.world.run_for(70_000);
    theatre.stage.script("a", |script| {
        script.wants_rebuild = true;
        script.unbuildable = true;
    });
    theatre.world.run_for(10_000);
    let transitions = theatre.world.status("a").unwrap().transitions;
    theatre.world.run_for(20_000);
    assert_eq!(theatre.world.status("a").unwrap().transitions, transitions);
    theatre.stage.script("a", |script| script.unbuildable = false);
    theatre.up();
}

#[test]
fn a_dependent_that_failed_and_is_still_up_stops_before_what_it_depends_on() {
    let mut theatre = theatre();
    theatre.stage.shows("p/b/x", "broken", false);
    let mut dependent = depending(over("b", vec![puppet("x")]), "a");
    dependent.rules = vec![rule("x")];
    theatre.declare(vec![over("p", vec![puppet("a"), dependent])]);
    theatre.up();
    theatre.breaks("p/b/x");
    theatre.until_circuit("p/b/x", "escalated");
    theatre.world.run_for(500);
    assert_eq!(theatre.world.state("p/b"), "failed");
    theatre.stage.script("p/b", |script| script.stops = [3_000].into());
    // Asked in this order, `a` is looked at while `b` still shows `failed`.
    theatre.world.stop("p/a").unwrap();
    theatre.world.stop("p/b").unwrap();
    theatre.world.run_for(1_000);
    assert_eq!(
        theatre.world.status("p/a").unwrap().waiting.as_deref(),
        Some("`b` to stop first")
    );
    let stage = theatre.stage.clone();
    let down = theatre.world.run_until(20_000, |_| {
        let (a, b) = (stage.read("p/a").is_up, stage.read("p/b").is_up);
        assert!(a || !b, "`a` went first");
        !a && !b
    });
    assert!(down.is_some(), "{:#?}", theatre.world.list());
}

// 54.
#[test]
fn a_restart_waits_for_a_longer_stop_grace_and_a_second() {
    let mut theatre = theatre();
    let mut spec = puppet("a");
    spec.stop_grace_millis = Some(20_000);
    theatre.declare(vec![spec]);
    theatre.up();
    theatre.stage.script("a", |script| script.stops = [15_000].into());
    theatre.world.restart("a").unwrap();
    theatre.world.run_for(18_000);
    assert_eq!(
        (theatre.stage.read("a").built, theatre.world.state("a")),
        (1, "running")
    );
    theatre.stage.script("a", |script| script.never_stops = true);
    theatre.world.restart("a").unwrap();
    theatre.world.run_for(20_500);
    assert_eq!(theatre.world.metrics().forced_stops(), 0);
    theatre.world.run_for(1_000);
    assert_eq!(theatre.world.metrics().forced_stops(), 1);
}

// 76.
#[test]
fn lives_that_lasted_are_not_held_against_the_next_rebuild() {
    let mut theatre = theatre();
    theatre.declare(vec![puppet("a")]);
    theatre.up();
    for _ in 0..7 {
        theatre.stage.script("a", |script| script.wants_rebuild = true);
        theatre.world.run_for(65_000);
    }
    assert_eq!(theatre.stage.read("a").built, 8);
    let stage = theatre.stage.clone();
    for built in [9, 10] {
        theatre.stage.script("a", |script| script.wants_rebuild = true);
        let rebuilt = theatre.world.run_until(10_000, |_| stage.read("a").built == built);
        assert!(
            rebuilt.is_some(),
            "rebuild {built} rests as if it were one of many in a row"
        );
    }
}
