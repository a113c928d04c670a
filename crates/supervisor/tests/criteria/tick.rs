//! The tick: gates, marks, reasons, panics.

use serde_json::json;
use sprag_supervisor::testing::Clockwork;
use sprag_supervisor::{Declaration, Goal, Handle, Operation, Setup, Supervisor, Variables};

use crate::shared::{over, puppet, registry, theatre};

// 34, D11, D12.
#[test]
fn nothing_is_asked_while_an_action_runs_nor_before_its_effect_was_seen() {
    let mut theatre = theatre();
    theatre.stage.script("a", |script| {
        script.starts = [5_000].into();
        script.look_millis = 700;
    });
    theatre.declare(vec![puppet("a")]);
    let acts = theatre
        .world
        .run_until(5_000, |world| world.explain("a").is_ok_and(|a| a.action.in_progress()));
    assert!(acts.is_some());
    let asked = theatre.stage.read("a").asked;
    let ends = theatre
        .world
        .run_until(10_000, |world| !world.explain("a").unwrap().action.in_progress());
    assert!(ends.is_some());
    assert_eq!(theatre.stage.read("a").asked, asked, "asked while the action ran");
    assert_eq!(
        theatre.world.status("a").unwrap().waiting.unwrap(),
        "an observation of its action's effect"
    );
    theatre.world.run_for(500);
    assert_eq!(
        theatre.stage.read("a").asked,
        asked,
        "asked on what was seen before the action ended"
    );
    theatre.world.run_for(1_000);
    assert!(theatre.stage.read("a").asked > asked);
    assert_eq!(theatre.stage.read("a").acted, 1);
}

// 35, D13.
#[test]
fn a_worker_that_leaves_is_asked_whatever_its_observation_and_its_action_are() {
    let mut theatre = theatre();
    theatre.declare(vec![puppet("stale"), puppet("acts")]);
    theatre.up();
    theatre.stage.script("stale", |script| script.hangs = true);
    theatre.world.run_for(11_000);
    theatre.stage.script("acts", |script| {
        script.is_up = false;
        script.never_starts = true;
    });
    theatre.world.run_for(3_000);
    assert_eq!(
        theatre.world.status("stale").unwrap().waiting.unwrap(),
        "a new observation"
    );
    assert_eq!(
        theatre.world.status("acts").unwrap().waiting.unwrap(),
        "its action to end"
    );
    let before = ["stale", "acts"].map(|path| theatre.stage.read(path).asked);
    theatre.world.shut_down();
    theatre.world.run_for(300);
    let after = ["stale", "acts"].map(|path| theatre.stage.read(path).asked);
    assert!(after[0] > before[0] && after[1] > before[1], "{before:?} {after:?}");
}

// 36.
#[test]
fn a_worker_is_visited_once_in_a_tick_however_often_it_is_marked() {
    let mut theatre = theatre();
    theatre.declare(vec![puppet("a")]);
    theatre.up();
    theatre.world.run_for(3_000);
    let asked = theatre.stage.read("a").asked;
    for _ in 0..50 {
        theatre.world.start("a").unwrap();
    }
    assert!(theatre.world.tick().visited <= 2, "the worker and its parent");
    assert_eq!(theatre.stage.read("a").asked, asked + 1);
}

// 37.
#[test]
fn a_new_reason_for_the_same_state_is_no_transition() {
    let mut theatre = theatre();
    theatre.declare(vec![puppet("a")]);
    theatre.up();
    theatre.world.run_for(2_000);
    let before = theatre.world.status("a").unwrap();
    theatre
        .stage
        .script("a", |script| script.reason = "busy with 3 orders".to_owned());
    theatre.world.run_for(2_000);
    let after = theatre.world.status("a").unwrap();
    assert_eq!(after.reason, "busy with 3 orders");
    assert_eq!((after.transitions, after.since), (before.transitions, before.since));
}

// 39, D14.
#[test]
fn the_spec_is_derived_when_it_or_a_variable_changed_and_again_after_an_error() {
    let mut theatre = theatre();
    let mut spec = puppet("a");
    spec.spec = json!({ "port": "{{ port }}" });
    let with = |port: u16| Declaration {
        children: vec![spec.clone()],
        variables: Variables {
            shared: json!({ "port": port }).as_object().unwrap().clone(),
            ..Variables::default()
        },
        ..Declaration::default()
    };
    theatre.world.declare(with(1));
    for _ in 0..100 {
        theatre.world.step();
    }
    assert_eq!(theatre.stage.read("a").derived, 1);
    theatre.world.declare(with(1));
    theatre.world.run_for(1_000);
    assert_eq!(theatre.stage.read("a").derived, 1, "nothing changed");
    theatre.world.declare(with(2));
    theatre.world.run_for(1_000);
    assert_eq!(theatre.stage.read("a").derived, 2);
    theatre.stage.script("a", |script| script.underivable = true);
    theatre.world.declare(with(3));
    theatre.world.step();
    let failed = theatre.stage.read("a").derived;
    theatre.world.step();
    assert_eq!(
        theatre.stage.read("a").derived,
        failed + 1,
        "tried again in the next tick"
    );
    assert_eq!(theatre.world.state("a"), "running", "what was in force stays");
}

// 41.
#[test]
fn a_failing_worker_stops_neither_its_siblings_nor_its_children() {
    let mut theatre = theatre();
    theatre.declare(vec![over("bad", vec![puppet("child")]), puppet("good")]);
    theatre.up();
    theatre.stage.script("bad", |script| {
        script.panics = true;
        script.underivable = true;
    });
    let mut bad = over("bad", vec![puppet("child")]);
    bad.spec = json!({ "version": 2 });
    theatre.declare(vec![bad, puppet("good")]);
    let before = ["bad/child", "good"].map(|path| theatre.stage.read(path).asked);
    theatre.world.run_for(20_000);
    let after = ["bad/child", "good"].map(|path| theatre.stage.read(path).asked);
    assert!(
        after[0] >= before[0] + 18 && after[1] >= before[1] + 18,
        "{before:?} {after:?}"
    );
}

// 42.
#[test]
fn a_child_is_created_and_ticked_in_the_tick_in_which_it_was_declared() {
    let mut theatre = theatre();
    theatre.declare(vec![over("a", vec![puppet("b")])]);
    assert_eq!(theatre.world.tick().visited, 3, "the root, the parent and the child");
    assert_eq!(theatre.stage.read("a/b").built, 1);
    assert_eq!(theatre.stage.read("a/b").derived, 1);
}

// 43.
#[test]
fn three_panics_leave_a_worker_alone_until_the_window_has_slid() {
    let mut theatre = theatre();
    theatre.declare(vec![puppet("a")]);
    theatre.up();
    theatre.stage.script("a", |script| script.panics = true);
    theatre.until_circuit("a", "panics");
    let asked = theatre.stage.read("a").asked;
    theatre.world.run_for(60_000);
    assert_eq!(theatre.stage.read("a").asked, asked, "it is left alone");
    assert_eq!(theatre.world.metrics().panics(), 3);
    assert_eq!(
        theatre.world.status("a").unwrap().waiting.unwrap(),
        "the end of the pause after its panics"
    );
    theatre.stage.script("a", |script| script.panics = false);
    theatre.world.run_for(241_000);
    assert!(theatre.stage.read("a").asked > asked, "it resumes by itself");
    assert_eq!(theatre.world.status("a").unwrap().reason, "");
}

// 43.
#[test]
fn a_manual_start_forgets_the_panics() {
    let mut theatre = theatre();
    theatre.declare(vec![puppet("a")]);
    theatre.up();
    theatre.stage.script("a", |script| script.panics = true);
    theatre.until_circuit("a", "panics");
    theatre.stage.script("a", |script| script.panics = false);
    theatre.world.start("a").unwrap();
    theatre.world.step();
    assert_eq!(theatre.circuit("a"), "closed");
    assert_eq!(theatre.world.status("a").unwrap().waiting, None);
}

// 44.
#[test]
fn a_tree_without_workers_is_ticked_in_peace() {
    let mut theatre = theatre();
    for _ in 0..10 {
        theatre.world.step();
    }
    assert!(theatre.world.is_empty());
    assert_eq!(theatre.world.step().visited, 0);
}

// 45, 69.
#[test]
fn slow_actions_and_slow_looks_cost_no_tick_anything() {
    let mut theatre = theatre();
    theatre.stage.script("slow/child", |script| script.look_millis = 5_000);
    theatre.stage.script("slow", |script| script.starts = [5_000].into());
    theatre.declare(vec![over("slow", vec![puppet("child")]), puppet("quick")]);
    let quick = theatre
        .world
        .run_until(5_000, |world| world.state("quick") == "running")
        .unwrap();
    assert!(quick < 2_000, "{quick}");
    assert_eq!(theatre.world.state("slow"), "starting");
    theatre.up();
}

#[test]
fn an_interrupt_ends_the_action_in_progress() {
    let mut theatre = theatre();
    theatre.stage.script("a", |script| script.starts = [50_000].into());
    theatre.declare(vec![puppet("a")]);
    theatre.world.run_for(3_000);
    theatre.stage.script("a", |script| script.interrupts = true);
    let ended = theatre
        .world
        .run_until(3_000, |world| !world.explain("a").unwrap().action.in_progress());
    assert!(ended.is_some());
    assert!(theatre.world.explain("a").unwrap().action.failed());
}

/// A supervisor on real threads, and its handle.
fn running(children: Vec<sprag_supervisor::ChildSpec>) -> (Supervisor, Handle) {
    let clockwork = Clockwork::default();
    let stage = sprag_supervisor::testing::Stage::new(&clockwork);
    let clock = std::sync::Arc::new(sprag_core::clock::System::start(
        sprag_core::time::Timestamp::from_millis(0),
    ));
    let declaration = Declaration {
        children,
        ..Declaration::default()
    };
    Supervisor::new(Setup::new(registry(&stage), clock), declaration).unwrap()
}

// 38, 40: whoever asks gets one instant, and a wish is never lost to a tick.
#[tokio::test]
async fn wishes_and_questions_from_outside_meet_whole_states() {
    let (supervisor, handle) = running(vec![puppet("a")]);
    let loops = tokio::spawn(supervisor.run());
    for round in 0..10_000_u32 {
        let wish = if round % 2 == 0 {
            Operation::Stop
        } else {
            Operation::Start
        };
        if handle.operate(wish, "a", "test").await.is_err() {
            continue;
        }
        if round % 100 == 0 {
            let a = handle.explain("a").await.unwrap();
            let reasons: &[&str] = match a.status.state {
                "stopped" => &["built", "it is down", "it should not run", "stopped by hand"],
                "starting" => &["it should run", "it is not up yet", "it went down"],
                "running" => &["it is up", "", "it should run after all"],
                _ => &["it should stop", "it is still up"],
            };
            assert!(
                reasons.contains(&a.status.reason.as_str()),
                "{}: {}",
                a.status.state,
                a.status.reason
            );
        }
    }
    handle.operate(Operation::Stop, "a", "test").await.unwrap();
    handle.shut_down().await;
    handle.shut_down().await;
    assert_eq!(loops.await.unwrap(), sprag_supervisor::ShutdownOutcome::Clean);
    assert!(handle.list().await.is_err());
}

// 40.
#[test]
fn a_wish_survives_a_derivation_of_the_same_tick() {
    let mut theatre = theatre();
    theatre.declare(vec![puppet("a")]);
    theatre.up();
    for version in 0..10_000 {
        let mut spec = puppet("a");
        spec.spec = json!({ "version": version });
        theatre.declare(vec![spec]);
        match version % 2 {
            0 => theatre.world.stop("a").unwrap(),
            _ => theatre.world.start("a").unwrap(),
        }
        theatre.world.tick();
        let goal = if version % 2 == 0 { Goal::Stopped } else { Goal::Running };
        assert_eq!(theatre.world.status("a").unwrap().goal, goal);
    }
}
