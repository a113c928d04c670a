//! Dead letters and health on the command line; alerts in the configuration.

use crate::harness::{Place, Server, eventually};

const FAILING: &str = "
id: failing
initial: trying
states:
  trying: { on: { done.act: over, failed.act: waiting } }
  waiting: { on: { done.act: over } }
  over: { type: final }
actions:
  - actionId: act
    type: fail
    triggerState: trying
    tags: [critical]
    config: { type: service_unavailable, message: nobody there }
    retryPolicy: { maxAttempts: 2, baseDelay: 1, retryableErrors: [timeout] }
";

/// The ids of the dead letters of the machine, once there are so many.
fn dead(server: &Server<'_>, count: usize) -> Vec<String> {
    eventually("the dead letters", || {
        let listed = server.json(&["dlq", "list", "--machine", "failing"]);
        let rows = listed["data"].as_array().unwrap();
        let ids = rows.iter().map(|row| row["id"].as_str().unwrap().to_owned());
        (rows.len() == count).then(|| ids.collect())
    })
}

#[test]
fn a_case_file_is_shown_and_its_fix_applied() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(FAILING);
    server.run(&["exec", "start", "failing"]).ok();
    let id = dead(&server, 1).remove(0);
    let shown = server.run(&["dlq", "show", &id]).ok();
    assert!(shown.stdout.starts_with("suggested fix"), "{shown:?}");
    assert!(shown.stdout.contains("is not in `retryableErrors`"), "{shown:?}");
    let retried = server.run(&["dlq", "retry", &id, "--apply-fix"]).ok();
    assert!(retried.stderr.contains("/retryPolicy/retryableErrors/-"), "{retried:?}");
    let attempts = eventually("its end", || {
        let action = server.json(&["action", "show", &id]);
        (action["status"] == "dead").then(|| action["attempts"].as_array().unwrap().len())
    });
    assert_eq!(attempts, 3, "with the fix it was tried twice more");
    let patch = "[{\"op\": \"replace\", \"path\": \"/config/type\", \"value\": \"not_found\"}]";
    server.run(&["dlq", "retry", &id, "--patch", patch]).ok();
    let edited = eventually("another error", || {
        let action = server.json(&["action", "show", &id]);
        (action["lastError"]["type"] == "not_found").then_some(action)
    });
    assert_eq!(edited["idempotencyKey"], format!("{id}.1"));
    server
        .run(&["dlq", "retry", &id, "--apply-fix"])
        .fails(2, "a change of");
}

#[test]
fn a_bulk_retry_says_what_it_would_do_and_stops_at_a_canary_that_dies() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(FAILING);
    for _ in 0..4 {
        server.run(&["exec", "start", "failing"]).ok();
    }
    dead(&server, 4);
    let bulk = ["dlq", "retry-all", "--filter", "machine = \"failing\""];
    let dry = server.run(&[&bulk[..], &["--dry-run"]].concat()).ok();
    assert!(
        dry.stdout
            .starts_with("4 dead letters would be retried; nothing was changed"),
        "{dry:?}"
    );
    let paused = server.run(&[&bulk[..], &["--canary", "1", "--rate", "100", "--wait"]].concat());
    let paused = paused.fails(1, "");
    assert!(paused.stdout.contains("1 of 1 canaries died again"), "{paused:?}");
    let jobs = server.json(&["job", "list"]);
    let job = &jobs["data"][0];
    assert_eq!((&job["status"], &job["counts"]["done"]), (&"paused".into(), &1.into()));
}

#[test]
fn health_is_a_table_with_reasons_and_says_when_there_is_nothing() {
    let place = Place::new();
    let server = place.up(&[]);
    let empty = server.run(&["action", "health"]).ok();
    assert_eq!(empty.stdout, "no action was triggered in the last 1h\n");
    server.apply(FAILING);
    for _ in 0..5 {
        server.run(&["exec", "start", "failing"]).ok();
    }
    dead(&server, 5);
    let report = server.run(&["action", "health", "act", "--window", "15m"]).ok();
    assert!(report.stdout.contains("failing/act"), "{report:?}");
    assert!(
        report
            .stdout
            .contains("100 % of dead letters are `service_unavailable`, which is not in `retryableErrors`"),
        "{report:?}"
    );
    server
        .run(&["action", "health", "--window", "2h"])
        .fails(2, "query-invalid");
}

#[test]
fn what_is_wrong_with_alerts_is_said_with_line_and_nearest_name() {
    let place = Place::new();
    let cases = [
        (
            "[[alerts]]\nwen = 'x'\naction = { type = \"noop\" }\n",
            "sprag.toml:2:1: error[unknown-key]",
            "did you mean `when`?",
        ),
        (
            "[[alerts]]\nwhen = 'machin = \"x\"'\naction = { type = \"noop\" }\n",
            "sprag.toml:2:8: error[wrong-value]",
            "`machine`",
        ),
        (
            "[[alerts]]\naction = { type = \"webhok\" }\n",
            "sprag.toml:2:10: error[wrong-value]",
            "`webhook`",
        ),
        (
            "[[alerts]]\naction = { type = \"webhook\", config = { ulr = \"http://x\" } }\n",
            "error[wrong-value]",
            "`url`",
        ),
        (
            "[[alerts]]\nwhen = 'tag = \"x\"'\n",
            "error[missing-key]",
            "add `action",
        ),
        ("[alerts]\nwhen = 'x'\n", "error[wrong-type]", "`[[alerts]]`"),
    ];
    for (text, error, remedy) in cases {
        place.write("sprag.toml", text);
        let ended = place.run(&["up", "--check"]).fails(2, error);
        assert!(ended.stderr.contains(remedy), "{text}: {ended:?}");
    }
    let good = "[[alerts]]\nname = \"log\"\naction = { type = \"log_message\", config = { message = \"{{variables.alert.type}}\" } }\n";
    place.write("sprag.toml", good);
    place.run(&["up", "--check"]).ok();
}

#[test]
fn a_critical_dead_letter_raises_the_alert() {
    let place = Place::new();
    let alert = "[[alerts]]\nname = \"log\"\naction = { type = \"log_message\", config = { message = \
                 \"{{variables.alert.details.actionId}} failed\" } }\n";
    place.write("sprag.toml", alert);
    let server = place.up(&[]);
    server.apply(FAILING);
    server.run(&["exec", "start", "failing"]).ok();
    let raised = eventually("the alert to be sent", || {
        let listed = server.json(&["exec", "list", "--machine", "alert_log"]);
        let first = listed["data"][0].clone();
        (first["status"] == "completed").then_some(first)
    });
    assert_eq!(raised["variables"]["alert"]["type"], "action_failed");
    assert_eq!(raised["variables"]["alert"]["details"]["machine"], "failing");
}
