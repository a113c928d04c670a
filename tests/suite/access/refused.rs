//! What the audit says of refused requests, and of a store that was marked as restored.

use std::process::Command;

use sprag_tests::{Product, binary, store};

use super::{GUARD, first, sprag, text, up};

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
fn a_refused_request_is_in_the_audit_once_a_minute_and_its_number_survives_a_stop() {
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
    for _ in 0..2 {
        let refused = sprag(&product, "spt_guessed", &["token", "list"]);
        assert!(text(&refused.stderr).contains("token-invalid"), "{refused:?}");
    }
    // A server that stops writes what it has counted.
    assert!(product.terminate(GUARD).success());
    let product = up(folder.path(), &[]);
    let counted = entries(&product, &admin, "request.refused").split_off(1);
    let counted: Vec<_> = counted
        .iter()
        .map(|entry| (entry["principal"].as_str(), entry["after"].as_str()))
        .collect();
    let twice = Some("2 requests in a minute");
    assert_eq!(counted, [(Some("dashboard"), twice), (Some("anonymous"), twice)]);
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
