//! What describes the API, as it is served.

use serde_json::Value;

use super::client::{exchange, request};
use super::world::World;
use crate::openapi::RESOURCES;

#[tokio::test]
async fn the_document_is_served_and_takes_no_parameters() {
    let world = World::start().await;
    let document = world.get("/v1/openapi.json").await.expect(200);
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["paths"]["/v1/executions"]["post"].is_object());
    world.get("/v1/openapi.json?pretty=1").await.problem("query-invalid");
}

#[tokio::test]
async fn the_page_and_its_style_are_served_and_nothing_in_them_runs() {
    let world = World::start().await;
    let page = world.get("/api").await;
    assert_eq!(page.status, 200, "{}", page.head);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'self';"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    assert!(page.body.contains("href=\"/style.css\""));
    assert!(
        page.body
            .contains("curl -X POST &#39;http://localhost/v1/machines&#39;")
    );
    let style = world.get("/style.css").await;
    assert_eq!(style.header("content-type"), Some("text/css; charset=utf-8"));
    assert!(style.body.contains("prefers-color-scheme: dark"));
}

#[tokio::test]
async fn browsers_get_the_interface_wherever_the_api_has_no_route() {
    let world = World::start().await;
    let browser = [("Accept", "text/html,*/*;q=0.8")];
    let root = world.get("/").await;
    assert_eq!(root.header("cache-control"), Some("no-store"));
    let page = exchange(world.address, &request("GET", "/executions/exe_1", &browser, b"")).await;
    assert_eq!((page.status, &page.body), (200, &root.body));
    let program = exchange(world.address, &request("GET", "/executions/exe_1", &[], b"")).await;
    program.problem("route-unknown");
    let api = exchange(world.address, &request("GET", "/v1/nothing", &browser, b"")).await;
    api.problem("route-unknown");
    world.get("/assets/gone-1.js").await.problem("route-unknown");
}

#[tokio::test]
async fn pages_are_guarded_like_everything_else() {
    let world = World::start().await;
    let get = |headers: &[(&str, &str)]| request("GET", "/executions", headers, b"");
    let foreign = exchange(world.address, &get(&[("Host", "evil.example")])).await;
    foreign.problem("host-refused");
    let page = exchange(world.address, &get(&[("Origin", "http://evil.example")])).await;
    page.problem("origin-refused");
}

#[tokio::test]
async fn every_example_of_the_page_works_as_it_is_shown() {
    let world = World::start().await;
    // This server supervises nothing.
    for resource in RESOURCES.iter().filter(|resource| resource.name != "workers") {
        let example = &resource.example;
        let (headers, body) = match example.body {
            Some((media, body)) => (vec![("Content-Type", media)], body),
            None => (Vec::new(), ""),
        };
        let reply = world
            .send(example.method, example.path, &headers, body.as_bytes())
            .await;
        assert!((200..300).contains(&reply.status), "{}: {reply:?}", resource.name);
    }
}

#[tokio::test]
async fn every_code_of_the_document_has_its_page() {
    let world = World::start().await;
    let document = world.get("/v1/openapi.json").await.expect(200);
    let mut codes = Vec::new();
    listed(&document["paths"], &mut codes);
    codes.sort_unstable();
    codes.dedup();
    assert!(codes.len() > 30, "{codes:?}");
    for code in codes {
        assert_eq!(world.get(&format!("/errors/{code}")).await.status, 200, "{code}");
    }
}

/// Every code that a response can have.
fn listed(value: &Value, codes: &mut Vec<String>) {
    let Some(members) = value.as_object() else {
        value
            .as_array()
            .into_iter()
            .flatten()
            .for_each(|item| listed(item, codes));
        return;
    };
    let own = members.get("code").and_then(|code| code["enum"].as_array());
    codes.extend(own.into_iter().flatten().map(|code| code.as_str().unwrap().to_owned()));
    members.values().for_each(|value| listed(value, codes));
}
