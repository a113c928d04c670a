//! Circuits: grace, the restart, who is held and who is not, escalation and its end.

use serde_json::json;
use sprag_core::supervision::RestartBudget;
use sprag_supervisor::testing::World;
use sprag_supervisor::{Check, Declaration, RestartPolicy, Rule};

use crate::shared::{depending, over, puppet, rule, theatre};

// 46.
#[test]
fn a_check_that_fails_for_four_seconds_restarts_nobody() {
    let mut theatre = theatre();
    theatre.service();
    theatre.breaks("service/pipeline");
    theatre.world.run_for(4_000);
    assert_eq!(theatre.circuit("service/pipeline"), "grace");
    theatre.mends("service/pipeline");
    theatre.world.run_for(10_000);
    assert_eq!(theatre.circuit("service/pipeline"), "closed");
    assert_eq!(theatre.world.status("service/pipeline").unwrap().restarts, 0);
    assert_eq!(theatre.world.metrics().opened(), 0);
}

// 47, D5.
#[test]
fn a_check_that_fails_longer_opens_the_circuit_once_and_the_child_stops_and_starts() {
    let mut theatre = theatre();
    theatre.service();
    theatre
        .stage
        .script("service/pipeline", |script| script.stops = [500].into());
    theatre.breaks("service/pipeline");
    let grace = theatre.until_circuit("service/pipeline", "restarting");
    assert!((5_000..=7_000).contains(&grace), "{grace}");
    assert_eq!(
        (theatre.world.metrics().opened(), theatre.world.metrics().open()),
        (1, 1)
    );
    theatre.mends("service/pipeline");
    for state in ["stopping", "stopped", "starting", "running"] {
        let reached = theatre
            .world
            .run_until(3_000, |world| world.state("service/pipeline") == state);
        assert!(reached.is_some(), "never {state}");
    }
    theatre.until_circuit("service/pipeline", "closed");
    assert_eq!(
        (theatre.world.metrics().opened(), theatre.world.metrics().open()),
        (1, 0)
    );
    // D5: the child is ticked while it stops, so nothing has to be forced.
    assert_eq!(theatre.world.metrics().forced_stops(), 0);
}

// 48, 49, D10, 32.
#[test]
fn an_open_circuit_holds_the_parent_alone() {
    let mut theatre = theatre();
    theatre.service();
    theatre
        .stage
        .script("service/pipeline", |script| script.starts = [20_000].into());
    theatre.breaks("service/pipeline");
    theatre.until_circuit("service/pipeline", "restarting");
    theatre.world.run_for(1_000);
    let before = ["service", "service/pipeline", "service/broker"].map(|path| theatre.stage.read(path));
    theatre.world.run_for(10_000);
    let after = ["service", "service/pipeline", "service/broker"].map(|path| theatre.stage.read(path));
    assert_eq!(after[0].asked, before[0].asked, "the parent's `next` is held");
    assert!(after[2].asked >= before[2].asked + 8, "the sibling goes on");
    for (before, after) in before.iter().zip(&after) {
        assert!(after.looked >= before.looked + 8, "everybody is looked at");
    }
    assert_eq!(
        theatre.world.status("service").unwrap().waiting.unwrap(),
        "a child to recover"
    );
    // The child starts: it was ticked all the while.
    let up = theatre
        .world
        .run_until(12_000, |world| world.state("service/pipeline") == "running");
    assert!(up.is_some());
}

// 51, D2.
#[test]
fn the_fifth_detection_releases_the_parent_which_reacts() {
    let mut theatre = theatre();
    theatre.service();
    theatre.breaks("service/pipeline");
    theatre.until_circuit("service/pipeline", "escalated");
    theatre.world.run_for(500);
    assert_eq!(theatre.world.state("service"), "failed");
    let service = theatre.world.explain("service").unwrap();
    assert_eq!(service.escalations.len(), 1);
    assert_eq!(service.escalations[0].child, "pipeline");
    assert!(
        service.escalations[0]
            .cause
            .starts_with("child infrastructure repeatedly failing: ")
    );
    assert_eq!(service.status.reason, service.escalations[0].cause);
    assert_eq!(theatre.world.status("service/pipeline").unwrap().restarts, 4);
    theatre.world.run_for(600_000);
    assert_eq!(
        theatre.world.status("service/pipeline").unwrap().restarts,
        4,
        "no more restarts"
    );
    assert_eq!(theatre.world.metrics().recoveries("escalated"), 1);
}

#[test]
fn a_budget_of_the_rule_wins_over_that_of_the_child_which_wins_over_the_usual_one() {
    let budget = |failures, base_millis| RestartBudget {
        failures,
        base_millis,
        ..RestartBudget::default()
    };
    let escalated = |of_rule: Option<RestartBudget>, of_child: Option<RestartBudget>| {
        let mut theatre = theatre();
        theatre.stage.shows("service/pipeline", "broken", false);
        let mut service = over("service", vec![puppet("pipeline")]);
        service.children[0].budget = of_child;
        let rule = rule("pipeline");
        service.rules = vec![match of_rule {
            Some(budget) => rule.budget(budget),
            None => rule,
        }];
        theatre.declare(vec![service]);
        theatre.up();
        theatre.breaks("service/pipeline");
        theatre.until_circuit("service/pipeline", "resting");
        let rested = |world: &World| world.status("service/pipeline").unwrap().circuit != "resting";
        let rest = theatre.world.run_until(60_000, rested).unwrap();
        theatre.until_circuit("service/pipeline", "escalated");
        (theatre.world.status("service/pipeline").unwrap().restarts, rest)
    };
    let near = |(restarts, rest): (u64, u64), wanted: (u64, u64)| {
        assert_eq!(restarts, wanted.0);
        assert!((wanted.1..=wanted.1 + 1_200).contains(&rest), "{rest}");
    };
    near(escalated(None, None), (4, 1_000));
    near(escalated(None, Some(budget(3, 4_000))), (2, 4_000));
    near(escalated(Some(budget(2, 7_000)), Some(budget(3, 4_000))), (1, 7_000));
}

#[test]
fn two_good_checks_of_a_half_open_circuit_rest_on_two_observations_of_the_suspect() {
    let mut theatre = theatre();
    theatre.stage.shows("service/pipeline", "broken", false);
    theatre.stage.shows("service/broker", "n", 1);
    let mut service = over("service", vec![puppet("broker"), puppet("pipeline")]);
    let when = json!({ "and": [
        { "==": [ { "var": "pipeline.observed.broken" }, true ] },
        { ">": [ { "var": "broker.observed.n" }, 0 ] },
    ] });
    service.rules = vec![Rule::when("pair", &when, "pipeline").unwrap()];
    theatre.declare(vec![service]);
    theatre.up();
    theatre.breaks("service/pipeline");
    theatre.until_circuit("service/pipeline", "resting");
    theatre.mends("service/pipeline");
    // From here on the suspect is seen every four seconds, and its sibling every second.
    theatre
        .stage
        .script("service/pipeline", |script| script.look_millis = 4_000);
    theatre.until_circuit("service/pipeline", "half-open");
    let trial = theatre.until_circuit("service/pipeline", "closed");
    assert!(trial >= 2_500, "closed after {trial} ms");
}

// 53, 86, D16.
#[test]
fn an_invalid_configuration_escalates_at_once_and_what_runs_goes_on() {
    let mut theatre = theatre();
    theatre.service();
    let mut service = over("service", vec![puppet("broker"), puppet("pipeline")]);
    service.children[1].spec = json!({ "invalid": true });
    service.rules = vec![rule("pipeline")];
    theatre.declare(vec![service]);
    theatre.breaks("service/pipeline");
    theatre.until_circuit("service/pipeline", "escalated");
    let explain = theatre.world.explain("service").unwrap();
    assert!(
        explain.escalations[0]
            .cause
            .starts_with("invalid child configuration: ")
    );
    assert_eq!(explain.rules[0].detections, 0);
    let pipeline = theatre.world.status("service/pipeline").unwrap();
    assert_eq!((pipeline.state, pipeline.restarts), ("running", 0));
    let script = theatre.stage.read("service/pipeline");
    assert_eq!((script.built, script.acted), (1, 1), "the last known good goes on");
}

// 86.
#[test]
fn a_restart_policy_of_never_escalates_at_once() {
    let mut theatre = theatre();
    theatre.stage.shows("service/pipeline", "broken", false);
    let mut service = over("service", vec![puppet("pipeline")]);
    service.children[0].restart = RestartPolicy::Never;
    service.rules = vec![rule("pipeline")];
    theatre.declare(vec![service]);
    theatre.up();
    theatre.breaks("service/pipeline");
    theatre.until_circuit("service/pipeline", "escalated");
    assert_eq!(theatre.world.status("service/pipeline").unwrap().restarts, 0);
    assert!(
        theatre.world.explain("service").unwrap().escalations[0]
            .cause
            .contains("`never`")
    );
}

// 54, D17.
#[test]
fn a_child_that_does_not_stop_is_fenced_off_after_ten_seconds_and_a_new_one_starts() {
    let mut theatre = theatre();
    theatre.service();
    theatre
        .stage
        .script("service/pipeline", |script| script.never_stops = true);
    theatre.breaks("service/pipeline");
    theatre.until_circuit("service/pipeline", "restarting");
    theatre.mends("service/pipeline");
    theatre.world.run_for(9_500);
    assert_eq!(theatre.stage.read("service/pipeline").built, 1);
    theatre.world.run_for(1_000);
    assert_eq!(
        theatre.stage.read("service/pipeline").built,
        2,
        "another worker took its place"
    );
    assert_eq!(theatre.world.metrics().forced_stops(), 1);
    theatre.until_circuit("service/pipeline", "closed");
    assert_eq!(theatre.world.state("service/pipeline"), "running");
}

// 58.
#[test]
fn the_parent_sees_ordinary_states_only() {
    let mut theatre = theatre();
    theatre.service();
    theatre.breaks("service/pipeline");
    theatre.until_circuit("service/pipeline", "restarting");
    theatre.mends("service/pipeline");
    theatre.until_circuit("service/pipeline", "closed");
    theatre.world.run_for(3_000);
    let saw = theatre.stage.read("service").saw;
    assert!(!saw.is_empty());
    for (child, state) in saw {
        let ordinary = ["stopped", "starting", "running", "stopping"];
        assert!(ordinary.contains(&state), "`{child}` showed `{state}`");
    }
    // What the parent can ask about its children while one is restarted holds no more than that.
    theatre.breaks("service/pipeline");
    theatre.until_circuit("service/pipeline", "restarting");
    for _ in 0..30 {
        theatre.world.step();
        let state = theatre.world.state("service/pipeline");
        assert!(
            ["running", "stopping", "stopped", "starting"].contains(&state),
            "{state}"
        );
    }
}

// 84, D9.
#[test]
fn dependents_rest_while_their_dependency_restarts_and_others_go_on() {
    let mut theatre = theatre();
    for child in ["a", "b", "c", "d"] {
        theatre.stage.shows(&format!("service/{child}"), "broken", false);
    }
    let chain = vec![
        puppet("a"),
        depending(puppet("b"), "a"),
        depending(puppet("c"), "b"),
        puppet("d"),
    ];
    let mut service = over("service", chain);
    service.rules = ["a", "b", "c", "d"].map(rule).into();
    theatre.declare(vec![service]);
    theatre.up();
    theatre
        .stage
        .script("service/a", |script| script.starts = [15_000].into());
    // The chain breaks together; `a` is judged first, being the first of the rules.
    for child in ["a", "b", "c"] {
        theatre.breaks(&format!("service/{child}"));
    }
    theatre.until_circuit("service/a", "restarting");
    let asked = theatre.stage.read("service/d").asked;
    theatre.world.run_for(10_000);
    let restarts = |path: &str| theatre.world.status(path).unwrap().restarts;
    assert_eq!(
        (restarts("service/a"), restarts("service/b"), restarts("service/c")),
        (1, 0, 0)
    );
    assert!(theatre.stage.read("service/d").asked > asked + 8);
    let rules = theatre.world.explain("service").unwrap().rules;
    assert_eq!(rules[0].affects, ["a", "b", "c"]);
    assert_eq!(
        rules[1].reason.as_deref(),
        Some("rule `a-whole` handles the same children")
    );
    assert_eq!(rules[3].reason, None, "a rule outside the set is judged");
}

// 85.
#[test]
fn a_manual_restart_ends_an_escalation_and_restarts_work_again() {
    let mut theatre = theatre();
    theatre.service();
    theatre.breaks("service/pipeline");
    theatre.until_circuit("service/pipeline", "escalated");
    theatre.mends("service/pipeline");
    theatre.world.restart("service/pipeline").unwrap();
    theatre.world.run_for(10_000);
    let explain = theatre.world.explain("service").unwrap();
    assert!(explain.escalations.is_empty());
    assert_eq!(
        (explain.rules[0].detections, explain.rules[0].circuit.as_str()),
        (0, "closed")
    );
    // The parent, which failed, is started by hand as well; then rules work as on the first day.
    theatre.world.start("service").unwrap();
    theatre.up();
    theatre.breaks("service/pipeline");
    theatre.until_circuit("service/pipeline", "restarting");
}

#[test]
fn starting_the_parent_ends_the_escalation_and_leaves_what_is_well_alone() {
    for restarts in [false, true] {
        let mut theatre = theatre();
        theatre.service();
        theatre.breaks("service/pipeline");
        theatre.until_circuit("service/pipeline", "escalated");
        theatre.world.run_for(500);
        assert_eq!(theatre.world.state("service"), "failed");
        theatre.mends("service/pipeline");
        if restarts {
            theatre.world.restart("service").unwrap();
        } else {
            theatre.world.start("service").unwrap();
        }
        theatre.up();
        theatre.world.run_for(10_000);
        assert_eq!(theatre.world.state("service"), "running");
        assert!(theatre.world.explain("service").unwrap().escalations.is_empty());
        assert_eq!(theatre.circuit("service/pipeline"), "closed");
        assert_eq!(theatre.world.status("service/broker").unwrap().restarts, 0);
        let pipeline = theatre.world.status("service/pipeline").unwrap().restarts;
        assert_eq!(
            pipeline,
            4 + u64::from(restarts),
            "only who asks for a restart gets one"
        );
    }
}

// 85.
#[test]
fn a_changed_spec_ends_an_escalation() {
    let mut theatre = theatre();
    theatre.service();
    theatre.breaks("service/pipeline");
    theatre.until_circuit("service/pipeline", "escalated");
    theatre.mends("service/pipeline");
    let mut service = over("service", vec![puppet("broker"), puppet("pipeline")]);
    service.children[1].spec = json!({ "version": 2 });
    service.rules = vec![rule("pipeline")];
    theatre.declare(vec![service]);
    theatre.world.run_for(3_000);
    assert!(theatre.world.explain("service").unwrap().escalations.is_empty());
}

#[test]
fn a_rule_at_the_root_that_gives_up_raises_an_alert() {
    let mut theatre = theatre();
    theatre.stage.shows("pipeline", "broken", false);
    theatre.world.declare(Declaration {
        children: vec![puppet("pipeline")],
        rules: vec![rule("pipeline")],
        ..Declaration::default()
    });
    theatre.up();
    theatre.breaks("pipeline");
    theatre.until_circuit("pipeline", "escalated");
    let alerts = theatre.world.alerts();
    assert_eq!(alerts.len(), 1);
    assert_eq!(alerts[0].child, "pipeline");
}

// 56: the ancestors' circuits close because they never opened; that must not mean that nobody looks.
#[test]
fn a_panic_breaker_closes_by_itself_and_holds_nobody_above() {
    let mut theatre = theatre();
    theatre.declare(vec![over("top", vec![over("middle", vec![puppet("leaf")])])]);
    theatre.up();
    let (leaf, above) = ("top/middle/leaf", ["top", "top/middle"]);
    theatre.stage.script(leaf, |script| script.panics = true);
    theatre.until_circuit(leaf, "panics");
    let asked = |theatre: &crate::shared::Theatre| above.map(|path| theatre.stage.read(path).asked);
    let (before, left_alone) = (asked(&theatre), theatre.stage.read(leaf).asked);
    theatre.world.run_for(60_000);
    let after = asked(&theatre);
    assert_eq!(theatre.stage.read(leaf).asked, left_alone, "it is left alone");
    for (before, after) in before.iter().zip(after) {
        assert!(after >= before + 55, "those above it go on: {before} {after}");
    }
    for path in above {
        assert_eq!(theatre.circuit(path), "closed");
        assert!(theatre.world.explain(path).unwrap().holds.is_empty(), "{path}");
    }
    theatre.stage.script(leaf, |script| script.panics = false);
    let closed = theatre.until_circuit(leaf, "closed") + 60_000;
    assert!((290_000..=301_000).contains(&closed), "{closed}");
    theatre.world.run_for(2_000);
    assert!(
        theatre.stage.read(leaf).asked > left_alone,
        "it is asked again, unaided"
    );
    for status in theatre.world.list() {
        assert_eq!((status.circuit, status.waiting), ("closed", None), "{}", status.path);
        assert_eq!(status.state, "running", "{}", status.path);
    }
}

#[test]
fn a_rule_in_rust_is_judged_like_one_of_data() {
    let mut theatre = theatre();
    theatre.stage.shows("a", "count", 1);
    let judge = Rule::check("counted", ["a"], "a", |view| match view.observed("a", "count") {
        Some(count) if count == 0 => Check::Bad("nothing is counted".to_owned()),
        Some(_) => Check::Good,
        None => Check::Undecided("`count` is missing".to_owned()),
    });
    theatre.world.declare(Declaration {
        children: vec![puppet("a")],
        rules: vec![judge],
        ..Declaration::default()
    });
    theatre.up();
    theatre.stage.shows("a", "count", 0);
    theatre.until_circuit("a", "restarting");
}
