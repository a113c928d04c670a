//! What a server says when it refuses, and what is said for one that does not answer.

use std::error::Error as _;

use reqwest::Url;
use serde_json::Value;
use sprag_wire::{FieldError, Problem};

use super::Client;
use crate::failure::Failure;
use crate::output;

/// What a server answers that supervises nothing.
const SUPERVISION_OFF: &str = "supervision-off";
/// Where its caller finds one that does.
const SUPERVISOR: &str = "a supervisor (`sprag supervise FILE`) answers at http://127.0.0.1:7401 by default; name another with --server or SPRAG_SERVER";

/// Statuses that mean the request itself was wrong.
const INVALID: [u16; 4] = [400, 413, 415, 422];

/// The failure for a problem document (RFC 9457).
pub(super) fn refusal(base: &Url, status: u16, problem: &Value) -> Failure {
    let Ok(Problem {
        code, detail, errors, ..
    }) = output::shown(problem)
    else {
        return not_sprag(base, status);
    };
    let failure = if INVALID.contains(&status) {
        Failure::invalid(detail.clone())
    } else {
        Failure::new(detail.clone())
    };
    let failure = if code == SUPERVISION_OFF {
        failure.note(SUPERVISOR)
    } else {
        failure
    };
    let said = detail;
    errors
        .into_iter()
        .fold(failure.code(code), |failure, FieldError { pointer, detail }| {
            if said != detail {
                failure.note(format!("{pointer}: {detail}"))
            } else if pointer.is_empty() || names(&said, &pointer) {
                // What was said already is not said again: only where, unless the words name the place.
                failure
            } else {
                failure.note(format!("at {pointer}"))
            }
        })
}

/// Whether a text names the place that a pointer leads to.
fn names(text: &str, pointer: &str) -> bool {
    let place = pointer.trim_start_matches('?').rsplit('/').next().unwrap_or_default();
    text.contains(place)
}

/// Something answered, and it was not Sprag.
pub(super) fn not_sprag(base: &Url, status: u16) -> Failure {
    Failure::new(format!(
        "the program at {}, which answered with status {status}, is not a Sprag server",
        shown(base)
    ))
    .code("unexpected-answer")
    .note("name the server with --server or SPRAG_SERVER")
}

/// Nothing answered.
pub(super) fn unreachable(client: &Client, error: &reqwest::Error) -> Failure {
    let Client { base, start, .. } = client;
    let mut reason = error.source();
    while let Some(inner) = reason.and_then(|reason| reason.source()) {
        reason = Some(inner);
    }
    let reason = reason.map_or_else(|| error.to_string(), ToString::to_string);
    if error.is_timeout() && !error.is_connect() {
        return Failure::new(format!(
            "{} did not answer in time; check its log, then run the command again",
            shown(base)
        ))
        .code("server-timeout");
    }
    Failure::new(format!("no Sprag server answers at {}: {reason}", shown(base)))
        .code("server-unreachable")
        .note(format!(
            "start one with {start}, or name another with --server or SPRAG_SERVER"
        ))
}

/// The address as people write it.
fn shown(base: &Url) -> &str {
    base.as_str().trim_end_matches('/')
}
