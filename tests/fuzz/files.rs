//! Whole files: machines, scenarios, action tests, services, configuration.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use serde_json::Map;
use sprag_core::document::source::{Format, Limits, parse_value};
use sprag_core::machine::testing::TestFile;
use sprag_core::machine::{DiagramFormat, LoadOptions, SimInput, Simulation, diagram, load_stored, load_text};
use sprag_core::time::Timestamp;
use sprag_supervisor::services;
use sprag_tests::binary;

use crate::corpus;
use crate::run::{Verdict, fuzz};

/// Messages that an accepted machine is sent, at most.
const MESSAGES_MAX: usize = 8;

fn text(input: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(input)
}

#[test]
fn machine_files() {
    let mut corpus = corpus::files(&["examples", "crates/sim/machines"], ".yaml");
    corpus.push(r#"{"id":"m","initial":"a","states":{"a":{"on":{"GO":"b"}},"b":{"type":"final"}}}"#.to_owned());
    fuzz("machine", &corpus, |input| {
        let text = text(input);
        let format = Format::sniff(&text);
        let Some(machine) = load_text(&text, format, &LoadOptions::default()).machine else {
            return Verdict::Refused;
        };
        // What was accepted once can be loaded from the store for ever.
        let definition = parse_value(&text, format, &Limits::default()).unwrap();
        load_stored(&definition).unwrap();
        for format in DiagramFormat::ALL {
            assert!(!diagram(&machine, format).is_empty());
        }
        let words: Vec<String> = text.split_whitespace().take(MESSAGES_MAX).map(str::to_owned).collect();
        let (mut simulation, _) = Simulation::start(Arc::new(machine), Map::new(), None, Timestamp::from_millis(0));
        for word in words {
            if let Ok(message) = SimInput::from_argument(&word) {
                simulation.feed(message);
            }
        }
        Verdict::Accepted
    });
}

#[test]
fn scenario_files() {
    let corpus = corpus::files(&["examples"], "scenarios.yaml");
    fuzz("scenario", &corpus, |input| {
        Verdict::from(&TestFile::read(&text(input), Format::Yaml))
    });
}

#[test]
fn action_test_files() {
    let corpus = corpus::files(&["examples/action-tests"], ".yaml");
    fuzz("action-test", &corpus, |input| {
        let text = text(input);
        Verdict::from(&TestFile::read(&text, Format::sniff(&text)))
    });
}

#[test]
fn services_files() {
    let corpus = corpus::files(&["examples"], "services.yaml");
    fuzz("services", &corpus, |input| {
        let text = text(input);
        let loaded = services::load(&text, Format::sniff(&text), Path::new("/nowhere"));
        assert!(
            loaded.file.is_some() || !loaded.findings.is_empty(),
            "refused without a reason"
        );
        loaded.file.map_or(Verdict::Refused, |_| Verdict::Accepted)
    });
}

/// The configuration belongs to the program alone, so the program itself is asked.
#[test]
fn configuration_files() {
    let printed = Command::new(binary("sprag"))
        .args(["config", "print"])
        .output()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sprag.toml");
    let corpus = [printed.stdout, b"[outbound]\nallow = [\"127.0.0.0/8\"]\n".to_vec()];
    fuzz("configuration", &corpus, move |input| {
        std::fs::write(&file, input).unwrap();
        let output = Command::new(binary("sprag"))
            .args(["up", "--check", "--store", "sqlite:unused.db", "--config"])
            .arg(&file)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let errors = text(&output.stderr).into_owned();
        assert!(!errors.contains("panicked"), "{errors}");
        match output.status.code() {
            Some(0) => Verdict::Accepted,
            Some(1 | 2) => Verdict::Refused,
            other => panic!("it ended with {other:?}: {errors}"),
        }
    });
}
