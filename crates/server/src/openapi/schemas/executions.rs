//! Executions: where they stand, what they wait for, what happened to them.

use serde_json::{Value, json};
use sprag_store::records::ExecutionStatus;

use super::{
    Named, anything_by_name, id, list_of, nullable, object, page_of, reference, text, time, truth, whole, words,
};

pub(super) fn schemas() -> Named {
    let sent = json!({ "handled": truth(), "configuration": list_of(text()), "sequence": whole(0) });
    vec![
        ("ExecutionId", id("exe")),
        (
            "ExecutionStatus",
            words(&ExecutionStatus::ALL.map(ExecutionStatus::word)),
        ),
        ("Execution", execution()),
        ("ExecutionPage", page_of("Execution")),
        ("Waiting", waiting()),
        (
            "Sent",
            object(
                &sent,
                &json!({ "queued": { "const": true }, "accepts": list_of(text()) }),
            ),
        ),
        ("Explanation", explanation()),
        (
            "Replayed",
            object(
                &json!({ "steps": whole(0), "agrees": truth() }),
                &json!({ "difference": text() }),
            ),
        ),
        ("HistoryEntry", history_entry()),
        ("Cause", cause()),
    ]
}

fn execution() -> Value {
    let always = json!({
        "id": reference("ExecutionId"),
        "key": nullable(text()),
        "machine": text(),
        "version": whole(1),
        "status": reference("ExecutionStatus"),
        "configuration": list_of(text()),
        "variables": anything_by_name(),
        "tags": list_of(text()),
        "waiting": reference("Waiting"),
        "sequence": whole(0),
        "createdAt": time(),
        "updatedAt": time(),
    });
    object(&always, &json!({ "output": {}, "failure": text() }))
}

/// Why something does not move.
fn waiting() -> Value {
    let running = json!({ "state": { "const": "running" }, "attempt": reference("AttemptId"), "since": time() });
    let retrying = json!({ "state": { "const": "retrying" }, "attempt": whole(0), "nextAt": time(), "error": text() });
    let reasons = words(&[
        "timer",
        "message",
        "permit",
        "rate",
        "runner",
        "dependency",
        "killSwitch",
        "pause",
        "circuit",
        "decision",
    ]);
    let waiting = json!({ "state": { "const": "waiting" }, "for": reasons, "object": text(), "since": time() });
    json!({ "oneOf": [
        object(&running, &json!({ "lease": reference("Lease"), "node": text(), "nodeUntil": time() })),
        object(&retrying, &json!({})),
        object(&waiting, &json!({ "until": time() })),
        object(&json!({ "state": { "const": "done" } }), &json!({})),
    ] })
}

fn explanation() -> Value {
    let action = json!({
        "id": reference("ActionId"),
        "actionId": text(),
        "type": text(),
        "status": reference("ActionStatus"),
        "waiting": reference("Waiting"),
    });
    let dead = json!({
        "lastError": reference("ActionError"),
        "recoverable": truth(),
        "manualReviewRequired": truth(),
        "suggestedFix": nullable(text()),
        "fixPatch": list_of(reference("PatchOperation")),
    });
    let always = json!({
        "id": reference("ExecutionId"),
        "status": reference("ExecutionStatus"),
        "waiting": reference("Waiting"),
        "actions": list_of(object(&action, &dead)),
    });
    object(&always, &json!({ "failure": text() }))
}

fn history_entry() -> Value {
    let microstep = json!({ "event": nullable(text()), "exited": list_of(text()), "entered": list_of(text()) });
    let step = json!({
        "cause": reference("Cause"),
        "handled": truth(),
        "microsteps": list_of(object(&microstep, &json!({}))),
    });
    let failed = json!({ "cause": reference("Cause"), "error": text() });
    let snapshot = json!({
        "place": anything_by_name(),
        "triggered": { "type": "object", "additionalProperties": whole(0) },
        "variables": anything_by_name(),
        "results": anything_by_name(),
        "message": nullable(anything_by_name()),
    });
    let migrated = json!({ "from": whole(1), "to": whole(1), "moved": anything_by_name() });
    let variables = json!({ "variables": anything_by_name(), "given": anything_by_name() });
    let nothing = json!({});
    json!({ "oneOf": [
        entry("step", &step, &variables),
        entry("refused", &failed, &nothing),
        entry("stuck", &failed, &nothing),
        entry("paused", &nothing, &nothing),
        entry("resumed", &nothing, &nothing),
        entry("cancelled", &nothing, &nothing),
        entry("snapshot", &snapshot, &nothing),
        entry("migrated", &migrated, &nothing),
    ] })
}

/// An entry of a kind, with what only this kind has.
fn entry(kind: &str, own: &Value, optional: &Value) -> Value {
    let mut always = json!({ "sequence": whole(1), "at": time(), "kind": { "const": kind } });
    if let (Some(always), Some(own)) = (always.as_object_mut(), own.as_object()) {
        always.extend(own.clone());
    }
    object(&always, optional)
}

/// What caused a macrostep.
fn cause() -> Value {
    let message = json!({ "cause": { "const": "message" }, "id": text(), "type": text(), "payload": {} });
    let timer = json!({ "cause": { "const": "timer" }, "visit": whole(0), "index": whole(0) });
    let ended = json!({
        "cause": { "const": "ended" },
        "actionId": text(),
        "ordinal": whole(0),
        "how": words(&["done", "failed", "skipped"]),
    });
    let told = json!({ "event": anything_by_name(), "result": {}, "error": reference("ActionError") });
    let occurrence = json!({
        "cause": { "const": "occurrence" },
        "action": text(),
        "visit": whole(0),
        "nominal": { "type": "integer", "description": "Milliseconds since 1970." },
    });
    let nothing = json!({});
    json!({ "oneOf": [
        object(&json!({ "cause": { "const": "start" } }), &nothing),
        object(&message, &nothing),
        object(&timer, &nothing),
        object(&ended, &told),
        object(&occurrence, &nothing),
    ] })
}
