//! The health report over HTTP.

use serde_json::json;

use super::world::{DOOMED, ORDER, World};

#[tokio::test]
async fn an_empty_window_says_so() {
    let world = World::start().await;
    let report = world.get("/v1/actions/health").await.expect(200);
    assert_eq!((&report["isEmpty"], &report["window"]), (&json!(true), &json!("1h")));
    assert_eq!(
        (&report["successRate"], &report["latency"]),
        (&json!(null), &json!(null))
    );
    world.get("/v1/actions/health?window=2h").await.problem("query-invalid");
}

#[tokio::test]
async fn what_happened_is_in_the_report_by_type_and_by_action() {
    let world = World::start().await;
    for machine in [
        ORDER,
        &DOOMED.replace("nobody there }", "nobody there, costEstimate: 2 }"),
    ] {
        world.apply(machine).await.expect(201);
    }
    for _ in 0..3 {
        let doomed = world.begin("doomed").await;
        world.action(&doomed, |action| action["status"] == "dead").await;
    }
    let paid = world.begin("order").await;
    let pay = json!({"type": "PAY", "payload": {"by": "Ada"}});
    world
        .post(&format!("/v1/executions/{paid}/messages"), &pay)
        .await
        .expect(200);
    world.get(&format!("/v1/executions/{paid}?wait=20s")).await.expect(200);
    for window in ["15m", "1h", "24h", "7d"] {
        let report = world
            .get(&format!("/v1/actions/health?window={window}"))
            .await
            .expect(200);
        assert_eq!(
            (&report["totalExecutions"], &report["successRate"]),
            (&json!(4), &json!(0.25))
        );
        assert_eq!(report["basis"], json!({"actions": 4, "sampled": false}));
        assert_eq!(report["failureReasons"][0]["errorType"], "not_found");
        assert_eq!(report["failureReasons"][0]["deadLetters"], 3);
        let names: Vec<&str> = report["byAction"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["actionId"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["act", "ship"]);
        assert_eq!(report["byType"][0]["errorTypes"], json!({"not_found": 3}));
    }
    let one = world.get("/v1/actions/health?actionId=ship").await.expect(200);
    assert_eq!((&one["totalExecutions"], &one["successRate"]), (&json!(1), &json!(1.0)));
    let nobody = world.get("/v1/actions/health?actionId=nobody").await.expect(200);
    assert_eq!(nobody["isEmpty"], true);
}
