//! A backup with approved plans, put in the place of the store by `sprag restore FILE`.

use std::process::{Command, Output};

use serde_json::{Value, json};
use sprag_tests::{binary, store};

use super::{Office, code, one};

/// Plans in each standing that a backup can find them in.
struct Plans {
    /// Approved, and tried again and again.
    busy: String,
    /// Approved, and due once the backup was restored.
    later: String,
    /// Approved, and failed.
    failed: String,
    /// Not approved yet.
    waiting: String,
    /// Completed.
    done: String,
}

impl Plans {
    fn of(office: &Office) -> Self {
        let approved = |body: &Value| {
            let id = office.propose(body);
            assert_eq!(office.approve("bob", &id).status, 200);
            id
        };
        let mut late = one("cache.drain", "later");
        late["delay"] = "3s".into();
        let plans = Self {
            busy: approved(&one("cache.drain", "busy")),
            later: approved(&late),
            failed: approved(&one("cache.drain", "gone")),
            waiting: office.propose(&one("cache.drain", "waiting")),
            done: office.propose(&one("cache.look", "done")),
        };
        office.until_visited("busy", 1);
        office.until(&plans.failed, "failed");
        office.until(&plans.done, "completed");
        plans
    }
}

/// Puts a backup in the place of the store of an office.
fn restore(office: &Office, backup: &str) -> Output {
    let config = office.folder.path().join("sprag.toml");
    Command::new(binary("sprag"))
        .args(["restore", backup, "--force", "--store", &store::url(&office.store)])
        .arg("--config")
        .arg(config)
        .output()
        .unwrap()
}

#[test]
fn a_restored_backup_holds_what_was_approved_until_new_people_approve_it_again() {
    if !store::is_file("a database is restored by its own tools") {
        return;
    }
    let mut office = Office::open("[approval]\ndecideWithin = \"1h\"\n");
    let plans = Plans::of(&office);
    let backup = office.folder.path().join("backup.db").display().to_string();
    let taken = office.sprag(&["backup", "--to", &backup]);
    assert!(taken.status.success(), "{taken:?}");
    // What the backup does not know: an approval that was taken back, one that was given, and another person.
    assert_eq!(
        office
            .ask("cleo", &plans.later, "revoke", &json!({ "comment": "not now" }))
            .status,
        200
    );
    assert_eq!(office.approve("cleo", &plans.waiting).status, 200);
    office.until(&plans.waiting, "completed");
    office.hire("eve", &json!({ "name": "eve", "roles": ["approver"] }));
    office.kill();
    let before = office.site.visits().len();

    let restored = restore(&office, &backup);
    assert!(restored.status.success(), "{restored:?}");
    let said = String::from_utf8_lossy(&restored.stderr).into_owned();
    assert!(said.contains("no token and no approval of the backup counts"), "{said}");
    office.repair();
    office.start(&[]).unwrap();
    for who in ["admin", "ann", "bob", "eve"] {
        let refused = office.client(who).get("/v1/workflows").unwrap();
        assert_eq!(
            (refused.status, code(&refused)),
            (401, "token-invalid"),
            "{who}: {refused:?}"
        );
    }
    office.admit();
    all_wait_again(&office, &plans);
    approve_two_again(&mut office, &plans);
    assert_eq!(
        office.site.visits().len(),
        before,
        "the switch holds what was approved again"
    );
    let switch = office.get("/v1/kill-switches")["data"][0]["id"].clone();
    let off = office.sprag(&["switch", "off", switch.as_str().unwrap(), "--reason", "compared"]);
    assert!(off.status.success(), "{off:?}");
    office.until(&plans.busy, "completed");
    office.until(&plans.failed, "completed");
    for (id, path) in [(&plans.later, "later"), (&plans.waiting, "waiting")] {
        assert_eq!(office.workflow(id)["status"], "awaiting_approval");
        let visits = usize::from(path == "waiting");
        assert_eq!(office.visits(path), visits, "no approval of {path} since the restore");
    }
    assert_eq!(office.site.visits().len(), before + 2);
}

/// What the store holds before an approver decides again.
fn all_wait_again(office: &Office, plans: &Plans) {
    for id in [&plans.busy, &plans.later, &plans.waiting] {
        let waits = office.until(id, "awaiting_approval");
        assert_eq!(waits["approval"]["given"], json!([]), "{waits:#}");
        let expires = &waits["approval"]["expiresAt"];
        assert!(expires.is_string(), "there is the whole time to decide: {waits:#}");
    }
    assert_eq!(office.workflow(&plans.failed)["status"], "failed");
    assert_eq!(office.workflow(&plans.done)["status"], "completed");
    let entries = office.entries("system.restore");
    assert_eq!(entries.len(), 1, "{entries:#?}");
    let after = entries[0][3].as_str().unwrap();
    assert!(after.contains("6 tokens revoked, 4 plans"), "{after}");
    assert!(office.sprag(&["audit", "verify"]).status.success());
}

/// A person of after the restore approves what ran and what failed.
fn approve_two_again(office: &mut Office, plans: &Plans) {
    let roles = ["approver", "operator", "proposer"];
    office.hire("dora", &json!({ "name": "dora", "roles": roles }));
    let resume = || office.ask("dora", &plans.failed, "resume", &json!({ "reason": "again" }));
    let refused = resume();
    assert_eq!(code(&refused), "approval-missing", "{refused:?}");
    for id in [&plans.busy, &plans.failed] {
        let approved = office.approve("dora", id);
        assert_eq!(approved.status, 200, "{approved:?}");
    }
    let resumed = resume();
    assert_eq!(resumed.status, 200, "{resumed:?}");
    for id in [&plans.busy, &plans.failed] {
        let held = office.workflow(id);
        assert_eq!(held["steps"][0]["waiting"]["for"], "killSwitch", "{held:#}");
    }
}
