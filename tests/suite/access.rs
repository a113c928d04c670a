//! Tokens in the real binary: the first one, those for others, and what survives `kill -9`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use sprag_tests::{Product, binary, store, wait};

const GUARD: Duration = Duration::from_mins(1);

/// `sprag up` that asks its callers, with more arguments.
fn up(folder: &Path, more: &[&str]) -> Product {
    let mut command = Command::new(binary("sprag"));
    command
        .args(["up", "--auth", "token", "--listen", "127.0.0.1:0"])
        .args(["--store", &store::url(&folder.join("sprag.db"))])
        .args(more)
        .current_dir(folder);
    Product::start_by(command).unwrap()
}

/// A command of ours against a server, with a token.
fn sprag(product: &Product, token: &str, arguments: &[&str]) -> Output {
    Command::new(binary("sprag"))
        .args(arguments)
        .env("SPRAG_SERVER", format!("http://{}", product.address()))
        .env("SPRAG_TOKEN", token)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// The first token, once it is in its file.
fn first(file: &Path) -> String {
    wait::until("the file of the first token", GUARD, || {
        let text = std::fs::read_to_string(file).ok()?;
        text.ends_with('\n').then(|| text.trim().to_owned())
    })
}

#[test]
fn the_first_token_creates_others_and_all_survive_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("admin.token");
    std::fs::write(&file, "readable for all").unwrap();
    let arguments = ["--admin-token-file", file.to_str().unwrap()];
    let product = up(folder.path(), &arguments);
    let admin = first(&file);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!product.log().contains(&admin), "it is in the file only");

    let bare = sprag(&product, "", &["exec", "list"]);
    assert_eq!(bare.status.code(), Some(1));
    assert!(text(&bare.stderr).contains("token-missing"), "{bare:?}");
    let created = sprag(&product, &admin, &["token", "create", "dashboard", "--role", "viewer"]);
    assert!(created.status.success(), "{created:?}");
    let viewer = text(&created.stdout);
    assert!(viewer.starts_with("sprag_") && !text(&created.stderr).contains(&viewer));
    assert!(sprag(&product, &viewer, &["exec", "list"]).status.success());
    let refused = sprag(&product, &viewer, &["token", "list"]);
    assert!(text(&refused.stderr).contains("role-missing"), "{refused:?}");
    product.kill();

    std::fs::remove_file(&file).unwrap();
    let product = up(folder.path(), &arguments);
    assert!(sprag(&product, &viewer, &["exec", "list"]).status.success());
    let listed = sprag(&product, &admin, &["token", "list", "--output", "json"]);
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let tokens = listed["data"].as_array().unwrap();
    assert_eq!(tokens.len(), 2, "a second start creates no other: {listed}");
    assert!(!file.exists());
    let id = tokens.iter().find(|token| token["name"] == "dashboard").unwrap()["id"]
        .as_str()
        .unwrap();
    let revoked = sprag(&product, &admin, &["token", "revoke", id]);
    assert!(revoked.status.success(), "{revoked:?}");
    let refused = sprag(&product, &viewer, &["exec", "list"]);
    assert!(text(&refused.stderr).contains("token-invalid"), "{refused:?}");
    assert!(product.terminate(GUARD).success());
}

#[test]
fn the_first_token_is_printed_once_where_no_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let product = up(folder.path(), &[]);
    let printed = wait::until("the first token", GUARD, || {
        let log = product.log();
        let (_, rest) = log.split_once("shown only now: ")?;
        rest.split_once('\n').map(|(token, _)| token.trim().to_owned())
    });
    assert!(sprag(&product, &printed, &["token", "list"]).status.success());
    assert_eq!(product.log().matches("shown only now").count(), 1);
}

#[test]
fn an_address_off_loopback_needs_authentication_and_a_network_that_is_trusted() {
    let folder = tempfile::tempdir().unwrap();
    for (more, says) in [
        (&[][..], "turn on authentication"),
        (&["--auth", "token"][..], "could read the tokens"),
    ] {
        let refused = Command::new(binary("sprag"))
            .args(["up", "--listen", "0.0.0.0:0"])
            .args(more)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(text(&refused.stderr).contains(says), "{refused:?}");
    }
    assert!(!folder.path().join("sprag.db").exists());
}

/// Entries of the audit with a verb, oldest first.
fn entries(product: &Product, token: &str, verb: &str) -> Vec<serde_json::Value> {
    let filter = format!("verb = \"{verb}\"");
    let listed = sprag(
        product,
        token,
        &["audit", "list", "--filter", &filter, "--output", "json"],
    );
    assert!(listed.status.success(), "{listed:?}");
    let page: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    page["data"].as_array().unwrap().iter().rev().cloned().collect()
}

#[test]
fn a_refused_request_is_in_the_audit_once_a_minute() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("admin.token");
    let arguments = ["--admin-token-file", file.to_str().unwrap()];
    let product = up(folder.path(), &arguments);
    let admin = first(&file);
    let created = sprag(&product, &admin, &["token", "create", "dashboard", "--role", "viewer"]);
    let viewer = text(&created.stdout);
    for _ in 0..3 {
        let refused = sprag(&product, &viewer, &["token", "list"]);
        assert!(text(&refused.stderr).contains("role-missing"), "{refused:?}");
    }
    let at_once = entries(&product, &admin, "request.refused");
    assert_eq!(at_once.len(), 1, "{at_once:#?}");
    assert_eq!(at_once[0]["principal"], "dashboard");
    assert_eq!(at_once[0]["target"], "GET /v1/tokens");
    assert_eq!(at_once[0]["refused"], "role-missing");
}

#[test]
fn a_marked_store_is_held_and_counts_none_of_its_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("admin.token");
    let arguments = ["--admin-token-file", file.to_str().unwrap()];
    let product = up(folder.path(), &arguments);
    let old = first(&file);
    assert!(product.terminate(GUARD).success());
    std::fs::remove_file(&file).unwrap();
    let url = store::url(&folder.path().join("sprag.db"));
    let marked = Command::new(binary("sprag"))
        .args(["restore", "--mark", "--store", &url, "--output", "json"])
        .output()
        .unwrap();
    assert!(marked.status.success(), "{marked:?}");
    let report: serde_json::Value = serde_json::from_slice(&marked.stdout).unwrap();

    let product = up(folder.path(), &arguments);
    let admin = first(&file);
    let refused = sprag(&product, &old, &["exec", "list"]);
    assert!(text(&refused.stderr).contains("token-invalid"), "{refused:?}");
    let listed = sprag(&product, &admin, &["switch", "list", "--output", "json"]);
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed["data"][0]["id"], report["switch"], "{listed}");
    assert_eq!(listed["data"][0]["scope"], "all");
    let entries = entries(&product, &admin, "system.restore");
    assert_eq!(entries.len(), 1, "{entries:#?}");
    let after = entries[0]["after"].as_str().unwrap();
    assert!(after.contains("1 tokens revoked"), "{after}");
    assert!(sprag(&product, &admin, &["audit", "verify"]).status.success());
}
