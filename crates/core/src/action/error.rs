//! What can go wrong with an attempt, in words that policies and people can match on.
//!
//! The set of error types is open: a runner in another language may name its own. The known ones are constants here,
//! so that no spelling is written twice.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The known error types.
pub mod kind {
    /// No answer within the attempt's time.
    pub const TIMEOUT: &str = "timeout";
    /// The other side asked for less.
    pub const RATE_LIMIT: &str = "rate_limit";
    /// Who we are was not accepted.
    pub const AUTHENTICATION_FAILED: &str = "authentication_failed";
    /// What we may do was not enough.
    pub const AUTHORIZATION_FAILED: &str = "authorization_failed";
    /// The action cannot work as it is configured.
    pub const INVALID_CONFIGURATION: &str = "invalid_configuration";
    /// The other side could not read the request.
    pub const MALFORMED_REQUEST: &str = "malformed_request";
    /// The thing addressed is not there.
    pub const NOT_FOUND: &str = "not_found";
    /// The other side's state forbids it.
    pub const CONFLICT: &str = "conflict";
    /// An answer outside what was expected.
    pub const UNEXPECTED_STATUS: &str = "unexpected_status";
    /// The network did not carry it.
    pub const NETWORK_ERROR: &str = "network_error";
    /// The other side is down.
    pub const SERVICE_UNAVAILABLE: &str = "service_unavailable";
    /// It may well work later.
    pub const TEMPORARY_FAILURE: &str = "temporary_failure";
    /// The chain wants a higher fee.
    pub const GAS_PRICE_TOO_LOW: &str = "gas_price_too_low";
    /// The chain is busy.
    pub const NETWORK_CONGESTION: &str = "network_congestion";
    /// A process ended with an exit code outside the expected ones.
    pub const PROCESS_FAILED: &str = "process_failed";
    /// An agent of a load failed or was lost.
    pub const LOAD_FAILED: &str = "load_failed";
    /// A threshold of a load does not hold.
    pub const THRESHOLD_BROKEN: &str = "threshold_broken";
    /// A runner panicked.
    pub const PANIC: &str = "panic";
    /// The process that ran the attempt died.
    pub const CRASHED: &str = "crashed";
    /// The store refused what the attempt reported.
    pub const OUTCOME_REFUSED: &str = "outcome_refused";
    /// A principal rejected the plan of the action.
    pub const REJECTED: &str = "rejected";
    /// Nobody approved the plan of the action in time, or it did not begin in time.
    pub const EXPIRED: &str = "expired";
    /// None of the above.
    pub const UNKNOWN_ERROR: &str = "unknown_error";

    /// All of them.
    pub const KNOWN: [&str; 23] = [
        TIMEOUT,
        RATE_LIMIT,
        AUTHENTICATION_FAILED,
        AUTHORIZATION_FAILED,
        INVALID_CONFIGURATION,
        MALFORMED_REQUEST,
        NOT_FOUND,
        CONFLICT,
        UNEXPECTED_STATUS,
        NETWORK_ERROR,
        SERVICE_UNAVAILABLE,
        TEMPORARY_FAILURE,
        GAS_PRICE_TOO_LOW,
        NETWORK_CONGESTION,
        PROCESS_FAILED,
        LOAD_FAILED,
        THRESHOLD_BROKEN,
        PANIC,
        CRASHED,
        OUTCOME_REFUSED,
        REJECTED,
        EXPIRED,
        UNKNOWN_ERROR,
    ];

    /// Types that are not retried unless a policy says so.
    pub const NOT_RETRIED_BY_DEFAULT: [&str; 7] = [
        AUTHENTICATION_FAILED,
        AUTHORIZATION_FAILED,
        INVALID_CONFIGURATION,
        MALFORMED_REQUEST,
        NOT_FOUND,
        CONFLICT,
        UNEXPECTED_STATUS,
    ];
}

/// Why an attempt did not succeed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActionError {
    /// One of [`kind`], or a runner's own word.
    #[serde(rename = "type")]
    pub kind: String,
    /// What happened, in a sentence fragment.
    pub message: String,
    /// Whether Sprag retries after this error.
    pub retryable: bool,
    /// The error code of the called service, if it sent one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Details for people: status, host, field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl ActionError {
    /// An error of type `kind`; the retry engine sets the verdict.
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            message: message.into(),
            retryable: false,
            code: None,
            details: None,
        }
    }

    /// The same with the other side's own code.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// The same with what a person could do about it, as `suggestedFix` among the details. Call it after
    /// [`ActionError::with_details`], which replaces them.
    #[must_use]
    pub fn with_fix(mut self, fix: impl Into<String>) -> Self {
        let mut details = match self.details {
            Some(Value::Object(details)) => details,
            Some(other) => Map::from_iter([("details".to_owned(), other)]),
            None => Map::new(),
        };
        details.insert("suggestedFix".to_owned(), Value::String(fix.into()));
        self.details = Some(Value::Object(details));
        self
    }

    /// The same with details for a person.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }
}

/// The error type of an HTTP status that is not success.
pub fn of_http_status(status: u16) -> &'static str {
    match status {
        401 => kind::AUTHENTICATION_FAILED,
        403 => kind::AUTHORIZATION_FAILED,
        404 => kind::NOT_FOUND,
        408 | 425 => kind::TIMEOUT,
        409 => kind::CONFLICT,
        429 => kind::RATE_LIMIT,
        400..=499 => kind::MALFORMED_REQUEST,
        500..=599 => kind::SERVICE_UNAVAILABLE,
        _ => kind::UNEXPECTED_STATUS,
    }
}

/// The error type of an operating system's error while a process or a file was opened.
pub fn of_io(error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::NotADirectory | ErrorKind::InvalidInput => {
            kind::INVALID_CONFIGURATION
        }
        ErrorKind::WouldBlock | ErrorKind::OutOfMemory | ErrorKind::Interrupted => kind::TEMPORARY_FAILURE,
        // Too many open files (EMFILE, ENFILE) and EIO have no kind of their own.
        _ if matches!(error.raw_os_error(), Some(5 | 23 | 24)) => kind::TEMPORARY_FAILURE,
        _ => kind::UNKNOWN_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn http_statuses_have_the_types_of_the_design() {
        let table = [
            (301, kind::UNEXPECTED_STATUS),
            (204, kind::UNEXPECTED_STATUS),
            (400, kind::MALFORMED_REQUEST),
            (401, kind::AUTHENTICATION_FAILED),
            (403, kind::AUTHORIZATION_FAILED),
            (404, kind::NOT_FOUND),
            (408, kind::TIMEOUT),
            (409, kind::CONFLICT),
            (422, kind::MALFORMED_REQUEST),
            (425, kind::TIMEOUT),
            (429, kind::RATE_LIMIT),
            (500, kind::SERVICE_UNAVAILABLE),
            (503, kind::SERVICE_UNAVAILABLE),
        ];
        for (status, expected) in table {
            assert_eq!(of_http_status(status), expected, "{status}");
        }
    }

    #[test]
    fn a_fix_stands_among_the_details_and_pushes_none_of_them_out() {
        let fix = |error: ActionError| error.with_fix("do it").details;
        let bare = ActionError::new(kind::CONFLICT, "no");
        assert_eq!(fix(bare.clone()), Some(json!({"suggestedFix": "do it"})));
        let host = bare.clone().with_details(json!({"host": "x"}));
        assert_eq!(fix(host), Some(json!({"host": "x", "suggestedFix": "do it"})));
        let text = bare.with_details(json!("x"));
        assert_eq!(fix(text), Some(json!({"details": "x", "suggestedFix": "do it"})));
    }

    #[test]
    fn operating_system_errors_have_the_types_of_the_design() {
        let table = [
            (2, kind::INVALID_CONFIGURATION),
            (13, kind::INVALID_CONFIGURATION),
            (11, kind::TEMPORARY_FAILURE),
            (12, kind::TEMPORARY_FAILURE),
            (24, kind::TEMPORARY_FAILURE),
            (5, kind::TEMPORARY_FAILURE),
        ];
        for (code, expected) in table {
            assert_eq!(
                of_io(&std::io::Error::from_raw_os_error(code)),
                expected,
                "errno {code}"
            );
        }
    }
}
