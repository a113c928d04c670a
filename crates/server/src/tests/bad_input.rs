//! Bad input, line by line: each has its status and its code, and is told the place, the value and the remedy. Nothing is
//! lost and nothing is made by it, and an execution beside it continues as if nothing had been.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::client::{Reply, exchange, request};
use super::world::{LATER, ORDER, World};

/// What is sent, and what must come of it.
struct Line {
    what: &'static str,
    sent: Vec<u8>,
    status: u16,
    code: &'static str,
    /// Where it is wrong, where the body could be read that far.
    pointer: Option<&'static str>,
    /// What the answer says: the value, and what would do.
    says: &'static [&'static str],
}

const JSON: (&str, &str) = ("Content-Type", "application/json");
const YAML: (&str, &str) = ("Content-Type", "application/yaml");
const UNKNOWN: &str = "exe_00000000000000000000000000";

/// A start with this body.
fn start(body: &[u8]) -> Vec<u8> {
    request("POST", "/v1/executions", &[JSON], body)
}

/// A machine with these states.
fn machine(states: &str) -> Vec<u8> {
    let text = format!("id: bad\ninitial: a\nstates: {{ {states} }}\n");
    request("POST", "/v1/machines", &[YAML], text.as_bytes())
}

fn filter(text: &str) -> Vec<u8> {
    request("GET", &format!("/v1/executions?filter={text}"), &[], b"")
}

fn definitions() -> Vec<Line> {
    let mut bomb = "a: &a [x,x,x,x,x,x,x,x]\n".to_owned();
    for (name, last) in ('b'..='h').zip('a'..='g') {
        let aliases = vec![format!("*{last}"); 8].join(",");
        // Writing to a text cannot fail.
        let _ = writeln!(bomb, "{name}: &{name} [{aliases}]");
    }
    let of = |what, sent, pointer, says| Line {
        what,
        sent,
        status: 422,
        code: "definition-invalid",
        pointer: Some(pointer),
        says,
    };
    vec![
        of(
            "an unknown key",
            machine("a: { onn: { X: a } }"),
            "/states/a/onn",
            &["`onn`", "did you mean `on`?"],
        ),
        of(
            "a missing target",
            machine("a: { on: { X: bb } }, b: {}"),
            "/states/a/on/X",
            &["`bb`", "did you mean `b`?"],
        ),
        of(
            "an automatic cycle",
            machine("a: { always: b }, b: { always: a }"),
            "/states/a/always",
            &["`a`", "give one of them a `guard`"],
        ),
        of(
            "an alias bomb",
            request("POST", "/v1/machines", &[YAML], bomb.as_bytes()),
            "",
            &["more than `100000` values", "split it"],
        ),
    ]
}

fn bodies() -> Vec<Line> {
    let deep = format!(
        "{{\"machine\":\"order\",\"variables\":{{\"a\":{}1{}}}}}",
        "[".repeat(1_000),
        "]".repeat(1_000)
    );
    let number =
        |text: &str| start(format!("{{\"machine\":\"order\",\"variables\":{{\"amount\":{text}}}}}").as_bytes());
    let large = format!("{{\"machine\":\"{}\"}}", "x".repeat(1024 * 1024));
    let unreadable = |what, sent, says| Line {
        what,
        sent,
        status: 400,
        code: "body-unreadable",
        pointer: None,
        says,
    };
    vec![
        unreadable("NaN", number("NaN"), &["line 1, column 42", "`NaN`"]),
        unreadable("a number that is infinite", number("1e400"), &["`1e400`", "64-bit float"]),
        unreadable(
            "an integer beyond 64 bits",
            number("18446744073709551616"),
            &["`18446744073709551616`", "does not fit in 64 bits"],
        ),
        unreadable("invalid UTF-8", start(b"{\"machine\":\"\xff\"}"), &["not utf-8", "byte `12`"]),
        unreadable("half a body", start(b"{\"machine\":\"ord"), &["line 1, column 12", "closing quote"]),
        Line {
            what: "1,000 levels",
            sent: start(deep.as_bytes()),
            status: 400,
            code: "body-too-deep",
            pointer: None,
            says: &["`32` levels", "make it flatter"],
        },
        Line {
            what: "an oversized body",
            sent: start(large.as_bytes()),
            status: 413,
            code: "body-too-large",
            pointer: None,
            says: &["1048576 bytes", "raise `limits.bodyBytes`"],
        },
        Line {
            what: "a body that is cut off",
            sent: b"POST /v1/executions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
                Transfer-Encoding: chunked\r\n\r\n5\r\n{\"mac\r\nzz\r\n"
                .to_vec(),
            status: 400,
            code: "body-incomplete",
            pointer: None,
            says: &["ended early, after 5 bytes"],
        },
        Line {
            what: "another media type",
            sent: request("POST", "/v1/executions", &[("Content-Type", "text/plain")], b"{}"),
            status: 415,
            code: "media-type-unsupported",
            pointer: None,
            says: &["`text/plain`", "send `application/json`"],
        },
    ]
}

fn fields() -> Vec<Line> {
    let of = |what, body: &[u8], code, pointer, says| Line {
        what,
        sent: start(body),
        status: 422,
        code,
        pointer: Some(pointer),
        says,
    };
    vec![
        of(
            "an unknown field",
            br#"{"machine":"order","variabels":{}}"#,
            "body-invalid",
            "/variabels",
            &["`variabels`", "did you mean `variables`?"],
        ),
        of(
            "a NUL in a key",
            br#"{"machine":"order","key":"a\u0000b","variables":{"amount":1}}"#,
            "name-invalid",
            "/key",
            &["must not hold a NUL"],
        ),
        of(
            "a NUL in a tag",
            br#"{"machine":"order","tags":["eu","\u0000"],"variables":{"amount":1}}"#,
            "name-invalid",
            "/tags/1",
            &["must not hold a NUL"],
        ),
        of(
            "a variable that the machine asks for is missing",
            br#"{"machine":"order"}"#,
            "input-invalid",
            "/variables",
            &["amount", "required"],
        ),
        Line {
            what: "an unknown machine",
            sent: start(br#"{"machine":"odrer"}"#),
            status: 404,
            code: "machine-unknown",
            pointer: Some("/machine"),
            says: &["`odrer`", "did you mean `order`?"],
        },
    ]
}

fn queries() -> Vec<Line> {
    let of = |what, sent, code, pointer, says| Line {
        what,
        sent,
        status: 400,
        code,
        pointer: Some(pointer),
        says,
    };
    vec![
        of(
            "a forged cursor",
            request("GET", "/v1/executions?cursor=deadbeefdeadbeefdeadbeef", &[], b""),
            "cursor-invalid",
            "?cursor",
            &["start without a cursor"],
        ),
        of(
            "SQL as a filter",
            filter("status%20=%20%27x%27;%20DROP%20TABLE%20execution"),
            "filter-invalid",
            "?filter",
            &["column 10", "double quotes"],
        ),
        of(
            "SQL behind a filter",
            filter("machine%20=%20%22order%22%20OR%201=1;--"),
            "filter-invalid",
            "?filter",
            &["column 25", "`;`"],
        ),
        of(
            "a field that there is not",
            filter("statsu%20=%20%22running%22"),
            "filter-invalid",
            "?filter",
            &["`statsu`", "did you mean `status`?"],
        ),
        of(
            "a status that there is not",
            request("GET", "/v1/executions?status=runing", &[], b""),
            "query-invalid",
            "?status",
            &["`runing`", "`running`"],
        ),
    ]
}

/// Messages that nobody takes; `closed` is one that is.
fn messages(closed: &str) -> Vec<Line> {
    let to = |id: &str, kind: &str| {
        let body = json!({ "type": kind }).to_string();
        request(
            "POST",
            &format!("/v1/executions/{id}/messages"),
            &[JSON],
            body.as_bytes(),
        )
    };
    let by_key = br#"{"machine":"order","key":"nobody","type":"PAY"}"#;
    let of = |what, sent, status, code, says| Line {
        what,
        sent,
        status,
        code,
        pointer: None,
        says,
    };
    let reserved = of(
        "a message that only the engine sends",
        to(closed, "done.ship"),
        422,
        "reserved-type",
        &["`done.ship`", "another type"],
    );
    vec![
        of(
            "a message to a closed execution",
            to(closed, "PAY"),
            409,
            "execution-closed",
            &["is cancelled", "start a new execution"],
        ),
        of(
            "a message to nobody",
            to(UNKNOWN, "PAY"),
            404,
            "execution-unknown",
            &["`exe_0000"],
        ),
        of(
            "a message to a key that nobody holds",
            request("POST", "/v1/messages", &[JSON], by_key),
            404,
            "execution-unknown",
            &["`order`", "`nobody`"],
        ),
        Line {
            pointer: Some("/type"),
            ..reserved
        },
    ]
}

/// What a web page can make a browser send.
fn pages() -> Vec<Line> {
    let body = br#"{"machine":"order","variables":{"amount":1}}"#;
    let of = |what, headers: &[(&str, &str)], status, code, says| Line {
        what,
        sent: request("POST", "/v1/executions", headers, body),
        status,
        code,
        pointer: None,
        says,
    };
    let origin = ("Origin", "https://evil.example");
    vec![
        of(
            "a page's POST",
            &[JSON, origin],
            403,
            "origin-refused",
            &["`https://evil.example`", "a page of this server"],
        ),
        of(
            "a page's form, which asks nobody first",
            &[("Content-Type", "text/plain"), origin],
            403,
            "origin-refused",
            &["`https://evil.example`"],
        ),
        of(
            "a name that was bound to this address",
            &[
                JSON,
                ("Host", "evil.example:7400"),
                ("Origin", "http://evil.example:7400"),
            ],
            421,
            "host-refused",
            &["`evil.example:7400`", "add the name to `hosts`"],
        ),
    ]
}

/// A world with an execution that others must not touch.
struct Beside {
    world: World,
    neighbour: String,
    closed: String,
}

impl Beside {
    async fn start() -> Self {
        let world = World::start().await;
        for machine in [ORDER, LATER] {
            world.apply(machine).await.expect(201);
        }
        let (neighbour, closed) = (world.begin("order").await, world.begin("order").await);
        let cancelled = world.command(&format!("/v1/executions/{closed}/cancel")).await;
        cancelled.expect(200);
        Self {
            world,
            neighbour,
            closed,
        }
    }

    /// Everything that there is.
    async fn all(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for path in ["machines", "executions", "actions", "jobs", "kill-switches"] {
            all.push(self.world.get(&format!("/v1/{path}")).await.expect(200));
        }
        let history = format!("/v1/executions/{}/history", self.neighbour);
        all.push(self.world.get(&history).await.expect(200));
        all
    }
}

fn check(line: &Line, reply: &Reply) {
    let Line {
        what,
        sent: _,
        status,
        code,
        pointer,
        says,
    } = line;
    let problem = reply.problem(code);
    assert_eq!(reply.status, *status, "{what}: {reply:?}");
    assert!(reply.body.len() < 4_000, "{what} is not echoed back whole");
    if let Some(pointer) = pointer {
        let errors = problem["errors"].as_array().unwrap();
        let is_there = errors.iter().any(|error| error["pointer"] == *pointer);
        assert!(is_there, "{what}: no `{pointer}` in {problem}");
    }
    let mut said = problem["detail"].as_str().unwrap().to_owned();
    for error in problem["errors"].as_array().unwrap() {
        said.push_str(error["detail"].as_str().unwrap());
    }
    for text in *says {
        assert!(said.contains(text), "{what}: no `{text}` in: {said}");
    }
}

#[tokio::test]
async fn every_line_of_bad_input_is_answered_and_touches_nothing() {
    let beside = Beside::start().await;
    let before = beside.all().await;
    let lines = [
        definitions(),
        bodies(),
        fields(),
        queries(),
        messages(&beside.closed),
        pages(),
    ];
    for line in lines.iter().flatten() {
        check(line, &exchange(beside.world.address, &line.sent).await);
        assert_eq!(beside.all().await, before, "after {}", line.what);
    }
    let path = format!("/v1/executions/{}/messages", beside.neighbour);
    let sent = beside.world.post(&path, &json!({"type": "HOLD"})).await.expect(200);
    assert_eq!(
        (&sent["handled"], &sent["configuration"]),
        (&json!(true), &json!(["held"]))
    );
}

#[tokio::test]
async fn a_key_with_another_body_is_refused_and_the_first_answer_stays() {
    let beside = Beside::start().await;
    let body = |amount: u32| json!({"machine": "order", "variables": {"amount": amount}});
    let first = beside.world.once("k", "/v1/executions", &body(1)).await.expect(201);
    let before = beside.all().await;
    let refused = beside.world.once("k", "/v1/executions", &body(2)).await;
    let problem = refused.problem("idempotency-key-reused");
    assert_eq!(refused.status, 422);
    assert!(
        problem["detail"].as_str().unwrap().contains("use a new key"),
        "{problem}"
    );
    assert_eq!(beside.all().await, before);
    let again = beside.world.once("k", "/v1/executions", &body(1)).await.expect(201);
    assert_eq!(again, first);
}
