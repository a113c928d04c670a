//! What one does with it, from a definition to a completed execution and beyond.

use serde_json::{Value, json};

use super::runners::DRAWING;
use super::world::{DOOMED, LATER, ORDER, SLOW, World};

#[tokio::test]
async fn from_a_definition_to_a_completed_execution() {
    let world = World::start().await;
    let applied = world.apply(ORDER).await;
    assert_eq!(applied.expect(201), json!({"id": "order", "version": 1}));
    assert_eq!(applied.header("location"), Some("/v1/machines/order/versions/1"));
    assert_eq!(
        world.apply(ORDER).await.expect(200),
        json!({"id": "order", "version": 1}),
        "a known digest"
    );

    let body = json!({"machine": "order", "key": "A-1", "variables": {"amount": 5}, "tags": ["web"]});
    let started = world.post("/v1/executions", &body).await;
    let execution = started.expect(201);
    let id = execution["id"].as_str().unwrap();
    assert_eq!(
        started.header("location"),
        Some(format!("/v1/executions/{id}").as_str())
    );
    assert_eq!(execution["configuration"], json!(["open"]));
    assert_eq!(execution["variables"], json!({"currency": "EUR", "amount": 5}));
    assert_eq!(execution["waiting"]["for"], "message");

    let message = json!({"type": "PAY", "payload": {"by": "card"}, "id": "m-1"});
    let sent = world
        .post(&format!("/v1/executions/{id}/messages"), &message)
        .await
        .expect(200);
    assert_eq!(sent, json!({"handled": true, "configuration": ["paid"], "sequence": 2}));
    let again = world
        .post(&format!("/v1/executions/{id}/messages"), &message)
        .await
        .expect(200);
    assert_eq!(again, sent, "the same id again gives the first answer");

    let done = world.get(&format!("/v1/executions/{id}?wait=20s")).await.expect(200);
    let names: Vec<&String> = done.as_object().unwrap().keys().collect();
    let expected = [
        "id",
        "key",
        "machine",
        "version",
        "status",
        "configuration",
        "variables",
        "tags",
        "waiting",
        "sequence",
        "createdAt",
        "updatedAt",
        "output",
    ];
    assert_eq!(names, expected);
    assert_eq!(done["status"], "completed");
    assert_eq!(done["output"], json!({"by": "card"}));
    assert_eq!(done["tags"], json!(["web"]));
    assert_eq!(done["waiting"], json!({"state": "done"}));
    assert!(done["createdAt"].as_str().unwrap().ends_with('Z'));
}

#[tokio::test]
async fn a_start_can_wait_until_the_execution_is_closed() {
    let world = World::start().await;
    world
        .apply(
            &ORDER
                .replace("initial: open", "initial: paid")
                .replace("{{variables.by}}", "x"),
        )
        .await
        .expect(201);
    let body = json!({"machine": "order", "variables": {"amount": 5}});
    let done = world.post("/v1/executions?wait=20s", &body).await.expect(201);
    assert_eq!(done["status"], "completed");
}

#[tokio::test]
async fn a_wait_that_runs_out_answers_with_the_state_as_it_is() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let id = world.begin("order").await;
    let shown = world.get(&format!("/v1/executions/{id}?wait=10ms")).await.expect(200);
    assert_eq!(shown["status"], "running");
}

#[tokio::test]
async fn an_action_shows_its_attempts_and_its_result() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let id = world.begin("order").await;
    let message = json!({"type": "PAY", "payload": {"by": "card"}});
    world
        .post(&format!("/v1/executions/{id}/messages"), &message)
        .await
        .expect(200);
    let action = world.action(&id, |action| action["status"] == "succeeded").await;
    let shown = world
        .get(&format!("/v1/actions/{}", action["id"].as_str().unwrap()))
        .await
        .expect(200);
    assert_eq!(shown, action);
    let fields = [
        "id",
        "actionId",
        "type",
        "status",
        "waiting",
        "attempts",
        "result",
        "lastError",
        "executionId",
        "runner",
        "tags",
        "priority",
        "createdAt",
        "runAt",
    ];
    for field in fields {
        assert!(shown.get(field).is_some(), "{field} in {shown}");
    }
    let attempt = &shown["attempts"][0];
    for field in ["id", "number", "startTime", "endTime", "outcome", "error"] {
        assert!(attempt.get(field).is_some(), "{field} in {attempt}");
    }
    assert_eq!(attempt["outcome"], "done");
    assert_eq!(shown["executionId"], id.as_str());
}

#[tokio::test]
async fn messages_can_be_addressed_by_machine_and_key() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let body = json!({"machine": "order", "key": "A-1", "variables": {"amount": 5}});
    world.post("/v1/executions", &body).await.expect(201);
    let message = json!({"machine": "order", "key": "A-1", "type": "HOLD"});
    let sent = world.post("/v1/messages", &message).await.expect(200);
    assert_eq!(sent["configuration"], json!(["held"]));
    let unhandled = json!({"machine": "order", "key": "A-1", "type": "NOBODY_CARES"});
    assert_eq!(
        world.post("/v1/messages", &unhandled).await.expect(200)["handled"],
        false
    );
}

#[tokio::test]
async fn messages_to_a_paused_execution_are_queued_and_taken_on_resume() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let id = world.begin("order").await;
    assert_eq!(
        world.command(&format!("/v1/executions/{id}/pause")).await.expect(200)["status"],
        "paused"
    );
    let sent = world
        .post(&format!("/v1/executions/{id}/messages"), &json!({"type": "HOLD"}))
        .await
        .expect(202);
    assert_eq!(sent["queued"], true);
    assert_eq!(sent["configuration"], json!(["open"]));
    let resumed = world
        .post(&format!("/v1/executions/{id}/resume"), &json!({}))
        .await
        .expect(200);
    assert_eq!(resumed["status"], "running");
    assert_eq!(resumed["configuration"], json!(["held"]));
}

#[tokio::test]
async fn history_replay_and_explain_tell_what_happened() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let id = world.begin("order").await;
    world
        .post(&format!("/v1/executions/{id}/messages"), &json!({"type": "HOLD"}))
        .await
        .expect(200);
    let history = world.get(&format!("/v1/executions/{id}/history")).await.expect(200);
    let sequences: Vec<u64> = sequences(&history);
    assert_eq!(sequences, [1, 2]);
    assert_eq!(history["data"][1]["microsteps"][0]["entered"], json!(["held"]));
    assert_eq!(history["nextCursor"], Value::Null);
    let replayed = world.command(&format!("/v1/executions/{id}/replay")).await.expect(200);
    assert_eq!(replayed, json!({"steps": 2, "agrees": true}));
    let explained = world.get(&format!("/v1/executions/{id}/explain")).await.expect(200);
    assert_eq!(explained["waiting"]["for"], "message");
    assert_eq!(explained["actions"], json!([]));
}

fn sequences(history: &Value) -> Vec<u64> {
    history["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["sequence"].as_u64().unwrap())
        .collect()
}

#[tokio::test]
async fn history_is_read_page_by_page() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let id = world.begin("order").await;
    for _ in 0..4 {
        world
            .post(&format!("/v1/executions/{id}/messages"), &json!({"type": "OTHER"}))
            .await
            .expect(200);
    }
    let after = world
        .get(&format!("/v1/executions/{id}/history?after=3"))
        .await
        .expect(200);
    assert_eq!(sequences(&after), [4, 5]);
    let mut seen = Vec::new();
    let mut path = format!("/v1/executions/{id}/history?after=1&limit=2");
    loop {
        let page = world.get(&path).await.expect(200);
        seen.extend(sequences(&page));
        let Some(cursor) = page["nextCursor"].as_str() else {
            break;
        };
        path = format!("/v1/executions/{id}/history?after=1&limit=2&cursor={cursor}");
    }
    assert_eq!(seen, [2, 3, 4, 5]);
}

#[tokio::test]
async fn an_execution_moves_to_another_version_and_can_be_cancelled() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let id = world.begin("order").await;
    let renamed = ORDER.replace("open", "new");
    assert_eq!(world.apply(&renamed).await.expect(201)["version"], 2);
    let refused = world.command(&format!("/v1/executions/{id}/migrate")).await;
    refused.problem("migration-impossible");
    let body = json!({"version": 2, "states": {"open": "new"}});
    let moved = world
        .post(&format!("/v1/executions/{id}/migrate"), &body)
        .await
        .expect(200);
    assert_eq!(
        (&moved["version"], &moved["configuration"]),
        (&json!(2), &json!(["new"]))
    );
    let cancelled = world.command(&format!("/v1/executions/{id}/cancel")).await.expect(200);
    assert_eq!(cancelled["status"], "cancelled");
}

#[tokio::test]
async fn a_scheduled_action_can_be_made_due_or_cancelled() {
    let world = World::start().await;
    world.apply(LATER).await.expect(201);
    let id = world.begin("later").await;
    let action = world.action(&id, |action| action["status"] == "scheduled").await;
    let path = format!("/v1/actions/{}", action["id"].as_str().unwrap());
    assert_eq!(action["waiting"]["for"], "timer");
    world.command(&format!("{path}/retry-now")).await.expect(200);
    assert_eq!(
        world.get(&format!("/v1/executions/{id}?wait=20s")).await.expect(200)["status"],
        "completed"
    );

    let id = world.begin("later").await;
    let action = world.action(&id, |action| action["status"] == "scheduled").await;
    let cancelled = world
        .command(&format!("/v1/actions/{}/cancel", action["id"].as_str().unwrap()))
        .await
        .expect(200);
    assert_eq!(cancelled["status"], "cancelled");
}

#[tokio::test]
async fn a_dead_letter_is_found_retried_and_archived() {
    let world = World::start().await;
    world.apply(DOOMED).await.expect(201);
    let id = world.begin("doomed").await;
    let dead = world.action(&id, |action| action["status"] == "dead").await;
    let action = dead["id"].as_str().unwrap();
    for filter in [
        "type=fail",
        "machine=doomed",
        "error=not_found",
        "type=fail&machine=doomed&error=not_found",
    ] {
        let found = world.get(&format!("/v1/dead-letters?{filter}")).await.expect(200);
        assert_eq!(found["data"][0]["id"], action, "{filter}");
    }
    for filter in ["type=noop", "machine=order", "error=timeout"] {
        let found = world.get(&format!("/v1/dead-letters?{filter}")).await.expect(200);
        assert_eq!(found["data"], json!([]), "{filter}");
    }
    let path = format!("/v1/dead-letters/{action}");
    assert_eq!(world.get(&path).await.expect(200)["lastError"]["type"], "not_found");

    world.command(&format!("{path}/retry")).await.expect(200);
    world
        .action(&id, |action| {
            action["status"] == "dead" && action["attempts"][1]["outcome"] == "notDone"
        })
        .await;
    let key = world.get(&path).await.expect(200)["idempotencyKey"].clone();

    let body = json!({"config": {"times": 0}, "version": 1});
    let retried = world.post(&format!("{path}/retry"), &body).await.expect(200);
    assert_ne!(
        retried["idempotencyKey"], key,
        "an edited configuration is another effect"
    );
    world.action(&id, |action| action["status"] == "succeeded").await;
    world.get(&path).await.problem("dead-letter-unknown");

    let id = world.begin("doomed").await;
    let dead = world.action(&id, |action| action["status"] == "dead").await;
    let path = format!("/v1/dead-letters/{}", dead["id"].as_str().unwrap());
    assert_eq!(
        world.command(&format!("{path}/archive")).await.expect(200)["status"],
        "archived"
    );
    assert_eq!(world.get("/v1/dead-letters").await.expect(200)["data"], json!([]));
}

#[tokio::test]
async fn a_queued_action_says_what_really_holds_it() {
    let world = World::start().await;
    world.apply(SLOW).await.expect(201);
    let first = world.begin("slow").await;
    let running = world.action(&first, |action| action["status"] == "running").await;
    let second = world.begin("slow").await;
    let queued = world.action(&second, |action| action["status"] == "queued").await;
    let path = format!("/v1/actions/{}", queued["id"].as_str().unwrap());
    let shown = world.get(&path).await.expect(200);
    assert_eq!(shown["waiting"]["for"], "permit");
    assert_eq!(
        shown["waiting"]["object"], "one",
        "the key it is limited by, which only the dispatcher knows"
    );
    let explained = world.get(&format!("/v1/executions/{second}/explain")).await.expect(200);
    assert_eq!(explained["waiting"], shown["waiting"]);
    assert_eq!(explained["actions"][0]["waiting"], shown["waiting"]);
    let queue = world.get("/v1/actions/queue").await.expect(200);
    assert_eq!(queue["nextCursor"], Value::Null);
    let line = queue["data"]
        .as_array()
        .unwrap()
        .iter()
        .find(|line| line["type"] == "hold")
        .unwrap()
        .clone();
    assert_eq!((&line["running"], &line["ready"]), (&json!(1), &json!(1)));

    let path = format!("/v1/actions/{}/cancel", running["id"].as_str().unwrap());
    world.command(&path).await.expect(200);
    world.action(&first, |action| action["status"] == "cancelled").await;
    world.action(&second, |action| action["status"] == "running").await;
}

#[tokio::test]
async fn a_machine_is_shown_with_its_definition_and_lint_keeps_nothing() {
    let world = World::start().await;
    let yaml = [("Content-Type", "application/yaml")];
    let linted = world
        .send("POST", "/v1/machines/lint", &yaml, ORDER.as_bytes())
        .await
        .expect(200);
    assert_eq!(linted["valid"], true);
    world.get("/v1/machines/order").await.problem("machine-unknown");
    world.apply(ORDER).await.expect(201);
    let shown = world.get("/v1/machines/order").await.expect(200);
    assert_eq!(shown["definition"]["initial"], "open");
    assert_eq!(shown["description"], "An order is paid and shipped.");
    assert_eq!(shown["digest"].as_str().unwrap().len(), 64);
    assert_eq!(world.get("/v1/machines/order/versions/1").await.expect(200), shown);
    let again = world.post("/v1/machines", &shown["definition"]).await.expect(200);
    assert_eq!(again["version"], 1, "the same in JSON is the same machine");
}

#[tokio::test]
async fn the_queue_is_counted_whole_with_its_age_and_its_rate() {
    // More than the dispatcher keeps of a line in memory.
    const QUEUED: u64 = 1_100;
    let world = World::start().await;
    world.apply(SLOW).await.expect(201);
    for _ in 0..=QUEUED {
        world.begin("slow").await;
    }
    let queue = world.get("/v1/actions/queue").await.expect(200);
    let of = |list: &str| {
        let items = queue[list].as_array().unwrap().iter();
        items.map(|item| item["ready"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!((of("data"), of("types")), (QUEUED, QUEUED), "{queue}");
    let kind = &queue["types"][0];
    assert_eq!((&kind["running"], &kind["startedLastMinute"]), (&json!(1), &json!(1)));
    assert!(
        kind["oldestAge"].is_u64() && kind["oldestReadyAt"].is_string(),
        "{kind}"
    );
    assert_eq!(queue["held"]["ready"], 0);
}

#[tokio::test]
async fn a_start_uses_the_definition_that_was_applied_last_even_if_an_older_version_had_it() {
    let world = World::start().await;
    let other = ORDER.replace("open", "new");
    world.apply(ORDER).await.expect(201);
    world.apply(&other).await.expect(201);
    let unchanged = world.apply(&other).await;
    assert_eq!(unchanged.header("etag"), Some("\"2\""));
    assert_eq!(unchanged.expect(200), json!({"id": "order", "version": 2}));
    let back = world.apply(ORDER).await;
    assert_eq!(back.header("etag"), Some("\"3\""));
    assert_eq!(back.header("location"), Some("/v1/machines/order/versions/3"));
    assert_eq!(
        back.expect(201),
        json!({"id": "order", "version": 3, "sameAsVersion": 1})
    );
    let variables = json!({"machine": "order", "variables": {"amount": 1}});
    let started = world.post("/v1/executions", &variables).await.expect(201);
    assert_eq!(started["version"], 3);
    let yaml = [("Content-Type", "application/yaml"), ("If-Match", "\"2\"")];
    let refused = world.send("POST", "/v1/machines", &yaml, other.as_bytes()).await;
    refused.problem("precondition-failed");
}

#[tokio::test]
async fn a_machine_and_its_lint_say_what_its_actions_may_reach() {
    let world = World::start().await;
    let yaml = [("Content-Type", "application/yaml")];
    let required = json!([{
        "actionId": "draw",
        "type": "render",
        "permissions": [{"scope": "runner", "object": "gpu"}, {"scope": "secret", "object": "docusign"}],
    }]);
    let linted = world.send("POST", "/v1/machines/lint", &yaml, DRAWING.as_bytes()).await;
    assert_eq!(linted.expect(200)["permissions"], required);
    world.apply(DRAWING).await.expect(201);
    for path in ["/v1/machines/drawing", "/v1/machines/drawing/versions/1"] {
        assert_eq!(world.get(path).await.expect(200)["permissions"], required, "{path}");
    }
}

#[tokio::test]
async fn lint_errors_come_with_pointers_and_findings() {
    let world = World::start().await;
    let broken = ORDER
        .replace("triggerState: paid", "triggerState: piad")
        .replace("HOLD: held", "HOLD: hled");
    let problem = world.apply(&broken).await.problem("definition-invalid");
    let errors = problem["errors"].as_array().unwrap();
    assert!(errors.len() >= 2, "{errors:?}");
    assert!(
        errors.iter().any(|error| error["pointer"] == "/states/open/on/HOLD"),
        "{errors:?}"
    );
    let finding = &problem["findings"][0];
    for field in ["severity", "code", "line", "column", "pointer", "detail", "remedy"] {
        assert!(finding.get(field).is_some(), "{field}");
    }
    let yaml = [("Content-Type", "application/yaml")];
    let linted = world
        .send("POST", "/v1/machines/lint", &yaml, broken.as_bytes())
        .await
        .expect(200);
    assert_eq!(linted["valid"], false);
    assert_eq!(linted["findings"], problem["findings"]);
}

#[tokio::test]
async fn the_system_tells_its_version_store_and_limits() {
    let world = World::start().await;
    let system = world.get("/v1/system").await.expect(200);
    assert_eq!(system["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(system["store"], "sqlite");
    assert_eq!(system["limits"]["bodyBytes"], 1_048_576);
    assert_eq!(system["limits"]["wait"], 60_000);
    assert_eq!(world.get("/healthz").await.expect(200), json!({"status": "ok"}));
    assert_eq!(world.get("/readyz").await.expect(200), json!({"status": "ready"}));
    let schema = world.get("/v1/schemas/machine").await;
    assert_eq!(schema.expect(200)["title"], "Sprag machine");
    assert_eq!(schema.header("content-type"), Some("application/schema+json"));
    let page = world.get("/errors/key-in-use").await;
    assert_eq!(
        (page.status, page.header("content-type")),
        (200, Some("text/markdown; charset=utf-8"))
    );
    assert!(page.body.starts_with("# key-in-use"));
    world.get("/errors/nothing").await.problem("route-unknown");
}
