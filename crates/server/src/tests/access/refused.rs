//! Requests without a valid token: one entry of the audit for each address, with their number.

use serde_json::{Value, json};

use super::{Guarded, send};

/// The entries about refused requests, oldest first.
async fn entries(world: &Guarded) -> Vec<Value> {
    let path = "/v1/audit?filter=verb%20%3D%20%22request.refused%22";
    let page = world.get(&world.admin, path).await.expect(200);
    page["data"].as_array().unwrap().iter().rev().cloned().collect()
}

#[tokio::test]
async fn requests_without_a_valid_token_are_counted_by_address_in_one_entry() {
    let world = Guarded::start().await;
    for _ in 0..3 {
        world.world.get("/v1/me").await.problem("token-missing");
    }
    send(&world.world, "spt_guessed", ("GET", "/v1/me"), &[], &Value::Null)
        .await
        .problem("token-invalid");
    assert_eq!(entries(&world).await, [json!(null); 0], "each alone is in no entry");
    world.world.counted.write().await;
    let found = entries(&world).await;
    let shown: Vec<_> = found
        .iter()
        .map(|entry| {
            json!([
                entry["principal"],
                entry["target"],
                entry["address"],
                entry["refused"],
                entry["after"]
            ])
        })
        .collect();
    assert_eq!(
        shown,
        [
            json!([
                "anonymous",
                "token",
                "127.0.0.1",
                "token-invalid",
                "1 request in a minute"
            ]),
            json!([
                "anonymous",
                "token",
                "127.0.0.1",
                "token-missing",
                "3 requests in a minute"
            ]),
        ]
    );
    // What was written is not counted again.
    world.world.counted.write().await;
    assert_eq!(entries(&world).await.len(), 2);
}
