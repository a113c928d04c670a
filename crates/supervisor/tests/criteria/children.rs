//! Children: declared, omitted, disabled, replaced, depending on each other.

use std::collections::BTreeMap;

use serde_json::json;
use sprag_supervisor::{ChildSpec, Declaration, Goal, Need, Variables};

use crate::shared::{depending, over, puppet, theatre};

// 59.
#[test]
fn an_omitted_child_is_told_ticked_on_and_reaped() {
    let mut theatre = theatre();
    theatre.declare(vec![over("a", vec![puppet("b")]), puppet("c")]);
    theatre.up();
    theatre.stage.script("a/b", |script| script.stops = [1_000].into());
    theatre.declare(vec![puppet("c")]);
    theatre.world.step();
    theatre.world.step();
    assert_eq!(theatre.world.status("a/b").unwrap().goal, Goal::Removed);
    let gone = theatre.world.run_until(5_000, |world| world.len() == 1).unwrap();
    assert!(gone >= 900, "it was ticked until it had stopped: {gone}");
    assert!(!theatre.stage.read("a/b").is_up, "it stopped what it stands for");
}

// 60.
#[test]
fn no_opinion_falls_back_and_an_empty_list_means_none() {
    let mut theatre = theatre();
    theatre.declare(vec![over("a", vec![puppet("b")])]);
    theatre.up();
    assert_eq!(theatre.world.len(), 2);
    theatre
        .stage
        .script("a", |script| script.children = Some(vec![puppet("x"), puppet("y")]));
    theatre.world.run_for(10_000);
    let paths = |theatre: &crate::shared::Theatre| -> Vec<String> {
        theatre
            .world
            .list()
            .iter()
            .map(|status| status.path.to_string())
            .collect()
    };
    assert_eq!(paths(&theatre), ["a", "a/x", "a/y"]);
    theatre.stage.script("a", |script| script.children = Some(vec![]));
    theatre.world.run_for(10_000);
    assert_eq!(paths(&theatre), ["a"]);
    theatre.stage.script("a", |script| script.children = None);
    theatre.world.run_for(10_000);
    assert_eq!(paths(&theatre), ["a", "a/b"]);
}

// 61.
#[test]
fn a_disabled_child_exists_and_is_stopped() {
    let mut theatre = theatre();
    let with = |enabled: bool| {
        let mut spec = puppet("a");
        spec.enabled = enabled;
        vec![spec]
    };
    theatre.declare(with(false));
    theatre.world.run_for(5_000);
    assert_eq!(
        (theatre.world.state("a"), theatre.stage.read("a").acted),
        ("stopped", 0)
    );
    theatre.declare(with(true));
    theatre.world.step();
    assert_eq!(theatre.world.status("a").unwrap().goal, Goal::Running);
    theatre.up();
    theatre.declare(with(false));
    let stopped = theatre.world.run_until(5_000, |world| world.state("a") == "stopped");
    assert!(stopped.is_some());
    theatre.world.shut_down();
    let gone = theatre.world.run_until(5_000, |world| world.outcome().is_some());
    assert!(gone.is_some(), "leaving beats disabled");
}

// 62.
#[test]
fn a_child_that_is_declared_again_while_it_drains_ends_up_running() {
    for ticks in 0..40 {
        let mut theatre = theatre();
        theatre.declare(vec![over("a", vec![puppet("b")])]);
        theatre.up();
        theatre.stage.script("a/b", |script| script.stops = [1_000].into());
        theatre.declare(vec![]);
        for _ in 0..ticks {
            theatre.world.step();
        }
        theatre.declare(vec![over("a", vec![puppet("b")])]);
        theatre.world.run_for(20_000);
        let states = (theatre.world.state("a"), theatre.world.state("a/b"));
        assert_eq!(states, ("running", "running"), "declared again after {ticks} ticks");
    }
}

// 63.
#[test]
fn a_child_that_cannot_be_harms_no_other() {
    let mut theatre = theatre();
    let mut stranger = puppet("stranger");
    stranger.kind = "nobody".to_owned();
    let mut cyclic = [depending(puppet("x"), "y"), depending(puppet("y"), "x")];
    cyclic[0].enabled = true;
    let mut children = vec![
        puppet(""),
        puppet("a/b"),
        stranger,
        puppet("twin"),
        puppet("twin"),
        depending(puppet("lonely"), "nobody"),
        puppet("good"),
    ];
    children.extend(cyclic);
    theatre.declare(vec![over("p", children)]);
    theatre.world.run_for(5_000);
    let paths: Vec<String> = theatre
        .world
        .list()
        .iter()
        .map(|status| status.path.to_string())
        .collect();
    assert_eq!(paths, ["p", "p/good", "p/twin"]);
    assert_eq!(theatre.world.counts().healthy, 3);
    let errors = theatre.world.explain("p").unwrap().child_errors;
    assert_eq!(errors.len(), 7, "{errors:#?}");
    assert!(errors[2].contains("child `stranger` is of type `nobody`, which is not known; known are other, puppet"));
    assert!(errors[3].contains("`twin` is declared twice"));
}

// 64.
#[test]
fn another_type_under_the_same_name_replaces_the_child() {
    let mut theatre = theatre();
    theatre.declare(vec![puppet("a")]);
    theatre.up();
    theatre.stage.script("a", |script| script.stops = [1_000].into());
    theatre.declare(vec![ChildSpec::new("a", "other", json!({}))]);
    theatre.world.step();
    assert_eq!(
        theatre.world.status("a").unwrap().kind.as_ref(),
        "puppet",
        "the old one drains"
    );
    let replaced = theatre.world.run_until(10_000, |world| {
        world
            .status("a")
            .is_some_and(|status| status.kind.as_ref() == "other" && status.state == "running")
    });
    assert!(replaced.is_some());
}

// 65.
#[test]
fn a_changed_spec_is_derived_by_the_same_instance() {
    let mut theatre = theatre();
    theatre.declare(vec![puppet("a")]);
    theatre.up();
    theatre.declare(vec![ChildSpec::new("a", "puppet", json!({ "version": 2 }))]);
    theatre.world.run_for(1_000);
    let script = theatre.stage.read("a");
    assert_eq!((script.built, script.derived), (1, 2));
}

// 66.
#[test]
fn variables_flow_down_the_child_wins_and_internal_ones_stay() {
    let variables = |shared: serde_json::Value, internal: serde_json::Value| Variables {
        shared: shared.as_object().unwrap().clone(),
        internal: internal.as_object().unwrap().clone(),
    };
    let above = variables(json!({ "host": "a", "port": 1 }), json!({ "secret": "s" }));
    let own = variables(json!({ "port": 2 }), json!({}));
    let mut seen = above.inherited_by(&own);
    assert_eq!(seen, variables(json!({ "host": "a", "port": 2 }), json!({})));
    // Copies: what a child does to its own changes nobody else's.
    seen.shared.insert("host".to_owned(), json!("b"));
    assert_eq!(above.shared["host"], "a");
}

// 66, 67.
#[test]
fn a_missing_variable_is_waited_for_at_first_and_an_error_later() {
    let mut theatre = theatre();
    let mut child = puppet("b");
    child.spec = json!({ "to": "{{ host }}:{{ port }}" });
    let with = |shared: serde_json::Value| Declaration {
        children: vec![over("a", vec![child.clone()])],
        variables: Variables {
            shared: shared.as_object().unwrap().clone(),
            ..Variables::default()
        },
        ..Declaration::default()
    };
    theatre.world.declare(with(json!({ "host": "h" })));
    theatre.world.run_for(5_000);
    let b = theatre.world.status("a/b").unwrap();
    assert_eq!((b.state, b.waiting.as_deref()), ("stopped", Some("a valid definition")));
    assert!(b.reason.contains("`port` has no value"), "{}", b.reason);
    // 21: nothing is desired, so nobody looks.
    assert_eq!(theatre.stage.read("a/b").looked, 0);
    theatre.world.declare(with(json!({ "host": "h", "port": 1 })));
    theatre.up();
    theatre.world.declare(with(json!({ "host": "h" })));
    let since = theatre.world.now();
    theatre.world.run_for(5_000);
    assert_eq!(theatre.world.state("a/b"), "running", "what was in force stays");
    let holds = theatre.world.explain("a/b").unwrap().holds;
    assert!(holds[0].what.contains("`port` has no value"), "{holds:#?}");
    assert!(holds[0].since.since(since) <= 100, "since the first tick that met it");
    theatre.world.declare(with(json!({ "host": "h", "port": 2 })));
    theatre.world.run_for(1_000);
    assert_eq!(theatre.world.explain("a/b").unwrap().holds, []);
}

// 68.
#[test]
fn only_running_is_healthy_and_stopped_is_neither() {
    let mut theatre = theatre();
    theatre.stage.script("p/starting", |script| script.never_starts = true);
    let mut stopped = puppet("stopped");
    stopped.enabled = false;
    theatre.declare(vec![over("p", vec![puppet("running"), puppet("starting"), stopped])]);
    theatre.world.run_for(5_000);
    let counts = theatre.world.explain("p").unwrap().children;
    assert_eq!((counts.healthy, counts.unhealthy, counts.stopped), (1, 1, 1));
    let saw: BTreeMap<String, &str> = theatre.stage.read("p").saw.into_iter().collect();
    let states = BTreeMap::from([("running", "running"), ("starting", "starting"), ("stopped", "stopped")]);
    assert_eq!(
        saw.iter()
            .map(|(name, state)| (name.as_str(), *state))
            .collect::<BTreeMap<_, _>>(),
        states
    );
}

#[test]
fn children_start_after_those_they_depend_on_and_stop_before_them() {
    let mut theatre = theatre();
    theatre.stage.script("broker", |script| {
        script.starts = [2_000].into();
        script.stops = [500].into();
    });
    theatre.stage.script("pipeline", |script| script.stops = [2_000].into());
    theatre.declare(vec![depending(puppet("pipeline"), "broker"), puppet("broker")]);
    theatre.world.run_for(1_500);
    let pipeline = theatre.world.status("pipeline").unwrap();
    assert_eq!(
        (pipeline.state, pipeline.waiting.as_deref()),
        ("stopped", Some("`broker` to be ready"))
    );
    theatre.up();
    theatre.world.shut_down();
    while theatre.world.state("pipeline") != "gone" {
        let broker = theatre.world.state("broker");
        assert_eq!(broker, "running", "the broker stopped before the pipeline had");
        theatre.world.step();
    }
    let clean = theatre.world.run_until(3_000, |world| world.outcome().is_some());
    assert!(clean.is_some());
}

#[test]
fn a_dependency_on_completion_waits_for_it() {
    let mut theatre = theatre();
    let mut after = depending(puppet("after"), "job");
    after.depends_on[0].need = Need::Completed;
    theatre.declare(vec![puppet("job"), after]);
    theatre.world.run_for(5_000);
    assert_eq!(theatre.world.state("after"), "stopped");
    theatre.stage.shows("job", "complete", true);
    theatre.world.run_for(2_000);
    theatre.world.stop("job").unwrap();
    let up = theatre
        .world
        .run_until(10_000, |world| world.state("after") == "running");
    assert!(up.is_some(), "{:#?}", theatre.world.list());
}

#[test]
fn a_child_follows_the_states_of_its_parent() {
    let mut theatre = theatre();
    let mut child = puppet("child");
    child.states = BTreeMap::from([
        ("stopped".to_owned(), Goal::Stopped),
        ("stopping".to_owned(), Goal::Stopped),
    ]);
    let mut wrong = puppet("wrong");
    wrong.states = BTreeMap::from([("asleep".to_owned(), Goal::Stopped)]);
    theatre.declare(vec![over("p", vec![child, wrong])]);
    theatre.world.run_for(5_000);
    assert_eq!(theatre.world.state("p/child"), "running");
    let errors = theatre.world.explain("p").unwrap().child_errors;
    assert!(errors[0].contains("names `asleep`, which is not a state of its parent; known are stopped, starting"));
    theatre.world.stop("p").unwrap();
    let stopped = theatre
        .world
        .run_until(5_000, |world| world.state("p/child") == "stopped");
    assert!(stopped.is_some());
}

#[test]
fn a_worker_that_says_it_is_done_is_not_built_again_until_it_is_declared_otherwise() {
    let mut theatre = theatre();
    theatre.declare(vec![puppet("a")]);
    theatre.up();
    theatre.stage.script("a", |script| script.is_done = true);
    theatre.world.run_for(10_000);
    assert_eq!(theatre.world.state("a"), "gone");
    theatre.stage.script("a", |script| script.is_done = false);
    theatre.world.run_for(10_000);
    assert_eq!(theatre.world.state("a"), "gone");
    theatre.declare(vec![ChildSpec::new("a", "puppet", json!({ "version": 2 }))]);
    theatre.up();
}
