//! What can be done with machines without running them: simulate, compare, draw.

use serde_json::{Value, json};

use super::world::{ORDER, World};

const PATH: &str = "/v1/machines/simulate";

fn configurations(lines: &Value) -> Vec<String> {
    let lines = lines["data"].as_array().unwrap().iter();
    lines
        .map(|line| line["configuration"][0].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_definition_is_stepped_through_and_nothing_is_kept() {
    let world = World::start().await;
    let events = json!([
        {"type": "HOLD"},
        {"advance": "5m"},
        {"type": "done.ship"},
        {"type": "PAY", "payload": {"by": "card"}},
        {"outcome": "ship", "success": false},
        {"type": "RESOLVED"},
    ]);
    let body = json!({"definition": ORDER, "variables": {"amount": 1, "by": "x"}, "events": events});
    let lines = world.post(PATH, &body).await.expect(200);
    assert_eq!(
        configurations(&lines),
        ["open", "held", "held", "held", "paid", "stuck", "shipped"]
    );
    assert_eq!(lines["nextCursor"], Value::Null);
    let [first, refused, paid] = [&lines["data"][0], &lines["data"][3], &lines["data"][4]];
    assert_eq!(first["event"], Value::Null);
    assert_eq!(
        (&refused["handled"], &refused["error"]),
        (&json!(false), &json!("reserved-type"))
    );
    assert_eq!(paid["actions"], json!(["ship"]));
    assert_eq!(world.get("/v1/machines").await.expect(200)["data"], json!([]));
    assert_eq!(world.get("/v1/executions").await.expect(200)["data"], json!([]));
}

#[tokio::test]
async fn a_kept_version_and_a_definition_in_json_are_simulated_alike() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    world.apply(&ORDER.replace("open", "new")).await.expect(201);
    let simulate = async |source: Value| {
        let mut body = json!({"variables": {"amount": 1}, "events": [{"type": "HOLD"}]});
        body.as_object_mut()
            .unwrap()
            .extend(source.as_object().unwrap().clone());
        configurations(&world.post(PATH, &body).await.expect(200))
    };
    assert_eq!(simulate(json!({"machine": "order"})).await, ["new", "held"]);
    assert_eq!(
        simulate(json!({"machine": "order", "version": 1})).await,
        ["open", "held"]
    );
    let definition = world.get("/v1/machines/order/versions/1").await.expect(200)["definition"].clone();
    assert_eq!(simulate(json!({"definition": definition})).await, ["open", "held"]);
}

#[tokio::test]
async fn what_cannot_be_simulated_is_refused() {
    let world = World::start().await;
    let both = json!({"definition": ORDER, "machine": "order"});
    for body in [json!({}), both] {
        let problem = world.post(PATH, &body).await.problem("body-invalid");
        assert_eq!(problem["errors"][0]["pointer"], "/definition", "{body}");
    }
    world
        .post(PATH, &json!({"machine": "nothing"}))
        .await
        .problem("machine-unknown");
    let broken = world
        .post(PATH, &json!({"definition": {"id": "x"}}))
        .await
        .problem("definition-invalid");
    assert!(!broken["findings"].as_array().unwrap().is_empty());
    let events = json!([{"type": "A"}, {"tpye": "B"}, 5, {"advance": "soon"}, {}]);
    let problem = world
        .post(PATH, &json!({"definition": ORDER, "events": events}))
        .await
        .problem("body-invalid");
    let pointers: Vec<&str> = problem["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| error["pointer"].as_str().unwrap())
        .collect();
    assert_eq!(pointers, ["/events/1", "/events/2", "/events/3", "/events/4"]);
    let refused = world
        .post(PATH, &json!({"definition": ORDER, "variables": {"note": "no amount"}}))
        .await
        .problem("input-invalid");
    assert_eq!(refused["errors"][0]["pointer"], "/variables");
    let many = vec![json!({"type": "A"}); 1_001];
    let problem = world
        .post(PATH, &json!({"definition": ORDER, "events": many}))
        .await
        .problem("body-invalid");
    assert_eq!(problem["errors"][0]["pointer"], "/events");
}

#[tokio::test]
async fn a_simulation_that_would_say_too_much_is_cut_off() {
    let world = World::start().await;
    let variables = json!({"amount": "x".repeat(100_000)});
    let body = json!({"definition": ORDER, "variables": variables, "events": vec![json!({"type": "A"}); 100]});
    world.post(PATH, &body).await.problem("simulation-too-large");
}

#[tokio::test]
async fn two_machines_are_compared_wherever_they_come_from() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    world
        .apply(&ORDER.replace("HOLD: held", "HOLD: held\n      DROP: stuck"))
        .await
        .expect(201);
    let kept = |version: u32| json!({"machine": "order", "version": version});
    let same = world
        .post(
            "/v1/machines/diff",
            &json!({"before": kept(1), "after": {"definition": ORDER}}),
        )
        .await;
    assert_eq!(same.expect(200), json!({"changes": []}));
    let other = world
        .post(
            "/v1/machines/diff",
            &json!({"before": kept(1), "after": {"machine": "order"}}),
        )
        .await;
    let changes = other.expect(200)["changes"].clone();
    assert_eq!(changes.as_array().unwrap().len(), 1, "{changes}");
    assert_eq!(
        (&changes[0]["change"], &changes[0]["what"]),
        (&json!("added"), &json!("transition"))
    );
    let problem = world
        .post("/v1/machines/diff", &json!({"before": {"machin": "order"}}))
        .await
        .problem("body-invalid");
    let pointers: Vec<&Value> = problem["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| &error["pointer"])
        .collect();
    assert_eq!(pointers, ["/before/machin", "/before/definition", "/after"]);
    world
        .post("/v1/machines/diff", &json!({"before": kept(1), "after": kept(3)}))
        .await
        .problem("version-unknown");
}

#[tokio::test]
async fn a_machine_is_drawn_in_every_format() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    world.apply(&ORDER.replace("open", "new")).await.expect(201);
    let table = [
        ("", "image/svg+xml", "<svg", "new"),
        ("?format=svg&version=1", "image/svg+xml", "<svg", "open"),
        ("?format=mermaid", "text/plain; charset=utf-8", "stateDiagram-v2", "new"),
        ("?format=dot", "text/vnd.graphviz; charset=utf-8", "digraph", "new"),
    ];
    for (query, media, start, state) in table {
        let reply = world.get(&format!("/v1/machines/order/diagram{query}")).await;
        assert_eq!(
            (reply.status, reply.header("content-type")),
            (200, Some(media)),
            "{query}"
        );
        assert!(
            reply.body.contains(start) && reply.body.contains(state),
            "{query}: {}",
            reply.body
        );
        assert!(
            reply
                .header("content-security-policy")
                .unwrap()
                .contains("default-src 'none'")
        );
    }
    let geometry = world.get("/v1/machines/order/diagram?format=json").await.expect(200);
    assert_eq!(geometry["machine"], "order");
    let states = geometry["states"].as_array().unwrap();
    assert!(states.iter().any(|state| state["id"] == "new" && state["parent"] == 0));
    for line in geometry["lines"].as_array().unwrap() {
        assert!(line["points"].as_array().unwrap().len() >= 2 && line["event"].is_string());
    }
    let before = world
        .get("/v1/machines/order/diagram?format=json&version=1")
        .await
        .expect(200);
    assert!(before["states"].to_string().contains("open") && !before["states"].to_string().contains("\"new\""));
    world
        .get("/v1/machines/order/diagram?format=png")
        .await
        .problem("query-invalid");
    world
        .get("/v1/machines/order/diagram?version=9")
        .await
        .problem("version-unknown");
    world
        .get("/v1/machines/nothing/diagram")
        .await
        .problem("machine-unknown");
}
