//! Case files of dead letters, edits, and bulk retries that say what they would do.

use serde_json::{Value, json};

use super::world::{DOOMED, World};

/// Fails as it is told, with a secret in its configuration.
const FAILING: &str = "
id: failing
variables: { kind: service_unavailable }
initial: trying
states:
  trying: { on: { done.act: over, failed.act: waiting } }
  waiting: { on: { done.act: over } }
  over: { type: final }
actions:
  - actionId: act
    type: relay
    triggerState: trying
    tags: [critical]
    config: { type: '{{variables.kind}}', message: 'order 17 with {{secrets.hook}}', costEstimate: 0.5 }
    retryPolicy: { maxAttempts: 2, retryableErrors: [timeout] }
";

async fn dead(world: &World, machine: &str) -> String {
    let execution = world.begin(machine).await;
    let action = world.action(&execution, |action| action["status"] == "dead").await;
    action["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_case_file_says_why_it_died_what_was_sent_who_else_did_and_what_would_mend_it() {
    let world = World::start().await;
    world.apply(FAILING).await.expect(201);
    let one = dead(&world, "failing").await;
    dead(&world, "failing").await;
    let file = world.get(&format!("/v1/dead-letters/{one}")).await.expect(200);
    assert_eq!(file["failureReason"]["type"], "service_unavailable");
    assert_eq!(
        (&file["totalAttempts"], &file["others"]),
        (&json!(1), &json!({"count": 1, "more": false}))
    );
    assert_eq!(file["request"]["config"]["message"], "order 17 with [secret hook]");
    assert_eq!(file["request"]["secrets"], json!(["hook"]));
    assert_eq!(
        (&file["recoverable"], &file["manualReviewRequired"]),
        (&json!(true), &json!(false))
    );
    assert!(
        file["suggestedFix"].as_str().unwrap().contains("`retryableErrors`"),
        "{file}"
    );
    let patch = json!([{"op": "add", "path": "/retryPolicy/retryableErrors/-", "value": "service_unavailable"}]);
    assert_eq!(file["fixPatch"], patch);
    assert_eq!(file["attempts"].as_array().unwrap().len(), 1);
    assert!(file["diedAt"].is_string());
    let execution = file["executionId"].as_str().unwrap();
    let explained = world
        .get(&format!("/v1/executions/{execution}/explain"))
        .await
        .expect(200);
    let letter = &explained["actions"][0];
    assert_eq!(letter["lastError"]["type"], "service_unavailable", "{explained}");
    for name in ["recoverable", "manualReviewRequired", "suggestedFix", "fixPatch"] {
        assert_eq!(letter[name], file[name], "{name}");
    }
    let print = file["fingerprint"].as_str().unwrap();
    let alike = world
        .get(&format!(
            "/v1/dead-letters?fingerprint={print}&tag=critical&newerThan=1h"
        ))
        .await;
    assert_eq!(alike.expect(200)["data"].as_array().unwrap().len(), 2);
    let old = world.get("/v1/dead-letters?olderThan=1h").await.expect(200);
    assert_eq!(old["data"], json!([]));
}

#[tokio::test]
async fn the_suggested_patch_can_be_applied_and_a_wrong_one_is_refused() {
    let world = World::start().await;
    world.apply(FAILING).await.expect(201);
    let id = dead(&world, "failing").await;
    let file = world.get(&format!("/v1/dead-letters/{id}")).await.expect(200);
    let path = format!("/v1/dead-letters/{id}/retry");
    let wrong = json!([{"op": "replace", "path": "/timeout", "value": 0}]);
    let problem = world
        .post(&path, &json!({"patch": wrong}))
        .await
        .problem("edit-invalid");
    assert_eq!(problem["errors"][0]["pointer"], "/patch/timeout");
    for patch in [json!([{"op": "move", "path": "/a"}]), json!([1]), json!({})] {
        world
            .post(&path, &json!({ "patch": patch }))
            .await
            .problem("body-invalid");
    }
    let retried = world.post(&path, &json!({"patch": file["fixPatch"]})).await.expect(200);
    assert_eq!(
        retried["idempotencyKey"],
        json!(format!("{id}.0")),
        "the request is the same"
    );
    let execution = retried["executionId"].as_str().unwrap();
    let again = world
        .action(execution, |action| action["attempts"].as_array().unwrap().len() == 2)
        .await;
    assert_ne!(again["status"], "succeeded");
}

#[tokio::test]
async fn what_is_no_dead_letter_has_no_case_file() {
    let world = World::start().await;
    world.apply(DOOMED).await.expect(201);
    let id = dead(&world, "doomed").await;
    world
        .command(&format!("/v1/dead-letters/{id}/archive"))
        .await
        .expect(200);
    world
        .get(&format!("/v1/dead-letters/{id}"))
        .await
        .problem("dead-letter-unknown");
    let nobody = format!("/v1/dead-letters/act_{}", "0".repeat(26));
    world.get(&nobody).await.problem("action-unknown");
}

#[tokio::test]
async fn a_dry_run_counts_and_shows_some_and_changes_nothing() {
    let world = World::start().await;
    world.apply(DOOMED).await.expect(201);
    for _ in 0..12 {
        dead(&world, "doomed").await;
    }
    let body = json!({"filter": "machine = \"doomed\"", "dryRun": true});
    let said = world.post("/v1/dead-letters/retry", &body).await.expect(200);
    assert_eq!(said["expected"], json!({"count": 12, "more": false}));
    assert_eq!(said["sample"].as_array().unwrap().len(), 10);
    assert_eq!(world.get("/v1/jobs").await.expect(200)["data"], json!([]));
    let letters = world.get("/v1/dead-letters").await.expect(200);
    let is_untouched = |letter: &Value| letter["attempts"].as_array().unwrap().len() == 1;
    assert!(letters["data"].as_array().unwrap().iter().all(is_untouched));
}

#[tokio::test]
async fn a_job_shows_its_pace_its_canaries_and_how_many_there_are() {
    let world = World::start().await;
    world.apply(DOOMED).await.expect(201);
    for _ in 0..5 {
        dead(&world, "doomed").await;
    }
    let body = json!({"filter": "machine = \"doomed\"", "rate": 1000, "canary": 2});
    let made = world.post("/v1/dead-letters/retry", &body).await.expect(202);
    assert_eq!((&made["rate"], &made["expected"]["count"]), (&json!(1000), &json!(5)));
    assert_eq!(
        made["canary"],
        json!({"size": 2, "retried": 0, "died": 0, "state": "retrying"})
    );
    let path = format!("/v1/jobs/{}", made["id"].as_str().unwrap());
    let paused = loop {
        let job = world.get(&path).await.expect(200);
        if job["status"] == "paused" {
            break job;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(paused["canary"]["state"], "failed");
    assert!(
        paused["note"]
            .as_str()
            .unwrap()
            .starts_with("2 of 2 canaries died again"),
        "{paused}"
    );
    assert_eq!(paused["counts"]["done"], 2);
    for body in [
        json!({"filter": "id = \"x\"", "rate": 0}),
        json!({"filter": "machine = \"x\"", "rate": 1_000_000}),
        json!({"filter": "machine = \"x\"", "canary": "2"}),
    ] {
        world
            .post("/v1/dead-letters/retry", &body)
            .await
            .problem("body-invalid");
    }
}

#[tokio::test]
async fn all_alike_are_archived_after_a_person_looked_at_the_canaries() {
    let world = World::start().await;
    world.apply(DOOMED).await.expect(201);
    for _ in 0..5 {
        dead(&world, "doomed").await;
    }
    let body = |extra: Value| {
        let mut body = json!({"filter": "machine = \"doomed\"", "reason": "the orders are void"});
        for (name, value) in extra.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    };
    let path = "/v1/dead-letters/archive";
    let said = world.post(path, &body(json!({"dryRun": true}))).await.expect(200);
    assert_eq!(said["expected"], json!({"count": 5, "more": false}));
    let made = world.post(path, &body(json!({"canary": 2}))).await.expect(202);
    assert_eq!(made["type"], "archiveDeadLetters");
    let job = format!("/v1/jobs/{}", made["id"].as_str().unwrap());
    let until = async |status: &str| loop {
        let job = world.get(&job).await.expect(200);
        if job["status"] == status {
            break job;
        }
        tokio::task::yield_now().await;
    };
    let paused = until("paused").await;
    assert_eq!(
        (&paused["counts"]["done"], &paused["canary"]["state"]),
        (&json!(2), &json!("passed"))
    );
    assert!(paused["note"].as_str().unwrap().contains("resume"), "{paused}");
    let left = world.get("/v1/dead-letters").await.expect(200);
    assert_eq!(left["data"].as_array().unwrap().len(), 3);
    world.command(&format!("{job}/resume")).await.expect(200);
    let done = until("completed").await;
    assert_eq!(done["counts"]["done"], 5);
    assert_eq!(world.get("/v1/dead-letters").await.expect(200)["data"], json!([]));
    let items = world.get(&format!("{job}/items")).await.expect(200);
    assert!(
        items["data"]
            .as_array()
            .unwrap()
            .iter()
            .all(|item| item["result"] == "archived"),
        "{items}"
    );
    for wrong in [
        json!({"filter": "", "reason": "x"}),
        json!({"filter": "machine = \"doomed\""}),
        json!({"filter": "machine = \"doomed\"", "reason": "x", "canary": 0}),
    ] {
        let refused = world.post(path, &wrong).await;
        assert!([400, 422].contains(&refused.status), "{wrong}: {}", refused.body);
    }
}
