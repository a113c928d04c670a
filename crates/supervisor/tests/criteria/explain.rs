//! What people are told.

use crate::shared::{puppet, theatre};

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
    assert_eq!(hold.next, "the rule is checked again");
    assert!(hold.at.unwrap() > theatre.world.now());
    assert!(!hold.remedy.is_empty());
    let rule = theatre.world.explain("service").unwrap().rules.remove(0);
    assert_eq!((rule.detections, rule.detections_max, rule.circuit), (1, 5, "resting"));
    assert_eq!(rule.last_check, Some("bad"));
    assert!(rule.reason.unwrap().contains("holds"));
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
    assert_eq!(text["holds"][0]["what"], "it waits for a fresh look at it");
}

#[test]
fn figures_are_rendered_for_whoever_scrapes_them() {
    let mut theatre = theatre();
    theatre.service();
    theatre.breaks("service/pipeline");
    theatre.until_circuit("service/pipeline", "restarting");
    let text = theatre.world.metrics().render();
    let open = "sprag_supervision_circuit_open{supervisor=\"service\",child=\"pipeline\",rule=\"pipeline-whole\"} 1";
    assert!(text.contains(open), "{text}");
    assert!(text.contains("sprag_supervision_tick_seconds_count "));
    assert!(text.contains("sprag_supervision_attempts_total{action=\"start\",outcome=\"succeeded\"} 3"));
}
