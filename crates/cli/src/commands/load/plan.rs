//! The plan of a load test, read from its file.

use std::path::Path;

use serde_json::Value;
use sprag_agent::plan::{Plan, load};
use sprag_core::document::Severity;

use crate::commands::machine::findings;
use crate::failure::Failure;
use crate::input;

/// The plan, and its document as agents get it; or all of its errors.
pub(super) fn read(path: &Path) -> Result<(Plan, Value), Failure> {
    let text = input::text(path)?;
    let loaded = load(&text, input::format(path, &text));
    if let (Some(plan), Some(document)) = (loaded.plan, loaded.document) {
        return Ok((plan, document));
    }
    let errors = loaded
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error);
    let lines: Vec<String> = errors.map(|finding| findings::text(path, finding)).collect();
    let detail = format!("`{}` has {}", path.display(), findings::counted(lines.len(), "error"));
    let failure = Failure::invalid(detail).code("load-plan-invalid");
    Err(lines
        .iter()
        .fold(failure, |failure, line| failure.note(line.trim_end())))
}
