//! The operations that every catalog holds: the tools of the built-in runners.

use serde_json::{Value, json};

use super::definition::{Document, Operation};
use super::read::read_stored;

/// The version of every built-in operation. It is raised when what one of them does changes.
pub const BUILTIN_VERSION: u32 = 1;
/// Their names.
pub const BUILTIN_NAMES: [&str; 4] = ["http_check", "log_message", "tcp_check", "wait"];

/// The built-in operations.
pub fn builtins() -> Vec<Operation> {
    let documents = [http_check(), log_message(), tcp_check(), wait()];
    let read = documents.iter().filter_map(|definition| read_stored(definition).ok());
    read.filter_map(|document| match document {
        Document::Operation(operation) => Some(*operation),
        Document::Subject(_) => None,
    })
    .collect()
}

fn wait() -> Value {
    json!({
        "operation": "wait",
        "title": "Wait",
        "description": "Wait before the next step.",
        "kind": "tool",
        "parameters": {
            "seconds": { "type": "number", "required": true, "minimum": 0, "maximum": 3_155_760_000_u64, "description": "seconds to wait" },
        },
        "action": { "type": "wait", "config": { "seconds": "{{params.seconds}}" } },
    })
}

fn log_message() -> Value {
    json!({
        "operation": "log_message",
        "title": "Log a message",
        "description": "Write a line to the log and to the audit log.",
        "kind": "tool",
        "parameters": {
            "message": { "type": "string", "required": true, "maxLength": 4_096, "description": "what to write" },
            "level": { "type": "string", "default": "info", "enum": ["trace", "debug", "info", "warn", "error"], "description": "the level of the line" },
        },
        "action": { "type": "log_message", "config": { "message": "{{params.message}}", "level": "{{params.level}}" } },
    })
}

fn http_check() -> Value {
    json!({
        "operation": "http_check",
        "title": "Check an address over HTTP",
        "description": "Succeed if the address answers with an expected status.",
        "kind": "tool",
        "parameters": {
            "url": { "type": "string", "required": true, "maxLength": 2_048, "description": "the address" },
            "method": { "type": "string", "default": "GET", "enum": ["GET", "HEAD"], "description": "the method" },
            "expectedStatusCodes": { "type": "array", "default": [200], "description": "the statuses that count as success" },
        },
        "action": {
            "type": "http_check",
            "config": {
                "url": "{{params.url}}",
                "method": "{{params.method}}",
                "expectedStatusCodes": "{{params.expectedStatusCodes}}",
            },
            "timeout": "30s",
        },
    })
}

fn tcp_check() -> Value {
    json!({
        "operation": "tcp_check",
        "title": "Check a port",
        "description": "Succeed if a connection opens.",
        "kind": "tool",
        "parameters": {
            "host": { "type": "string", "required": true, "maxLength": 253, "description": "the host" },
            "port": { "type": "integer", "required": true, "minimum": 1, "maximum": 65_535, "description": "the port" },
        },
        "action": {
            "type": "tcp_check",
            "config": { "host": "{{params.host}}", "port": "{{params.port}}" },
            "timeout": "30s",
        },
    })
}
