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
    let notes = json!({ "type": "array", "items": reference("Note") });
    let system = json!({ "version": text(), "store": text(), "limits": reference("Bounds"), "notes": notes });
    let cluster = json!({
        "node": text(), "lag": whole(0),
        "nodes": { "type": "array", "items": reference("Node") },
        "shards": { "type": "array", "items": reference("Shard") },
    });
    let node = json!({
        "id": text(), "advertise": text(), "version": text(), "alive": { "type": "boolean" },
        "leaving": { "type": "boolean" },
        "joinedAt": text(), "leaseUntil": text(), "shards": whole(0),
    });
    let shard = json!({ "id": whole(0), "owner": { "type": ["string", "null"] }, "epoch": whole(0) });
    vec![
        (
            "Health",
            object(
                &json!({ "status": words(&["ok", "ready"]) }),
                &json!({ "notes": notes }),
            ),
        ),
        ("Note", object(&json!({ "code": text(), "text": text() }), &json!({}))),
        ("System", object(&system, &json!({ "cluster": reference("Cluster") }))),
        ("Cluster", object(&cluster, &json!({}))),
        ("Node", object(&node, &json!({}))),
        ("Shard", object(&shard, &json!({}))),
        ("Bounds", object(&bounds.into(), &json!({}))),
    ]
}
