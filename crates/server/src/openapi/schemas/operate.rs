//! What operators use: switches, limits, the report of a restore.

use serde_json::{Value, json};

use super::{Named, id, list_of, nullable, object, reference, text, time, truth, whole, words};

/// What a switch can be about.
pub(super) const SCOPE: &str = "^(all|machine:.+|type:.+|actionId:[^/]+/.+)$";

pub(super) fn schemas() -> Named {
    let numbers = json!({ "concurrency": whole(0), "rate": reference("Rate") });
    let told = json!({ "by": text(), "since": time(), "revision": whole(1) });
    vec![
        ("SwitchId", id("swi")),
        ("Switch", switch()),
        ("Limit", limit()),
        (
            "Rate",
            object(&json!({ "count": whole(1), "per": whole(1) }), &json!({})),
        ),
        ("LimitNumbers", object(&json!({}), &numbers)),
        ("LimitOverride", object(&told, &numbers)),
        ("RestoreReport", report()),
    ]
}

fn switch() -> Value {
    let always = json!({
        "id": reference("SwitchId"),
        "scope": { "type": "string", "pattern": SCOPE },
        "mode": words(&["hold", "cancel"]),
        "status": words(&["arming", "effective", "unmatched", "released"]),
        "reason": text(),
        "by": text(),
        "since": time(),
        "revision": whole(1),
    });
    object(&always, &json!({ "expiresAt": time(), "swept": truth() }))
}

fn limit() -> Value {
    let always = json!({
        "key": text(),
        "definitions": list_of(reference("LimitNumbers")),
        "override": nullable(reference("LimitOverride")),
        "running": whole(0),
        "waiting": whole(0),
        "more": truth(),
    });
    object(&always, &json!({}))
}

fn report() -> Value {
    let effect = json!({
        "id": reference("ActionId"),
        "executionId": reference("ExecutionId"),
        "machine": text(),
        "actionId": text(),
        "type": text(),
        "status": reference("ActionStatus"),
        "attempts": whole(0),
        "because": words(&["running", "inDoubt", "open"]),
        "idempotencyKey": text(),
        "runAt": time(),
    });
    let always = json!({
        "restoredAt": time(),
        "takenAt": nullable(time()),
        "switch": text(),
        "total": whole(0),
        "effects": list_of(object(&effect, &json!({}))),
    });
    object(&always, &json!({}))
}
