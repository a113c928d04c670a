//! Machines: versions, findings, differences, simulations.

use serde_json::{Value, json};

use super::{Named, anything_by_name, list_of, nullable, object, reference, text, time, truth, whole, words};

pub(super) fn schemas() -> Named {
    let linted = json!({
        "valid": truth(),
        "permissions": list_of(reference("RequiredPermissions")),
        "findings": list_of(reference("Finding")),
        "truncated": truth(),
    });
    let permission = json!({ "scope": text(), "object": text() });
    let required = json!({
        "actionId": text(),
        "type": text(),
        "permissions": list_of(object(&permission, &json!({}))),
    });
    let field = json!({ "field": text(), "before": {}, "after": {} });
    let line = json!({
        "event": nullable(text()),
        "configuration": list_of(text()),
        "handled": truth(),
        "actions": list_of(text()),
        "variables": anything_by_name(),
    });
    vec![
        ("MachineDefinition", definition()),
        ("MachineSummary", version(&json!({}))),
        (
            "Machine",
            version(&json!({
                "definition": anything_by_name(),
                "permissions": list_of(reference("RequiredPermissions")),
            })),
        ),
        ("RequiredPermissions", object(&required, &json!({}))),
        (
            "Applied",
            object(
                &json!({ "id": text(), "version": whole(1) }),
                &json!({ "sameAsVersion": whole(1) }),
            ),
        ),
        ("Linted", object(&linted, &json!({}))),
        (
            "Difference",
            object(&json!({ "changes": list_of(reference("Change")) }), &json!({})),
        ),
        ("Change", change()),
        ("ChangedField", object(&field, &json!({}))),
        (
            "SimulationLine",
            object(&line, &json!({ "error": text(), "detail": text(), "output": {} })),
        ),
    ]
}

/// The whole of it has a schema of its own, which is served beside this document.
fn definition() -> Value {
    json!({
        "type": "object",
        "description": "A machine file: `GET /v1/schemas/machine` is its JSON Schema.",
        "required": ["id", "states"],
        "properties": {
            "id": text(),
            "initial": text(),
            "states": { "type": "object", "minProperties": 1 },
            "actions": list_of(anything_by_name()),
        },
    })
}

fn version(more: &Value) -> Value {
    let mut members = json!({
        "id": text(),
        "version": whole(1),
        "digest": { "type": "string", "pattern": "^[0-9a-f]{64}$" },
        "createdAt": time(),
    });
    if let (Some(members), Some(more)) = (members.as_object_mut(), more.as_object()) {
        members.extend(more.clone());
    }
    object(&members, &json!({ "description": text() }))
}

fn change() -> Value {
    let subjects = words(&[
        "machine",
        "variable",
        "state",
        "transition",
        "action",
        "hook",
        "template",
    ]);
    object(
        &json!({ "change": words(&["added", "removed", "changed"]), "what": subjects, "name": text() }),
        &json!({ "fields": list_of(reference("ChangedField")) }),
    )
}
