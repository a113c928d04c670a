//! Programs outside the process, over HTTP: routing, leases, outcomes, secrets, and what they send that is wrong.

use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Reply, request};
use super::world::{SECRETS, World};

/// A machine whose action is drawn by a program elsewhere, with a secret.
pub(super) const DRAWING: &str = "
id: drawing
initial: drawing
states:
  drawing: { on: { done.draw: drawn, failed.draw: waiting } }
  waiting: { on: { END: drawn } }
  drawn: { type: final, output: '{{event.result}}' }
actions:
  - actionId: draw
    type: render
    runner: gpu
    triggerState: drawing
    tags: [big]
    config: { frames: 3, token: 'Bearer {{secrets.docusign}}', attempt: '{{attempt.number}}' }
    retryPolicy: { maxAttempts: 3, baseDelay: 1ms, maxDelay: 1ms }
";

const JSON: (&str, &str) = ("Content-Type", "application/json");

impl World {
    /// A program asks for work; at once, unless it says otherwise.
    async fn ask(&self, more: Value) -> Reply {
        let mut asks = json!({"runner": "gpu", "types": ["render"]});
        asks.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.post("/v1/runners/lease", &asks).await
    }

    /// The attempt that a program is given once there is one.
    pub(super) async fn leased(&self) -> Value {
        let given = self.ask(json!({"wait": "20s"})).await.expect(200);
        assert_eq!(given["attempts"].as_array().unwrap().len(), 1, "{given}");
        given["attempts"][0].clone()
    }

    async fn say(&self, attempt: &Value, verb: &str, body: &Value) -> Reply {
        let id = attempt["id"].as_str().unwrap();
        self.post(&format!("/v1/attempts/{id}/{verb}"), body).await
    }
}

async fn drawing() -> (World, String) {
    let world = World::start().await;
    world.apply(DRAWING).await.expect(201);
    let id = world.begin("drawing").await;
    (world, id)
}

#[tokio::test]
async fn a_program_leases_an_attempt_keeps_it_alive_and_completes_it() {
    let (world, id) = drawing().await;
    let queued = world.action(&id, |action| action["status"] == "queued").await;
    let shown = world
        .get(&format!("/v1/actions/{}", queued["id"].as_str().unwrap()))
        .await
        .expect(200);
    assert_eq!(
        (&shown["waiting"]["for"], &shown["waiting"]["object"]),
        (&json!("runner"), &json!("gpu"))
    );
    assert_eq!(shown["runner"], "gpu");
    let explained = world.get(&format!("/v1/executions/{id}/explain")).await.expect(200);
    assert_eq!(explained["waiting"], shown["waiting"], "the execution says the same");
    let attempt = world.leased().await;
    assert_eq!(
        (&attempt["number"], &attempt["actionId"], &attempt["type"]),
        (&json!(1), &json!("draw"), &json!("render"))
    );
    assert_eq!(
        attempt["config"],
        json!({"frames": 3, "token": format!("Bearer {}", SECRETS[2].1), "attempt": 1})
    );
    assert!(
        attempt["leaseUntil"].as_str() < attempt["deadline"].as_str(),
        "{attempt}"
    );
    let running = world.action(&id, |action| action["status"] == "running").await;
    assert_eq!(running["waiting"]["lease"]["runner"], "gpu");
    assert_eq!(running["attempts"][0]["id"], attempt["id"]);
    assert!(running["attempts"][0]["lease"]["until"].as_str() >= attempt["leaseUntil"].as_str());
    let beat = world
        .say(&attempt, "heartbeat", &json!({"checkpoint": {"frame": 2}}))
        .await
        .expect(200);
    assert_eq!(beat["cancelRequested"], false);
    assert!(beat["leaseUntil"].as_str() >= attempt["leaseUntil"].as_str(), "{beat}");
    let ended = world
        .say(
            &attempt,
            "complete",
            &json!({"result": {"frames": 3}, "costEstimate": 0.5}),
        )
        .await
        .expect(200);
    assert_eq!(
        ended,
        json!({"id": attempt["id"], "outcome": "done", "status": "succeeded"})
    );
    let done = world.action(&id, |action| action["status"] == "succeeded").await;
    assert_eq!(
        (&done["result"], &done["attempts"][0]["cost"]),
        (&json!({"frames": 3}), &json!(0.5))
    );
    let closed = world.get(&format!("/v1/executions/{id}")).await.expect(200);
    assert_eq!(closed["output"], json!({"frames": 3}));
}

#[tokio::test]
async fn what_a_program_reports_beside_its_result_is_kept_with_the_attempt_without_secrets() {
    let (world, id) = drawing().await;
    let attempt = world.leased().await;
    let too_much = json!({"metadata": {"log": "x".repeat(300_000)}});
    let refused = world.say(&attempt, "complete", &too_much).await.expect(422);
    assert_eq!(refused["errors"][0]["pointer"], "/metadata", "{refused}");
    let metadata = json!({"host": "gpu-7", "token": SECRETS[2].1});
    let body = json!({"result": 3, "metadata": metadata});
    world.say(&attempt, "complete", &body).await.expect(200);
    let done = world.action(&id, |action| action["status"] == "succeeded").await;
    let kept = &done["attempts"][0];
    assert_eq!(kept["metadata"]["host"], "gpu-7");
    assert_eq!(kept["metadata"]["token"], "[secret docusign]");
    assert_eq!((&kept["success"], &done["success"]), (&json!(true), &json!(true)));
    assert!(
        kept["duration"].is_u64() && done["duration"] == kept["duration"],
        "{done}"
    );
    assert_eq!(
        done["resultEvents"],
        json!([]),
        "a program's result makes no event of its own"
    );
    let again = world.say(&attempt, "complete", &body).await;
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    let other = json!({"result": 3, "metadata": {"host": "gpu-8"}});
    world.say(&attempt, "complete", &other).await.expect(409);
}

#[tokio::test]
async fn a_program_that_waits_gets_work_as_soon_as_there_is_some() {
    let world = World::start().await;
    world.apply(DRAWING).await.expect(201);
    let (attempt, id) = tokio::join!(world.leased(), world.begin("drawing"));
    let running = world.action(&id, |action| action["status"] == "running").await;
    assert_eq!(running["attempts"][0]["id"], attempt["id"]);
    let none = world.ask(json!({"wait": 1})).await.expect(200);
    assert_eq!(none, json!({"attempts": []}));
}

#[tokio::test]
async fn what_comes_back_is_stored_without_the_secrets_that_were_given() {
    let (world, id) = drawing().await;
    let secret = SECRETS[2].1;
    let attempt = world.leased().await;
    let checkpoint = json!({"checkpoint": {"seen": secret}});
    world.say(&attempt, "heartbeat", &checkpoint).await.expect(200);
    let error = json!({
        "error": {"type": "rate_limit", "message": format!("told {secret}"), "details": {"header": secret}},
        "outcome": "notDone",
    });
    let failed = world.say(&attempt, "fail", &error).await.expect(200);
    assert_eq!(
        (&failed["outcome"], &failed["status"]),
        (&json!("notDone"), &json!("retrying"))
    );
    let second = world.leased().await;
    assert_eq!(second["number"], 2);
    assert_eq!(second["idempotencyKey"], attempt["idempotencyKey"]);
    assert!(
        !second["checkpoint"]["seen"].as_str().unwrap().contains(secret),
        "{second}"
    );
    let result = json!({"result": {"echo": [secret, format!("Bearer {secret}")]}});
    world.say(&second, "complete", &result).await.expect(200);
    let done = world.action(&id, |action| action["status"] == "succeeded").await;
    assert_eq!(done["attempts"][0]["error"]["type"], "rate_limit");
    let history = world.get(&format!("/v1/executions/{id}/history")).await.expect(200);
    for (what, shown) in [("action", &done), ("history", &history)] {
        assert!(!shown.to_string().contains(secret), "{what}: {shown}");
    }
    let backup = world
        .handle
        .operate()
        .backup(&sprag_engine::Asker::default())
        .await
        .unwrap();
    let mut stored = Vec::new();
    std::io::Read::read_to_end(&mut std::io::BufReader::new(backup), &mut stored).unwrap();
    assert!(
        !stored.windows(secret.len()).any(|bytes| bytes == secret.as_bytes()),
        "the store holds no secret"
    );
}

#[tokio::test]
async fn an_attempt_ends_once_and_the_same_again_gives_the_same_answer() {
    let (world, id) = drawing().await;
    let attempt = world.leased().await;
    let result = json!({"result": {"frames": 3}});
    let first = world.say(&attempt, "complete", &result).await;
    let again = world.say(&attempt, "complete", &result).await;
    assert_eq!(again.expect(200), first.expect(200));
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    let other = world.say(&attempt, "complete", &json!({"result": 4})).await;
    other.problem("attempt-superseded");
    let failed = world
        .say(&attempt, "fail", &json!({"error": {"type": "timeout"}}))
        .await;
    assert_eq!(
        (failed.status, failed.problem("attempt-superseded")["retryable"].clone()),
        (409, json!(false))
    );
    world
        .say(&attempt, "heartbeat", &json!({}))
        .await
        .problem("attempt-superseded");
    let done = world.action(&id, |action| action["status"] == "succeeded").await;
    assert_eq!(done["result"], json!({"frames": 3}));
}

#[tokio::test]
async fn a_failure_is_unknown_unless_the_program_is_certain() {
    let (world, id) = drawing().await;
    let attempt = world.leased().await;
    let error = json!({"error": {"type": "cut", "message": "the line went dead", "code": "E7"}});
    let failed = world.say(&attempt, "fail", &error).await.expect(200);
    assert_eq!(
        (&failed["outcome"], &failed["status"]),
        (&json!("unknown"), &json!("retrying"))
    );
    let attempt = world.leased().await;
    let hopeless = json!({"error": {"type": "cut", "retryable": false}, "outcome": "notDone"});
    let failed = world.say(&attempt, "fail", &hopeless).await.expect(200);
    assert_eq!(failed["status"], "dead", "no other attempt can help");
    let dead = world.action(&id, |action| action["status"] == "dead").await;
    let outcomes: Vec<&Value> = dead["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["outcome"])
        .collect();
    assert_eq!(outcomes, ["unknown", "notDone"]);
    assert_eq!(dead["attempts"][0]["error"]["code"], "E7");
}

#[tokio::test]
async fn a_heartbeat_hears_that_somebody_cancelled() {
    let (world, id) = drawing().await;
    let attempt = world.leased().await;
    let action = world.action(&id, |action| action["status"] == "running").await;
    world
        .command(&format!("/v1/actions/{}/cancel", action["id"].as_str().unwrap()))
        .await
        .expect(200);
    let beat = world.say(&attempt, "heartbeat", &json!({})).await.expect(200);
    assert_eq!(beat["cancelRequested"], true);
    let stopped = json!({"error": {"type": "stopped"}, "outcome": "notDone"});
    let ended = world.say(&attempt, "fail", &stopped).await.expect(200);
    assert_eq!(ended["status"], "cancelled");
}

#[tokio::test]
async fn a_program_that_hangs_up_while_it_waits_takes_no_work_with_it() {
    let world = World::start().await;
    world.apply(DRAWING).await.expect(201);
    // Should the answer already be on its way, the attempt comes back with its lease.
    let asks = json!({"runner": "gpu", "types": ["render"], "wait": "60s", "leaseSeconds": 1}).to_string();
    let mut stream = tokio::net::TcpStream::connect(world.address).await.unwrap();
    let bytes = request("POST", "/v1/runners/lease", &[JSON], asks.as_bytes());
    tokio::io::AsyncWriteExt::write_all(&mut stream, &bytes).await.unwrap();
    drop(stream);
    let id = world.begin("drawing").await;
    let attempt = tokio::time::timeout(Duration::from_secs(20), world.leased())
        .await
        .unwrap();
    let action = world.action(&id, |action| action["status"] == "running").await;
    let last = action["attempts"].as_array().unwrap().last().unwrap();
    assert_eq!(last["id"], attempt["id"], "whoever is there performs it");
}

/// What is wrong with a request for work, where, and what is said about it.
fn wrong_leases() -> Vec<(Value, &'static str, &'static str)> {
    vec![
        (json!({}), "/types", "at least one type"),
        (json!({"types": "render"}), "/types", "list of texts"),
        (json!({"types": ["render", ""]}), "/types/1", "from 1 to 512 bytes"),
        (
            json!({"types": ["render"], "max": 0}),
            "/max",
            "`0` is not a whole number from 1 to 100",
        ),
        (
            json!({"types": ["render"], "leaseSeconds": 1.5}),
            "/leaseSeconds",
            "from 1 to 3600",
        ),
        (json!({"types": ["render"], "wait": "soon"}), "/wait", "`30s`"),
        (json!({"types": ["render"], "wait": -1}), "/wait", "`-1`"),
        (
            json!({"types": ["render"], "runner": ""}),
            "/runner",
            "from 1 to 512 bytes",
        ),
        (json!({"types": ["render"], "tags": [7]}), "/tags/0", "`7` is not text"),
        (json!({"types": vec!["x"; 101]}), "/types", "at most 100"),
        (
            json!({"type": ["render"], "types": ["x"]}),
            "/type",
            "did you mean `types`?",
        ),
    ]
}

/// The same for what is said about an attempt.
fn wrong_words() -> Vec<((&'static str, Value), &'static str, &'static str)> {
    vec![
        (
            ("complete", json!({"costEstimate": "much"})),
            "/costEstimate",
            "number from 0",
        ),
        (("complete", json!({"metadata": 3})), "/metadata", "an object"),
        (("fail", json!({"error": "no"})), "/error", "an object"),
        (("fail", json!({"error": {}})), "/error/type", "is missing"),
        (
            ("fail", json!({"error": {"type": "a b"}})),
            "/error/type",
            "letters, digits",
        ),
        (
            ("fail", json!({"error": {"type": "x"}, "outcome": "done"})),
            "/outcome",
            "`notDone`",
        ),
        (
            ("fail", json!({"error": {"type": "x"}, "retryAfter": "later"})),
            "/retryAfter",
            "`30s`",
        ),
        (
            ("heartbeat", json!({"chekpoint": 1})),
            "/chekpoint",
            "did you mean `checkpoint`?",
        ),
    ]
}

#[tokio::test]
async fn what_programs_send_wrong_is_named_with_its_place_and_its_remedy() {
    let (world, _) = drawing().await;
    let attempt = world.leased().await;
    let leases = wrong_leases().into_iter();
    let leases = leases.map(|(body, pointer, says)| ("/v1/runners/lease".to_owned(), body, pointer, says));
    let words = wrong_words().into_iter().map(|((verb, body), pointer, says)| {
        let path = format!("/v1/attempts/{}/{verb}", attempt["id"].as_str().unwrap());
        (path, body, pointer, says)
    });
    for (path, body, pointer, says) in leases.chain(words) {
        let reply = world.post(&path, &body).await;
        let problem = reply.problem("body-invalid");
        assert_eq!(reply.status, 422, "{body}");
        let errors = problem["errors"].as_array().unwrap();
        let found = errors.iter().find(|error| error["pointer"] == pointer);
        let detail = found.and_then(|error| error["detail"].as_str()).unwrap_or_default();
        assert!(detail.contains(says), "{body}: no `{says}` at {pointer} in {problem}");
    }
    world.say(&attempt, "complete", &json!({})).await.expect(200);
}

#[tokio::test]
async fn ids_that_are_no_attempts_and_results_that_are_too_large_are_refused() {
    let (world, _) = drawing().await;
    let unknown = world.post("/v1/attempts/nonsense/heartbeat", &json!({})).await;
    assert_eq!(unknown.status, 404);
    assert!(
        unknown.problem("attempt-unknown")["detail"]
            .as_str()
            .unwrap()
            .contains("`nonsense`")
    );
    let nobody = "/v1/attempts/att_00000000000000000000000000/complete";
    world.post(nobody, &json!({})).await.problem("attempt-superseded");
    let attempt = world.leased().await;
    let large = json!({"result": "x".repeat(300 * 1024)});
    let refused = world
        .say(&attempt, "complete", &large)
        .await
        .problem("variables-too-large");
    assert_eq!(refused["errors"][0]["pointer"], "/result");
    world
        .say(&attempt, "complete", &json!({"result": "small"}))
        .await
        .expect(200);
}

#[tokio::test]
async fn a_type_that_nothing_serves_needs_a_runner_and_the_error_says_so() {
    let world = World::start().await;
    let unrouted = DRAWING.replace("    runner: gpu\n", "");
    let problem = world.apply(&unrouted).await.problem("definition-invalid");
    let said = problem.to_string();
    assert!(
        said.contains("no runner serves type `render`") && said.contains("external `runner`"),
        "{said}"
    );
}
