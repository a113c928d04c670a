//! Programs: environment variables that make an interpreter run other code.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::neighbour::beside;
use sprag_tests::{Client, Product, binary, store, wait};

/// A hang guard, not a measure.
const GUARD: Duration = Duration::from_mins(1);
const CANARY: &str = "environment-canary-4711";

fn server(folder: &Path, config: &str) -> Product {
    let file = folder.join("sprag.toml");
    std::fs::write(&file, config).unwrap();
    Product::start_with(&folder.join("sprag.db"), &file, &[("SPRAG_SECRET_K", CANARY)])
        .unwrap_or_else(|line| panic!("it did not start: {line}"))
}

fn machine(id: &str, config: &Value) -> Value {
    json!({
        "id": id,
        "initial": "acting",
        "states": { "acting": { "on": { "done.act": "over", "failed.act": "over" } }, "over": { "type": "final" } },
        "actions": [{ "actionId": "act", "type": "exec", "triggerState": "acting", "config": config }],
    })
}

/// What the program of a new machine gave.
fn result(client: &mut Client, id: &str, config: &Value) -> Value {
    let applied = client.post("/v1/machines", &machine(id, config)).unwrap();
    assert_eq!(applied.status, 201, "{:#}", applied.body);
    let started = client.post("/v1/executions", &json!({ "machine": id })).unwrap();
    let path = format!("/v1/actions?executionId={}", started.body["id"].as_str().unwrap());
    let action = wait::until("the program to end", GUARD, || {
        let found = client.get(&path).unwrap();
        let action = found.body["data"][0].clone();
        matches!(action["status"].as_str(), Some("succeeded" | "dead")).then_some(action)
    });
    let shown = client
        .get(&format!("/v1/actions/{}", action["id"].as_str().unwrap()))
        .unwrap();
    assert_eq!(shown.body["status"], "succeeded", "{:#}", shown.body);
    shown.body["result"].clone()
}

#[test]
fn a_definition_sets_only_variables_that_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let product = server(folder.path(), "[exec]\nallow = [\"/bin/sh\"]\nenv = [\"DAY\"]\n");
    beside(&product, || {
        let mut client = product.client();
        for name in [
            "BASH_ENV",
            "ENV",
            "LD_PRELOAD",
            "PATH",
            "PYTHONSTARTUP",
            "GIT_SSH_COMMAND",
            "HOME",
            "day",
        ] {
            let config = json!({ "command": ["/bin/sh", "-c", "true"], "env": { name: "/tmp/evil" } });
            let answer = client.post("/v1/machines", &machine("hostile", &config)).unwrap();
            assert_eq!(answer.status, 422, "{name}: {:#}", answer.body);
            let pointer = format!("/actions/0/config/env/{name}");
            assert_eq!(answer.body["errors"][0]["pointer"], pointer, "{:#}", answer.body);
        }
        let config = json!({ "command": ["/bin/sh", "-c", "echo $DAY"], "env": { "DAY": "monday" } });
        assert_eq!(result(&mut client, "listed", &config)["stdout"], "monday\n");
    });
}

#[test]
fn a_variable_that_runs_other_code_cannot_be_listed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sprag.toml");
    for (config, word) in [
        ("[exec]\nenv = [\"BASH_ENV\"]\n", "BASH_ENV"),
        ("[exec]\nenv = [\"LD_LIBRARY_PATH\"]\n", "LD_LIBRARY_PATH"),
        ("[exec]\nuser = \"nobody-of-that-name\"\n", "no such user"),
    ] {
        std::fs::write(&file, config).unwrap();
        let mut command = Command::new(binary("sprag"));
        let output = command
            .args(["up", "--check", "--config"])
            .arg(&file)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(word), "{config}: {said}");
    }
}

/// As root the program runs as somebody else; otherwise it runs as the server does, and the server is closed to it.
#[test]
fn a_program_cannot_read_the_environment_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let is_root = rustix::process::geteuid().is_root();
    let user = if is_root { "user = \"nobody\"\n" } else { "" };
    let product = server(folder.path(), &format!("[exec]\nallow = [\"/bin/sh\"]\n{user}"));
    beside(&product, || {
        let mut client = product.client();
        let script = "id -u; id -G; cat /proc/$PPID/environ | tr '\\0' '\\n'; exit 0";
        let config = json!({ "command": ["/bin/sh", "-c", script] });
        let result = result(&mut client, "curious", &config);
        let stderr = result["stderr"].as_str().unwrap();
        assert!(
            stderr.contains("denied") || stderr.contains("not permitted"),
            "{result:#}"
        );
        assert!(!result.to_string().contains("SPRAG_SECRET_K"), "{result:#}");
        let mut lines = result["stdout"].as_str().unwrap().lines();
        let own = rustix::process::geteuid().as_raw().to_string();
        assert_eq!(lines.next() == Some(own.as_str()), !is_root, "{result:#}");
        if is_root {
            assert!(
                !lines.next().unwrap().split(' ').any(|group| group == "0"),
                "{result:#}"
            );
        }
    });
}

/// A user without privileges, by number.
const UNPRIVILEGED: u32 = 65_534;

/// A server that is not root, also where the test is.
fn server_without_root(folder: &Path) -> Product {
    let (file, program) = (folder.join("sprag.toml"), folder.join("sprag"));
    std::fs::write(&file, "[exec]\nallow = [\"/bin/sh\"]\n").unwrap();
    // Where it was built may be closed to others.
    std::fs::copy(binary("sprag"), &program).unwrap();
    let mut command = Command::new(program);
    command
        .args(["up", "--listen", "127.0.0.1:0", "--store"])
        .arg(store::url(&folder.join("sprag.db")))
        .arg("--config")
        .arg(file)
        .env("SPRAG_SECRET_K", CANARY)
        .current_dir(folder);
    if rustix::process::geteuid().is_root() {
        chown(folder, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).unwrap();
        command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
    }
    Product::start_by(command).unwrap_or_else(|line| panic!("it did not start: {line}"))
}

/// Of the same user as the server, a program could read its environment; the server is closed to it.
#[test]
fn a_program_of_the_same_user_cannot_read_the_environment_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let product = server_without_root(folder.path());
    beside(&product, || {
        let script = "cat /proc/$PPID/environ | tr '\\0' '\\n'; exit 0";
        let config = json!({ "command": ["/bin/sh", "-c", script] });
        let result = result(&mut product.client(), "curious", &config);
        assert!(!result.to_string().contains("SPRAG_SECRET_K"), "{result:#}");
        assert!(result["stderr"].as_str().unwrap().contains("denied"), "{result:#}");
    });
}
