//! Filters and their cursors through HTTP.

use serde_json::{Value, json};

use super::world::{DOOMED, ORDER, World};

/// A text as a query parameter.
pub(super) fn encoded(text: &str) -> String {
    text.bytes()
        .fold(String::new(), |encoded, byte| format!("{encoded}%{byte:02X}"))
}

fn filtered(list: &str, filter: &str) -> String {
    format!("/v1/{list}?filter={}", encoded(filter))
}

fn ids(page: &Value) -> Vec<String> {
    let rows = page["data"].as_array().unwrap();
    rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

async fn tagged(world: &World, key: &str, tags: &[&str]) -> String {
    let body = json!({"machine": "order", "key": key, "tags": tags, "variables": {"amount": 1}});
    let started = world.post("/v1/executions", &body).await.expect(201);
    started["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_filter_says_which_rows_are_listed() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    world.apply(DOOMED).await.expect(201);
    let red = tagged(&world, "A", &["red", "hot"]).await;
    let blue = tagged(&world, "B", &["blue"]).await;
    world
        .command(&format!("/v1/executions/{blue}/cancel"))
        .await
        .expect(200);
    let doomed = world.begin("doomed").await;
    let letter = world.action(&doomed, |action| action["status"] == "dead").await;
    let letter = letter["id"].as_str().unwrap().to_owned();
    let nobody = Vec::<&String>::new();
    let table = [
        ("executions", "tag = \"hot\"".to_owned(), vec![&red]),
        ("executions", "tag IN (\"red\", \"blue\")".to_owned(), vec![&blue, &red]),
        (
            "executions",
            "status = \"cancelled\" AND machine = \"order\"".to_owned(),
            vec![&blue],
        ),
        (
            "executions",
            "NOT (key = \"A\" OR key = \"B\")".to_owned(),
            vec![&doomed],
        ),
        ("executions", format!("id = \"{red}\""), vec![&red]),
        ("executions", "createdAt < \"2020-01-01\"".to_owned(), nobody.clone()),
        (
            "executions",
            "createdAt > \"2020-01-01\" AND version = 1 AND key >= \"B\"".to_owned(),
            vec![&blue],
        ),
        (
            "actions",
            "errorType = \"not_found\" AND type = \"fail\"".to_owned(),
            vec![&letter],
        ),
        ("actions", format!("executionId = \"{red}\""), nobody.clone()),
        (
            "dead-letters",
            "actionId = \"act\" AND machine = \"doomed\" AND priority >= 0".to_owned(),
            vec![&letter],
        ),
        ("dead-letters", "machine = \"order\"".to_owned(), nobody),
    ];
    for (list, filter, expected) in table {
        let page = world.get(&filtered(list, &filter)).await.expect(200);
        assert_eq!(ids(&page).iter().collect::<Vec<_>>(), expected, "{filter}");
        assert_eq!(page["nextCursor"], Value::Null);
    }
    let both = world
        .get(&format!("{}&status=running", filtered("executions", "tag = \"blue\"")))
        .await;
    assert_eq!(ids(&both.expect(200)).len(), 0, "short forms hold too");
}

#[tokio::test]
async fn a_cursor_belongs_to_the_filter_it_was_given_with() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    for number in 0..5 {
        tagged(&world, &format!("{number}"), &["red"]).await;
    }
    let path = format!("{}&limit=2", filtered("executions", "tag = \"red\""));
    let mut seen = Vec::new();
    let mut next = path.clone();
    let cursor = loop {
        let page = world.get(&next).await.expect(200);
        seen.extend(ids(&page));
        match page["nextCursor"].as_str() {
            Some(cursor) => next = format!("{path}&cursor={cursor}"),
            None => break next.rsplit('=').next().unwrap().to_owned(),
        }
    };
    assert_eq!(seen.len(), 5);
    assert!(seen.is_sorted_by(|newer, older| newer > older), "newest first");
    for forged in [
        format!("{}&cursor={cursor}", filtered("executions", "tag = \"blue\"")),
        format!("{}&cursor={cursor}", filtered("actions", "tag = \"red\"")),
        format!("/v1/executions?cursor={cursor}"),
        format!("{path}&cursor={cursor}0"),
        format!("{path}&cursor=ffff{}", &cursor[4..]),
        format!("{path}&cursor={}", encoded("' OR 1=1 --")),
    ] {
        world.get(&forged).await.problem("cursor-invalid");
    }
}

#[tokio::test]
async fn a_filter_that_cannot_be_used_is_answered_with_what_would_do() {
    let world = World::start().await;
    let problem = world
        .get(&filtered("executions", "status = \"runing\""))
        .await
        .problem("filter-invalid");
    assert_eq!(
        problem["errors"],
        json!([{
            "pointer": "?filter",
            "detail": "column 1: `status` is never \"runing\"; did you mean \"running\"?",
        }])
    );
    let huge = format!("key = \"{}\"", "x".repeat(10_000));
    for filter in [
        "",
        "status = ",
        "stauts = \"running\"",
        "key = 'x'; DROP TABLE execution; --",
        "1=1",
        &"(".repeat(2_000),
        &"NOT ".repeat(1_000),
        &huge,
    ] {
        world
            .get(&filtered("executions", filter))
            .await
            .problem("filter-invalid");
    }
    world
        .get(&format!("{}&x=1", filtered("jobs", "nonsense")))
        .await
        .problem("query-invalid");
}

#[tokio::test]
async fn text_that_looks_like_sql_is_text() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let hostile = "x' OR '1'='1'; DROP TABLE execution; --";
    let meant = tagged(&world, hostile, &[hostile]).await;
    tagged(&world, "other", &[]).await;
    for field in ["key", "tag"] {
        let page = world
            .get(&filtered("executions", &format!("{field} = \"{hostile}\"")))
            .await;
        assert_eq!(ids(&page.expect(200)), std::slice::from_ref(&meant));
    }
    let none = world
        .get(&filtered("executions", &format!("machine = \"{hostile}\"")))
        .await;
    assert_eq!(ids(&none.expect(200)).len(), 0);
}
