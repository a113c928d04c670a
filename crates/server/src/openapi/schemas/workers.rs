//! Supervised services.

use serde_json::{Value, json};

use super::{Named, anything_by_name, list_of, nullable, object, reference, text, time, truth, whole, words};

/// The shapes of workers.
pub(super) fn schemas() -> Named {
    vec![
        ("Worker", object(&worker(), &json!({}))),
        ("WorkerExplanation", explanation()),
        ("WorkerHold", hold()),
        ("WorkerRule", rule()),
        ("WorkerAction", action()),
        ("WorkerDeltas", deltas()),
        ("WorkerDelta", delta()),
        ("WorkerRemembered", remembered()),
        (
            "WorkerLog",
            object(&json!({ "text": text(), "offset": whole(0) }), &json!({})),
        ),
        ("WorkersReloaded", reloaded()),
    ]
}

fn worker() -> Value {
    json!({
        "path": text(),
        "state": text(),
        "reason": text(),
        "pid": nullable(whole(1)),
        "restarts": whole(0),
        "circuit": text(),
        "observation": text(),
        "waiting": nullable(text()),
        "since": time(),
        "restartedBy": list_of(reference("WorkerRule")),
    })
}

fn goals() -> Value {
    words(&["running", "stopped", "removed"])
}

fn explanation() -> Value {
    let mut members = worker();
    let escalation = object(
        &json!({ "child": text(), "cause": text(), "since": time() }),
        &json!({}),
    );
    let counts = object(
        &json!({ "healthy": whole(0), "unhealthy": whole(0), "stopped": whole(0) }),
        &json!({}),
    );
    let more = json!({
        "goal": goals(),
        "holds": list_of(reference("WorkerHold")),
        "rules": list_of(reference("WorkerRule")),
        "escalations": list_of(escalation),
        "childErrors": list_of(text()),
        "children": counts,
        "action": reference("WorkerAction"),
        "observed": {},
        "runbook": nullable(text()),
    });
    if let (Value::Object(members), Value::Object(more)) = (&mut members, more) {
        members.extend(more);
    }
    object(&members, &json!({}))
}

fn hold() -> Value {
    object(
        &json!({
            "what": text(),
            "since": time(),
            "next": text(),
            "at": nullable(time()),
            "givesUp": nullable(time()),
            "remedy": text(),
        }),
        &json!({}),
    )
}

fn rule() -> Value {
    object(
        &json!({
            "name": text(),
            "supervisor": text(),
            "restart": text(),
            "affects": list_of(text()),
            "circuit": text(),
            "detections": whole(0),
            "detectionsMax": whole(0),
            "windowMillis": whole(0),
            "lastCheck": nullable(text()),
            "checkedAt": nullable(time()),
            "reason": nullable(text()),
            "cause": nullable(text()),
            "gaveUp": nullable(text()),
            "gaveUpAt": nullable(time()),
            "next": text(),
            "nextAt": nullable(time()),
        }),
        &json!({}),
    )
}

fn action() -> Value {
    let failed = object(
        &json!({ "failed": object(&json!({ "class": text() }), &json!({})) }),
        &json!({}),
    );
    let plain = words(&["none", "inProgress", "succeeded", "unknown"]);
    object(
        &json!({
            "id": whole(0),
            "name": text(),
            "generation": whole(0),
            "started": nullable(time()),
            "attempt": whole(0),
            "outcome": { "anyOf": [plain, failed] },
            "error": nullable(text()),
        }),
        &json!({}),
    )
}

fn deltas() -> Value {
    object(
        &json!({ "cursor": text(), "hasMore": truth() }),
        &json!({ "deltas": list_of(reference("WorkerDelta")), "everything": list_of(reference("WorkerRemembered")) }),
    )
}

fn delta() -> Value {
    let change = object(&json!({ "path": text() }), &json!({ "value": {} }));
    object(
        &json!({
            "id": whole(1),
            "at": time(),
            "worker": text(),
            "type": words(&["changed", "gone"]),
        }),
        &json!({
            "part": words(&["identity", "desired", "observed", "action", "memory"]),
            "changes": list_of(change),
        }),
    )
}

fn remembered() -> Value {
    object(
        &json!({
            "worker": text(),
            "identity": anything_by_name(),
            "desired": {},
            "observed": {},
            "state": nullable(text()),
            "action": nullable(reference("WorkerAction")),
        }),
        &json!({}),
    )
}

fn reloaded() -> Value {
    object(
        &json!({
            "added": list_of(text()),
            "changed": list_of(text()),
            "removed": list_of(text()),
            "unchanged": whole(0),
            "rules": whole(0),
            "notStartable": list_of(object(&json!({ "path": text(), "reason": text() }), &json!({}))),
        }),
        &json!({}),
    )
}
