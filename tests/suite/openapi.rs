//! The real binary against its own OpenAPI document: requests that nobody wrote by hand, valid and not.
//!
//! Schemathesis makes them from the document the server serves. No answer may be a server error, and none may be one
//! that the document does not have.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::{Client, Product, wait};

const GUARD: Duration = Duration::from_mins(1);
/// The same requests in every run.
const SEED: &str = "1";
/// Requests for each operation, besides those that cover each bound of the document once.
const EXAMPLES_MAX: &str = "25";
/// What is looked at in every answer.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_schema_conformance,response_headers_conformance";

/// What the server supervises.
const SERVICES: &str = "
services:
  shop:
    children:
      web: { command: [sh, -c, 'echo hello; exec sleep 1000'], stop: { grace: 1s } }
      job: { command: [sh, -c, 'exit 3'] }
";

/// Where `make tools` puts the tool.
fn tool() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    root.join("target/tools/schemathesis/bin/schemathesis")
}

#[test]
fn no_request_that_the_document_leads_to_gets_an_answer_that_it_does_not_have() {
    let tool = tool();
    if !tool.exists() {
        println!("skipped: {} is missing; `make tools` installs it", tool.display());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let services = folder.path().join("services.yaml");
    std::fs::write(&services, SERVICES).unwrap();
    let product = Product::start_supervising(folder.path(), &services, &[]);
    prepare(&mut product.client());
    let config = folder.path().join("schemathesis.toml");
    std::fs::write(&config, words(&mut product.client())).unwrap();
    let run = Command::new(tool)
        .args(["--config-file", config.to_str().unwrap()])
        .args(["run", &format!("http://{}/v1/openapi.json", product.address())])
        .args(["--checks", CHECKS, "--max-examples", EXAMPLES_MAX, "--seed", SEED])
        .args(["--request-timeout", "30", "--continue-on-failure", "--no-color"])
        // Streams have no end to wait for, and who asks for work may wait a minute for none.
        .args(["--exclude-path-regex", "(/stream|/runners/lease)$"])
        .current_dir(folder.path())
        .env("NO_PROXY", "127.0.0.1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr)
    );
    println!("{said}");
    let after = product.client().get("/readyz").unwrap();
    // It takes its services along, whatever was found.
    let ended = product.terminate(GUARD);
    assert!(run.status.success(), "{}: see above", run.status);
    assert_eq!(after.status, 200, "it still works: {after:?}");
    assert!(ended.success(), "{ended}");
}

/// A machine whose executions wait, end, and leave a dead letter behind, so that lists and ids have something to show.
fn machine() -> Value {
    json!({
        "id": "order",
        "initial": "open",
        "states": {
            "open": { "on": { "PAY": "paid", "BREAK": "broken" } },
            "paid": { "on": { "done.ship": "over", "failed.ship": "over" } },
            "broken": { "on": { "END": "over" } },
            "over": { "type": "final" },
        },
        "actions": [
            { "actionId": "ship", "type": "noop", "triggerState": "paid" },
            {
                "actionId": "smash",
                "type": "fail",
                "triggerState": "broken",
                "config": { "type": "not_found", "message": "nobody there" },
                "retryPolicy": { "maxAttempts": 1 },
            },
        ],
    })
}

/// What requests are mostly about, so that they get further than `404`: what is really there.
const ABOUT: [(&str, &[(&str, &str)]); 6] = [
    (
        "^/v1/executions/",
        &[
            ("path.id", "executions"),
            ("query.wait", "waits"),
            ("body.type", "types"),
            ("body.version", "versions"),
        ],
    ),
    (
        "^/v1/(executions|messages)$",
        &[
            ("body.machine", "machines"),
            ("body.key", "keys"),
            ("body.type", "types"),
            ("query.wait", "waits"),
        ],
    ),
    (
        "^/v1/(actions|dead-letters)/",
        &[("path.id", "actions"), ("body.version", "versions")],
    ),
    (
        "^/v1/machines/",
        &[
            ("path.id", "machines"),
            ("path.version", "versions"),
            ("body.machine", "machines"),
        ],
    ),
    ("^/v1/kill-switches/", &[("path.id", "switches")]),
    ("^/v1/workers/", &[("path.path", "workers")]),
];

/// The tool's configuration: seven of ten values are real ones.
fn words(client: &mut Client) -> String {
    let mut ids = |path: &str| -> Vec<Value> {
        let list = client.get(path).unwrap();
        let rows = list.body["data"].as_array().unwrap().iter();
        rows.map(|row| row["id"].clone()).collect()
    };
    let words = [
        ("executions", json!(ids("/v1/executions"))),
        ("actions", json!(ids("/v1/actions"))),
        ("switches", json!(ids("/v1/kill-switches"))),
        ("machines", json!(["order"])),
        ("workers", json!(["shop", "shop/web", "shop/job"])),
        ("versions", json!([1, 2])),
        ("keys", json!(["waits", "pays", "breaks"])),
        ("types", json!(["PAY", "BREAK", "END"])),
        ("waits", json!(["0", "10ms"])),
    ];
    let mut config = String::new();
    for (name, values) in words {
        let _ = writeln!(config, "[dictionaries.{name}]\nvalues = {values}");
    }
    for (routes, parameters) in ABOUT {
        let _ = writeln!(
            config,
            "[[operations]]\ninclude-path-regex = \"{routes}\"\n[operations.parameters]"
        );
        for (parameter, words) in parameters {
            let _ = writeln!(
                config,
                "\"{parameter}\" = {{ dictionary = \"{words}\", probability = 0.7 }}"
            );
        }
    }
    config
}

fn prepare(client: &mut Client) {
    assert_eq!(client.post("/v1/machines", &machine()).unwrap().status, 201);
    for key in ["waits", "pays", "breaks"] {
        let start = json!({ "machine": "order", "key": key });
        assert_eq!(client.post("/v1/executions", &start).unwrap().status, 201);
    }
    for (key, kind) in [("pays", "PAY"), ("breaks", "BREAK")] {
        let message = json!({ "machine": "order", "key": key, "type": kind });
        assert_eq!(client.post("/v1/messages", &message).unwrap().status, 200);
    }
    let switch = json!({ "scope": "type:webhook", "reason": "to have one" });
    assert_eq!(client.post("/v1/kill-switches", &switch).unwrap().status, 201);
    wait::until("the dead letter", GUARD, || {
        let letters = client.get("/v1/dead-letters").unwrap();
        (letters.body["data"].as_array()?.len() == 1).then_some(())
    });
}
