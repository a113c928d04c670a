//! The plan of a load test, read from its file, with the files that it names.

use std::path::Path;

use serde_json::Value;
use sprag_agent::plan::{Plan, load_with, with_target};
use sprag_core::document::Severity;
use sprag_core::document::source::{Document, Format};
use sprag_core::machine::testing::TestSubject;
use sprag_core::machine::{LoadOptions, load_document};

use crate::commands::machine::findings;
use crate::commands::testing::parsed;
use crate::failure::Failure;
use crate::input;

/// The plan, and its document as agents get it; or all of its errors. `target` takes the place of the plan's own.
pub(super) fn read(path: &Path, target: Option<&str>) -> Result<(Plan, Value), Failure> {
    let text = input::text(path)?;
    let files = |name: &str| definition(&path.parent().unwrap_or(Path::new("")).join(name));
    let mut loaded = load_with(&text, input::format(path, &text), &files);
    if let (Some(target), Some(document)) = (target, &loaded.document) {
        let document = with_target(document.clone(), target);
        loaded = load_with(&document.to_string(), Format::Json, &files);
    }
    let (Some(plan), Some(document)) = (loaded.plan, loaded.document) else {
        let errors = loaded
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error);
        let lines: Vec<String> = errors.map(|finding| findings::text(path, finding)).collect();
        let detail = format!("`{}` has {}", path.display(), findings::counted(lines.len(), "error"));
        let failure = Failure::invalid(detail).code("load-plan-invalid");
        return Err(lines
            .iter()
            .fold(failure, |failure, line| failure.note(line.trim_end())));
    };
    Ok((plan, document))
}

/// The definition or the machine in a file, with the mail templates beside it.
fn definition(path: &Path) -> Result<Document, String> {
    let document = parsed(path).map_err(|failure| failure.to_string())?;
    let is_machine = document.value.get("states").is_some();
    let found = if is_machine {
        load_document(&document, &LoadOptions::default()).findings
    } else {
        TestSubject::alone(&document, "", None).err().unwrap_or_default()
    };
    match found.iter().find(|finding| finding.severity == Severity::Error) {
        Some(finding) => Err(findings::text(path, finding).trim_end().to_owned()),
        None => Ok(document),
    }
}
