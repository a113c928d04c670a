//! Actions with their attempts, and the lines they wait in.

use serde_json::{Value, json};
use sprag_core::action::Status;

use super::{
    Named, anything_by_name, id, list_of, nullable, object, page_of, reference, text, time, truth, whole, words,
};

pub(super) fn schemas() -> Named {
    let error = json!({ "type": text(), "message": text(), "retryable": truth() });
    let event = json!({ "type": text(), "payload": {}, "source": { "const": "action_runner" }, "timestamp": time() });
    let depth = json!({
        "ready": whole(0),
        "oldestReadyAt": nullable(time()),
        "oldestAge": nullable(whole(0)),
    });
    let line = with(
        &depth,
        &json!({ "type": text(), "limits": list_of(text()), "running": whole(0) }),
    );
    let kind = with(
        &depth,
        &json!({ "type": text(), "running": whole(0), "startedLastMinute": whole(0) }),
    );
    vec![
        ("ActionId", id("act")),
        ("AttemptId", id("att")),
        ("ActionStatus", words(&Status::ALL.map(Status::word))),
        ("Action", action()),
        ("ActionPage", page_of("Action")),
        ("Attempt", attempt()),
        ("ResultEvent", object(&event, &json!({}))),
        ("ActionError", object(&error, &json!({ "code": text(), "details": {} }))),
        ("Queue", queue()),
        ("QueueDepth", object(&depth, &json!({}))),
        ("QueuedType", object(&kind, &json!({}))),
        (
            "Line",
            object(
                &line,
                &json!({ "runner": text(), "destination": text(), "waiting": reference("Waiting") }),
            ),
        ),
    ]
}

/// The members of both.
fn with(some: &Value, more: &Value) -> Value {
    let mut members = some.clone();
    if let (Some(members), Some(more)) = (members.as_object_mut(), more.as_object()) {
        members.extend(more.clone());
    }
    members
}

fn queue() -> Value {
    let always = json!({
        "data": list_of(reference("Line")),
        "nextCursor": { "type": "null" },
        "types": list_of(reference("QueuedType")),
        "held": reference("QueueDepth"),
    });
    object(&always, &json!({}))
}

fn action() -> Value {
    let (always, sometimes) = members();
    object(&always, &sometimes)
}

/// The members of an action: those that are always there, and the others.
pub(super) fn members() -> (Value, Value) {
    let always = json!({
        "id": reference("ActionId"),
        "actionId": text(),
        "type": text(),
        "status": reference("ActionStatus"),
        "waiting": reference("Waiting"),
        "attempts": list_of(reference("Attempt")),
        "success": nullable(truth()),
        "duration": nullable(whole(0)),
        "result": {},
        "resultEvents": list_of(reference("ResultEvent")),
        "lastError": nullable(reference("ActionError")),
        "executionId": reference("ExecutionId"),
        "machine": text(),
        "version": whole(1),
        "runner": text(),
        "tags": list_of(text()),
        "priority": { "type": "integer", "minimum": 0, "maximum": 100 },
        "createdAt": time(),
        "runAt": time(),
        "idempotencyKey": text(),
        "cancelRequested": truth(),
    });
    let sometimes = json!({
        "config": anything_by_name(),
        "skipped": words(&["disabled", "condition", "overlap"]),
        "remark": words(&["cancelCameTooLate", "superseded", "executionClosed"]),
        "costEstimate": { "type": "number" },
        "diedAt": time(),
        "fingerprint": text(),
    });
    (always, sometimes)
}

fn attempt() -> Value {
    let always = json!({
        "id": reference("AttemptId"),
        "number": whole(1),
        "startTime": time(),
        "endTime": nullable(time()),
        "duration": nullable(whole(0)),
        "outcome": nullable(words(&["done", "notDone", "unknown"])),
        "success": nullable(truth()),
        "error": nullable(reference("ActionError")),
    });
    object(
        &always,
        &json!({ "cost": { "type": "number" }, "lease": reference("Lease"), "metadata": anything_by_name() }),
    )
}
