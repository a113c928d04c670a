//! What lint found in a file, as it is shown.

use std::path::Path;

use serde_json::{Value, json};
use sprag_core::document::{Finding, Severity};

use crate::output::plain;

/// `file:line:column: error[code]: detail`, and what would fix it below.
pub(in crate::commands) fn text(path: &Path, finding: &Finding) -> String {
    let Finding {
        severity,
        code,
        line,
        column,
        pointer: _,
        detail,
        remedy,
    } = finding;
    let word = match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let file = plain(&path.display().to_string());
    format!(
        "{file}:{line}:{column}: {word}[{code}]: {}\n  {}\n",
        plain(detail),
        plain(remedy)
    )
}

/// The finding with its file.
pub(in crate::commands) fn document(path: &Path, finding: &Finding) -> Value {
    let mut document = json!({"file": path.display().to_string()});
    if let (Value::Object(document), Ok(Value::Object(finding))) = (&mut document, serde_json::to_value(finding)) {
        document.extend(finding);
    }
    document
}

/// Whether a finding refuses the machine.
pub(in crate::commands) fn is_error(finding: &Finding) -> bool {
    finding.severity == Severity::Error
}

/// `2 errors`, `1 warning`.
pub(in crate::commands) fn counted(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}
