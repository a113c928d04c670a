//! Load tests and their agents over the API, without any agent: what is refused, what is listed, what is shown.

use serde_json::{Value, json};

use sprag_agent::durable::Loads;

use super::world::{Plan, World};

fn plan() -> Value {
    let http = json!({"url": "http://127.0.0.1:9/"});
    json!({"name": "quick", "workload": "http", "http": http, "concurrency": 1, "duration": "1s"})
}

async fn register(world: &World, name: &str, address: &str) -> Value {
    let agent = json!({"name": name, "address": address});
    world.post("/v1/agents", &agent).await.expect(200)
}

#[tokio::test]
async fn agents_are_listed_by_name_and_a_repeat_renews() {
    let world = World::start().await;
    assert_eq!(world.get("/v1/agents").await.expect(200)["data"], json!([]));
    register(&world, "b", "127.0.0.1:2").await;
    let shown = register(&world, "a", "127.0.0.1:1").await;
    assert_eq!((&shown["name"], &shown["load"]), (&json!("a"), &Value::Null));
    register(&world, "a", "127.0.0.1:1").await;
    let listed = world.get("/v1/agents").await.expect(200);
    let names: Vec<&str> = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|agent| agent["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["a", "b"]);
    for (wrong, pointer) in [
        (json!({"name": "a", "address": "127.0.0.1"}), "/address"),
        (json!({"name": "a\n", "address": "127.0.0.1:1"}), "/name"),
        (json!({"address": "127.0.0.1:1"}), "/name"),
    ] {
        let problem = world.post("/v1/agents", &wrong).await.problem("body-invalid");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{wrong}");
    }
}

#[tokio::test]
async fn a_load_whose_agent_does_not_answer_did_not_happen_and_says_what_to_do() {
    let world = World::start().await;
    // Nothing listens at this port of loopback.
    let body = json!({"plan": plan(), "agents": ["127.0.0.1:1"], "tags": ["night"]});
    let reply = world.post("/v1/loads", &body).await;
    let started = reply.expect(201);
    let id = started["id"].as_str().unwrap();
    assert_eq!(reply.header("location"), Some(format!("/v1/loads/{id}").as_str()));
    let execution = started["executionId"].as_str().unwrap();
    let dead = world.action(execution, |action| action["status"] == "dead").await;
    assert_eq!(dead["attempts"][0]["outcome"], "notDone");
    let shown = world.get(&format!("/v1/loads/{id}")).await.expect(200);
    assert_eq!(shown["lastError"]["type"], "service_unavailable");
    assert!(shown["lastError"]["details"]["suggestedFix"].is_string(), "{shown:#}");
    assert_eq!(
        (&shown["name"], &shown["agents"]),
        (&json!("quick"), &json!(["127.0.0.1:1"]))
    );
    assert_eq!((&shown["live"], &shown["result"]), (&Value::Null, &Value::Null));
    let listed = world.get("/v1/loads?status=dead").await.expect(200);
    assert_eq!(listed["data"][0]["id"], json!(id));
    assert_eq!(
        world.get("/v1/loads?status=running").await.expect(200)["data"],
        json!([])
    );
    let stream = world.get(&format!("/v1/loads/{id}/stream")).await;
    assert_eq!(stream.status, 200);
    assert!(
        stream.body.contains("event: ended"),
        "a load that has ended is shown once: {}",
        stream.body
    );
    world
        .command(&format!("/v1/loads/{id}/abort"))
        .await
        .problem("status-conflict");
}

#[tokio::test]
async fn lists_are_pages_of_loads_and_hold_no_other_actions() {
    let world = World::start().await;
    world.apply(super::world::DOOMED).await.expect(201);
    let other = world.begin("doomed").await;
    let other = world.action(&other, |action| action["status"] == "dead").await;
    let other = other["id"].as_str().unwrap();
    let body = json!({"plan": plan(), "agents": ["127.0.0.1:1"]});
    for _ in 0..3 {
        world.post("/v1/loads", &body).await.expect(201);
    }
    let first = world.get("/v1/loads?limit=2").await.expect(200);
    assert_eq!(first["data"].as_array().unwrap().len(), 2);
    let cursor = first["nextCursor"].as_str().unwrap();
    let second = world
        .get(&format!("/v1/loads?limit=2&cursor={cursor}"))
        .await
        .expect(200);
    assert_eq!(
        (second["data"].as_array().unwrap().len(), &second["nextCursor"]),
        (1, &Value::Null)
    );
    for path in ["", "/stream"] {
        let problem = world
            .get(&format!("/v1/loads/{other}{path}"))
            .await
            .problem("action-unknown");
        assert!(problem["detail"].as_str().unwrap().contains("fail"), "{problem}");
    }
    world
        .command(&format!("/v1/loads/{other}/abort"))
        .await
        .problem("action-unknown");
    let machine = world.get("/v1/machines/sprag.load").await.expect(200);
    assert_eq!(machine["version"], 1, "it was applied once");
}

#[tokio::test]
async fn the_machine_around_a_load_is_applied_again_if_somebody_changed_it() {
    let world = World::start().await;
    world
        .apply("id: sprag.load\ninitial: a\nstates: { a: {} }\n")
        .await
        .expect(201);
    let body = json!({"plan": plan(), "agents": ["127.0.0.1:1"]});
    let started = world.post("/v1/loads", &body).await.expect(201);
    let execution = started["executionId"].as_str().unwrap();
    let shown = world.get(&format!("/v1/executions/{execution}")).await.expect(200);
    assert_eq!(shown["version"], 2);
}

#[tokio::test]
async fn a_plan_with_errors_starts_nothing_and_names_each_place() {
    let world = World::start().await;
    let mut wrong = plan();
    wrong["concurrency"] = json!(0);
    wrong["durtion"] = json!("1s");
    let body = json!({"plan": wrong, "agents": ["127.0.0.1:1"]});
    let problem = world.post("/v1/loads", &body).await.problem("load-plan-invalid");
    let errors = problem["errors"].as_array().unwrap();
    let pointers: Vec<&str> = errors.iter().map(|error| error["pointer"].as_str().unwrap()).collect();
    assert_eq!(pointers, ["/plan/concurrency", "/plan/durtion"]);
    assert_eq!(world.get("/v1/loads").await.expect(200)["data"], json!([]));
}

#[tokio::test]
async fn a_directory_that_is_full_takes_no_other_agent_and_renews_those_it_has() {
    let loads = Loads::default();
    let mut number = 0;
    while loads
        .directory()
        .register("a", &format!("127.0.0.1:{}", number + 1))
        .is_ok()
    {
        number += 1;
    }
    let mut plan = Plan::default();
    plan.options.loads = loads;
    let world = World::with(plan).await;
    let other = json!({"name": "b", "address": "127.0.0.2:1"});
    world.post("/v1/agents", &other).await.problem("agents-full");
    register(&world, "a", "127.0.0.1:1").await;
    let listed = world.get("/v1/agents").await.expect(200);
    assert_eq!(listed["data"].as_array().unwrap().len(), number);
}
