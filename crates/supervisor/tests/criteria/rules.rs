//! When rules are judged, and when not.

use sprag_supervisor::Declaration;

use crate::shared::{over, puppet, rule, theatre};

fn rooted(children: &[&str]) -> Declaration {
    Declaration {
        children: children.iter().map(|name| puppet(name)).collect(),
        rules: vec![rule("a")],
        ..Declaration::default()
    }
}

// 83.
#[test]
fn a_child_that_has_not_started_yet_gives_a_rule_nothing_to_count() {
    let mut theatre = theatre();
    theatre.stage.shows("a", "broken", true);
    theatre.stage.script("a", |script| script.starts = [20_000].into());
    theatre.world.declare(rooted(&["a"]));
    theatre.world.run_for(19_000);
    assert_eq!(theatre.circuit("a"), "closed");
    let up = theatre.world.run_until(5_000, |world| world.state("a") == "running");
    assert!(up.is_some());
    let grace = theatre.until_circuit("a", "restarting");
    assert!(
        (4_900..=7_000).contains(&grace),
        "grace starts when all are ready: {grace}"
    );
}

// 83.
#[test]
fn a_parent_that_starts_gives_a_rule_nothing_to_count() {
    let mut theatre = theatre();
    theatre.stage.shows("service/a", "broken", true);
    theatre
        .stage
        .script("service", |script| script.starts = [20_000].into());
    let mut service = over("service", vec![puppet("a")]);
    service.rules = vec![rule("a")];
    theatre.declare(vec![service]);
    theatre.world.run_for(18_000);
    assert_eq!(theatre.world.state("service/a"), "running");
    let rules = theatre.world.explain("service").unwrap().rules;
    assert_eq!(
        (rules[0].circuit.as_str(), rules[0].reason.as_deref()),
        ("closed", Some("its owner is starting"))
    );
}

// 83.
#[test]
fn a_stale_observation_gives_a_rule_nothing_to_count() {
    let mut theatre = theatre();
    theatre.stage.shows("a", "broken", false);
    theatre.world.declare(rooted(&["a"]));
    theatre.up();
    theatre.breaks("a");
    theatre.world.run_for(2_000);
    theatre.stage.script("a", |script| script.hangs = true);
    // The last look showed it broken; while it is fresh the grace runs on, and it ends in a restart or not at all.
    theatre.world.run_for(60_000);
    assert!(theatre.world.status("a").unwrap().restarts <= 1);
    theatre.stage.script("a", |script| script.hangs = false);
    let fresh = theatre
        .world
        .run_until(60_000, |world| world.status("a").unwrap().waiting.is_none());
    assert!(fresh.is_some());
}

#[test]
fn a_missing_value_decides_nothing_and_is_explained() {
    let mut theatre = theatre();
    theatre.world.declare(Declaration {
        children: vec![over("service", vec![puppet("a")])],
        ..Declaration::default()
    });
    let mut service = over("service", vec![puppet("a")]);
    service.rules = vec![rule("a")];
    theatre.declare(vec![service]);
    theatre.up();
    theatre.world.run_for(20_000);
    let rules = theatre.world.explain("service").unwrap().rules;
    assert_eq!(rules[0].last_check.as_deref(), Some("undecided"));
    assert_eq!(rules[0].reason.as_deref(), Some("`a.observed.broken` was not observed"));
    assert_eq!(rules[0].circuit, "closed");
}

#[test]
fn a_rule_over_a_child_that_is_not_declared_decides_nothing() {
    let mut theatre = theatre();
    theatre.world.declare(rooted(&["b"]));
    theatre.up();
    theatre.world.run_for(10_000);
    assert_eq!(theatre.world.counts().healthy, 1);
}

#[test]
fn a_child_that_is_stopped_by_hand_gives_an_open_circuit_up() {
    let mut theatre = theatre();
    theatre.service();
    theatre
        .stage
        .script("service/pipeline", |script| script.starts = [60_000].into());
    theatre.breaks("service/pipeline");
    theatre.until_circuit("service/pipeline", "restarting");
    theatre.world.stop("service/pipeline").unwrap();
    theatre.until_circuit("service/pipeline", "closed");
    assert_eq!(theatre.world.metrics().recoveries("abandoned"), 1);
    assert_eq!(theatre.world.metrics().recoveries("recovered"), 0);
    theatre.world.run_for(1_000);
    assert_eq!(
        theatre.world.status("service").unwrap().waiting,
        None,
        "the parent goes on"
    );
}
