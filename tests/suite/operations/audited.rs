//! What the audit says of plans: how their steps ended, what they logged, and that a restore took their approvals back.

use std::process::{Command, Output};

use serde_json::{Value, json};
use sprag_tests::{binary, store, wait};

use super::{GUARD, Office, one};

impl Office {
    /// The entries with a verb, oldest first: target, principal, reason and what it led to.
    pub(super) fn entries(&self, verb: &str) -> Vec<Value> {
        let page = self.get(&format!("/v1/audit?filter=verb%20%3D%20%22{verb}%22"));
        let oldest = page["data"].as_array().unwrap().iter().rev();
        oldest
            .map(|entry| json!([entry["target"], entry["principal"], entry["reason"], entry["after"]]))
            .collect()
    }

    /// A command against the server, for the administrator.
    pub(super) fn sprag(&self, arguments: &[&str]) -> Output {
        let address = self.product.as_ref().unwrap().address();
        Command::new(binary("sprag"))
            .args(arguments)
            .env("SPRAG_SERVER", format!("http://{address}"))
            .env("SPRAG_TOKEN", &self.tokens["admin"])
            .output()
            .unwrap()
    }
}

#[test]
fn the_audit_has_the_end_of_every_step_and_what_a_step_logged() {
    let mut office = Office::open("");
    let id = office.propose(&json!({
        "name": "note", "reason": "a test",
        "steps": [
            { "name": "look", "operation": "cache.look", "params": { "path": "look" } },
            { "name": "say", "operation": "log_message", "params": { "message": "took {{steps.look.result.data.took}} ms" } },
            { "name": "fail", "operation": "cache.look", "params": { "path": "gone" } },
        ],
    }));
    let failed = office.until(&id, "failed");
    let target = |step: &str| format!("{id}/{step}");
    let ends = office.entries("workflow.step");
    assert_eq!(ends.len(), 2, "{ends:#?} {failed:#}");
    assert_eq!(ends[0], json!([target("look"), "ann", null, "succeeded"]), "{ends:#?}");
    assert_eq!((&ends[1][0], &ends[1][1]), (&json!(target("fail")), &json!("ann")));
    assert!(ends[1][3].as_str().unwrap().starts_with("dead: "), "{ends:#?}");
    let said = [json!([target("say"), "ann", "took 7 ms", "succeeded"])];
    assert_eq!(office.entries("workflow.log"), said);
    // A crash afterwards neither takes entries away nor writes them again.
    assert_eq!(office.entries("system.configuration"), [Value::Null; 0]);
    office.kill();
    office.configure("[approval]\nquorum = 2\n");
    office.start(&[]).unwrap();
    assert_eq!(
        (office.entries("workflow.step"), office.entries("workflow.log")),
        (ends, said.to_vec())
    );
    // The start with another configuration has its own.
    wait::until("the configuration in the audit", GUARD, || {
        (office.entries("system.configuration").len() == 1).then_some(())
    });
    assert!(office.sprag(&["audit", "verify"]).status.success());
}

#[test]
fn a_restored_plan_waits_for_a_new_approval_and_later_heads_say_that_its_chain_was_rolled_back() {
    let mut office = Office::open("");
    let id = office.propose(&one("cache.drain", "busy"));
    assert_eq!(office.approve("bob", &id).status, 200);
    office.until(&id, "in_progress");
    office.until_visited("busy", 1);
    office.stop();
    let backup = office.folder.path().join("backup.db");
    store::copy(&office.store, &backup);

    // What the backup does not know: the approval was taken back, and heads were exported.
    office.start(&[]).unwrap();
    let revoked = office.ask("cleo", &id, "revoke", &json!({ "comment": "wrong node" }));
    assert_eq!(revoked.status, 200, "{revoked:?}");
    let exported = office.sprag(&["audit", "heads"]);
    assert!(exported.status.success(), "{exported:?}");
    let heads = office.folder.path().join("heads.jsonl");
    std::fs::write(&heads, exported.stdout).unwrap();
    let verify = ["audit", "verify", "--heads", heads.to_str().unwrap()];
    let whole = office.sprag(&verify);
    assert!(whole.status.success(), "{whole:?}");
    office.stop();

    office.store = backup;
    let marked = Command::new(binary("sprag"))
        .args(["restore", "--mark", "--store", &store::url(&office.store)])
        .output()
        .unwrap();
    assert!(marked.status.success(), "{marked:?}");
    let before = office.visits("busy");
    office.repair();
    office.start(&[]).unwrap();
    office.admit();
    let waiting = office.until(&id, "awaiting_approval");
    let broken = office.sprag(&verify);
    let said = String::from_utf8_lossy(&broken.stderr).into_owned();
    assert_eq!(broken.status.code(), Some(1), "{broken:?}");
    assert!(said.contains("of shard ") && said.contains("rolled back"), "{said}");
    assert!(office.sprag(&["audit", "verify"]).status.success());

    // The switch alone does not make it run again: somebody must approve it too.
    let switches = office.get("/v1/kill-switches");
    let switch = switches["data"][0]["id"].as_str().unwrap();
    let off = office.post("admin", &format!("/v1/kill-switches/{switch}/release"), &json!({}));
    assert_eq!(off.status, 200, "{off:?}");
    office.hire("dora", &json!({ "name": "dora", "roles": ["approver", "proposer"] }));
    let other = office.post("dora", "/v1/workflows", &one("cache.look", "other"));
    assert_eq!(other.status, 201, "{other:?}");
    office.until(other.body["id"].as_str().unwrap(), "completed");
    assert_eq!(office.visits("busy"), before, "{waiting:#}");
    let approved = office.approve("dora", &id);
    assert_eq!(approved.status, 200, "{approved:?}");
    office.until(&id, "completed");
    assert_eq!(office.visits("busy"), before + 1);
}
