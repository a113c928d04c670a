//! Bulk jobs, and what a move to another version would do.

use serde_json::json;
use sprag_engine::jobs::{CANARY_MAX, RATE_MAX};

use super::{Named, anything_by_name, id, list_of, nullable, object, reference, text, time, truth, whole, words};

/// The shapes of jobs and migration checks.
pub(super) fn schemas() -> Named {
    vec![
        ("JobId", id("job")),
        ("Job", job()),
        ("JobWaiting", waiting()),
        ("JobItem", item()),
        ("RetryAllRequest", retry_all()),
        ("DryRun", dry_run()),
        ("ExpectedLetters", expected()),
        ("MigrationCheck", check()),
    ]
}

fn retry_all() -> serde_json::Value {
    let up_to = |most: u32| json!({ "type": "integer", "minimum": 1, "maximum": most });
    object(
        &json!({ "filter": text() }),
        &json!({
            "config": nullable(anything_by_name()),
            "version": nullable(super::super::operation::version()),
            "patch": nullable(list_of(reference("PatchOperation"))),
            "reason": nullable(text()),
            "rate": nullable(up_to(RATE_MAX)),
            "canary": nullable(up_to(CANARY_MAX)),
            "dryRun": nullable(truth()),
        }),
    )
}

fn expected() -> serde_json::Value {
    object(&json!({ "count": whole(0), "more": truth() }), &json!({}))
}

fn dry_run() -> serde_json::Value {
    object(
        &json!({
            "dryRun": truth(),
            "filter": text(),
            "expected": reference("ExpectedLetters"),
            "sample": list_of(reference("Action")),
        }),
        &json!({}),
    )
}

fn job() -> serde_json::Value {
    let counts = object(
        &json!({ "matched": whole(0), "done": whole(0), "skipped": whole(0), "failed": whole(0) }),
        &json!({}),
    );
    object(
        &json!({
            "id": reference("JobId"),
            "type": text(),
            "status": words(&["running", "paused", "completed", "cancelled"]),
            "filter": text(),
            "counts": counts,
            "waiting": reference("JobWaiting"),
            "createdAt": time(),
            "startedAt": nullable(time()),
            "updatedAt": time(),
            "finishedAt": nullable(time()),
        }),
        &json!({
            "config": anything_by_name(),
            "version": whole(1),
            "patch": list_of(reference("PatchOperation")),
            "reason": text(),
            "rate": whole(1),
            "canary": canary(),
            "expected": reference("ExpectedLetters"),
            "note": text(),
        }),
    )
}

fn canary() -> serde_json::Value {
    let states = words(&["retrying", "waiting", "passed", "failed"]);
    object(
        &json!({ "size": whole(1), "retried": whole(0), "died": whole(0), "state": states }),
        &json!({}),
    )
}

fn waiting() -> serde_json::Value {
    let running = object(&json!({ "state": words(&["running"]), "since": time() }), &json!({}));
    let waits = object(
        &json!({ "state": words(&["waiting"]), "for": text(), "object": text(), "since": time() }),
        &json!({}),
    );
    let done = object(&json!({ "state": words(&["done"]) }), &json!({}));
    json!({ "oneOf": [running, waits, done] })
}

fn item() -> serde_json::Value {
    object(
        &json!({ "number": whole(1), "action": reference("ActionId"), "result": text() }),
        &json!({ "detail": text() }),
    )
}

fn check() -> serde_json::Value {
    let state = object(&json!({ "from": nullable(text()), "to": nullable(text()) }), &json!({}));
    let timer = object(
        &json!({ "change": words(&["kept", "dropped", "added"]), "state": text(), "dueAt": time() }),
        &json!({ "after": whole(0), "schedule": text() }),
    );
    let problem = object(&json!({ "pointer": text(), "detail": text() }), &json!({}));
    let divergence = object(&json!({ "sequence": whole(0), "detail": text() }), &json!({}));
    object(
        &json!({
            "possible": truth(),
            "from": whole(1),
            "to": whole(1),
            "states": list_of(state),
            "timers": list_of(timer),
            "problems": list_of(problem),
            "replayed": whole(0),
            "divergence": nullable(divergence),
        }),
        &json!({}),
    )
}
