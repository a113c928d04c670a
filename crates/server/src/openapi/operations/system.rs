//! The server itself, and what describes it.

use serde_json::json;
use sprag_engine::requests;
use sprag_wire as wire;

use super::{Answer, Operation, text};
use crate::problem::Code;
use crate::request::body::NoFields;

/// The group of the server itself.
pub(crate) const RESOURCE: &str = "system";
/// The group of what describes the server.
pub(crate) const PAGES: &str = "pages";

pub(crate) fn index() -> Operation {
    Operation::lenient(PAGES, "showInterface", "Open the web interface").gives(Answer::of(
        200,
        "The page. Other paths that are not of the API answer with it too, if the request accepts `text/html`.",
        "text/html; charset=utf-8",
        text(),
    ))
}

pub(crate) fn asset() -> Operation {
    Operation::new(PAGES, "showInterfaceFile", "Return a file of the web interface")
        .path("file", text(), "The name of the file, with the hash of its content.")
        .gives(
            Answer::of(
                200,
                "The file. It never changes.",
                "text/javascript; charset=utf-8",
                text(),
            )
            .or("text/css; charset=utf-8", text())
            .or("image/svg+xml", text()),
        )
        .refuses([Code::RouteUnknown])
}

pub(crate) fn reference() -> Operation {
    Operation::lenient(PAGES, "showReference", "Describe the API as a web page").gives(Answer::of(
        200,
        "The page.",
        "text/html; charset=utf-8",
        text(),
    ))
}

pub(crate) fn style() -> Operation {
    Operation::lenient(PAGES, "showStyle", "Return the style sheet of the page").gives(Answer::of(
        200,
        "A style sheet.",
        "text/css; charset=utf-8",
        text(),
    ))
}

pub(crate) fn openapi() -> Operation {
    let document = json!({ "type": "object", "required": ["openapi", "info", "paths", "components"] });
    Operation::new(PAGES, "showOpenApi", "Return the OpenAPI 3.1 document of this API").gives(Answer::of(
        200,
        "The document.",
        "application/json",
        document,
    ))
}

pub(crate) fn error_page() -> Operation {
    Operation::lenient(PAGES, "showError", "Return the page of an error code")
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
    Operation::new(PAGES, "showMachineSchema", "Return the JSON Schema of a machine file").gives(Answer::of(
        200,
        "The schema.",
        "application/schema+json",
        schema,
    ))
}

pub(crate) fn metrics() -> Operation {
    Operation::new(
        RESOURCE,
        "showMetrics",
        "Return the metrics in the OpenMetrics text format",
    )
    .gives(Answer::of(200, "The metrics.", crate::metrics::MEDIA_TYPE, text()))
}

pub(crate) fn hints() -> Operation {
    Operation::new(
        RESOURCE,
        "hintChanges",
        "Stream hints about changed records, as server-sent events",
    )
    .gives(Answer::of(
        200,
        "Events, until the client closes the connection.",
        "text/event-stream",
        text(),
    ))
    .reads()
    .refuses([Code::TooManyStreams])
}

pub(crate) fn healthy() -> Operation {
    Operation::lenient(RESOURCE, "showHealth", "Check that the server answers")
        .answers::<wire::Health>(200, "The server answers.")
}

pub(crate) fn ready() -> Operation {
    Operation::lenient(
        RESOURCE,
        "showReadiness",
        "Check that the engine accepts requests and the store can be read",
    )
    .answers::<wire::Health>(200, "The server is ready.")
    .refuses([Code::NotReady])
}

pub(crate) fn show() -> Operation {
    Operation::new(
        RESOURCE,
        "showSystem",
        "Show version, store, limits and nodes of the server",
    )
    .answers::<wire::System>(200, "The server.")
}

pub(crate) fn accept_clock() -> Operation {
    Operation::new(
        RESOURCE,
        "acceptClock",
        "Accept the clock, so that retention continues after a clock jump",
    )
    .body::<NoFields>()
    .answers::<wire::System>(200, "The server.")
    .writes()
    .audited()
}

pub(crate) fn backup() -> Operation {
    let copy = Answer::of(
        200,
        "The copy, complete before its first byte.",
        "application/vnd.sqlite3",
        json!({}),
    );
    Operation::new(RESOURCE, "takeBackup", "Back up the store of the server")
        .body::<NoFields>()
        .gives(copy)
        .changes_nothing()
        .writes()
        .audited()
        .refuses([requests::Code::BackupUnderWay, requests::Code::BackupUnsupported])
}

pub(crate) fn restored() -> Operation {
    Operation::new(
        RESOURCE,
        "showRestored",
        "List the effects that may repeat after a restore",
    )
    .answers::<Option<wire::RestoreReport>>(200, "The report, or null if the store was not restored.")
    .reads()
}
