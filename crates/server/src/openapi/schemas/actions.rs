//! Actions with their attempts, and the lines they wait in.

use serde_json::{Value, json};
use sprag_core::action::Status;

use super::{
    Named, anything_by_name, id, list_of, nullable, object, page_of, reference, text, time, truth, whole, words,
};

pub(super) fn schemas() -> Named {
    let error = json!({ "type": text(), "message": text(), "retryable": truth() });
    let line = json!({
        "type": text(),
        "limits": list_of(text()),
        "ready": whole(0),
        "more": truth(),
        "running": whole(0),
    });
    vec![
        ("ActionId", id("act")),
        ("AttemptId", id("att")),
        ("ActionStatus", words(&Status::ALL.map(Status::word))),
        ("Action", action()),
        ("ActionPage", page_of("Action")),
        ("Attempt", attempt()),
        ("ActionError", object(&error, &json!({ "code": text(), "details": {} }))),
        (
            "Line",
            object(
                &line,
                &json!({ "runner": text(), "destination": text(), "waiting": reference("Waiting") }),
            ),
        ),
    ]
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
        "result": {},
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
        "outcome": nullable(words(&["done", "notDone", "unknown"])),
        "error": nullable(reference("ActionError")),
    });
    object(
        &always,
        &json!({ "cost": { "type": "number" }, "lease": reference("Lease") }),
    )
}
