//! What people are told.

use sprag_supervisor::{Declaration, ROOT_PATH};

use crate::shared::{puppet, rule, theatre};

#[test]
fn an_open_circuit_says_what_happens_next_and_when_it_is_given_up() {
    let mut theatre = theatre();
    theatre.service();
    theatre
        .stage
        .script("service/pipeline", |script| script.starts = [3_000].into());
    theatre.breaks("service/pipeline");
    theatre.until_circuit("service/pipeline", "restarting");
    theatre.world.step();
    let now = theatre.world.now();
    let hold = theatre.world.explain("service").unwrap().holds.remove(0);
    assert_eq!(hold.what, "rule `pipeline-whole` restarts `pipeline`");
    assert_eq!(hold.next, "`pipeline` comes back");
    assert!(hold.gives_up.unwrap() > now);
    theatre.until_circuit("service/pipeline", "resting");
    theatre.world.step();
    let hold = theatre.world.explain("service").unwrap().holds.remove(0);
    assert_eq!(hold.next, "the rule checks again");
    assert!(hold.at.unwrap() > theatre.world.now());
    assert!(!hold.remedy.is_empty());
    let rule = theatre.world.explain("service").unwrap().rules.remove(0);
    assert_eq!(
        (rule.detections, rule.detections_max, rule.circuit.as_str()),
        (1, 5, "resting")
    );
    assert_eq!(rule.last_check.as_deref(), Some("bad"));
    assert_eq!(rule.cause.as_deref(), Some("pipeline.observed.broken is true"));
    assert_eq!(rule.next, "the rule checks again");
}

#[test]
fn a_rule_at_the_root_is_explained_at_the_root_and_at_the_child_it_restarts() {
    let mut theatre = theatre();
    theatre.stage.shows("pipeline", "broken", false);
    theatre.world.declare(Declaration {
        children: vec![puppet("pipeline")],
        rules: vec![rule("pipeline")],
        ..Declaration::default()
    });
    theatre.up();
    let root = theatre.world.explain(ROOT_PATH).unwrap();
    assert_eq!((root.status.path.as_ref(), root.status.state), ("/", "running"));
    assert_eq!((root.rules.len(), root.rules[0].circuit.as_str()), (1, "closed"));
    theatre.breaks("pipeline");
    theatre.until_circuit("pipeline", "escalated");
    let root = theatre.world.explain(ROOT_PATH).unwrap();
    let child = theatre.world.explain("pipeline").unwrap();
    let (of_root, of_child) = (&root.rules[0], &child.status.restarted_by[0]);
    assert_eq!(of_root, of_child);
    assert_eq!(
        (of_root.name.as_str(), of_root.supervisor.as_str()),
        ("pipeline-whole", "/")
    );
    assert_eq!((of_root.detections, of_root.detections_max), (5, 5));
    let cause = "child infrastructure repeatedly failing: pipeline.observed.broken is true";
    assert_eq!(of_root.gave_up.as_deref(), Some(cause));
    assert!(of_root.gave_up_at.is_some());
    assert!(
        of_root.next.starts_with("nothing, until `pipeline`"),
        "{}",
        of_root.next
    );
    assert_eq!(root.status.reason, format!("it gave up on `pipeline`: {cause}"));
    // Starting the root ends it, and nobody is restarted for that.
    theatre.mends("pipeline");
    theatre.world.start(ROOT_PATH).unwrap();
    theatre.world.run_for(10_000);
    assert_eq!(theatre.circuit("pipeline"), "closed");
    assert_eq!(theatre.world.status("pipeline").unwrap().restarts, 4);
    assert!(theatre.world.alerts().is_empty());
    for refused in [theatre.world.stop(ROOT_PATH), theatre.world.restart(ROOT_PATH)] {
        assert!(refused.unwrap_err().to_string().contains("name a service"));
    }
}

#[test]
fn an_action_is_cancelled_by_hand_and_there_must_be_one() {
    let mut theatre = theatre();
    theatre.stage.script("a", |script| script.starts = [50_000, 0].into());
    theatre.declare(vec![puppet("a")]);
    theatre.world.run_for(3_000);
    let action = theatre.world.explain("a").unwrap().action;
    assert!(action.in_progress(), "{action:?}");
    theatre.world.cancel("a").unwrap();
    // It is tried again at once, and the second start takes no time.
    theatre.world.run_for(2_000);
    assert_eq!(
        (theatre.world.state("a"), theatre.stage.read("a").acted),
        ("running", 2)
    );
    let refused = theatre.world.cancel("a").unwrap_err();
    assert!(
        refused.to_string().contains("no action of `a` is in progress"),
        "{refused}"
    );
}

// 29.
#[test]
fn trouble_with_looking_shows_as_such_and_never_as_a_state() {
    let mut theatre = theatre();
    theatre.declare(vec![puppet("a")]);
    theatre.up();
    theatre.stage.script("a", |script| script.unseen = true);
    theatre.world.run_for(60_000);
    let a = theatre.world.status("a").unwrap();
    assert_eq!((a.state, a.observation.name()), ("running", "failing"));
    let text = serde_json::to_value(theatre.world.explain("a").unwrap()).unwrap();
    assert_eq!(text["observation"]["failing"]["error"], "the script says no");
    assert_eq!(text["path"], "a");
    assert_eq!(text["holds"][0]["what"], "it waits for a new observation");
}

#[test]
fn figures_are_rendered_for_a_scrape() {
    let mut theatre = theatre();
    theatre.service();
    theatre.breaks("service/pipeline");
    theatre.until_circuit("service/pipeline", "restarting");
    let text = theatre.world.metrics().text();
    let open = "sprag_supervision_circuit_open{supervisor=\"service\",child=\"pipeline\",rule=\"pipeline-whole\"} 1";
    assert!(text.contains(open), "{text}");
    assert!(text.contains("sprag_supervision_tick_seconds_count "));
    assert!(text.contains("sprag_supervision_attempts_total{action=\"start\",outcome=\"succeeded\"} 3"));
    assert!(
        text.contains("sprag_supervision_action_seconds_count{action=\"start\"} 3"),
        "{text}"
    );
    let by_rule = "sprag_supervision_restarts_total{supervisor=\"service\",child=\"pipeline\",cause=\"rule\",\
                   rule=\"pipeline-whole\"} 1";
    assert!(text.contains(by_rule), "{text}");
    let gauges = theatre.world.gauges().text();
    for line in [
        "sprag_supervision_observation_age_seconds{supervisor=\"/\",child=\"service\"} ",
        "sprag_supervision_circuit_open_seconds{supervisor=\"service\",child=\"pipeline\",rule=\"pipeline-whole\"} ",
    ] {
        assert!(gauges.contains(line), "{line} is not in {gauges}");
    }
}

#[test]
fn a_manual_restart_and_a_retry_are_counted() {
    let mut theatre = theatre();
    theatre.stage.script("a", |script| script.fails = 2);
    theatre.declare(vec![puppet("a")]);
    theatre.up();
    theatre.world.restart("a").unwrap();
    theatre.world.run_for(5_000);
    assert_eq!(theatre.world.metrics().restarts("manual"), 1);
    let text = theatre.world.metrics().text();
    assert!(
        text.contains("sprag_supervision_action_retries_total{action=\"start\"} 2"),
        "{text}"
    );
}
