//! Every route and every role, held against a table that was written by hand.

use std::collections::{BTreeMap, BTreeSet};

use sprag_core::access::Role;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::super::client::request;
use super::Guarded;
use crate::access::rule::Rule;
use crate::openapi::Route;
use crate::routes::table;

/// Who may use what. A route that is not here fails the test.
const BY_HAND: &str = "
    public      GET     /
    public      GET     /assets/{file}
    public      GET     /api
    public      GET     /style.css
    public      GET     /errors/{code}
    public      GET     /healthz
    public      GET     /readyz
    viewer      GET     /metrics
    viewer      GET     /v1/openapi.json
    viewer      GET     /v1/stream
    viewer      GET     /v1/system
    viewer      GET     /v1/schemas/machine
    viewer      GET     /v1/machines
    viewer      GET     /v1/machines/lint
    viewer      GET     /v1/machines/simulate
    viewer      GET     /v1/machines/diff
    viewer      GET     /v1/machines/{id}
    viewer      GET     /v1/machines/{id}/versions
    viewer      GET     /v1/machines/{id}/counts
    viewer      GET     /v1/overview
    viewer      GET     /v1/series
    viewer      GET     /v1/search
    viewer      GET     /v1/schedules
    viewer      GET     /v1/timers
    viewer      GET     /v1/executions/{id}/at/{sequence}
    viewer      GET     /v1/dead-letters/groups
    viewer      GET     /v1/machines/{id}/diagram
    viewer      GET     /v1/machines/{id}/versions/{version}
    viewer      GET     /v1/executions
    viewer      GET     /v1/executions/{id}
    viewer      GET     /v1/executions/{id}/history
    viewer      GET     /v1/executions/{id}/stream
    viewer      GET     /v1/executions/{id}/explain
    viewer      GET     /v1/actions
    viewer      GET     /v1/actions/queue
    viewer      GET     /v1/actions/health
    viewer      GET     /v1/actions/{id}
    viewer      GET     /v1/dead-letters
    viewer      GET     /v1/dead-letters/{id}
    viewer      GET     /v1/audit
    viewer      GET     /v1/audit/heads
    viewer      GET     /v1/kill-switches
    viewer      GET     /v1/kill-switches/{id}
    viewer      GET     /v1/kill-switches/{id}/held
    viewer      GET     /v1/limits
    viewer      GET     /v1/limits/{key}
    viewer      GET     /v1/jobs
    viewer      GET     /v1/jobs/{id}
    viewer      GET     /v1/jobs/{id}/items
    viewer      GET     /v1/workers
    viewer      GET     /v1/workers/deltas
    viewer      GET     /v1/workers/{path}/explain
    viewer      GET     /v1/workers/{path}/logs
    viewer      GET     /v1/workers/{path}/logs/stream
    author      POST    /v1/machines
    author      POST    /v1/machines/lint
    author      POST    /v1/machines/simulate
    author      POST    /v1/machines/diff
    viewer      GET     /v1/operations
    viewer      GET     /v1/operations/{id}
    viewer      GET     /v1/workflows
    viewer      GET     /v1/workflows/{id}
    viewer      GET     /v1/workflows/{id}/plan
    viewer      GET     /v1/approvals
    author      POST    /v1/operations
    proposer    POST    /v1/workflows
    approver    POST    /v1/workflows/{id}/approve
    approver    POST    /v1/workflows/{id}/reject
    approver    POST    /v1/workflows/{id}/revoke
    operator,proposer POST /v1/workflows/{id}/cancel
    operator    POST    /v1/workflows/{id}/resume
    operator    POST    /v1/executions
    operator    POST    /v1/messages
    operator    POST    /v1/executions/{id}/messages
    operator    POST    /v1/executions/{id}/cancel
    operator    POST    /v1/executions/{id}/compensate
    operator    POST    /v1/executions/{id}/pause
    operator    POST    /v1/executions/{id}/resume
    operator    POST    /v1/executions/{id}/migrate
    author,operator POST /v1/executions/{id}/replay
    operator    POST    /v1/actions/{id}/retry-now
    operator    POST    /v1/actions/{id}/cancel
    operator    POST    /v1/dead-letters/retry
    operator    POST    /v1/dead-letters/archive
    operator    POST    /v1/dead-letters/{id}/retry
    operator    POST    /v1/dead-letters/{id}/archive
    operator    POST    /v1/kill-switches
    operator    POST    /v1/kill-switches/{id}/release
    operator    PUT     /v1/limits/{key}
    operator    DELETE  /v1/limits/{key}
    viewer      GET     /v1/loads
    viewer      GET     /v1/loads/{id}
    viewer      GET     /v1/loads/{id}/stream
    viewer      GET     /v1/agents
    operator    POST    /v1/loads
    operator    POST    /v1/loads/{id}/abort
    agent       POST    /v1/agents
    operator    POST    /v1/jobs/{id}/pause
    operator    POST    /v1/jobs/{id}/resume
    operator    POST    /v1/jobs/{id}/cancel
    operator    POST    /v1/workers/reload
    operator    POST    /v1/workers/{path}/start
    operator    POST    /v1/workers/{path}/stop
    operator    POST    /v1/workers/{path}/restart
    operator    POST    /v1/workers/{path}/cancel
    runner      POST    /v1/runners/lease
    runner      POST    /v1/attempts/{id}/heartbeat
    runner      POST    /v1/attempts/{id}/complete
    runner      POST    /v1/attempts/{id}/fail
    signed      POST    /v1/hooks/{machine}/{name}
    admin       GET     /v1/system/restored
    admin       POST    /v1/system/backup
    admin       PUT     /v1/system/clock
    admin       GET     /v1/tokens
    admin       POST    /v1/tokens
    admin       POST    /v1/tokens/{id}/revoke
    admin,agent,approver,author,operator,proposer,runner,viewer GET /v1/me
";

/// Which roles a word of the table lets in, written out again: `Role::covers` is what is tested.
fn let_in(word: &str) -> BTreeSet<&'static str> {
    let only: &[&str] = match word {
        "viewer" => &["viewer", "proposer", "operator", "author", "approver", "admin"],
        "operator" => &["operator", "admin"],
        "author" => &["author", "admin"],
        "author,operator" => &["author", "operator", "admin"],
        "proposer" => &["proposer", "admin"],
        "approver" => &["approver", "admin"],
        "operator,proposer" => &["operator", "proposer", "admin"],
        "runner" => &["runner", "admin"],
        "agent" => &["agent", "admin"],
        "admin" => &["admin"],
        _ => &[
            "viewer", "proposer", "operator", "author", "approver", "runner", "agent", "admin",
        ],
    };
    only.iter().copied().collect()
}

fn by_hand() -> BTreeMap<(String, String), String> {
    let lines = BY_HAND.lines().filter(|line| !line.trim().is_empty());
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [word, method, path] = words[..] else {
            panic!("{line}")
        };
        ((path.to_owned(), method.to_owned()), word.to_owned())
    };
    lines.map(row).collect()
}

#[test]
fn the_route_table_is_the_one_that_was_written_by_hand() {
    let mut made = BTreeMap::new();
    for Route { path, operations, .. } in table() {
        for (method, operation) in operations {
            let mut words = operation.rule.words();
            words.sort_unstable();
            made.insert((path.to_owned(), method.to_uppercase()), words.join(","));
        }
    }
    assert_eq!(made, by_hand());
}

#[test]
fn every_route_that_does_something_names_a_role() {
    for Route { path, operations, .. } in table() {
        for (method, operation) in operations {
            assert_ne!(operation.rule, Rule::Roles(&[]), "{method} {path}");
            let is_public = matches!(operation.rule, Rule::Public | Rule::Metrics);
            assert!(method == "get" || !is_public, "{method} {path}");
        }
    }
}

/// The status of an answer, and its code if it is a refusal. Streams never end, so only their head is read.
async fn decision(world: &Guarded, (method, path): (&str, &str), token: Option<&str>) -> (u16, String) {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let mut headers = vec![("Content-Type", "application/json")];
    headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
    let mut stream = TcpStream::connect(world.world.address).await.unwrap();
    stream.write_all(&request(method, path, &headers, b"")).await.unwrap();
    let mut text = Vec::new();
    while !text.windows(4).any(|window| window == b"\r\n\r\n") {
        assert!(stream.read_buf(&mut text).await.unwrap() > 0, "{method} {path}");
    }
    let head = String::from_utf8_lossy(&text).into_owned();
    let status: u16 = head.split(' ').nth(1).unwrap().parse().unwrap();
    if status < 400 {
        return (status, String::new());
    }
    stream.read_to_end(&mut text).await.unwrap();
    let text = String::from_utf8_lossy(&text).into_owned();
    let body: serde_json::Value = serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap();
    (status, body["code"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn every_role_may_use_exactly_the_routes_of_the_table() {
    let world = Guarded::start().await;
    let mut tokens = BTreeMap::new();
    for role in Role::ALL {
        tokens.insert(role.word(), world.token(role.word(), &[role]).await);
    }
    for ((path, method), word) in by_hand() {
        let concrete = path
            .replace("{machine}/{name}", "a/b")
            .replace("{version}", "1")
            .replace("{code}", "timeout")
            .replace("{id}", "x")
            .replace("{key}", "x")
            .replace("{path}", "x");
        let what = format!("{method} {path}");
        let (status, code) = decision(&world, (&method, &concrete), None).await;
        let is_open = matches!(word.as_str(), "public" | "signed");
        assert_eq!(
            code == "token-missing" && status == 401,
            !is_open,
            "{what}: {status} {code}"
        );
        let expected = let_in(&word);
        for (role, token) in &tokens {
            let (status, code) = decision(&world, (&method, &concrete), Some(token)).await;
            let is_refused = status == 403 && code == "role-missing";
            assert_eq!(
                !is_refused,
                expected.contains(role),
                "{what} as {role}: {status} {code}"
            );
            assert_ne!(status, 401, "{what} as {role}");
        }
    }
}

#[tokio::test]
async fn no_other_spelling_of_a_path_and_no_header_changes_the_decision() {
    let world = Guarded::start().await;
    let viewer = world.token("viewer", &[Role::Viewer]).await;
    let bearer = format!("Bearer {viewer}");
    let spellings = [
        "//v1/tokens",
        "/v1//tokens",
        "/v1/tokens/",
        "/v1/tokens;a=b",
        "/v1/tokens%00",
        "/v1/tokens%2f",
        "/V1/TOKENS",
        "/v1/%74okens",
        "/v1/%2e%2e/v1/tokens",
        "/v1/../v1/tokens",
        "/healthz/../v1/tokens",
        "/healthz/",
        "/healthz;/v1/tokens",
        "//healthz",
        "/%68ealthz",
        "/errors/../v1/tokens",
        "/errors/%2e%2e%2fv1%2ftokens",
        "/v1/tokens?/healthz",
        "/internal/limits",
    ];
    for path in spellings {
        for method in ["GET", "POST", "HEAD", "PUT", "PATCH", "OPTIONS", "TRACE"] {
            let bare = world.world.send(method, path, &[], b"").await;
            let is_error_page = path.starts_with("/errors/%2e") && matches!(method, "GET" | "HEAD");
            let expected = if is_error_page { 404 } else { 401 };
            assert_eq!(bare.status, expected, "{method} {path}");
            let shown = world.world.send(method, path, &[("Authorization", &bearer)], b"").await;
            assert!(matches!(shown.status, 403..=405), "{method} {path}: {}", shown.status);
        }
    }
    for header in ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"] {
        let headers = [("Authorization", bearer.as_str()), (header, "GET")];
        let body = br#"{"name": "a", "roles": ["admin"]}"#;
        let reply = world.world.send("POST", "/v1/tokens", &headers, body).await;
        reply.problem("role-missing");
    }
    for header in ["X-Original-URL", "X-Rewrite-URL"] {
        let headers = [("Authorization", bearer.as_str()), (header, "/healthz")];
        world
            .world
            .send("GET", "/v1/tokens", &headers, b"")
            .await
            .problem("role-missing");
    }
    let head = world
        .world
        .send("HEAD", "/v1/tokens", &[("Authorization", &bearer)], b"")
        .await;
    assert_eq!(head.status, 403, "reading what a token may not read tells nothing");
}

/// Other ways to write a path.
fn spellings(path: &str) -> Vec<String> {
    let (folder, name) = path.rsplit_once('/').unwrap();
    let (first, rest) = name.split_at(1);
    vec![
        format!("/{path}"),
        format!("{folder}//{name}"),
        format!("{path}/"),
        format!("{path};a=b"),
        format!("{path}%2f"),
        format!("{path}%00"),
        format!("{folder}/{}", name.to_uppercase()),
        format!("{folder}/%{:02x}{rest}", first.as_bytes()[0]),
        format!("{folder}/x/../{name}"),
        format!("{folder}/%2e%2e{folder}/{name}"),
        format!("/healthz/..{path}"),
        format!("{path}?role=admin"),
    ]
}

#[tokio::test]
async fn no_spelling_of_any_route_lets_in_who_may_not() {
    let world = Guarded::start().await;
    let viewer = world.token("viewer", &[Role::Viewer]).await;
    let all = by_hand();
    let acts = all
        .iter()
        .filter(|((_, method), word)| method != "GET" && !matches!(word.as_str(), "public" | "signed"));
    let mut tried = 0;
    for ((path, method), _) in acts {
        let path = path.replace("{id}", "x").replace("{key}", "x").replace("{path}", "x");
        for spelling in spellings(&path) {
            let what = format!("{method} {spelling}");
            let (bare, _) = decision(&world, (method, &spelling), None).await;
            assert_eq!(bare, 401, "{what}");
            let (shown, code) = decision(&world, (method, &spelling), Some(&viewer)).await;
            assert!(matches!(shown, 403..=405), "{what}: {shown} {code}");
            tried += 1;
        }
        let head = world.world.send("HEAD", &path, &[], b"").await;
        assert_eq!(head.status, 401, "HEAD {path}");
    }
    assert!(tried > 400, "{tried}");
}
