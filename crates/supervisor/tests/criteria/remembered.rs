//! What survives the process: circuits, windows, counters, wishes, actions in doubt.

use std::sync::Arc;

use sprag_core::time::Timestamp;
use sprag_supervisor::store::{Store, StoreOptions};
use sprag_supervisor::testing::{Clockwork, Stage, World};
use sprag_supervisor::{Options, Outcome, Setup};

use crate::shared::{Theatre, over, puppet, registry, rule, theatre};

/// Another process over the same store, whose clock stands at quite another time.
fn reborn(store: &Arc<Store>, stage: Option<&Theatre>) -> Theatre {
    let clockwork = match stage {
        Some(theatre) => theatre.clockwork.clone(),
        None => Clockwork::default(),
    };
    let stage = stage.map_or_else(|| Stage::new(&clockwork), |theatre| theatre.stage.clone());
    let options = Options {
        restart_jitter: None,
        ..Options::default()
    };
    let setup = Setup::new(registry(&stage), clockwork.clock());
    let setup = setup.options(options).store(Arc::clone(store));
    let world = World::with(setup, &clockwork).unwrap();
    Theatre {
        world,
        stage,
        clockwork,
    }
}

fn memory() -> Arc<Store> {
    Arc::new(Store::in_memory(StoreOptions::default(), 1))
}

fn service() -> Vec<sprag_supervisor::ChildSpec> {
    let mut service = over("service", vec![puppet("broker"), puppet("pipeline")]);
    service.rules = vec![rule("pipeline")];
    vec![service]
}

#[test]
fn detections_of_an_earlier_process_count() {
    let store = memory();
    let mut first = reborn(&store, None);
    first.service();
    first.breaks("service/pipeline");
    let third = first
        .world
        .run_until(60_000, |world| world.status("service/pipeline").unwrap().restarts == 3);
    assert!(third.is_some());
    // The process is killed: nobody stops, nothing is written any more.
    let mut second = reborn(&store, Some(&first));
    drop(first);
    second.declare(service());
    second.world.run_for(2_000);
    assert_eq!(
        second.world.status("service/pipeline").unwrap().restarts,
        3,
        "the third one is gone on with, and is no other"
    );
    second.until_circuit("service/pipeline", "escalated");
    let restarts = second.world.status("service/pipeline").unwrap().restarts;
    assert!(restarts <= 5, "the budget is not fresh: {restarts}");
    // 51 of an earlier life: a third process knows that it was given up.
    let mut third = reborn(&store, Some(&second));
    drop(second);
    third.declare(service());
    third.world.run_for(20_000);
    assert_eq!(third.circuit("service/pipeline"), "escalated");
    assert_eq!(third.world.explain("service").unwrap().escalations.len(), 1);
}

// 52: what is old by the time the process ends is not young for the next one.
#[test]
fn old_detections_of_an_earlier_process_do_not_count() {
    let store = memory();
    let mut first = reborn(&store, None);
    first.service();
    first.breaks("service/pipeline");
    first.until_circuit("service/pipeline", "restarting");
    first.mends("service/pipeline");
    first.world.run_for(400_000);
    let mut second = reborn(&store, Some(&first));
    drop(first);
    second.declare(service());
    second.world.run_for(2_000);
    assert_eq!(second.world.explain("service").unwrap().rules[0].detections, 0);
}

#[test]
fn a_wish_and_counters_survive() {
    let store = memory();
    let mut first = reborn(&store, None);
    first.declare(vec![puppet("a")]);
    first.up();
    first.world.restart("a").unwrap();
    first.world.run_for(5_000);
    first.up();
    first.world.stop("a").unwrap();
    first.world.run_for(5_000);
    let mut second = reborn(&store, Some(&first));
    drop(first);
    second.declare(vec![puppet("a")]);
    second.world.run_for(5_000);
    let a = second.world.status("a").unwrap();
    assert_eq!((a.state, a.restarts, a.starts), ("stopped", 1, 2));
}

#[test]
fn a_restart_that_was_asked_for_is_carried_out_by_the_next_process_and_counted_once() {
    let store = memory();
    let mut first = reborn(&store, None);
    first.declare(vec![puppet("a")]);
    first.up();
    first.stage.script("a", |script| script.stops = [60_000].into());
    first.world.restart("a").unwrap();
    first.world.run_for(1_000);
    let a = first.world.status("a").unwrap();
    assert_eq!((a.state, a.restarts), ("stopping", 1));
    // The process is killed; what it was to stop goes on.
    let mut second = reborn(&store, Some(&first));
    drop(first);
    second.stage.script("a", |script| {
        script.stops = [100].into();
        script.acted = 0;
    });
    second.declare(vec![puppet("a")]);
    let done = second.world.run_until(60_000, |world| {
        world
            .status("a")
            .is_some_and(|a| a.restarts == 1 && a.state == "running")
    });
    assert!(done.is_some(), "{:#?}", second.world.explain("a"));
    assert_eq!(second.stage.read("a").acted, 2, "one stop and one start");
    // Once the new life is there the wish is over.
    let mut third = reborn(&store, Some(&second));
    drop(second);
    third.declare(vec![puppet("a")]);
    third.up();
    third.world.run_for(20_000);
    assert_eq!(third.stage.read("a").acted, 2);
    assert_eq!(third.world.status("a").unwrap().restarts, 1);
}

#[test]
fn a_restart_whose_new_life_had_begun_is_not_done_again() {
    let store = memory();
    let mut first = reborn(&store, None);
    first.declare(vec![puppet("a")]);
    first.up();
    first.stage.script("a", |script| script.starts = [60_000].into());
    first.world.restart("a").unwrap();
    let starts = first.world.run_until(20_000, |world| {
        world
            .status("a")
            .is_some_and(|a| a.restarts == 1 && a.state == "starting")
    });
    assert!(starts.is_some());
    // It comes up while nobody looks.
    first.stage.script("a", |script| {
        script.is_up = true;
        script.acted = 0;
    });
    let mut second = reborn(&store, Some(&first));
    drop(first);
    second.declare(vec![puppet("a")]);
    second.up();
    second.world.run_for(20_000);
    assert_eq!(second.stage.read("a").acted, 0);
    assert_eq!(second.world.status("a").unwrap().restarts, 1);
}

#[test]
fn a_restart_that_a_stop_calls_off_is_none() {
    let store = memory();
    let mut theatre = reborn(&store, None);
    theatre.declare(vec![puppet("a")]);
    theatre.up();
    theatre.stage.script("a", |script| script.stops = [2_000].into());
    theatre.world.restart("a").unwrap();
    theatre.world.run_for(500);
    theatre.world.stop("a").unwrap();
    theatre.world.run_for(20_000);
    let a = theatre.world.status("a").unwrap();
    assert_eq!(
        (a.state, a.restarts, a.reason.as_str()),
        ("stopped", 0, "stopped by hand")
    );
}

// D15.
#[test]
fn an_action_that_an_earlier_process_left_running_is_unknown() {
    let store = memory();
    let mut first = reborn(&store, None);
    first.stage.script("a", |script| script.starts = [60_000].into());
    first.declare(vec![puppet("a")]);
    first.world.run_for(3_000);
    assert!(first.world.explain("a").unwrap().action.in_progress());
    let mut second = reborn(&store, Some(&first));
    drop(first);
    second.declare(vec![puppet("a")]);
    second.world.tick();
    assert_eq!(second.world.explain("a").unwrap().action.outcome, Outcome::Unknown);
}

// 30, 82.
#[test]
fn who_is_gone_leaves_a_last_observation_and_then_nothing() {
    let store = memory();
    let mut theatre = reborn(&store, None);
    theatre.declare(vec![puppet("a"), puppet("b")]);
    theatre.up();
    let snapshot = store.snapshot("a").unwrap();
    assert_eq!(snapshot.observed.unwrap().state, "running");
    theatre.stage.script("a", |script| script.unseen = true);
    theatre.declare(vec![puppet("b")]);
    let gone = theatre.world.run_until(20_000, |world| world.len() == 1);
    assert!(gone.is_some(), "a failing look does not keep it");
    let snapshot = store.snapshot("a").unwrap();
    assert!(snapshot.gone_at.is_some());
    assert_eq!(snapshot.observed.unwrap().state, "stopped");
}

// 70.
#[test]
fn a_worker_that_cannot_be_written_keeps_no_other_from_being() {
    let store = memory();
    let mut theatre = reborn(&store, None);
    theatre.declare(vec![puppet("a"), puppet("b")]);
    theatre.up();
    // Somebody took `a` out of the store: it cannot be written any more.
    store.retire("a", theatre.world.now());
    theatre.world.stop("a").unwrap();
    theatre.world.stop("b").unwrap();
    theatre.world.run_for(5_000);
    let state = |worker: &str| {
        store
            .snapshot(worker)
            .ok()
            .and_then(|snapshot| snapshot.observed)
            .map(|seen| seen.state)
    };
    assert_eq!(state("b").as_deref(), Some("stopped"));
    assert_ne!(state("a").as_deref(), Some("stopped"));
    assert_eq!(theatre.world.state("a"), "stopped", "nor is it kept from stopping");
}

// 77.
#[test]
fn looks_that_show_nothing_new_are_not_written() {
    let store = memory();
    let mut theatre = reborn(&store, None);
    theatre.declare(vec![puppet("a")]);
    theatre.up();
    theatre.world.run_for(3_000);
    let before = store.sync_id();
    theatre.world.run_for(60_000);
    assert_eq!(store.sync_id(), before);
}

#[test]
fn without_a_store_nothing_survives_and_everything_works() {
    let mut theatre = theatre();
    theatre.declare(vec![puppet("a")]);
    theatre.up();
    assert!(theatre.world.now() > Timestamp::from_millis(0));
}

#[test]
fn a_shutdown_forgets_nothing_and_a_worker_that_is_not_declared_any_more_is_forgotten() {
    let store = memory();
    let mut first = reborn(&store, None);
    first.declare(vec![puppet("a"), puppet("b")]);
    first.up();
    for path in ["a", "b"] {
        first.world.restart(path).unwrap();
    }
    first.world.run_for(10_000);
    first.declare(vec![puppet("a")]);
    first.world.run_for(10_000);
    first.world.shut_down();
    first
        .world
        .run_until(10_000, |world| world.outcome().is_some())
        .unwrap();
    let mut second = reborn(&store, Some(&first));
    drop(first);
    second.declare(vec![puppet("a"), puppet("b")]);
    second.up();
    let restarts = |path: &str| second.world.status(path).unwrap().restarts;
    assert_eq!((restarts("a"), restarts("b")), (1, 0));
}
