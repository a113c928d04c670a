//! Who may decide what, and when a decision counts.

use serde_json::json;
use sprag_tests::wait;

use super::{GUARD, Office, code, one, steps};

#[test]
fn the_mode_says_which_plans_need_approval_and_a_server_that_is_stricter_asks_again() {
    let mut office = Office::open("[approval]\nmode = \"declared\"\n");
    let status = |office: &Office, operation: &str, path: &str| {
        let id = office.propose(&one(operation, path));
        office.workflow(&id)["approval"]["required"].clone()
    };
    assert_eq!(status(&office, "cache.drain", "a"), false);
    assert_eq!(status(&office, "cache.declared", "a"), true);
    let named = [("one", "cache.look", "silent"), ("two", "cache.look", "two")];
    let running = office.propose(&steps("running", &named));
    office.until_visited("silent", 1);
    office.kill();
    office.configure("[approval]\nmode = \"all\"\n");
    office.repair();
    office.start(&[]).unwrap();
    assert_eq!(status(&office, "cache.look", "b"), true);
    let asked = office.until(&running, "awaiting_approval");
    assert_eq!(office.visits("two"), 0, "{asked:#}");
    assert_eq!(office.approve("bob", &running).status, 200);
    office.until(&running, "completed");
    office.kill();
    office.configure("[approval]\nthreshold = \"low\"\n");
    office.start(&[]).unwrap();
    assert_eq!(status(&office, "cache.look", "c"), true);
    office.kill();
    office.configure("[approval]\nthreshold = \"critical\"\n");
    office.start(&[]).unwrap();
    assert_eq!(status(&office, "cache.drain", "d"), false);
    assert_eq!(status(&office, "cache.declared", "d"), true);
}

#[test]
fn a_quorum_counts_principals_and_not_tokens_also_across_a_kill() {
    let mut office = Office::open("[approval]\nquorum = 2\n");
    office.hire(
        "bob-phone",
        &json!({ "name": "bob-phone", "principal": "bob", "roles": ["approver"] }),
    );
    let id = office.propose(&one("cache.drain", "two-keys"));
    for who in ["bob", "bob-phone"] {
        let approved = office.approve(who, &id);
        assert_eq!(
            (approved.status, &approved.body["status"]),
            (200, &json!("awaiting_approval"))
        );
    }
    office.kill_and_start();
    let waiting = office.workflow(&id);
    assert_eq!(
        waiting["approval"]["given"].as_array().map(Vec::len),
        Some(1),
        "{waiting:#}"
    );
    assert_eq!(
        (&waiting["approval"]["needed"], office.visits("two-keys")),
        (&json!(2), 0)
    );
    assert_eq!(office.approve("cleo", &id).status, 200);
    office.until(&id, "completed");
    assert_eq!(office.visits("two-keys"), 1);
}

#[test]
fn what_is_expired_changed_or_approved_by_its_proposer_never_runs() {
    let mut office = Office::open("[approval]\ndecideWithin = \"2s\"\n");
    office.hire(
        "ann-boss",
        &json!({ "name": "ann-boss", "principal": "ann", "roles": ["approver", "admin"] }),
    );
    let late = office.propose(&one("cache.drain", "late"));
    let own = office.propose(&one("cache.drain", "own"));
    let changed = office.propose(&one("cache.drain", "changed"));
    let refused = office.approve("ann-boss", &own);
    assert_eq!((refused.status, code(&refused)), (403, "self-approval"), "{refused:?}");
    let digest = json!({ "digest": office.workflow(&own)["digest"] });
    let refused = office.ask("bob", &changed, "approve", &digest);
    assert_eq!((refused.status, code(&refused)), (409, "plan-changed"), "{refused:?}");
    office.kill_and_start();
    for id in [&late, &own, &changed] {
        office.until(id, "expired");
        let refused = office.approve("bob", id);
        assert_eq!(
            (refused.status, code(&refused)),
            (409, "approval-expired"),
            "{refused:?}"
        );
    }
    let control = office.propose(&one("cache.look", "control"));
    office.until(&control, "completed");
    assert_eq!(office.visited(), ["control"]);
}

#[test]
fn a_step_that_comes_too_late_does_not_begin() {
    let office = Office::open("[approval]\nvalidFor = \"1s\"\n");
    let named = [("one", "cache.drain", "silent"), ("two", "cache.look", "two")];
    let id = office.propose(&steps("slow", &named));
    let mut late = one("cache.drain", "follow");
    late["delay"] = "3s".into();
    let late = office.propose(&late);
    assert_eq!(office.approve("bob", &id).status, 200);
    assert_eq!(office.approve("bob", &late).status, 200);
    office.until(&late, "completed");
    assert_eq!(office.visits("follow"), 1, "a follow-up counts from its due time");
    // The second step would begin more than a second after the approval.
    let attempt = office.workflow(&id)["steps"][0]["actionId"]
        .as_str()
        .unwrap()
        .to_owned();
    let cancelled = office.post("olga", &format!("/v1/actions/{attempt}/cancel"), &json!({}));
    assert_eq!(cancelled.status, 200, "{cancelled:?}");
    let failed = office.until(&id, "failed");
    assert_eq!(office.visits("two"), 0, "{failed:#}");
    let resumed = office.ask("olga", &id, "resume", &json!({ "reason": "again" }));
    assert_eq!(code(&resumed), "status-conflict", "{resumed:?}");
}

#[test]
fn a_plan_that_supersedes_another_takes_its_place() {
    let office = Office::open("");
    let old = office.propose(&one("cache.drain", "old"));
    let mut new = one("cache.drain", "new");
    new["supersedes"] = old.as_str().into();
    let new = office.propose(&new);
    assert_eq!(office.workflow(&old)["status"], "cancelled");
    assert_eq!(code(&office.approve("bob", &old)), "status-conflict");
    assert_eq!(office.approve("bob", &new).status, 200);
    office.until(&new, "completed");
    assert_eq!(office.visited(), ["new"]);
}

#[test]
fn whoever_only_proposes_decides_nothing() {
    let office = Office::open("");
    let mut urgent = one("cache.drain", "urgent");
    urgent["urgency"] = "now".into();
    let refused = office.post("ann", "/v1/workflows", &urgent);
    assert_eq!((refused.status, code(&refused)), (403, "role-missing"), "{refused:?}");
    let catalog = office
        .client("ann")
        .post_text("/v1/operations", "application/yaml", "subject: x\n");
    assert_eq!(code(&catalog.unwrap()), "role-missing");
    let refused = office.post("bob", "/v1/workflows", &one("cache.look", "x"));
    assert_eq!(
        code(&refused),
        "role-missing",
        "an approver proposes nothing: {refused:?}"
    );
    let id = office.propose(&one("cache.drain", "mine"));
    for (verb, body) in [
        ("approve", json!({ "digest": office.workflow(&id)["digest"] })),
        ("reject", json!({ "comment": "no" })),
        ("revoke", json!({ "comment": "no" })),
        ("resume", json!({ "reason": "again" })),
    ] {
        assert_eq!(code(&office.ask("ann", &id, verb, &body)), "role-missing", "{verb}");
    }
    let own = office.ask("ann", &id, "cancel", &json!({ "reason": "not needed" }));
    assert_eq!((own.status, &own.body["status"]), (200, &json!("cancelled")), "{own:?}");
    let running = office.propose(&one("cache.look", "silent"));
    office.until_visited("silent", 1);
    let begun = office.ask("ann", &running, "cancel", &json!({ "reason": "not needed" }));
    assert_eq!(code(&begun), "role-missing", "it has begun");
}

#[test]
fn a_weaker_version_of_an_operation_needs_somebody_else_too() {
    let office = Office::open("");
    let weaker = "operation: cache.declared\nsubject: cache\nriskLevel: low\nparameters: { path: { type: string, required: true } }\naction: { type: noop }\n";
    let weaker = weaker.replace(
        "type: noop",
        "type: log_message, config: { message: '{{params.path}}' }",
    );
    let waits = office.publish(&weaker);
    assert_eq!(waits.status, 202, "{waits:?}");
    let id = waits.body["id"].as_str().unwrap();
    let before = office.propose(&one("cache.declared", "a"));
    assert_eq!(office.workflow(&before)["status"], "awaiting_approval");
    assert_eq!(office.approve("bob", id).status, 200);
    office.until(id, "completed");
    let after = office.propose(&one("cache.declared", "b"));
    office.until(&after, "completed");
    assert_eq!(
        office.workflow(&before)["status"],
        "awaiting_approval",
        "a plan keeps its version"
    );
}

#[test]
fn a_bulk_retry_runs_nothing_whose_approval_was_revoked_and_changes_nothing() {
    let office = Office::open("");
    let stands = office.propose(&one("cache.drain", "gone-stands"));
    let revoked = office.propose(&one("cache.drain", "gone-revoked"));
    for id in [&stands, &revoked] {
        assert_eq!(office.approve("bob", id).status, 200);
        office.until(id, "failed");
    }
    let revoke = office.ask("cleo", &revoked, "revoke", &json!({ "comment": "wrong node" }));
    assert_eq!(revoke.status, 200, "{revoke:?}");
    office.repair();
    let job = office.post(
        "olga",
        "/v1/dead-letters/retry",
        &json!({ "filter": "errorType = \"not_found\"", "reason": "all again" }),
    );
    assert_eq!(job.status, 202, "{job:?}");
    let job = format!("/v1/jobs/{}", job.body["id"].as_str().unwrap());
    wait::until("the job to end", GUARD, || {
        (office.get(&job)["status"] == "completed").then_some(())
    });
    office.until(&stands, "completed");
    assert_eq!((office.visits("gone-stands"), office.visits("gone-revoked")), (2, 1));
    assert_eq!(office.workflow(&revoked)["status"], "failed");
}

#[test]
fn where_a_proposer_may_approve_the_approval_is_marked() {
    let mut office = Office::open("[approval]\nselfApproval = true\n");
    office.hire(
        "ann-boss",
        &json!({ "name": "ann-boss", "principal": "ann", "roles": ["approver"] }),
    );
    let id = office.propose(&one("cache.drain", "own"));
    assert_eq!(office.approve("ann-boss", &id).status, 200);
    let done = office.until(&id, "completed");
    assert_eq!(done["approval"]["given"][0]["selfApproval"], true, "{done:#}");
}
