//! Problems (RFC 9457), and what lint finds.

use serde_json::json;

use super::{Named, list_of, object, reference, text, truth, whole, words};

pub(super) fn schemas() -> Named {
    let error = json!({ "pointer": text(), "detail": text() });
    let finding = json!({
        "severity": words(&["error", "warning"]),
        "code": text(),
        "line": whole(0),
        "column": whole(0),
        "pointer": text(),
        "detail": text(),
        "remedy": text(),
    });
    let problem = json!({
        "type": { "type": "string", "format": "uri-reference", "pattern": "^/errors/[a-z-]+$" },
        "title": text(),
        "status": { "type": "integer", "minimum": 400, "maximum": 599 },
        "detail": text(),
        "code": { "type": "string", "pattern": "^[a-z-]+$" },
        "retryable": truth(),
        "errors": list_of(reference("FieldError")),
    });
    vec![
        ("FieldError", object(&error, &json!({}))),
        ("Finding", object(&finding, &json!({}))),
        (
            "Problem",
            object(&problem, &json!({ "findings": list_of(reference("Finding")) })),
        ),
    ]
}
