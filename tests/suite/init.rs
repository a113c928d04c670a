//! `sprag init`: what it writes runs as it is, and it overwrites nothing.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::{Product, binary, wait};

const GUARD: Duration = Duration::from_secs(30);

fn sprag(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary("sprag"));
    command.args(arguments).current_dir(folder).output().unwrap()
}

fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    let output = sprag(folder, arguments);
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "sprag {arguments:?}: {text}");
    text
}

#[test]
fn everything_that_init_writes_is_valid_and_runs() {
    let folder = tempfile::tempdir().unwrap();
    let said = succeeds(folder.path(), &["init", "first"]);
    assert!(said.contains("cd first") && said.contains("sprag up"), "{said}");
    let first = folder.path().join("first");
    let linted = succeeds(&first, &["machine", "lint", "machine.yaml"]);
    assert!(linted.contains("0 errors, 0 warnings"), "{linted}");
    succeeds(&first, &["machine", "test", "scenarios.yaml"]);
    succeeds(&first, &["up", "--check"]);
    succeeds(&first, &["supervise", "--check", "services.yaml"]);

    let product = Product::start(&first.join("sprag.db"), &[]);
    let mut client = product.client();
    let machine = std::fs::read_to_string(first.join("machine.yaml")).unwrap();
    let applied = client.post_text("/v1/machines", "application/yaml", &machine).unwrap();
    assert_eq!(applied.status, 201, "{applied:?}");
    let start = json!({ "machine": "purchase", "variables": { "item": "chair", "price": 120 } });
    let started = client.post("/v1/executions", &start).unwrap();
    let id = started.body["id"].as_str().unwrap().to_owned();
    let message = json!({ "type": "APPROVED", "payload": { "by": "Ada" } });
    client.post(&format!("/v1/executions/{id}/messages"), &message).unwrap();
    let output: Value = wait::until("the purchase to be ordered", GUARD, || {
        let found = client.get(&format!("/v1/executions/{id}?wait=10s")).ok()?;
        (found.body["status"] == "completed").then(|| found.body["output"].clone())
    });
    assert_eq!(output, json!({ "item": "chair", "approvedBy": "Ada" }));
}

#[test]
fn init_overwrites_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("services.yaml"), "mine").unwrap();
    let output = sprag(folder.path(), &["init"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("services.yaml") && said.contains("nothing was written"),
        "{said}"
    );
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().flatten().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    assert_eq!(
        std::fs::read_to_string(folder.path().join("services.yaml")).unwrap(),
        "mine"
    );
}
