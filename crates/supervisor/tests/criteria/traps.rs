//! The traps in which the first implementation of this design was caught.

use sprag_supervisor::ShutdownOutcome;

use crate::shared::{Theatre, over, puppet, theatre};

/// How long the shutdown takes.
fn exit(theatre: &mut Theatre) -> u64 {
    theatre.world.shut_down();
    let ended = theatre.world.run_until(120_000, |world| world.outcome().is_some());
    ended.unwrap_or_else(|| panic!("{:#?}", theatre.world.list()))
}

// 35, 57, D4, D13.
#[test]
fn a_shutdown_with_the_circuit_open_ends_within_ten_seconds() {
    let mut theatre = theatre();
    theatre.service();
    theatre.breaks("service/pipeline");
    theatre.until_circuit("service/pipeline", "resting");
    let millis = exit(&mut theatre);
    assert!(millis <= 10_000, "{millis}");
    assert_eq!(theatre.world.outcome(), Some(ShutdownOutcome::Clean));
}

// 35, D13, D14.
#[test]
fn a_shutdown_with_an_action_in_flight_ends_within_ten_seconds() {
    for listens in [true, false] {
        let mut theatre = theatre();
        theatre.stage.script("a", |script| {
            script.starts = [600_000].into();
            script.never_starts = !listens;
        });
        theatre.declare(vec![puppet("a")]);
        theatre.world.run_for(3_000);
        assert!(theatre.world.explain("a").unwrap().action.in_progress());
        let millis = exit(&mut theatre);
        assert!(millis <= 10_000, "{millis} ms, and it listens: {listens}");
        assert_eq!(theatre.world.outcome(), Some(ShutdownOutcome::Clean));
    }
}

// 35, 24.
#[test]
fn a_shutdown_with_a_hung_collector_ends_within_ten_seconds() {
    for hung_millis in [1_000, 30_000] {
        let mut theatre = theatre();
        theatre.declare(vec![puppet("a")]);
        theatre.up();
        theatre.stage.script("a", |script| script.hangs = true);
        theatre.world.run_for(hung_millis);
        let millis = exit(&mut theatre);
        assert!(millis <= 10_000, "{millis}");
        assert_eq!(theatre.world.outcome(), Some(ShutdownOutcome::Clean));
        assert!(!theatre.stage.read("a").is_up);
    }
}

#[test]
fn a_shutdown_before_anything_was_ever_seen_ends_at_once() {
    let mut theatre = theatre();
    theatre.stage.script("a", |script| script.hangs = true);
    theatre.declare(vec![puppet("a")]);
    theatre.world.step();
    let millis = exit(&mut theatre);
    assert!(millis <= 10_000, "{millis}");
}

// D17.
#[test]
fn a_worker_whose_stop_never_ends_is_cut_within_the_budget_and_a_second() {
    let mut theatre = theatre();
    theatre.declare(vec![over("a", vec![puppet("b")])]);
    theatre.up();
    theatre.stage.script("a", |script| script.never_stops = true);
    theatre.stage.script("a/b", |script| script.never_stops = true);
    let millis = exit(&mut theatre);
    assert!((20_000..=21_000).contains(&millis), "{millis}");
}

#[test]
fn a_parent_that_recovers_while_its_child_stops_gets_it_back() {
    for pause in [0, 100, 300, 700, 1_500, 3_000] {
        let mut theatre = theatre();
        let mut child = puppet("child");
        for state in ["starting", "stopping", "stopped"] {
            child.states.insert(state.to_owned(), sprag_supervisor::Goal::Stopped);
        }
        theatre.stage.script("p/child", |script| script.stops = [1_000].into());
        theatre.declare(vec![over("p", vec![child])]);
        theatre.up();
        // The parent falls back to starting, and its child must stop; then the parent recovers.
        theatre.stage.script("p", |script| {
            script.is_up = false;
            script.starts = [pause].into();
        });
        let fell = theatre.world.run_until(5_000, |world| world.state("p") == "starting");
        assert!(fell.is_some());
        theatre.world.run_for(10_000);
        let states = (theatre.world.state("p"), theatre.world.state("p/child"));
        assert_eq!(states, ("running", "running"), "after {pause} ms");
    }
}

// 9, 10, D12.
#[test]
fn a_stuck_action_is_replaced_by_generation() {
    let mut theatre = theatre();
    theatre.declare(vec![puppet("a")]);
    theatre.up();
    theatre.stage.script("a", |script| {
        script.is_up = false;
        script.never_starts = true;
    });
    theatre.world.run_for(5_000);
    let stuck = theatre.world.explain("a").unwrap().action;
    assert!(stuck.in_progress());
    theatre.stage.script("a", |script| script.never_starts = false);
    // The action's timeout is a minute: at three times that it is given up, and another takes its place.
    theatre.world.run_for(200_000);
    let action = theatre.world.explain("a").unwrap().action;
    assert!(action.generation > stuck.generation);
    assert_eq!(theatre.world.state("a"), "running");
    assert_eq!(theatre.world.metrics().leaked_actions(), 1);
}

// 7, 43.
#[test]
fn a_panic_storm_harms_nobody_else_and_does_not_stop_a_shutdown() {
    let mut theatre = theatre();
    let names: Vec<String> = (0..50).map(|number| format!("w{number}")).collect();
    theatre.declare(names.iter().map(|name| puppet(name)).collect());
    theatre.up();
    for name in &names[1..] {
        theatre.stage.script(name, |script| script.panics = true);
    }
    let before = theatre.stage.read("w0").asked;
    theatre.world.run_for(30_000);
    assert!(theatre.stage.read("w0").asked >= before + 25);
    assert_eq!(theatre.world.metrics().panics(), 3 * 49);
    let millis = exit(&mut theatre);
    assert!(millis <= 11_000, "{millis}");
    assert!(!theatre.stage.read("w0").is_up);
}
