//! A server beside which nothing is supervised; the routes themselves are tested with a supervisor of their own.

use super::world::{Plan, World};

#[tokio::test]
async fn a_server_that_supervises_nothing_says_so_and_what_would_change_it() {
    let world = World::with(Plan::default()).await;
    let problem = world.get("/v1/workers").await.problem("supervision-off");
    assert!(
        problem["detail"]
            .as_str()
            .is_some_and(|detail| detail.contains("--services FILE"))
    );
}
