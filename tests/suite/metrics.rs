//! The page of metrics as Prometheus' own reader understands it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::{Product, wait};

const GUARD: Duration = Duration::from_mins(1);

/// Reads a page and says what it found: each family with its type, and each sample.
const READ: &str = "
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
families = {}
for family in text_string_to_metric_families(sys.stdin.read()):
    samples = [[sample.name, sample.labels, sample.value] for sample in family.samples]
    families[family.name] = {'type': family.type, 'help': family.documentation, 'samples': samples}
print(json.dumps(families))
";

/// Where `make tools` puts the reader.
fn python() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    root.join("target/tools/prometheus/bin/python")
}

fn read(python: &Path, page: &str) -> Value {
    let mut child = Command::new(python)
        .args(["-c", READ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "the page cannot be read:\n{page}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The value of the one sample with these labels.
fn value(families: &Value, family: &str, name: &str, labels: &Value) -> f64 {
    let samples = families[family]["samples"]
        .as_array()
        .unwrap_or_else(|| panic!("no {family}: {families}"));
    let found = samples.iter().find(|sample| sample[0] == name && sample[1] == *labels);
    found
        .and_then(|sample| sample[2].as_f64())
        .unwrap_or_else(|| panic!("no {name}{labels} in {samples:?}"))
}

#[test]
fn prometheus_own_reader_reads_every_family_with_its_type_and_values() {
    let python = python();
    if !python.exists() {
        println!("skipped: {} is missing; `make tools` installs it", python.display());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    let mut client = product.client();
    let machine = json!({
        "id": "doomed", "initial": "a", "states": { "a": {} },
        "actions": [
            {
                "actionId": "act", "type": "fail", "triggerState": "a", "retryPolicy": { "maxAttempts": 1 },
                "config": { "type": "not_found", "message": "nobody" },
            },
            { "actionId": "pay", "type": "noop", "triggerState": "a", "config": { "costEstimate": 0.25 } },
        ],
    });
    assert_eq!(client.post("/v1/machines", &machine).unwrap().status, 201);
    assert_eq!(
        client
            .post("/v1/executions", &json!({"machine": "doomed"}))
            .unwrap()
            .status,
        201
    );
    let families = wait::until("the actions to be counted", GUARD, || {
        let page = client.get("/metrics").unwrap().body;
        let families = read(&python, page.as_str().unwrap());
        let ended = |kind, outcome| {
            let labels = json!({"type": kind, "outcome": outcome});
            value(&families, "sprag_actions_ended", "sprag_actions_ended_total", &labels)
        };
        (ended("fail", "dead") > 0.5 && ended("noop", "succeeded") > 0.5).then_some(families.clone())
    });
    let failed = json!({"type": "fail", "error": "not_found"});
    let errors = value(&families, "sprag_attempt_errors", "sprag_attempt_errors_total", &failed);
    assert!((errors - 1.0).abs() < 1e-9, "{errors}");
    let noop = json!({"type": "noop"});
    let cost = value(&families, "sprag_attempt_cost", "sprag_attempt_cost_total", &noop);
    assert!((cost - 0.25).abs() < 1e-9, "{cost}");
    for (name, family) in families.as_object().unwrap() {
        let kind = family["type"].as_str().unwrap();
        assert!(["counter", "gauge", "histogram"].contains(&kind), "{name} is `{kind}`");
        assert!(!family["help"].as_str().unwrap().is_empty(), "{name}");
    }
    println!("metrics: {} families", families.as_object().unwrap().len());
}
