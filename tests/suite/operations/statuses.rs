//! Every request in every status of a workflow: what is answered, and that a refusal changes nothing.

use serde_json::{Value, json};

use super::{Office, code, one};

/// A row for each status, a column for each request. A word is the status that follows, or the code of the refusal.
const TABLE: &str = "
    status             approve           reject           revoke             cancel           resume
    awaiting_approval  in_progress       rejected         status-conflict    cancelled        status-conflict
    in_progress        status-conflict   status-conflict  awaiting_approval  cancelled        status-conflict
    revoked            in_progress       rejected         status-conflict    cancelled        status-conflict
    completed          status-conflict   status-conflict  status-conflict    status-conflict  status-conflict
    failed             status-conflict   status-conflict  failed             cancelled        in_progress
    failed-revoked     failed            status-conflict  status-conflict    cancelled        approval-missing
    cancelled          status-conflict   status-conflict  status-conflict    cancelled        status-conflict
    rejected           status-conflict   status-conflict  status-conflict    status-conflict  status-conflict
    expired            approval-expired  status-conflict  status-conflict    status-conflict  status-conflict
";

/// Who may send a request, and somebody who may not.
const ALLOWED: [(&str, &str, &str); 5] = [
    ("approve", "cleo", "ann"),
    ("reject", "cleo", "olga"),
    ("revoke", "cleo", "ann"),
    ("cancel", "olga", "bob"),
    ("resume", "olga", "cleo"),
];

fn body(office: &Office, id: &str, verb: &str) -> Value {
    match verb {
        "approve" => json!({ "digest": office.workflow(id)["digest"] }),
        "reject" | "revoke" => json!({ "comment": "a test" }),
        _ => json!({ "reason": "a test" }),
    }
}

/// A workflow in a status, by the requests that lead there. Each has a path of its own, so no two are the same plan.
fn bring(office: &Office, status: &str, number: usize) -> String {
    let path = match status {
        "completed" => format!("done-{number}"),
        "failed" | "failed-revoked" => format!("gone-{number}"),
        _ => format!("silent-{number}"),
    };
    let id = office.propose(&one("cache.drain", &path));
    let ask = |who: &str, verb: &str| {
        let answer = office.ask(who, &id, verb, &body(office, &id, verb));
        assert_eq!(answer.status, 200, "{status}: {answer:?}");
    };
    match status {
        "awaiting_approval" => {}
        "rejected" => ask("bob", "reject"),
        "expired" => drop(office.until(&id, "expired")),
        _ => ask("bob", "approve"),
    }
    match status {
        "completed" => drop(office.until(&id, "completed")),
        "failed" | "failed-revoked" => drop(office.until(&id, "failed")),
        "in_progress" | "revoked" => office.until_visited(&path, 1),
        "cancelled" => ask("olga", "cancel"),
        _ => {}
    }
    if status.ends_with("revoked") {
        ask("bob", "revoke");
    }
    id
}

/// Everything that the server shows of a workflow.
fn shown(office: &Office, id: &str) -> (Value, Value) {
    let workflow = office.workflow(id);
    let execution = workflow["executionId"].as_str().unwrap_or("exe_none").to_owned();
    let history = office
        .client("admin")
        .get(&format!("/v1/executions/{execution}/history"));
    (workflow, history.unwrap().body)
}

fn check(office: &Office, status: &str, (verb, expected): (&str, &str), number: usize) {
    let what = format!("{verb} in {status}");
    let id = bring(office, status, number);
    let before = shown(office, &id);
    let (_, allowed, other) = ALLOWED.into_iter().find(|row| row.0 == verb).unwrap();
    let refused = office.ask(other, &id, verb, &body(office, &id, verb));
    assert_eq!(
        (refused.status, code(&refused)),
        (403, "role-missing"),
        "{what} by {other}: {refused:?}"
    );
    if verb == "approve" {
        let changed = office.ask(allowed, &id, verb, &json!({ "digest": "0".repeat(64) }));
        let is_late = status == "expired";
        let expected = if is_late { "approval-expired" } else { "plan-changed" };
        assert_eq!(code(&changed), expected, "{what} with another digest: {changed:?}");
    }
    assert_eq!(shown(office, &id), before, "{what}, refused");
    let answer = office.ask(allowed, &id, verb, &body(office, &id, verb));
    let is_refusal = expected.contains('-');
    if is_refusal {
        assert_eq!(code(&answer), expected, "{what}: {answer:?}");
        assert_eq!(shown(office, &id), before, "{what}, refused");
    } else if (status, verb) == ("failed", "resume") {
        // It runs, and fails again, perhaps before the answer is made.
        assert_eq!(
            (answer.status, &answer.body["decisions"][0]["what"]),
            (200, &json!("resumed")),
            "{what}: {answer:?}"
        );
        office.until_visited(&format!("gone-{number}"), 2);
    } else {
        assert_eq!(
            (answer.status, &answer.body["status"]),
            (200, &json!(expected)),
            "{what}: {answer:?}"
        );
    }
    let unknown = office.ask(
        allowed,
        "wfl_01m7kykthfeqe9e4pmr25g1qqd",
        verb,
        &body(office, &id, verb),
    );
    assert_eq!(code(&unknown), "workflow-unknown", "{what}");
}

fn rows() -> Vec<Vec<&'static str>> {
    let lines = TABLE.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| line.split_whitespace().collect()).collect()
}

#[test]
fn every_request_in_every_status_is_answered_as_the_table_says() {
    let office = Office::open("");
    let rows = rows();
    let (head, rows) = rows.split_first().unwrap();
    for (line, row) in rows.iter().enumerate().filter(|(_, row)| row[0] != "expired") {
        for (column, verb) in head.iter().enumerate().skip(1) {
            check(&office, row[0], (verb, row[column]), line * 10 + column);
        }
    }
}

#[test]
fn nothing_is_done_to_a_plan_whose_time_is_over() {
    let office = Office::open("[approval]\ndecideWithin = \"1s\"\n");
    let rows = rows();
    let row = rows.iter().find(|row| row[0] == "expired").unwrap();
    for (column, verb) in rows[0].iter().enumerate().skip(1) {
        check(&office, row[0], (verb, row[column]), column);
    }
}
