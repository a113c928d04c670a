//! Lists: filters, pages, cursors.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::world::{LATER, ORDER, World};

fn ids(page: &Value) -> Vec<String> {
    page["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["id"].as_str().unwrap().to_owned())
        .collect()
}

/// Every id of a list, page by page.
async fn walk(world: &World, path: &str) -> Vec<String> {
    let mut seen = Vec::new();
    let mut next = path.to_owned();
    loop {
        let page = world.get(&next).await.expect(200);
        let rows = ids(&page);
        assert!(!rows.is_empty() || seen.is_empty(), "a cursor leads to an empty page");
        seen.extend(rows);
        match page["nextCursor"].as_str() {
            Some(cursor) => next = format!("{path}&cursor={cursor}"),
            None => return seen,
        }
    }
}

#[tokio::test]
async fn lists_are_walked_whole_and_without_repeats() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    world.apply(LATER).await.expect(201);
    let mut started = BTreeSet::new();
    for _ in 0..5 {
        started.insert(world.begin("order").await);
        started.insert(world.begin("later").await);
    }
    for limit in [1, 2, 3, 10, 1_000] {
        let seen = walk(&world, &format!("/v1/executions?limit={limit}")).await;
        assert_eq!(seen.len(), 10, "limit {limit}");
        assert_eq!(seen.iter().cloned().collect::<BTreeSet<_>>(), started);
        assert!(seen.is_sorted_by(|newer, older| newer > older), "newest first");
        assert_eq!(walk(&world, &format!("/v1/actions?limit={limit}")).await.len(), 5);
        assert_eq!(
            walk(&world, &format!("/v1/executions?machine=order&limit={limit}"))
                .await
                .len(),
            5
        );
        assert_eq!(
            walk(&world, &format!("/v1/machines?limit={limit}")).await,
            ["later", "order"]
        );
    }
}

#[tokio::test]
async fn filters_restrict_what_is_listed() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    world.apply(LATER).await.expect(201);
    let body = json!({"machine": "order", "key": "A 1", "variables": {"amount": 1}});
    let keyed = world.post("/v1/executions", &body).await.expect(201)["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let cancelled = world.begin("order").await;
    world
        .command(&format!("/v1/executions/{cancelled}/cancel"))
        .await
        .expect(200);
    let later = world.begin("later").await;
    let table = [
        ("/v1/executions?key=A%201", vec![&keyed]),
        ("/v1/executions?key=A+1", vec![&keyed]),
        ("/v1/executions?key=A", vec![]),
        ("/v1/executions?status=cancelled", vec![&cancelled]),
        ("/v1/executions?status=running&machine=order", vec![&keyed]),
        ("/v1/executions?machine=later", vec![&later]),
        ("/v1/executions?machine=nothing", vec![]),
    ];
    for (path, expected) in table {
        let found = ids(&world.get(path).await.expect(200));
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{path}");
    }
    for filter in [
        "actionId=act",
        "type=noop",
        "status=scheduled",
        "machine=later",
        &format!("executionId={later}"),
    ] {
        let found = world.get(&format!("/v1/actions?{filter}")).await.expect(200);
        assert_eq!(found["data"][0]["executionId"], later.as_str(), "{filter}");
    }
    for filter in [
        "actionId=other",
        "type=fail",
        "status=dead",
        "machine=order",
        &format!("executionId={keyed}"),
    ] {
        let found = world.get(&format!("/v1/actions?{filter}")).await.expect(200);
        assert_eq!(found["data"], json!([]), "{filter}");
    }
}

#[tokio::test]
async fn a_cursor_of_another_list_or_other_filters_is_refused() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    world.apply(LATER).await.expect(201);
    for _ in 0..2 {
        world.begin("order").await;
        world.begin("later").await;
    }
    let page = world.get("/v1/executions?limit=1").await.expect(200);
    let cursor = page["nextCursor"].as_str().unwrap();
    world
        .get(&format!("/v1/executions?limit=3&cursor={cursor}"))
        .await
        .expect(200);
    let foreign = [
        format!("/v1/actions?cursor={cursor}"),
        format!("/v1/machines?cursor={cursor}"),
        format!("/v1/dead-letters?cursor={cursor}"),
        format!("/v1/executions?status=running&cursor={cursor}"),
        format!("/v1/executions?cursor={}", &cursor[1..]),
        format!("/v1/executions?cursor={cursor}0"),
        "/v1/executions?cursor=".to_owned(),
        "/v1/executions?cursor=%27%20OR%201=1".to_owned(),
    ];
    for path in foreign {
        world.get(&path).await.problem("cursor-invalid");
    }
}

#[tokio::test]
async fn a_cursor_with_a_right_checksum_and_a_wrong_position_is_refused() {
    let world = World::start().await;
    for (list, path) in [
        ("executions", "/v1/executions"),
        ("actions", "/v1/actions"),
        ("dead-letters", "/v1/dead-letters"),
    ] {
        let forged = crate::request::cursor::encode(list, "exe_nonsense");
        world
            .get(&format!("{path}?cursor={forged}"))
            .await
            .problem("cursor-invalid");
    }
}

#[tokio::test]
async fn query_parameters_are_known_single_and_readable() {
    let world = World::start().await;
    let table = [
        ("/v1/executions?sttaus=running", "?sttaus", "did you mean `status`?"),
        ("/v1/executions?zzzzzzzz=1", "?zzzzzzzz", "known are `machine`"),
        ("/v1/executions?status=runing", "?status", "not one of `running`"),
        ("/v1/executions?limit=0", "?limit", "from 1 to 1000"),
        ("/v1/executions?limit=1001", "?limit", "from 1 to 1000"),
        ("/v1/executions?limit=-1", "?limit", "`-1`"),
        ("/v1/executions?limit=ten", "?limit", "`ten`"),
        ("/v1/executions?limit=", "?limit", "``"),
        ("/v1/executions?limit=1&limit=2", "?limit", "more than once"),
        ("/v1/executions?key=%ff", "?key", "not UTF-8"),
        ("/v1/actions?executionId=nonsense", "?executionId", "nonsense"),
        ("/v1/actions?status=completed", "?status", "`succeeded`"),
        ("/v1/system?verbose=1", "?verbose", "no parameters"),
        (
            "/v1/executions/exe_00000000000000000000000000?wait=soon",
            "?wait",
            "`soon`",
        ),
        (
            "/v1/executions/exe_00000000000000000000000000/history?after=-1",
            "?after",
            "`-1`",
        ),
    ];
    for (path, pointer, detail) in table {
        let problem = world.get(path).await.problem("query-invalid");
        let error = &problem["errors"][0];
        assert_eq!(error["pointer"], pointer, "{path}");
        assert!(error["detail"].as_str().unwrap().contains(detail), "{path}: {error}");
    }
    let problem = world
        .get("/v1/executions?limit=0&status=x&other=1")
        .await
        .problem("query-invalid");
    assert_eq!(problem["errors"].as_array().unwrap().len(), 3, "everything at once");
}
