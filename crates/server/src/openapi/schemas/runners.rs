//! What programs outside this process ask, are given and say.

use serde_json::{Value, json};
use sprag_core::action::Status;
use sprag_core::text::NAME_BYTES_MAX;
use sprag_engine::leasing::{LEASE_SECONDS_DEFAULT, LEASE_SECONDS_MAX, LEASED_MAX, NAMES_MAX};

use super::{Named, anything_by_name, list_of, nullable, object, reference, text, time, truth, whole, words};
use crate::handlers::runners::ERROR_TYPE_BYTES_MAX;

pub(super) fn schemas() -> Named {
    let beat = json!({ "leaseUntil": time(), "cancelRequested": truth() });
    let finished = json!({
        "id": reference("AttemptId"),
        "outcome": words(&["done", "notDone", "unknown"]),
        "status": words(&Status::ALL.map(Status::word)),
    });
    vec![
        ("LeaseRequest", lease()),
        (
            "Leased",
            object(&json!({ "attempts": list_of(reference("LeasedAttempt")) }), &json!({})),
        ),
        ("LeasedAttempt", attempt()),
        ("HeartbeatRequest", object(&json!({}), &json!({ "checkpoint": {} }))),
        ("Heartbeat", object(&beat, &json!({}))),
        ("CompleteRequest", complete()),
        ("FailRequest", fail()),
        ("Finished", object(&finished, &json!({}))),
        (
            "Lease",
            object(&json!({ "runner": nullable(text()), "until": time() }), &json!({})),
        ),
    ]
}

/// What runners, types and tags are called.
fn name() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": NAME_BYTES_MAX })
}

fn names(least: usize) -> Value {
    let mut list = list_of(name());
    list["minItems"] = least.into();
    list["maxItems"] = NAMES_MAX.into();
    list
}

fn up_to(most: u64, default: u64) -> Value {
    nullable(json!({ "type": "integer", "minimum": 1, "maximum": most, "default": default }))
}

/// Milliseconds, or a text such as `30s`.
fn duration() -> Value {
    json!({ "anyOf": [whole(0), reference("Duration"), { "type": "null" }] })
}

fn lease() -> Value {
    let most = u64::try_from(LEASED_MAX).unwrap_or(u64::MAX);
    let optional = json!({
        "runner": nullable(name()),
        "tags": nullable(names(0)),
        "max": up_to(most, 1),
        "wait": duration(),
        "leaseSeconds": up_to(LEASE_SECONDS_MAX, LEASE_SECONDS_DEFAULT),
    });
    object(&json!({ "types": names(1) }), &optional)
}

fn attempt() -> Value {
    let always = json!({
        "id": reference("AttemptId"),
        "number": whole(1),
        "actionId": text(),
        "type": text(),
        "config": {},
        "idempotencyKey": text(),
        "deadline": time(),
        "leaseUntil": time(),
    });
    object(&always, &json!({ "checkpoint": {} }))
}

fn complete() -> Value {
    let cost = json!({ "type": "number", "minimum": 0 });
    let optional = json!({ "result": {}, "costEstimate": nullable(cost), "metadata": nullable(anything_by_name()) });
    object(&json!({}), &optional)
}

fn fail() -> Value {
    let kind = json!({
        "type": "string",
        "pattern": "^[A-Za-z0-9_.-]+$",
        "maxLength": ERROR_TYPE_BYTES_MAX,
        "description": "Such as `rate_limit`; retry policies match on it.",
    });
    let retryable = json!({
        "type": ["boolean", "null"],
        "description": "`false`: no other attempt can ever help. Otherwise the retry policy decides.",
    });
    let error = object(
        &json!({ "type": kind }),
        &json!({ "message": nullable(text()), "code": nullable(text()), "details": {}, "retryable": retryable }),
    );
    let outcome = json!({
        "anyOf": [words(&["notDone", "unknown"]), { "type": "null" }],
        "default": "unknown",
        "description": "`notDone` only where certainly nothing happened.",
    });
    object(
        &json!({ "error": error }),
        &json!({ "outcome": outcome, "retryAfter": duration() }),
    )
}
