//! Terminals: no text from a server reaches one as a control sequence.
//!
//! A server that answers every request with hostile text in every place stands in for one that somebody took over, and for a
//! real one that stores what somebody hostile sent.

use std::process::Command;

use serde_json::{Map, Value, json};
use sprag_tests::neighbour::beside;
use sprag_tests::{Product, Reply, Site, Visit, binary};
use tempfile::tempdir;

/// Sets the title, moves the cursor, turns the writing direction, ends a line and forges another.
const HOSTILE: &str = "x\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}\u{2066}\u{85}\u{2028}\u{0}\u{8}\r\nFORGED";

/// Names that documents of the API use, in any of them.
const NAMES: [&str; 62] = [
    "id",
    "key",
    "machine",
    "status",
    "state",
    "type",
    "actionId",
    "executionId",
    "runner",
    "failure",
    "description",
    "createdAt",
    "updatedAt",
    "runAt",
    "appliedAt",
    "digest",
    "reason",
    "filter",
    "note",
    "by",
    "scope",
    "mode",
    "since",
    "expiresAt",
    "path",
    "circuit",
    "observation",
    "goal",
    "waitingFor",
    "remark",
    "skipped",
    "costEstimate",
    "suggestedFix",
    "fingerprint",
    "destination",
    "object",
    "for",
    "until",
    "attempt",
    "outcome",
    "startTime",
    "endTime",
    "text",
    "error",
    "difference",
    "detail",
    "code",
    "pointer",
    "remedy",
    "at",
    "kind",
    "window",
    "from",
    "example",
    "errorType",
    "store",
    "version",
    "node",
    "advertise",
    "leaseUntil",
    "name",
    "restart",
];

/// An object whose every member is hostile.
fn flat() -> Map<String, Value> {
    let members = NAMES.iter().map(|name| ((*name).to_owned(), json!(HOSTILE)));
    members.chain([(HOSTILE.to_owned(), json!(HOSTILE))]).collect()
}

/// The same with the members that are objects and lists in the API.
fn document(depth: usize) -> Value {
    let mut members = flat();
    if depth == 0 {
        return Value::Object(members);
    }
    let (shallow, inner) = (Value::Object(flat()), document(depth - 1));
    for name in [
        "waiting",
        "lastError",
        "lease",
        "request",
        "others",
        "expected",
        "counts",
        "canary",
        "latency",
        "limits",
    ] {
        members.insert(name.to_owned(), shallow.clone());
    }
    for name in [
        "history",
        "rules",
        "holds",
        "escalations",
        "byAction",
        "failureReasons",
        "recommendations",
        "states",
        "timers",
        "problems",
        "definitions",
        "sample",
        "findings",
        "errors",
    ] {
        members.insert(name.to_owned(), json!([shallow.clone()]));
    }
    for name in ["data", "actions", "attempts", "microsteps"] {
        members.insert(name.to_owned(), json!([inner.clone()]));
    }
    for name in ["configuration", "tags", "added", "changed", "removed", "childErrors"] {
        members.insert(name.to_owned(), json!([HOSTILE, HOSTILE]));
    }
    for name in ["variables", "result", "output", "config", "definition", "payload"] {
        members.insert(name.to_owned(), json!({ HOSTILE: HOSTILE }));
    }
    members.insert("nextCursor".to_owned(), json!(HOSTILE));
    members.insert("sequence".to_owned(), json!(3));
    Value::Object(members)
}

/// How deep documents are: lists of objects that hold objects.
const DEPTH: usize = 2;

/// How the hostile server answers.
#[derive(Clone, Copy)]
enum Manner {
    /// With documents.
    Answers,
    /// With refusals.
    Refuses,
}

fn answer(manner: Manner, visit: &Visit) -> Reply {
    if visit.path.contains("/stream") {
        let (data, mut closed) = (document(1), document(1));
        closed["status"] = json!("cancelled");
        let events = format!(
            "event: history\nid: 1\ndata: {data}\n\nevent: action\ndata: {data}\n\nevent: closed\ndata: {closed}\n\n"
        );
        return Reply::Say {
            status: 200,
            headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())],
            body: events,
        };
    }
    match manner {
        Manner::Answers => Reply::json(200, &document(DEPTH)),
        Manner::Refuses => Reply::json(422, &document(1)),
    }
}

/// Every command that shows what a server says.
const COMMANDS: [&[&str]; 43] = [
    &["machine", "list"],
    &["machine", "show", "m"],
    &["machine", "diagram", "m"],
    &["machine", "diff", "m", "m@1"],
    &["exec", "list"],
    &["exec", "list", "--machine", "m"],
    &["exec", "show", "exe_1"],
    &["exec", "show", "m/k"],
    &["exec", "history", "exe_1"],
    &["exec", "watch", "exe_1"],
    &["exec", "explain", "exe_1"],
    &["exec", "cancel", "exe_1"],
    &["exec", "pause", "exe_1"],
    &["exec", "resume", "exe_1"],
    &["exec", "replay", "exe_1"],
    &["exec", "migrate", "exe_1"],
    &["exec", "migrate", "exe_1", "--check"],
    &["exec", "migrate", "exe_1", "exe_2"],
    &["exec", "start", "m"],
    &["exec", "send", "exe_1", "GO"],
    &["action", "list"],
    &["action", "show", "act_1"],
    &["action", "queue"],
    &["action", "health"],
    &["action", "cancel", "act_1"],
    &["action", "retry-now", "act_1"],
    &["dlq", "list"],
    &["dlq", "show", "act_1"],
    &["dlq", "retry", "act_1"],
    &["dlq", "archive", "act_1"],
    &["dlq", "retry-all", "--dry-run", "--filter", "machine = \"m\""],
    &["job", "list"],
    &["job", "show", "job_1"],
    &["limit", "list"],
    &["limit", "set", "k", "--concurrency", "1"],
    &["switch", "list"],
    &["switch", "on", "all", "--reason", "x", "--no-wait"],
    &["switch", "off", "swi_1"],
    &["explain", "exe_1"],
    &["system"],
    &["service", "list"],
    &["service", "explain", "web"],
    &["service", "reload"],
];

/// Logs keep their lines, and nothing else.
const LOGS: &[&str] = &["service", "logs", "web"];

struct Shown {
    stdout: String,
    stderr: String,
}

fn run(server: &str, arguments: &[&str], more: &[&str]) -> Shown {
    let output = Command::new(binary("sprag"))
        .args(arguments)
        .args(["--server", server])
        .args(more)
        .env("SPRAG_LOG", "off")
        .output()
        .unwrap();
    Shown {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Whether a terminal would do something at this character.
fn is_control(character: char) -> bool {
    let is_format = matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
    (character.is_control() && character != '\n') || is_format
}

fn harmless(command: &[&str], shown: &Shown) {
    for text in [&shown.stdout, &shown.stderr] {
        let found = text.chars().find(|character| is_control(*character));
        assert_eq!(found, None, "{command:?}: {text:?}");
    }
}

#[test]
fn no_command_lets_a_server_control_the_terminal() {
    for manner in [Manner::Answers, Manner::Refuses] {
        let site = Site::start(move |visit| answer(manner, visit));
        let server = site.url("");
        for command in COMMANDS {
            let before = site.visits().len();
            let shown = run(&server, command, &[]);
            harmless(command, &shown);
            let forged = [&shown.stdout, &shown.stderr];
            let forged = forged
                .iter()
                .flat_map(|text| text.lines())
                .find(|line| line.starts_with("FORGED"));
            assert_eq!(forged, None, "{command:?} shows a forged line");
            let asked = site.visits().len();
            assert!(
                asked > before,
                "{command:?} asked the server for nothing: {}",
                shown.stderr
            );
        }
        harmless(LOGS, &run(&server, LOGS, &[]));
    }
}

#[test]
fn as_json_hostile_text_is_valid_json_that_means_the_same() {
    let site = Site::start(|visit| answer(Manner::Answers, visit));
    let server = site.url("");
    for command in COMMANDS.into_iter().chain([LOGS]) {
        let shown = run(&server, command, &["--output", "json"]);
        harmless(command, &shown);
        let documents = serde_json::Deserializer::from_str(&shown.stdout).into_iter::<Value>();
        let documents: Vec<Value> = documents
            .collect::<Result<_, _>>()
            .unwrap_or_else(|error| panic!("{command:?}: {error}: {}", shown.stdout));
        if let Some(id) = documents
            .first()
            .and_then(|document| document.get("id"))
            .filter(|id| id.is_string())
        {
            assert_eq!(id, HOSTILE, "{command:?}");
        }
    }
}

#[test]
fn errors_are_json_where_json_is_asked_for() {
    let site = Site::start(|visit| answer(Manner::Refuses, visit));
    let server = site.url("");
    for command in [
        &["exec", "show", "exe_1"][..],
        &["exec", "nonsense"],
        &["service", "list"],
        &["limit", "set"],
    ] {
        let shown = run(&server, command, &["--output", "json"]);
        harmless(command, &shown);
        assert_eq!(shown.stdout, "", "{command:?}: data only on stdout");
        let document: Value = serde_json::from_str(&shown.stderr)
            .unwrap_or_else(|error| panic!("{command:?}: {error}: {}", shown.stderr));
        let error = &document["error"];
        assert!(error["code"].is_string() && error["message"].is_string(), "{document}");
        assert!(error["exitCode"].is_number(), "{document}");
    }
}

#[test]
fn hostile_text_that_a_real_server_stores_stays_text() {
    let folder = tempdir().unwrap();
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    beside(&product, || {
        let mut client = product.client();
        let hostile = HOSTILE.replace('\0', "");
        let machine = json!({
            "id": "order",
            "description": hostile,
            "initial": "waiting",
            "states": { "waiting": { "on": { "GO": "end" } }, "end": { "type": "final" } },
        });
        let applied = client.post("/v1/machines", &machine).unwrap();
        assert_eq!(applied.status, 201, "{}", applied.body);
        let start = json!({ "machine": "order", "variables": { "note": hostile } });
        let started = client.post("/v1/executions", &start).unwrap();
        assert_eq!(started.status, 201, "{}", started.body);
        let id = started.body["id"].as_str().unwrap().to_owned();
        let server = format!("http://{}", product.address());
        for command in [
            &["machine", "list"][..],
            &["machine", "show", "order"],
            &["exec", "list"],
            &["exec", "show", &id],
            &["exec", "history", &id],
            &["explain", &id],
            &["exec", "send", &id, &hostile],
            &["exec", "show", &hostile],
            &["exec", "list", "--filter", &hostile],
            &["exec", "list", "--machine", &hostile],
        ] {
            harmless(command, &run(&server, command, &[]));
            harmless(command, &run(&server, command, &["--output", "json"]));
        }
    });
}

#[test]
fn a_table_fits_the_terminal_and_ids_stay_whole() {
    let folder = tempdir().unwrap();
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    let mut client = product.client();
    let machine = json!({
        "id": "a-machine-with-a-rather-long-name",
        "initial": "waiting",
        "states": { "waiting": { "on": { "GO": "end" } }, "end": { "type": "final" } },
    });
    assert_eq!(client.post("/v1/machines", &machine).unwrap().status, 201);
    let start = json!({ "machine": "a-machine-with-a-rather-long-name", "key": "customer-4711-order-0815-2026" });
    let started = client.post("/v1/executions", &start).unwrap();
    let id = started.body["id"].as_str().unwrap().to_owned();
    let server = format!("http://{}", product.address());
    let list = |more: &[&str]| {
        let output = Command::new(binary("sprag"))
            .args(["exec", "list", "--server", &server])
            .args(more)
            .env("COLUMNS", "80")
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let narrow = list(&[]);
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    assert!(narrow.contains(&id) && narrow.contains("running"), "{narrow}");
    let wide = list(&["--wide"]);
    assert!(
        wide.contains("UPDATED") && wide.contains("customer-4711-order-0815-2026"),
        "{wide}"
    );
    assert!(!wide.contains('\u{1b}'), "no colour off a terminal: {wide:?}");
}
