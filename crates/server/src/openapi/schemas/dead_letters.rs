//! The case files of dead letters, and how they are changed.

use serde_json::{Value, json};

use super::actions::members;
use super::{Named, anything_by_name, list_of, nullable, object, reference, text, time, truth, whole};

pub(super) fn schemas() -> Named {
    vec![
        ("CaseFile", case_file()),
        ("SentRequest", sent_request()),
        ("PatchOperation", operation()),
    ]
}

fn case_file() -> Value {
    let (mut always, mut sometimes) = members();
    let more = json!({
        "failureReason": nullable(reference("ActionError")),
        "totalAttempts": whole(0),
        "lastAttemptAt": nullable(time()),
        "request": nullable(reference("SentRequest")),
        "others": object(&json!({ "count": whole(0), "more": truth() }), &json!({})),
        "recoverable": truth(),
        "manualReviewRequired": truth(),
        "suggestedFix": nullable(text()),
    });
    for (name, schema) in more.as_object().into_iter().flatten() {
        always[name] = schema.clone();
    }
    sometimes["fixPatch"] = list_of(reference("PatchOperation"));
    object(&always, &sometimes)
}

fn sent_request() -> Value {
    let policy = object(
        &json!({
            "maxAttempts": whole(1),
            "retryableErrors": list_of(text()),
            "nonRetryableErrors": list_of(text()),
        }),
        &json!({}),
    );
    object(
        &json!({
            "config": anything_by_name(),
            "secrets": list_of(text()),
            "timeout": whole(1),
            "retryPolicy": policy,
        }),
        &json!({ "destination": text() }),
    )
}

/// One operation of a JSON Patch (RFC 6902).
fn operation() -> Value {
    let with_value = |word: &str| {
        object(
            &json!({ "op": { "const": word }, "path": text(), "value": {} }),
            &json!({}),
        )
    };
    let remove = object(&json!({ "op": { "const": "remove" }, "path": text() }), &json!({}));
    json!({ "oneOf": [with_value("add"), with_value("replace"), with_value("test"), remove] })
}
