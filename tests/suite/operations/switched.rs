//! Plans under a kill switch: they are accepted, say what they wait for, and run once it is released.

use serde_json::{Value, json};
use sprag_tests::wait;

use super::{GUARD, Office, one};

#[test]
fn a_plan_under_a_switch_is_accepted_waits_for_it_and_runs_after_its_release() {
    let mut office = Office::open("");
    for (scope, path) in [
        ("operation:cache.look", "operation"),
        ("subject:cache", "subject"),
        ("tag:night", "tag"),
    ] {
        let body = json!({ "scope": scope, "reason": "too many looks" });
        let on = office.post("olga", "/v1/kill-switches", &body);
        assert_eq!(on.status, 201, "{on:?}");
        let switch = on.body["id"].as_str().unwrap();
        let id = office.propose(&one("cache.look", path));
        let mut step = Value::Null;
        let waits = wait::patiently(GUARD, || {
            step = office.workflow(&id)["steps"][0].clone();
            let waiting = &step["waiting"];
            (waiting["for"] == "killSwitch" && waiting["object"] == switch).then_some(())
        });
        assert!(waits.is_some(), "{scope}: {step:#}");
        office.kill_and_start();
        let held = office.get(&format!("/v1/kill-switches/{switch}/held"));
        assert_eq!(held["queued"]["total"], 1, "{scope}: {held:#}");
        // What is outside the scope runs.
        let other = office.propose(&json!({
            "operation": "log_message", "params": { "message": "still here" }, "reason": "a test"
        }));
        office.until(&other, "completed");
        assert_eq!(office.visits(path), 0, "{scope}");

        let release = format!("/v1/kill-switches/{switch}/release");
        let off = office.post("olga", &release, &json!({ "reason": "fewer now" }));
        assert_eq!(
            (off.status, &off.body["held"]["queued"]["total"]),
            (200, &json!(1)),
            "{scope}: {off:?}"
        );
        office.until(&id, "completed");
        assert_eq!(office.visits(path), 1, "{scope}");
        wait::until("the switch to be gone", GUARD, || {
            (office.get("/v1/kill-switches")["data"] == json!([])).then_some(())
        });
    }
}
