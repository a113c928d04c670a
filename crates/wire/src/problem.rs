//! Refusals (RFC 9457).

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sprag_core::document;

use crate::words::words;

words! {
    /// Whether a machine can be applied in spite of a finding.
    Severity from document::Severity {
        /// The machine is refused.
        Error = "error",
        /// The machine works, but perhaps not as meant.
        Warning = "warning",
    }
}

/// One thing that is wrong or doubtful in a machine file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Error or warning.
    pub severity: Severity,
    /// A stable name for the kind of finding.
    pub code: Cow<'static, str>,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The place as a JSON pointer.
    pub pointer: String,
    /// What is wrong, with the value.
    pub detail: String,
    /// What would fix it.
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

/// What is wrong at one place of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldError {
    /// A JSON pointer into the body, or `?name` for a query parameter.
    pub pointer: String,
    /// What is wrong there, with the value.
    pub detail: String,
}

/// Why a request was refused: problem details with a stable code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// `/errors/<code>`: the page of the code, relative to the server.
    #[serde(rename = "type", default)]
    #[schemars(extend("format" = "uri-reference"), regex(pattern = r"^/errors/[a-z-]+$"))]
    pub kind: String,
    /// The code as the beginning of a sentence.
    #[serde(default)]
    pub title: String,
    /// The HTTP status.
    #[serde(default)]
    #[schemars(range(min = 400, max = 599))]
    pub status: u16,
    /// What happened, why, and what to do.
    pub detail: String,
    /// The stable name of the problem.
    #[schemars(regex(pattern = r"^[a-z-]+$"))]
    pub code: String,
    /// Whether the same request may succeed later as it is.
    #[serde(default)]
    pub retryable: bool,
    /// What is wrong, by place.
    #[serde(default)]
    pub errors: Vec<FieldError>,
    /// What lint found in a definition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}
