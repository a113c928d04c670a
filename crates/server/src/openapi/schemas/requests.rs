//! What is sent. A member that is null is the same as one that is not there.

use serde_json::{Value, json};
use sprag_engine::control::REASON_CHARACTERS_MAX;

use super::operate::SCOPE;
use super::{Named, anything_by_name, list_of, nullable, object, reference, text, truth, whole, words};
use crate::openapi::operation::version;

pub(super) fn schemas() -> Named {
    let source = json!({ "definition": definition(), "machine": nullable(text()), "version": nullable(version()) });
    let retry = json!({
        "config": nullable(anything_by_name()),
        "version": nullable(version()),
        "patch": nullable(list_of(reference("PatchOperation"))),
    });
    let states = json!({ "type": "object", "additionalProperties": text() });
    vec![
        ("Nothing", object(&json!({}), &json!({}))),
        ("Duration", duration()),
        ("StartRequest", start()),
        ("Message", message(&json!({ "type": name() }))),
        (
            "AddressedMessage",
            message(&json!({ "machine": text(), "key": text(), "type": name() })),
        ),
        (
            "MigrateRequest",
            object(
                &json!({}),
                &json!({ "version": nullable(version()), "states": nullable(states), "check": nullable(truth()) }),
            ),
        ),
        ("RetryRequest", object(&json!({}), &retry)),
        ("MachineSource", object(&json!({}), &source)),
        (
            "DiffRequest",
            object(
                &json!({ "before": reference("MachineSource"), "after": reference("MachineSource") }),
                &json!({}),
            ),
        ),
        ("SimulateRequest", simulate(source)),
        ("SwitchRequest", switch()),
        ("LimitRequest", limit()),
    ]
}

/// What people name things with: from 1 to 512 bytes.
fn name() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": 512 })
}

fn duration() -> Value {
    json!({
        "type": "string",
        "description": "`250ms`, `30s`, `5m`, `1h30m`, milliseconds as digits, or ISO 8601 (`PT5M`).",
    })
}

/// A machine file as an object, or as its text.
fn definition() -> Value {
    json!({ "anyOf": [reference("MachineDefinition"), { "type": "string" }, { "type": "null" }] })
}

fn start() -> Value {
    let optional = json!({
        "version": nullable(version()),
        "key": nullable(name()),
        "variables": nullable(anything_by_name()),
        "tags": nullable(list_of(name())),
    });
    object(&json!({ "machine": text() }), &optional)
}

fn message(required: &Value) -> Value {
    object(required, &json!({ "payload": {}, "id": nullable(name()) }))
}

fn simulate(source: Value) -> Value {
    let message = object(&json!({ "type": text() }), &json!({ "payload": {} }));
    let advance = json!({ "advance": { "anyOf": [reference("Duration"), whole(0)] } });
    let outcome = object(
        &json!({ "outcome": text() }),
        &json!({ "success": truth(), "result": {}, "error": {} }),
    );
    let event = json!({ "anyOf": [message, object(&advance, &json!({})), outcome] });
    let mut optional = source;
    optional["variables"] = nullable(anything_by_name());
    optional["key"] = nullable(text());
    optional["events"] = nullable(list_of(event));
    object(&json!({}), &optional)
}

fn switch() -> Value {
    let required = json!({
        "scope": { "type": "string", "pattern": SCOPE },
        "reason": { "type": "string", "minLength": 1, "maxLength": REASON_CHARACTERS_MAX },
    });
    let optional = json!({
        "mode": nullable(words(&["hold", "cancel"])),
        "expiresIn": nullable(reference("Duration")),
        "allowUnknown": nullable(truth()),
    });
    object(&required, &optional)
}

fn limit() -> Value {
    let per = json!({ "anyOf": [whole(1), reference("Duration")] });
    let rate = object(&json!({ "count": whole(1), "per": per }), &json!({}));
    object(
        &json!({}),
        &json!({ "concurrency": nullable(whole(0)), "rate": nullable(rate) }),
    )
}
