//! Why something does not move, asked of a node that does not decide on it.

use super::nodes::{GUARD, pair};
use super::world::SLOW;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_node_says_what_the_one_that_decides_on_it_knows() {
    let (_shared, one, two) = pair().await;
    one.apply(SLOW).await.expect(201);
    let node = one.get("/v1/system").await.expect(200)["cluster"]["node"].clone();
    let (running, queued) = (one.begin("slow").await, one.begin("slow").await);
    let explain = |id: &str| format!("/v1/executions/{id}/explain");
    let under_way = two.get(&explain(&running)).await.expect(200);
    assert_eq!(under_way["waiting"]["state"], "running", "{under_way}");
    assert_eq!(under_way["waiting"]["node"], node, "{under_way}");
    assert!(under_way["waiting"]["nodeUntil"].is_string(), "{under_way}");
    // Only the dispatcher knows what a queued action lacks; and while its node is out of touch, that is what it lacks.
    let look = async {
        while two.get(&explain(&queued)).await.expect(200)["waiting"]["object"] != "one" {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(GUARD, look).await.expect("what the owner knows");
    // A node that is gone leaves what is stored.
    one.stop_server().await;
    let stored = two.get(&explain(&running)).await.expect(200);
    assert_eq!(stored["id"], running.as_str());
}
