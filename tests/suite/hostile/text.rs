//! Text: NUL characters, texts too long for an index, rows that the store refuses.
//!
//! One client's text must never cost another client anything, on either store. What is sent here hurt every client of a
//! server on `PostgreSQL` once.

use std::fmt::Write as _;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};
use sprag_core::clock::System;
use sprag_core::time::Timestamp;
use sprag_tests::neighbour::beside;
use sprag_tests::{Answer, Client, Postgres, Product, wait};

const GUARD: Duration = Duration::from_mins(1);
/// Rounds of arbitrary requests to every route. `SPRAG_HOSTILE_CASES` asks for more, `SPRAG_HOSTILE_SECONDS` for more until
/// the time is over, on each store.
const CASES: u32 = 12;
/// Clients that send the same at once.
const CLIENTS: usize = 8;
/// What each of them sends.
const REQUESTS: usize = 40;

/// Runs `test` on a product of the store that tests use, and on `PostgreSQL` where it is installed.
fn on_each_store(test: impl Fn(&Product)) {
    let folder = tempfile::tempdir().unwrap();
    test(&Product::start(&folder.path().join("sprag.db"), &[]));
    if Postgres::is_installed() {
        test(&Product::start_on(&Postgres::shared().database(), &[]).unwrap());
    }
}

/// Text that no database compresses.
fn noise(bytes: usize) -> String {
    let mut drawn = 1;
    let letter = |_| {
        drawn = sprag_core::ids::scatter(drawn);
        char::from(b'a' + u8::try_from(drawn % 26).unwrap_or(0))
    };
    (0..bytes).map(letter).collect()
}

/// Waits for a definition and gives the answer to applying it.
fn apply(client: &mut Client, machine: &Value) -> Answer {
    client.post("/v1/machines", machine).unwrap()
}

fn applied(client: &mut Client, machine: &Value) {
    let answer = apply(client, machine);
    assert!(matches!(answer.status, 200 | 201), "{answer:?}");
}

/// A machine that waits for a message.
fn waiting() -> Value {
    json!({
        "id": "w",
        "initial": "a",
        "states": { "a": { "on": { "GO": "b" } }, "b": { "type": "final" } },
        "hooks": { "in": { "verify": "none", "key": "{{request.body.key}}", "type": "GO" } },
    })
}

/// A machine whose only action fails with the type that its variable says.
fn failing(limits: &Value) -> Value {
    json!({
        "id": "failing",
        "initial": "a",
        "variables": { "kind": "", "limit": "l" },
        "states": { "a": { "on": { "failed.call": "b" } }, "b": { "type": "final" } },
        "actions": [{
            "actionId": "call",
            "type": "fail",
            "triggerState": "a",
            "config": { "type": "{{variables.kind}}" },
            "retryPolicy": { "maxAttempts": 1 },
            "limits": limits,
        }],
    })
}

/// Whether an answer refuses a request and says at which field.
fn names(answer: &Answer, status: u16, field: &str) -> bool {
    let at = |error: &Value| {
        error["pointer"]
            .as_str()
            .is_some_and(|pointer| pointer.ends_with(field))
    };
    answer.status == status
        && answer.body["errors"]
            .as_array()
            .is_some_and(|errors| errors.iter().any(at))
}

/// Requests with a NUL, each with the field that the answer must name.
fn with_nul(execution: &str) -> Vec<(&'static str, String, Value, &'static str)> {
    let messages = format!("/v1/executions/{execution}/messages");
    let post = |path: &str, body: Value, field| ("POST", path.to_owned(), body, field);
    vec![
        post("/v1/executions", json!({ "machine": "w", "key": "a\0b" }), "/key"),
        post("/v1/executions", json!({ "machine": "w\0" }), "/machine"),
        post("/v1/executions", json!({ "machine": "w", "tags": ["\0"] }), "/tags/0"),
        post(&messages, json!({ "type": "GO", "id": "a\0b" }), "/id"),
        post(&messages, json!({ "type": "G\0" }), "/type"),
        post(
            "/v1/messages",
            json!({ "machine": "w", "key": "a\0b", "type": "GO" }),
            "/key",
        ),
        post(
            "/v1/messages",
            json!({ "machine": "\0", "key": "a", "type": "GO" }),
            "/machine",
        ),
        post("/v1/hooks/w/in", json!({ "key": "a\0b" }), "/key"),
        ("GET", "/v1/executions?key=a%00b".to_owned(), Value::Null, "?key"),
        ("GET", "/v1/executions?machine=%00".to_owned(), Value::Null, "?machine"),
        ("GET", "/v1/actions?type=%00".to_owned(), Value::Null, "?type"),
        (
            "GET",
            "/v1/executions?filter=key%20%3D%20%22%5Cu0000%22".to_owned(),
            Value::Null,
            "?filter",
        ),
    ]
}

#[test]
fn a_nul_is_refused_by_its_field_and_costs_nobody_else_anything() {
    on_each_store(|product| {
        let mut client = product.client();
        applied(&mut client, &waiting());
        let started = client.post("/v1/executions", &json!({ "machine": "w" })).unwrap();
        let execution = started.body["id"].as_str().unwrap().to_owned();
        beside(product, || {
            for (method, path, body, field) in with_nul(&execution) {
                let body = Some(&body).filter(|_| method == "POST");
                let answer = client.request(method, &path, body).unwrap();
                let status = if path.starts_with('/') && path.contains('?') {
                    400
                } else {
                    422
                };
                assert!(names(&answer, status, field), "{path} {body:?}: {answer:?}");
            }
            let path = client.get("/v1/machines/a%00b").unwrap();
            assert_eq!(path.status, 400, "{path:?}");
            std::thread::scope(|scope| {
                for _ in 0..CLIENTS {
                    scope.spawn(|| {
                        let mut client = product.client();
                        for _ in 0..REQUESTS {
                            let start = json!({ "machine": "w", "key": "a\0b" });
                            assert_eq!(client.post("/v1/executions", &start).unwrap().status, 422);
                        }
                    });
                }
            });
        });
        assert!(!product.log().contains("store refused"), "{}", product.log());
    });
}

/// Starts an execution and waits until it is over.
fn run(client: &mut Client, start: &Value) -> Value {
    let answer = client.post("/v1/executions?wait=30s", start).unwrap();
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(answer.body["status"], "completed", "{answer:?}");
    answer.body
}

#[test]
fn an_error_type_of_any_text_ends_its_action() {
    on_each_store(|product| {
        let mut client = product.client();
        applied(&mut client, &failing(&json!([])));
        beside(product, || {
            for kind in [
                noise(20_000),
                "a\0b".to_owned(),
                "\u{202e}\n".to_owned(),
                "🦀".repeat(5_000),
            ] {
                let start = json!({ "machine": "failing", "variables": { "kind": kind } });
                let id = run(&mut client, &start)["id"].as_str().unwrap().to_owned();
                let actions = client.get(&format!("/v1/actions?executionId={id}")).unwrap();
                let stored = actions.body["data"][0]["lastError"]["type"]
                    .as_str()
                    .unwrap_or_default();
                assert!(sprag_core::text::check_name(stored).is_ok(), "{}", actions.body);
            }
        });
    });
}

#[test]
fn a_limit_key_that_is_too_long_kills_its_action_and_many_long_ones_are_a_queue_like_any_other() {
    on_each_store(|product| {
        let mut client = product.client();
        applied(
            &mut client,
            &failing(&json!([{ "key": "{{variables.limit}}", "concurrency": 1 }])),
        );
        beside(product, || {
            for limit in [noise(20_000), "a\0b".to_owned(), "two\nlines".to_owned()] {
                let variables = json!({ "kind": "x", "limit": limit });
                run(&mut client, &json!({ "machine": "failing", "variables": variables }));
            }
        });
        let keys: Vec<Value> = (0..8)
            .map(|number| json!({ "key": format!("{number}{}", noise(900)), "concurrency": 1 }))
            .collect();
        applied(&mut client, &failing(&json!(keys)));
        beside(product, || {
            for _ in 0..5 {
                run(
                    &mut client,
                    &json!({ "machine": "failing", "variables": { "kind": "x" } }),
                );
            }
        });
    });
}

#[test]
fn names_of_definitions_are_printable_and_bounded() {
    let state = |name: &str| json!({ "id": "m", "initial": "a", "states": { "a": {}, name: {} } });
    let action = |action: &Value| {
        let mut definition = json!({ "actionId": "x", "type": "noop", "triggerState": "a" });
        for (name, value) in action.as_object().unwrap() {
            definition[name] = value.clone();
        }
        json!({ "id": "m", "initial": "a", "states": { "a": {} }, "actions": [definition] })
    };
    let tags: Vec<String> = (0..10_000).map(|number| format!("t{number}")).collect();
    let long = noise(20_000);
    let refused = [
        state(&long),
        state("a\u{202e}b"),
        state("two\nlines"),
        state("\0"),
        action(&json!({ "actionId": long })),
        action(&json!({ "type": long })),
        action(&json!({ "type": "no\u{1b}[31mop" })),
        action(&json!({ "runner": long })),
        action(&json!({ "tags": [long] })),
        action(&json!({ "tags": ["a\0b"] })),
        action(&json!({ "tags": ["a\nb"] })),
        action(&json!({ "tags": tags })),
        action(&json!({ "limits": [{ "key": long, "concurrency": 1 }] })),
        json!({ "id": long, "initial": "a", "states": { "a": {} } }),
        json!({ "id": "m", "initial": "a", "tags": tags, "states": { "a": {} } }),
    ];
    on_each_store(|product| {
        let mut client = product.client();
        beside(product, || {
            for machine in &refused {
                let answer = apply(&mut client, machine);
                let errors = answer.body["errors"].as_array().map_or(0, Vec::len);
                assert_eq!(answer.status, 422, "{answer:?}");
                assert!(errors > 0, "{answer:?}");
                let linted = client.post("/v1/machines/lint", machine).unwrap();
                assert_eq!(linted.status, 200, "{linted:?}");
                assert_eq!(linted.body["valid"], false, "{linted:?}");
            }
        });
    });
}

/// A database with constraints stands for whatever a store may refuse that nobody thought of.
#[test]
fn a_row_that_the_database_refuses_fails_its_own_request_only() {
    if !Postgres::is_installed() {
        return;
    }
    let url = Postgres::shared().database();
    let product = Product::start_on(&url, &[]).unwrap();
    let mut client = product.client();
    applied(&mut client, &waiting());
    applied(&mut client, &failing(&json!([])));
    let database = url.rsplit('/').next().unwrap();
    let constrain = |constraint: &str| Postgres::shared().sql(database, constraint);
    constrain("ALTER TABLE execution ADD CONSTRAINT picky CHECK (key IS NULL OR key NOT LIKE 'bad%')");
    constrain("ALTER TABLE action ADD CONSTRAINT picky CHECK (error_kind IS NULL OR error_kind <> 'poison')");
    beside(&product, || {
        std::thread::scope(|scope| {
            for number in 0..CLIENTS {
                let product = &product;
                scope.spawn(move || hammer(product, number));
            }
        });
    });
    assert_eq!(client.get("/readyz").unwrap().status, 200);
    let dead = client.get("/v1/dead-letters?limit=1000").unwrap();
    let kinds: Vec<&str> = dead.body["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|letter| letter["lastError"]["type"].as_str())
        .collect();
    assert!(kinds.contains(&"outcome_refused"), "{}", dead.body);
}

/// Requests of which every other one holds a row that the database refuses.
fn hammer(product: &Product, client: usize) {
    let mut connection = product.client();
    for number in 0..REQUESTS {
        let key = |prefix: &str| format!("{prefix}-{client}-{number}");
        let bad = json!({ "machine": "w", "key": key("bad") });
        let answer = connection.post("/v1/executions", &bad).unwrap();
        assert_eq!(answer.body["code"], "store-refused", "{answer:?}");
        let good = json!({ "machine": "w", "key": key("good") });
        assert_eq!(connection.post("/v1/executions", &good).unwrap().status, 201);
        if number % 10 == 0 {
            let poison = json!({ "machine": "failing", "variables": { "kind": "poison" } });
            run(&mut connection, &poison);
        }
    }
}

/// One operation of the API, as its document describes it.
struct Operation {
    method: String,
    path: String,
    /// Names, and where they are: `path`, `query` or `header`.
    parameters: Vec<(String, String)>,
    body: Option<Value>,
}

/// Every operation but those that never end.
fn operations(document: &Value) -> Vec<Operation> {
    let mut found = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            if operation.to_string().contains("text/event-stream") {
                continue;
            }
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let parameters = parameters.iter().map(|parameter| resolved(document, parameter));
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            found.push(Operation {
                method: method.to_uppercase(),
                path: path.clone(),
                parameters: parameters
                    .map(|parameter| (text(&parameter["name"]), text(&parameter["in"])))
                    .collect(),
                body: operation["requestBody"]["content"]["application/json"]
                    .get("schema")
                    .cloned(),
            });
        }
    }
    found
}

fn resolved(document: &Value, value: &Value) -> Value {
    match value["$ref"].as_str() {
        Some(reference) => resolved(document, document.pointer(&reference[1..]).unwrap()),
        None => value.clone(),
    }
}

/// Arbitrary text and numbers, each used in turn.
#[derive(Clone, Debug)]
struct Feed {
    texts: Vec<String>,
    numbers: Vec<Value>,
    at: usize,
}

impl Feed {
    fn text(&mut self) -> String {
        self.at += 1;
        self.texts[self.at % self.texts.len()].clone()
    }

    fn number(&mut self) -> Value {
        self.at += 1;
        self.numbers[self.at % self.numbers.len()].clone()
    }

    /// A value that has the shape of a schema, as far as one needs to get past the first look.
    fn value(&mut self, document: &Value, schema: &Value, depth: usize) -> Value {
        let schema = resolved(document, schema);
        for choices in ["anyOf", "oneOf"] {
            if let Some(choices) = schema[choices].as_array() {
                self.at += 1;
                return self.value(document, &choices[self.at % choices.len()], depth);
            }
        }
        if let Some(words) = schema["enum"].as_array() {
            self.at += 1;
            let is_word = !self.at.is_multiple_of(3);
            return if is_word {
                words[self.at % words.len()].clone()
            } else {
                json!(self.text())
            };
        }
        let kind = schema["type"].as_str().unwrap_or_default();
        match kind {
            "string" => json!(self.text()),
            "integer" | "number" => self.number(),
            "boolean" => json!(self.at.is_multiple_of(2)),
            "null" => Value::Null,
            "array" if depth > 0 => json!([
                self.value(document, &schema["items"], depth - 1),
                self.value(document, &schema["items"], depth - 1)
            ]),
            _ if depth > 0 => self.members(document, &schema, depth),
            _ => json!(self.text()),
        }
    }

    fn members(&mut self, document: &Value, schema: &Value, depth: usize) -> Value {
        let mut members = Map::new();
        for (name, of) in schema["properties"].as_object().into_iter().flatten() {
            // Nobody waits here.
            let of = if name == "wait" {
                &json!({ "type": "string" })
            } else {
                of
            };
            members.insert(name.clone(), self.value(document, of, depth - 1));
        }
        if members.is_empty() {
            let (name, text, number) = (self.text(), self.text(), self.number());
            members.insert(name, json!({ "text": text, "number": number }));
        }
        Value::Object(members)
    }
}

/// Text as the part of an address.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        let _ = write!(encoded, "%{byte:02X}");
        encoded
    })
}

fn send(client: &mut Client, document: &Value, operation: &Operation, feed: &mut Feed) -> std::io::Result<Answer> {
    let mut path = operation.path.clone();
    let mut query = Vec::new();
    for (name, place) in &operation.parameters {
        // An address has a bound of its own, which is not what this is about.
        let text: String = feed.text().chars().take(600).collect();
        match place.as_str() {
            "path" => path = path.replace(&format!("{{{name}}}"), &encoded(&text)),
            "query" => query.push(format!("{name}={}", encoded(&text))),
            _ => {}
        }
    }
    if !query.is_empty() {
        path = format!("{path}?{}", query.join("&"));
    }
    let body = operation.body.as_ref().map(|schema| feed.value(document, schema, 5));
    client.request(&operation.method, &path, body.as_ref())
}

/// Texts of every length and kind: what people type, what programs send, what attackers send.
fn texts() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        "\0",
        "\u{202e}",
        "\u{1b}[2J",
        "\n",
        "'",
        "\u{fffd}",
        "{{",
        "%00",
        "w",
        "GO",
    ]);
    prop_oneof![
        any::<String>(),
        "\\PC{0,40}",
        (any::<String>(), odd, any::<String>()).prop_map(|(before, odd, after)| format!("{before}{odd}{after}")),
        (1_usize..30_000).prop_map(noise),
        prop::sample::select(vec!["neighbours", "w", "failing", "GO", "a", "timeout"]).prop_map(str::to_owned),
    ]
}

fn numbers() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(|number| json!(number)),
        any::<u64>().prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
        (0_u32..200).prop_map(|number| json!(number)),
    ]
}

fn variable(name: &str) -> Option<u32> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn arbitrary_text_and_numbers_in_every_field_of_every_route_cost_nobody_else_anything() {
    let (cases, seconds) = (variable("SPRAG_HOSTILE_CASES"), variable("SPRAG_HOSTILE_SECONDS"));
    let config = Config {
        cases: cases.unwrap_or(CASES),
        // Each case is many requests to a server that remembers: a smaller one is found by hand.
        max_shrink_iters: 0,
        failure_persistence: None,
        ..Config::default()
    };
    on_each_store(|product| {
        let mut client = Client::within(product.address(), GUARD);
        applied(&mut client, &waiting());
        applied(&mut client, &failing(&json!([])));
        let started = client.post("/v1/executions", &json!({ "machine": "w" })).unwrap().body;
        let execution = started["id"].as_str().unwrap();
        let document = client.get("/v1/openapi.json").unwrap().body;
        let operations = operations(&document);
        assert!(operations.len() > 40, "the document describes the API");
        let feeds = (
            prop::collection::vec(texts(), 7..40),
            prop::collection::vec(numbers(), 5..9),
        );
        beside(product, || {
            let storm = |(mut texts, numbers): (Vec<String>, Vec<Value>)| {
                texts.push(execution.to_owned());
                let mut feed = Feed { texts, numbers, at: 0 };
                for operation in &operations {
                    let (method, path) = (&operation.method, &operation.path);
                    // Each on a connection of its own: what a stream or a download leaves unread is nobody's.
                    let mut client = Client::within(product.address(), GUARD);
                    let answer = send(&mut client, &document, operation, &mut feed);
                    let answer = answer.map_err(|error| TestCaseError::fail(format!("{method} {path}: {error}")))?;
                    prop_assert!(answer.status < 500, "{} {}: {:?}", method, path, answer);
                }
                Ok(())
            };
            let (mut rounds, watch) = (0, System::start(Timestamp::from_millis(0)));
            loop {
                let held = TestRunner::new(config.clone()).run(&feeds, storm);
                held.unwrap_or_else(|error| panic!("{error}"));
                rounds += config.cases;
                if seconds.is_none_or(|seconds| watch.elapsed() >= Duration::from_secs(seconds.into())) {
                    break;
                }
            }
            println!("\nhostile: {rounds} rounds of {} routes", operations.len());
        });
        wait::until("the server to be ready", GUARD, || {
            (product.client().get("/readyz").ok()?.status == 200).then_some(())
        });
    });
}
