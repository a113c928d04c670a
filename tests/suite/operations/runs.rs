//! How plans run: in order, beside each other, past a failure, back again, and to an end.

use std::sync::{Arc, Barrier};

use serde_json::json;
use sprag_tests::{Reply, Site};

use super::{CATALOG, GUARD, Office, code, one, steps};

#[test]
fn a_plan_is_published_proposed_approved_by_its_digest_and_run_and_shows_its_results() {
    let office = Office::open("");
    let mut body = steps(
        "repair",
        &[("first", "cache.drain", "drain"), ("second", "cache.look", "look")],
    );
    body["ticket"] = "INC-512".into();
    body["steps"][1]["params"]["note"] = "took {{steps.first.result.data.took}} ms, {{ not a template".into();
    let refused = office.post("ann", "/v1/workflows", &body);
    assert_eq!(code(&refused), "definition-invalid", "{refused:?}");
    body["steps"][1]["params"]["note"] = "took {{steps.first.result.data.took}} ms".into();
    let id = office.propose(&body);
    let waiting = office.workflow(&id);
    assert_eq!(waiting["status"], "awaiting_approval", "{waiting:#}");
    assert_eq!(waiting["steps"][0]["waiting"]["for"], "approval", "{waiting:#}");
    let listed = office.get("/v1/approvals");
    assert_eq!(listed["data"][0]["id"], id.as_str());

    let other = office.ask("bob", &id, "approve", &json!({ "digest": "0".repeat(64) }));
    assert_eq!((other.status, code(&other)), (409, "plan-changed"), "{other:?}");
    let plan = office.get(&format!("/v1/workflows/{id}/plan"));
    let digest = json!({ "digest": plan["digest"], "comment": "checked" });
    let approved = office.ask("bob", &id, "approve", &digest);
    assert_eq!(approved.status, 200, "{approved:?}");
    let done = office.until(&id, "completed");
    assert_eq!(done["steps"][0]["result"]["data"]["took"], 7, "{done:#}");
    assert_eq!(done["approval"]["given"][0]["by"], "bob", "{done:#}");
    assert_eq!(office.visited(), ["drain", "look"]);
    let look = office.site.visits().remove(1);
    assert_eq!(look.text(), json!({ "note": "took 7 ms" }).to_string());
    let again = office.ask("cleo", &id, "approve", &digest);
    assert_eq!(code(&again), "status-conflict");
}

#[test]
fn what_a_result_says_is_data_and_never_a_template() {
    let evil = "{{secrets.crm}} {{params.path}} {% raw %}";
    let site = Arc::new(Site::start(move |_| Reply::json(200, &json!({ "said": evil }))));
    let office = Office::without_catalog("", Arc::clone(&site));
    assert_eq!(
        office
            .publish(&CATALOG.replace("SITE", &site.address().to_string()))
            .status,
        201
    );
    let mut body = steps("echo", &[("one", "cache.look", "a"), ("two", "cache.look", "b")]);
    body["steps"][1]["params"]["note"] = "{{steps.one.result.data.said}}".into();
    let id = office.propose(&body);
    office.until(&id, "completed");
    assert_eq!(site.visits()[1].text(), json!({ "note": evil }).to_string());
}

#[test]
fn branches_run_beside_each_other_and_what_joins_them_waits_for_both() {
    let both = Barrier::new(2);
    let site = Arc::new(Site::start(move |visit| {
        if visit.path.starts_with("/meet") {
            both.wait();
        }
        Reply::json(200, &json!({ "took": 7 }))
    }));
    let office = Office::without_catalog("", Arc::clone(&site));
    assert_eq!(
        office
            .publish(&CATALOG.replace("SITE", &site.address().to_string()))
            .status,
        201
    );
    let named = [
        ("start", "cache.look", "start"),
        ("left", "cache.look", "meet-left"),
        ("right", "cache.look", "meet-right"),
        ("end", "cache.look", "end"),
    ];
    let mut body = steps("diamond", &named);
    body["steps"][1]["dependsOn"] = json!(["start"]);
    body["steps"][2]["dependsOn"] = json!(["start"]);
    body["steps"][3]["dependsOn"] = json!(["left", "right"]);
    let id = office.propose(&body);
    office.until(&id, "completed");
    let visited = office.visited();
    assert_eq!(
        (visited[0].as_str(), visited[3].as_str(), visited.len()),
        ("start", "end", 4)
    );
}

#[test]
fn a_step_that_may_fail_stops_nothing() {
    let office = Office::open("");
    let mut body = steps("maybe", &[("one", "cache.look", "gone"), ("two", "cache.look", "two")]);
    body["steps"][0]["continueOnError"] = true.into();
    let id = office.propose(&body);
    let done = office.until(&id, "completed");
    assert_eq!(
        (&done["steps"][0]["status"], &done["steps"][1]["status"]),
        (&json!("dead"), &json!("succeeded"))
    );
}

#[test]
fn completed_steps_are_taken_back_the_last_one_first() {
    let mut office = Office::open("");
    let named = [
        ("one", "cache.drain", "one"),
        ("two", "cache.drain", "two"),
        ("three", "cache.look", "gone"),
        ("four", "cache.look", "four"),
    ];
    let mut body = steps("undo", &named);
    body["onFailure"] = "compensate".into();
    let id = office.propose(&body);
    assert_eq!(office.approve("bob", &id).status, 200);
    let failed = office.until(&id, "failed");
    office.until_visited("undo-one", 1);
    assert_eq!(office.visited(), ["one", "two", "gone", "undo-two", "undo-one"]);
    assert_eq!(failed["steps"][3]["status"], "skipped", "{failed:#}");
    office.repair();
    let resumed = office.ask("olga", &id, "resume", &json!({ "reason": "again" }));
    assert_eq!(code(&resumed), "status-conflict", "{resumed:?}");
    let dead = failed["steps"][2]["actionId"].as_str().unwrap();
    let retried = office.post("olga", &format!("/v1/dead-letters/{dead}/retry"), &json!({}));
    assert_eq!(
        code(&retried),
        "status-conflict",
        "what was taken back is not done again: {retried:?}"
    );
    office.kill_and_start();
    let id = office.propose(&one("cache.look", "after"));
    office.until(&id, "completed");
    assert_eq!(office.visits("gone") + office.visits("one") + office.visits("two"), 3);
}

#[test]
fn cancelling_ends_every_step_at_once_also_one_that_runs() {
    let mut office = Office::open("");
    let named = [
        ("runs", "cache.look", "silent"),
        ("beside", "cache.look", "silent-too"),
        ("later", "cache.look", "later"),
    ];
    let mut body = steps("long", &named);
    body["steps"][1]["dependsOn"] = json!([]);
    body["steps"][2]["dependsOn"] = json!(["runs"]);
    let id = office.propose(&body);
    office.until_visited("silent", 1);
    office.until_visited("silent-too", 1);
    let cancelled = office.ask("olga", &id, "cancel", &json!({ "reason": "enough" }));
    assert_eq!(
        (cancelled.status, &cancelled.body["status"]),
        (200, &json!("cancelled")),
        "{cancelled:?}"
    );
    office.repair();
    office.kill_and_start();
    let ended = sprag_tests::wait::until("the steps to end", GUARD, || {
        let workflow = office.workflow(&id);
        let all = workflow["steps"].as_array().unwrap().clone();
        let is_over = |status: &serde_json::Value| status == "cancelled" || status == "skipped";
        all.iter().all(|step| is_over(&step["status"])).then_some(workflow)
    });
    assert_eq!(ended["status"], "cancelled");
    let after = office.propose(&one("cache.look", "after"));
    office.until(&after, "completed");
    assert_eq!(office.visits("later"), 0);
    assert_eq!((office.visits("silent"), office.visits("silent-too")), (1, 1));
}

#[test]
fn a_failed_plan_continues_from_the_step_that_failed_as_it_was_approved() {
    let mut office = Office::open("");
    let named = [
        ("one", "cache.drain", "one"),
        ("two", "cache.drain", "gone"),
        ("three", "cache.look", "three"),
    ];
    let id = office.propose(&steps("repair", &named));
    assert_eq!(office.approve("bob", &id).status, 200);
    let failed = office.until(&id, "failed");
    assert_eq!(failed["steps"][2]["waiting"]["for"], "dependency", "{failed:#}");
    office.kill_and_start();
    let dead = failed["steps"][1]["actionId"].as_str().unwrap();
    let path = format!("/v1/dead-letters/{dead}/retry");
    for change in [
        json!({ "config": { "url": "http://127.0.0.1:1/" } }),
        json!({ "patch": [{ "op": "replace", "path": "/timeout", "value": "9s" }] }),
        json!({ "version": 1 }),
    ] {
        let changed = office.post("olga", &path, &change);
        assert_eq!(
            (changed.status, code(&changed)),
            (409, "plan-changed"),
            "{change}: {changed:?}"
        );
    }
    office.repair();
    let resumed = office.ask("olga", &id, "resume", &json!({ "reason": "it is there now" }));
    assert_eq!(resumed.status, 200, "{resumed:?}");
    office.until(&id, "completed");
    assert_eq!(
        office.visited(),
        ["one", "gone", "gone", "three"],
        "what succeeded does not run again"
    );
}
