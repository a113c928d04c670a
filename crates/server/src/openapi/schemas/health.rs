//! How actions have been doing.

use serde_json::{Value, json};
use sprag_engine::health::Window;

use super::{Named, anything_by_name, list_of, nullable, object, reference, text, time, truth, whole, words};

pub(super) fn schemas() -> Named {
    vec![
        ("HealthReport", report()),
        ("Latency", latency()),
        ("FailureReason", reason()),
        ("Recommendation", recommendation()),
    ]
}

/// The figures, with more members beside them.
fn figures(more: &Value) -> Value {
    let mut all = json!({
        "totalExecutions": whole(0),
        "succeeded": whole(0),
        "dead": whole(0),
        "cancelled": whole(0),
        "skipped": whole(0),
        "open": whole(0),
        "attempts": whole(0),
        "successRate": nullable(number()),
        "latency": nullable(reference("Latency")),
        "queueDelay": nullable(reference("Latency")),
        "retryRate": nullable(number()),
        "averageRetries": nullable(number()),
        "totalCost": number(),
        "costPerExecution": nullable(number()),
        "errorTypes": { "type": "object", "additionalProperties": whole(0) },
    });
    for (name, schema) in more.as_object().into_iter().flatten() {
        all[name] = schema.clone();
    }
    all
}

fn number() -> Value {
    json!({ "type": "number", "minimum": 0 })
}

fn report() -> Value {
    let basis = object(&json!({ "actions": whole(0), "sampled": truth() }), &json!({}));
    let of_type = object(&figures(&json!({ "type": text() })), &json!({}));
    let of_action = object(
        &figures(&json!({ "machine": text(), "actionId": text(), "type": text() })),
        &json!({}),
    );
    let all = figures(&json!({
        "window": words(&Window::ALL.map(Window::word)),
        "from": time(),
        "to": time(),
        "isEmpty": truth(),
        "basis": basis,
        "byType": list_of(of_type),
        "byAction": list_of(of_action),
        "failureReasons": list_of(reference("FailureReason")),
        "recommendations": list_of(reference("Recommendation")),
    }));
    object(&all, &json!({ "actionId": text() }))
}

/// Milliseconds.
fn latency() -> Value {
    object(
        &json!({ "mean": number(), "p50": whole(0), "p95": whole(0), "p99": whole(0), "max": whole(0) }),
        &json!({}),
    )
}

fn reason() -> Value {
    object(
        &json!({
            "errorType": text(),
            "attempts": whole(0),
            "deadLetters": whole(0),
            "share": nullable(number()),
            "example": text(),
        }),
        &json!({ "deadLetter": reference("ActionId") }),
    )
}

fn recommendation() -> Value {
    object(
        &json!({
            "code": text(),
            "machine": text(),
            "actionId": text(),
            "text": text(),
            "figures": anything_by_name(),
        }),
        &json!({}),
    )
}
