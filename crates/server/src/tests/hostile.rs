//! Input that was made to hurt: always answered, always with a problem, and the server continues.

use serde_json::json;

use super::client::{exchange, request};
use super::world::{ORDER, World};

/// A body of a start, by what is wrong with it, and the code it is refused with.
type Hostile = (&'static str, Vec<u8>, &'static str);

/// Bodies that are no JSON, or too much of it.
fn unreadable() -> Vec<Hostile> {
    let deep = |open: &str, close: &str| {
        let (open, close) = (open.repeat(1_000), close.repeat(1_000));
        format!("{{\"machine\": \"order\", \"variables\": {{\"a\": {open}1{close}}}}}").into_bytes()
    };
    let number =
        |number: &str| format!("{{\"machine\": \"order\", \"variables\": {{\"amount\": {number}}}}}").into_bytes();
    let twice = b"{\"machine\": \"order\", \"machine\": \"other\"}".to_vec();
    let digits = number(&"9".repeat(10_000));
    vec![
        ("1,000 lists deep", deep("[", "]"), "body-too-deep"),
        ("1,000 objects deep", deep("{\"a\":", "}"), "body-too-deep"),
        ("a million brackets", vec![b'['; 1_000_000], "body-too-deep"),
        ("NaN", number("NaN"), "body-unreadable"),
        ("Infinity", number("-Infinity"), "body-unreadable"),
        ("beyond 64 bits", number("18446744073709551616"), "body-unreadable"),
        ("an integer of 10,000 digits", digits, "body-unreadable"),
        ("a number that is infinite", number("1e400"), "body-unreadable"),
        ("a key twice", twice, "body-unreadable"),
        (
            "invalid UTF-8",
            b"{\"machine\": \"\xff\xfe\"}".to_vec(),
            "body-unreadable",
        ),
        (
            "a lone surrogate",
            br#"{"machine": "\ud800"}"#.to_vec(),
            "body-unreadable",
        ),
        ("a raw NUL", b"{\"machine\": \"a\0b\"}".to_vec(), "body-unreadable"),
        ("something after the value", b"{} {}".to_vec(), "body-unreadable"),
        ("half an object", b"{\"machine\": ".to_vec(), "body-unreadable"),
        ("nothing but blanks", b"   ".to_vec(), "body-unreadable"),
        ("a byte order mark alone", b"\xef\xbb\xbf".to_vec(), "body-unreadable"),
    ]
}

/// Bodies that are JSON, and still nothing to start with.
fn unfit() -> Vec<Hostile> {
    let key = br#"{"machine": "order", "key": "a\u0000b", "variables": {"amount": 1}}"#.to_vec();
    let tag = br#"{"machine": "order", "tags": ["\u0000"], "variables": {"amount": 1}}"#.to_vec();
    let sql = br#"{"machine": "order'; DROP TABLE execution; --"}"#.to_vec();
    let path = br#"{"machine": "../../etc/passwd"}"#.to_vec();
    let nul = br#"{"machine": "a\u0000b"}"#.to_vec();
    vec![
        ("a list", b"[]".to_vec(), "body-invalid"),
        ("an escaped NUL in the machine", nul, "name-invalid"),
        ("an escaped NUL in the key", key, "name-invalid"),
        ("an escaped NUL in a tag", tag, "name-invalid"),
        ("SQL in the machine", sql, "machine-unknown"),
        ("a path in the machine", path, "machine-unknown"),
    ]
}

#[tokio::test]
async fn hostile_bodies_are_refused_one_by_one_and_nothing_is_started() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    for (what, body, code) in unreadable().into_iter().chain(unfit()) {
        let reply = world
            .send("POST", "/v1/executions", &[("Content-Type", "application/json")], &body)
            .await;
        assert!(
            reply.body.contains(&format!("\"code\":\"{code}\"")),
            "{what}: {reply:?}"
        );
        assert!(reply.body.len() < 2_000, "{what} is not echoed back whole");
        reply.problem(code);
    }
    assert_eq!(world.get("/v1/executions").await.expect(200)["data"], json!([]));
}

#[tokio::test]
async fn many_unknown_fields_do_not_make_an_endless_answer() {
    let world = World::start().await;
    let fields: Vec<String> = (0..50_000).map(|number| format!("\"field{number}\":1")).collect();
    let body = format!("{{{}}}", fields.join(","));
    let reply = world
        .send(
            "POST",
            "/v1/executions",
            &[("Content-Type", "application/json")],
            body.as_bytes(),
        )
        .await;
    reply.problem("body-invalid");
    assert!(reply.body.len() < 200_000, "{}", reply.body.len());
}

#[tokio::test]
async fn hostile_definitions_are_refused() {
    let world = World::start().await;
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n\
                d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e]\n";
    let deep = "[".repeat(100_000);
    for (what, text) in [
        ("aliases that multiply", bomb),
        ("a deep list", deep.as_str()),
        ("a tag", "!!python/object:os.system x"),
    ] {
        let reply = world.apply(text).await;
        assert!(reply.body.len() < 10_000, "{what}");
        reply.problem("definition-invalid");
    }
    world
        .send(
            "POST",
            "/v1/machines",
            &[("Content-Type", "application/yaml")],
            b"id: \xff",
        )
        .await
        .problem("body-unreadable");
    world
        .send(
            "POST",
            "/v1/machines",
            &[("Content-Type", "application/json")],
            b"{\"id\": NaN}",
        )
        .await
        .problem("definition-invalid");
    world
        .send("POST", "/v1/machines", &[("Content-Type", "application/json")], b"")
        .await
        .problem("body-unreadable");
}

#[tokio::test]
async fn sql_in_filters_finds_nothing_and_harms_nothing() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let id = world.begin("order").await;
    for text in [
        "%27%20OR%20%271%27=%271",
        "%27;%20DROP%20TABLE%20execution;--",
        "%25",
        "_",
        "*",
        "%22",
    ] {
        for path in [
            "executions?machine=",
            "executions?key=",
            "actions?type=",
            "actions?actionId=",
            "dead-letters?error=",
        ] {
            let found = world.get(&format!("/v1/{path}{text}")).await.expect(200);
            assert_eq!(found["data"], json!([]), "{path}{text}");
        }
    }
    for path in ["executions?machine=", "executions?key=", "actions?type="] {
        world.get(&format!("/v1/{path}%00")).await.problem("query-invalid");
    }
    world.get("/v1/machines/%00").await.problem("path-invalid");
    world.get(&format!("/v1/executions/{id}")).await.expect(200);
}

#[tokio::test]
async fn a_message_with_a_bad_name_is_told_which_field_and_not_shown_it_again() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let id = world.begin("order").await;
    let long = "x".repeat(10_000);
    for (message, pointer) in [
        (json!({"type": ""}), "/type"),
        (json!({"type": long}), "/type"),
        (json!({"type": "PAY", "id": ""}), "/id"),
        (json!({"type": "PAY", "id": "a\0b"}), "/id"),
    ] {
        let reply = world.post(&format!("/v1/executions/{id}/messages"), &message).await;
        let problem = reply.problem("name-invalid");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
        assert!(reply.body.len() < 1_000, "{}", reply.body.len());
    }
}

#[tokio::test]
async fn ids_that_cannot_be_name_nothing() {
    let world = World::start().await;
    let ids = [
        "x",
        "exe_",
        "exe_zzzzzzzzzzzzzzzzzzzzzzzzzz",
        "act_00000000000000000000000000",
        "%00",
        "..%2f..%2fetc",
        "%F0%9F%92%A3",
    ];
    for id in ids {
        world
            .get(&format!("/v1/executions/{id}"))
            .await
            .problem("execution-unknown");
    }
    world
        .get("/v1/actions/exe_00000000000000000000000000")
        .await
        .problem("action-unknown");
    world.get("/v1/executions/%ff").await.problem("path-invalid");
    world
        .get("/v1/machines/order/versions/99999999999")
        .await
        .problem("version-unknown");
    world
        .get(&format!("/v1/machines/{}", "x".repeat(5_000)))
        .await
        .problem("machine-unknown");
    world.get("/v1/executions/").await.problem("route-unknown");
    world.get("/v1//executions").await.problem("route-unknown");
    world.get("/v1/../v1/system").await.problem("route-unknown");
}

#[tokio::test]
async fn bodies_need_their_media_type() {
    let world = World::start().await;
    let body = br#"{"machine": "order"}"#;
    let table = [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/yaml",
        "application/json; charset=utf-16",
        "application/problem+json",
    ];
    for media in table {
        world
            .send("POST", "/v1/executions", &[("Content-Type", media)], body)
            .await
            .problem("media-type-unsupported");
    }
    let twice = [("Content-Type", "application/json"), ("Content-Type", "text/plain")];
    world
        .send("POST", "/v1/executions", &twice, body)
        .await
        .problem("media-type-unsupported");
    let packed = [("Content-Type", "application/json"), ("Content-Encoding", "gzip")];
    let reply = world.send("POST", "/v1/executions", &packed, b"\x1f\x8b\x08\x00").await;
    reply.problem("media-type-unsupported");
    assert!(reply.body.contains("`gzip`"), "{reply:?}");
    let charset = [
        ("Content-Type", "application/json; charset=UTF-8"),
        ("Content-Encoding", "identity"),
    ];
    world
        .send("POST", "/v1/executions", &charset, body)
        .await
        .problem("machine-unknown");
}

#[tokio::test]
async fn what_is_no_http_at_all_ends_its_connection_and_nothing_else() {
    let world = World::start().await;
    let table: [&[u8]; 5] = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET /v1/system HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"GET /v1/system\r\n\r\n",
        b"POST /v1/executions HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST /v1/executions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    ];
    for bytes in table {
        let reply = exchange(world.address, bytes).await;
        assert_eq!(reply.status, 400, "{reply:?}");
    }
    let many = "X: y\r\n".repeat(1_000);
    let reply = exchange(
        world.address,
        format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n{many}\r\n").as_bytes(),
    )
    .await;
    assert_eq!(reply.status, 431, "{reply:?}");
    world.get("/healthz").await.expect(200);
}

#[tokio::test]
async fn a_smuggled_second_request_is_not_answered() {
    let world = World::start().await;
    let hidden = request("GET", "/healthz", &[], b"");
    let mut bytes =
        b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
                      Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            .to_vec();
    bytes.extend(hidden);
    let reply = exchange(world.address, &bytes).await;
    assert!(!reply.body.contains("\"status\":\"ok\""), "{reply:?}");
}
