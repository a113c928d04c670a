//! Configurations, definitions and backups that are refused before they can do harm.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use rusqlite::Connection;
use serde_json::{Value, json};
use sprag_tests::neighbour::beside;
use sprag_tests::{Product, binary, store};

const GUARD: Duration = Duration::from_mins(1);

fn sprag(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(binary("sprag"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

/// A command that is refused, with these words, as invalid input.
fn is_refused(folder: &Path, arguments: &[&str], words: &[&str]) {
    let output = sprag(folder, arguments);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
    assert!(words.iter().all(|word| text.contains(word)), "{words:?} in {text}");
    assert!(!text.contains('\0'), "{text:?}");
}

#[test]
fn a_store_that_would_not_outlive_the_process_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for store in ["sqlite::memory:", "sqlite://:memory:", "sqlite:file:x?mode=memory"] {
        is_refused(
            folder.path(),
            &["up", "--check", "--store", store],
            &["must outlive the process"],
        );
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was created");
}

#[test]
fn a_nul_in_a_path_an_address_or_a_variable_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("sprag.toml");
    for text in [
        "[store]\nurl = \"sqlite:a\\u0000b\"\n",
        "[exec]\nallow = [\"/bin/sh\\u0000\"]\n",
        "[services.crm]\nbaseUrl = \"https://a\\u0000b\"\n",
    ] {
        fs::write(&config, text).unwrap();
        is_refused(folder.path(), &["up", "--check", "--config", "sprag.toml"], &["NUL"]);
    }
    fs::remove_file(&config).unwrap();
    for url in ["postgres://u%00@localhost/d", "postgres://u@localhost/d%00"] {
        is_refused(folder.path(), &["up", "--check", "--store", url], &["NUL"]);
    }
    let services = folder.path().join("services.yaml");
    for (service, word) in [
        ("{ command: [sleep, '1'], cwd: \"/tmp\\0\" }", "`cwd` holds a NUL"),
        ("{ command: [\"sl\\0eep\"] }", "`command` holds a NUL"),
        ("{ command: [sleep, '1'], env: { A: \"b\\0\" } }", "`A` holds a NUL"),
        (
            "{ command: [sleep, '1'], env: { \"A\\0\": b } }",
            "is not the name of a variable",
        ),
    ] {
        fs::write(&services, format!("services:\n  a: {service}\n")).unwrap();
        is_refused(folder.path(), &["supervise", "--check", "services.yaml"], &[word]);
    }
}

/// A machine with one action.
fn machine(action: &Value) -> Value {
    let mut definition = json!({ "actionId": "x", "type": "noop", "triggerState": "a" });
    for (name, value) in action.as_object().unwrap() {
        definition[name] = value.clone();
    }
    json!({ "id": "m", "initial": "a", "states": { "a": {} }, "actions": [definition] })
}

#[test]
fn a_first_delay_that_is_longer_than_the_longest_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    let mut client = product.client();
    beside(&product, || {
        let policy = json!({ "retryPolicy": { "baseDelay": "1m", "maxDelay": "5s" } });
        let refused = client.post("/v1/machines", &machine(&policy)).unwrap();
        assert_eq!(refused.status, 422, "{refused:?}");
        let error = &refused.body["errors"][0];
        assert_eq!(error["pointer"], "/actions/0/retryPolicy/baseDelay", "{refused:?}");
        let linted = client.post("/v1/machines/lint", &machine(&policy)).unwrap();
        assert_eq!(linted.body["valid"], false, "{linted:?}");
        let policy = json!({ "retryPolicy": { "baseDelay": "5s", "maxDelay": "1m" } });
        assert_eq!(client.post("/v1/machines", &machine(&policy)).unwrap().status, 201);
    });
}

#[test]
fn a_variable_of_a_program_with_a_nul_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("sprag.toml");
    fs::write(&config, "[exec]\nallow = [\"/bin/sh\"]\nenv = [\"DAY\"]\n").unwrap();
    let product = Product::start_with(&folder.path().join("sprag.db"), &config, &[]);
    let product = product.unwrap_or_else(|line| panic!("{line}"));
    beside(&product, || {
        for config in [
            json!({ "command": ["/bin/sh", "-c", "true"], "env": { "DAY": "a\0b" } }),
            json!({ "command": ["/bin/sh", "-c", "tr\0ue"] }),
        ] {
            let action = json!({ "type": "exec", "config": config });
            let refused = product.client().post("/v1/machines", &machine(&action)).unwrap();
            assert_eq!(refused.status, 422, "{refused:?}");
            assert!(refused.body.to_string().contains("holds a NUL"), "{refused:?}");
        }
    });
}

#[test]
fn a_backup_with_a_schema_that_is_not_sprags_is_not_restored() {
    if !store::is_file("a database is restored by its own tools") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    let server = format!("http://{}", product.address());
    let taken = sprag(folder.path(), &["backup", "--to", "backup.db", "--server", &server]);
    assert!(taken.status.success(), "{taken:?}");
    assert!(product.terminate(GUARD).success());
    for (what, sql) in [
        (
            "trigger `planted`",
            "CREATE TRIGGER planted AFTER INSERT ON fact BEGIN DELETE FROM fact; END",
        ),
        ("view `planted`", "CREATE VIEW planted AS SELECT 1"),
        ("table `planted`", "CREATE TABLE planted (a)"),
        ("index `planted`", "CREATE UNIQUE INDEX planted ON history (body)"),
        ("table `fact`", "ALTER TABLE fact ADD COLUMN planted TEXT"),
        ("table `life` is missing", "DROP TABLE life"),
    ] {
        let planted = folder.path().join("planted.db");
        fs::copy(folder.path().join("backup.db"), &planted).unwrap();
        Connection::open(&planted).unwrap().execute_batch(sql).unwrap();
        let restored = sprag(folder.path(), &["restore", "planted.db", "--store", "sqlite:target.db"]);
        let text = String::from_utf8_lossy(&restored.stderr);
        assert!(!restored.status.success(), "{sql}");
        assert!(text.contains("foreign-schema") && text.contains(what), "{what}: {text}");
        assert!(!folder.path().join("target.db").exists(), "{sql}");
    }
    let restored = sprag(folder.path(), &["restore", "backup.db", "--store", "sqlite:target.db"]);
    assert!(restored.status.success(), "{restored:?}");
}
