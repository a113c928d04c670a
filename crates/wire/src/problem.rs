//! Refusals (RFC 9457).

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sprag_core::document;

use crate::values::words::words;

words! {
    /// Whether a machine can be applied in spite of a finding.
    Severity from document::Severity {
        /// The machine is refused.
        Error = "error",
        /// Sprag accepts the machine, but it may not work as you expect.
        Warning = "warning",
    }
}

/// A fault, or a possible fault, in a machine file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Error or warning.
    pub severity: Severity,
    /// The stable code of the finding.
    pub code: Cow<'static, str>,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// A JSON pointer to the place.
    pub pointer: String,
    /// The fault, with the value.
    pub detail: String,
    /// The remedy.
    pub remedy: String,
}

impl From<document::Finding> for Finding {
    fn from(finding: document::Finding) -> Self {
        let document::Finding {
            severity,
            code,
            line,
            column,
            pointer,
            detail,
            remedy,
        } = finding;
        Self {
            severity: severity.into(),
            code: code.into(),
            line,
            column,
            pointer,
            detail,
            remedy,
        }
    }
}

/// A fault at one place of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldError {
    /// A JSON pointer into the body, or `?name` for a query parameter.
    pub pointer: String,
    /// The fault, with the value.
    pub detail: String,
}

/// The reason why Sprag refused a request: problem details (RFC 9457) with a stable code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// The page of the code on this server: `/errors/<code>`.
    #[serde(rename = "type", default)]
    #[schemars(extend("format" = "uri-reference"), regex(pattern = r"^/errors/[a-z-]+$"))]
    pub kind: String,
    /// The code in words.
    #[serde(default)]
    pub title: String,
    /// The HTTP status.
    #[serde(default)]
    #[schemars(range(min = 400, max = 599))]
    pub status: u16,
    /// What happened, why, and what to do.
    pub detail: String,
    /// The stable code of the problem.
    #[schemars(regex(pattern = r"^[a-z-]+$"))]
    pub code: String,
    /// Whether the same request may succeed later.
    #[serde(default)]
    pub retryable: bool,
    /// The faults, by place.
    #[serde(default)]
    pub errors: Vec<FieldError>,
    /// The findings in a definition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}
