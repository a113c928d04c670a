//! The clients for other languages start executions, send, wait and read, against the real binary.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use sprag_tests::Product;
use sprag_tests::program::Language;

/// Runs the `caller` of a language and compares what it saw.
fn calls(language: Language) {
    let folder = tempfile::tempdir().unwrap();
    let compiled = folder.path().join("client");
    std::fs::create_dir(&compiled).unwrap();
    let Some(client) = language.prepare(&compiled) else {
        return;
    };
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    let server = format!("http://{}", product.address());
    let output = language.script("caller", &client).arg(server).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = json!({
        "version": 1,
        "same": true,
        "late": true,
        "handled": true,
        "status": "completed",
        "output": "42",
        "history": [1, 2, 3],
        "actions": ["ask"],
        "cancelled": 3,
        "refused": {
            "status": 404,
            "code": "machine-unknown",
            "detail": "there is no machine `caled`; did you mean `called`?",
        },
    });
    assert_eq!(seen, expected);
}

#[test]
fn the_python_client_starts_sends_waits_and_reads() {
    calls(Language::Python);
}

#[test]
fn the_node_client_starts_sends_waits_and_reads() {
    calls(Language::TypeScript);
}

#[test]
fn the_types_of_the_clients_are_those_of_the_published_document() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/generate.py");
    let Ok(output) = Command::new("python3").arg(script).arg("--check").output() else {
        eprintln!("skipped: python3 is not installed");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
