//! The server itself, and what describes it.

use serde_json::json;
use sprag_engine::command;
use sprag_wire as wire;

use super::{Answer, Operation, text};
use crate::body::NoFields;
use crate::problem::Code;

/// The group of the server itself.
pub(crate) const RESOURCE: &str = "system";
/// The group of what describes the server.
pub(crate) const PAGES: &str = "pages";

pub(crate) fn index() -> Operation {
    Operation::lenient(PAGES, "showIndex", "The API as a page to read").gives(Answer::of(
        200,
        "The page.",
        "text/html; charset=utf-8",
        text(),
    ))
}

pub(crate) fn style() -> Operation {
    Operation::lenient(PAGES, "showStyle", "How the page looks").gives(Answer::of(
        200,
        "A style sheet.",
        "text/css; charset=utf-8",
        text(),
    ))
}

pub(crate) fn openapi() -> Operation {
    let document = json!({ "type": "object", "required": ["openapi", "info", "paths", "components"] });
    Operation::new(PAGES, "showOpenApi", "This API as an OpenAPI 3.1 document").gives(Answer::of(
        200,
        "The document.",
        "application/json",
        document,
    ))
}

pub(crate) fn error_page() -> Operation {
    Operation::lenient(
        PAGES,
        "showError",
        "The page of an error code, where a problem's `type` leads",
    )
    .path("code", text(), "The code.")
    .gives(Answer::of(
        200,
        "The page, in Markdown.",
        "text/markdown; charset=utf-8",
        text(),
    ))
    .refuses([Code::RouteUnknown])
}

pub(crate) fn machine_schema() -> Operation {
    let schema = json!({ "type": "object", "required": ["$schema", "$ref", "$defs"] });
    Operation::new(
        PAGES,
        "showMachineSchema",
        "The JSON Schema of a machine file, for editors",
    )
    .gives(Answer::of(200, "The schema.", "application/schema+json", schema))
}

pub(crate) fn metrics() -> Operation {
    Operation::new(
        RESOURCE,
        "showMetrics",
        "What is counted, in the OpenMetrics text format that Prometheus reads",
    )
    .gives(Answer::of(200, "The metrics.", crate::metrics::MEDIA_TYPE, text()))
}

pub(crate) fn hints() -> Operation {
    Operation::new(RESOURCE, "hintChanges", "Hints at what changes, as server-sent events")
        .gives(Answer::of(
            200,
            "Events until the reader goes.",
            "text/event-stream",
            text(),
        ))
        .reads()
        .refuses([Code::TooManyStreams])
}

pub(crate) fn healthy() -> Operation {
    Operation::lenient(RESOURCE, "showHealth", "Whether the process answers").answers::<wire::Health>(200, "It does.")
}

pub(crate) fn ready() -> Operation {
    Operation::lenient(
        RESOURCE,
        "showReadiness",
        "Whether the engine answers and the store can be read",
    )
    .answers::<wire::Health>(200, "They do.")
    .refuses([Code::NotReady])
}

pub(crate) fn show() -> Operation {
    Operation::new(RESOURCE, "showSystem", "Version, store and bounds").answers::<wire::System>(200, "The server.")
}

pub(crate) fn accept_clock() -> Operation {
    Operation::new(
        RESOURCE,
        "acceptClock",
        "Accept the clock as right, so that retention continues after a jump",
    )
    .body::<NoFields>()
    .answers::<wire::System>(200, "The server.")
    .writes()
}

pub(crate) fn backup() -> Operation {
    let copy = Answer::of(
        200,
        "The copy, complete before its first byte.",
        "application/vnd.sqlite3",
        json!({}),
    );
    Operation::new(RESOURCE, "takeBackup", "A copy of everything as of one instant")
        .body::<NoFields>()
        .gives(copy)
        .changes_nothing()
        .writes()
        .refuses([command::Code::BackupUnderWay, command::Code::BackupUnsupported])
}

pub(crate) fn restored() -> Operation {
    Operation::new(
        RESOURCE,
        "showRestored",
        "The effects that may repeat, where the store comes from a backup",
    )
    .answers::<Option<wire::RestoreReport>>(200, "The report, or null where it does not come from one.")
    .reads()
}
