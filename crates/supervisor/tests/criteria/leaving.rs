//! Shutdown, budgets, and being built anew.

use sprag_core::supervision::ShutdownFault;
use sprag_supervisor::testing::{Clockwork, Stage, World};
use sprag_supervisor::{Options, Setup, ShutdownOutcome};

use crate::shared::{Theatre, over, puppet, registry, theatre};

fn chain() -> Vec<sprag_supervisor::ChildSpec> {
    vec![over("a", vec![over("b", vec![puppet("c")])])]
}

fn limited(limit_millis: u64) -> Theatre {
    let clockwork = Clockwork::default();
    let stage = Stage::new(&clockwork);
    let options = Options {
        restart_jitter: None,
        shutdown_limit_millis: Some(limit_millis),
        ..Options::default()
    };
    let setup = Setup::new(registry(&stage), clockwork.clock()).options(options);
    let world = World::with(setup, &clockwork).unwrap();
    Theatre {
        world,
        stage,
        clockwork,
    }
}

fn ended(theatre: &mut Theatre) -> (u64, ShutdownOutcome) {
    let waited = theatre.world.run_until(300_000, |world| world.outcome().is_some());
    (waited.unwrap(), theatre.world.outcome().unwrap())
}

// 71.
#[test]
fn a_cooperative_tree_ends_in_ticks() {
    let mut theatre = theatre();
    theatre.declare(chain());
    theatre.up();
    theatre.world.shut_down();
    let (millis, outcome) = ended(&mut theatre);
    assert_eq!(outcome, ShutdownOutcome::Clean);
    assert!(millis < 3_000, "{millis}");
    assert!(theatre.world.is_empty());
}

// 72.
#[test]
fn a_level_may_use_what_was_left_below_it() {
    let mut theatre = theatre();
    theatre.declare(chain());
    theatre.up();
    theatre.stage.script("a/b", |script| script.stops = [11_000].into());
    theatre.world.shut_down();
    let (millis, outcome) = ended(&mut theatre);
    assert_eq!(outcome, ShutdownOutcome::Clean);
    assert!((11_000..=30_000).contains(&millis), "{millis}");
}

// 72, D17.
#[test]
fn a_worker_that_never_stops_is_cut_at_its_level_and_the_others_end_well() {
    let mut theatre = theatre();
    theatre.declare(chain());
    theatre.up();
    theatre.stage.script("a/b/c", |script| script.never_stops = true);
    theatre.world.shut_down();
    let (millis, outcome) = ended(&mut theatre);
    let ShutdownOutcome::Unclean { cuts } = outcome else {
        panic!("clean");
    };
    assert_eq!(cuts.len(), 1);
    assert_eq!((cuts[0].path.as_str(), cuts[0].why), ("a/b/c", ShutdownFault::Timeout));
    assert!((10_000..=13_000).contains(&millis), "{millis}");
    assert!(
        !theatre.stage.read("a").is_up && !theatre.stage.read("a/b").is_up,
        "those above it stopped"
    );
}

// 73.
#[test]
fn who_was_never_reached_is_told_apart_from_who_was_too_slow() {
    let mut theatre = limited(5_000);
    theatre.declare(chain());
    theatre.up();
    theatre.stage.script("a/b/c", |script| script.never_stops = true);
    theatre.world.shut_down();
    let (millis, outcome) = ended(&mut theatre);
    let ShutdownOutcome::Unclean { cuts } = outcome else {
        panic!("clean");
    };
    let cuts: Vec<(&str, ShutdownFault)> = cuts.iter().map(|cut| (cut.path.as_str(), cut.why)).collect();
    let wanted = [
        ("a/b/c", ShutdownFault::Timeout),
        ("a/b", ShutdownFault::BudgetExhausted),
        ("a", ShutdownFault::BudgetExhausted),
        // A level without workers of its own.
        ("", ShutdownFault::BudgetExhausted),
    ];
    assert_eq!(cuts, wanted);
    assert!((5_000..=5_200).contains(&millis), "{millis}");
}

// 74.
#[test]
fn a_second_signal_leaves_within_a_second_and_asking_again_is_harmless() {
    let mut theatre = theatre();
    theatre.declare(chain());
    theatre.up();
    for path in ["a", "a/b", "a/b/c"] {
        theatre.stage.script(path, |script| script.never_stops = true);
    }
    theatre.world.shut_down();
    theatre.world.run_for(2_000);
    theatre.world.shut_down();
    assert_eq!(theatre.world.len(), 3);
    theatre.world.force_exit();
    theatre.world.force_exit();
    let (millis, outcome) = ended(&mut theatre);
    assert!(millis <= 1_000, "{millis}");
    assert!(matches!(outcome, ShutdownOutcome::Unclean { .. }));
}

// 75.
#[test]
fn a_pending_restart_becomes_the_removal_and_nobody_is_created_while_draining() {
    let mut theatre = theatre();
    theatre.declare(vec![over("a", vec![puppet("b")])]);
    theatre.up();
    theatre.stage.script("a/b", |script| script.stops = [3_000].into());
    theatre.world.restart("a/b").unwrap();
    theatre.world.run_for(500);
    theatre
        .stage
        .script("a", |script| script.children = Some(vec![puppet("b"), puppet("new")]));
    theatre.world.shut_down();
    let (_, outcome) = ended(&mut theatre);
    assert_eq!(outcome, ShutdownOutcome::Clean);
    assert_eq!(theatre.stage.read("a/new").built, 0);
    assert_eq!(theatre.stage.read("a/b").built, 1);
}

// 57.
#[test]
fn a_shutdown_with_an_open_circuit_claims_no_recovery() {
    let mut theatre = theatre();
    theatre.service();
    theatre.breaks("service/pipeline");
    theatre.until_circuit("service/pipeline", "restarting");
    theatre.world.shut_down();
    let (millis, outcome) = ended(&mut theatre);
    assert_eq!(outcome, ShutdownOutcome::Clean);
    assert!(millis < 10_000);
    assert_eq!(theatre.world.metrics().recoveries("recovered"), 0);
    assert_eq!(theatre.world.metrics().recoveries("abandoned"), 1);
}

// 76.
#[test]
fn a_worker_that_asks_for_it_is_built_anew() {
    let mut theatre = theatre();
    theatre.declare(vec![puppet("a")]);
    theatre.up();
    let starts = theatre.world.status("a").unwrap().starts;
    theatre.stage.script("a", |script| script.wants_rebuild = true);
    let rebuilt = theatre
        .world
        .run_until(5_000, |world| world.status("a").unwrap().starts == starts + 1);
    assert!(rebuilt.is_some());
    assert_eq!(theatre.stage.read("a").built, 2);
    theatre.up();
    theatre.world.run_for(20_000);
    assert_eq!(theatre.stage.read("a").built, 2, "the wish was for once");
}

// 76.
#[test]
fn a_worker_that_asks_for_it_and_does_not_stop_is_replaced_after_thirty_seconds() {
    let mut theatre = theatre();
    theatre.declare(vec![puppet("a")]);
    theatre.up();
    theatre.stage.script("a", |script| {
        script.never_stops = true;
        script.wants_rebuild = true;
    });
    theatre.world.run_for(29_000);
    assert_eq!(theatre.stage.read("a").built, 1);
    theatre.world.run_for(3_000);
    assert_eq!(theatre.stage.read("a").built, 2);
    assert_eq!(theatre.world.metrics().forced_stops(), 1);
    theatre.world.run_for(60_000);
    assert_eq!(
        (theatre.stage.read("a").built, theatre.world.state("a")),
        (2, "running")
    );
}

// 76.
#[test]
fn rebuilding_rests_longer_each_time() {
    let mut theatre = theatre();
    theatre.declare(vec![puppet("a")]);
    theatre.up();
    let mut built = Vec::new();
    for _ in 0..300 {
        theatre.stage.script("a", |script| script.wants_rebuild = true);
        theatre.world.run_for(200);
        built.push(theatre.stage.read("a").built);
    }
    let total = built.last().copied().unwrap();
    assert!((4..=8).contains(&total), "{total} in a minute");
}

// 76.
#[test]
fn a_constructor_that_fails_is_tried_again_and_explained() {
    let mut theatre = theatre();
    theatre.stage.script("a", |script| script.unbuildable = true);
    theatre.declare(vec![puppet("a")]);
    theatre.world.run_for(5_000);
    let a = theatre.world.status("a").unwrap();
    assert_eq!(a.reason, "it could not be built: the script says no");
    assert_eq!(a.waiting.as_deref(), Some("being built"));
    theatre.stage.script("a", |script| script.unbuildable = false);
    theatre.up();
    theatre.stage.script("a", |script| script.unbuildable = true);
    theatre.world.shut_down();
    assert_eq!(ended(&mut theatre).1, ShutdownOutcome::Clean);
}
