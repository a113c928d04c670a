//! The server itself.

use serde_json::{Map, Value, json};

use super::{Named, object, reference, text, whole, words};

/// The bounds that `GET /v1/system` lists.
const BOUNDS: [&str; 10] = [
    "bodyBytes",
    "definitionBytes",
    "messageBytes",
    "variablesBytes",
    "jsonDepth",
    "microsteps",
    "inbox",
    "historyPage",
    "listPage",
    "wait",
];

pub(super) fn schemas() -> Named {
    let bounds: Map<String, Value> = BOUNDS.map(|name| (name.to_owned(), whole(0))).into_iter().collect();
    let system = json!({ "version": text(), "store": text(), "limits": reference("Bounds") });
    vec![
        (
            "Health",
            object(&json!({ "status": words(&["ok", "ready"]) }), &json!({})),
        ),
        ("System", object(&system, &json!({}))),
        ("Bounds", object(&bounds.into(), &json!({}))),
    ]
}
