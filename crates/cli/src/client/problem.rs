//! What a server says when it refuses, and what is said for one that does not answer.

use std::error::Error;

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

/// Something answered, and not with JSON. A server that speaks TLS says so to a caller that does not.
pub(super) fn not_json(base: &Url, status: u16, body: &[u8]) -> Failure {
    let says_https = String::from_utf8_lossy(body).to_ascii_lowercase().contains("https");
    if base.scheme() == "http" && status == 400 && says_https {
        return Failure::new(format!("the server at {} speaks TLS", shown(base)))
            .code("server-untrusted")
            .note(format!("write {}", with_scheme(base, "https")));
    }
    not_sprag(base, status)
}

/// Nothing answered, or nothing that can be trusted.
pub(super) fn unreachable(client: &Client, error: &reqwest::Error) -> Failure {
    let Client { base, start, .. } = client;
    if error.is_timeout() && !error.is_connect() {
        return Failure::new(format!(
            "{} did not answer in time; check its log, then run the command again",
            shown(base)
        ))
        .code("server-timeout");
    }
    if let Some(fault) = tls_fault(error) {
        return untrusted(base, fault);
    }
    let reason = causes(error)
        .last()
        .map_or_else(|| error.to_string(), ToString::to_string);
    Failure::new(format!("no Sprag server answers at {}: {reason}", shown(base)))
        .code("server-unreachable")
        .note(format!(
            "start one with {start}, or name another with --server or SPRAG_SERVER"
        ))
}

/// The causes of an error, the deepest last.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(error.source(), |&cause| cause.source())
}

/// Why no encrypted connection was made, if that is the cause. An error of the system hides what it wraps from its sources.
fn tls_fault<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    if let Some(fault) = error.downcast_ref() {
        return Some(fault);
    }
    let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    let wrapped = wrapped.and_then(|inner| tls_fault(inner));
    wrapped.or_else(|| tls_fault(error.source()?))
}

/// A server answered, and TLS with it failed.
fn untrusted(base: &Url, fault: &rustls::Error) -> Failure {
    use rustls::{AlertDescription as Alert, CertificateError, Error as Fault, InvalidMessage};
    let at = shown(base);
    let (detail, remedy) = match fault {
        Fault::InvalidCertificate(CertificateError::UnknownIssuer) => (
            format!("the certificate of {at} is from an authority that this machine does not trust"),
            "name the certificate of the authority with --ca FILE or SPRAG_CA".to_owned(),
        ),
        Fault::InvalidCertificate(reason) => (
            format!("the certificate of {at} cannot be used: {reason}"),
            "name the server with --server by a name in its certificate, or replace the certificate".to_owned(),
        ),
        Fault::InvalidMessage(InvalidMessage::InvalidContentType) => (
            format!("the server at {at} does not speak TLS"),
            format!("write {}", with_scheme(base, "http")),
        ),
        Fault::AlertReceived(Alert::CertificateRequired | Alert::UnknownCA | Alert::BadCertificate) => (
            format!("the server at {at} refuses the certificate of this command, or asks for one: {fault}"),
            "show one with --client-cert FILE and --client-key FILE".to_owned(),
        ),
        other => (
            format!("no TLS connection to {at}: {other}"),
            "check --ca, --client-cert and --client-key, and the log of the server".to_owned(),
        ),
    };
    Failure::new(detail).code("server-untrusted").note(remedy)
}

/// The address with another scheme.
fn with_scheme(base: &Url, scheme: &str) -> String {
    let address = shown(base);
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    format!("{scheme}://{rest}")
}

/// The address as people write it.
fn shown(base: &Url) -> &str {
    base.as_str().trim_end_matches('/')
}
