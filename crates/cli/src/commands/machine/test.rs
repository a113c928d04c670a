//! `sprag machine test`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use sprag_core::document::{Finding};
use sprag_core::machine::{Report, ScenarioFile, run_scenarios};

use super::findings::{self, counted};
use super::local;
use crate::failure::{Exit, Failure};
use crate::input;
use crate::output::{self, Output, plain};

#[derive(Debug, clap::Args)]
#[command(after_help = "Exits with 0 if every scenario passes, 1 if one fails, 2 if a file is not valid.")]
pub(crate) struct Arguments {
    /// Scenario files, YAML or JSON
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Runs all scenarios of all files. Files are read and checked before anything runs.
pub(crate) fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let mut all = Vec::new();
    for path in &arguments.files {
        all.push((path.as_path(), reports(path)?));
    }
    let reports = || {
        all.iter()
            .flat_map(|(path, reports)| reports.iter().map(move |report| (*path, report)))
    };
    let failed = reports().filter(|(_, report)| !report.passed).count();
    match output {
        Output::Json => {
            let documents: Vec<Value> = reports().map(|(path, report)| document(path, report)).collect();
            output::json(&json!({"scenarios": documents, "failed": failed}))?;
        }
        Output::Text => {
            output::data(&reports().map(|(path, report)| text(path, report)).collect::<String>())?;
            output::note(&format!("{}: {failed} failed", counted(reports().count(), "scenario")));
        }
    }
    Ok(if failed > 0 { Exit::Failed } else { Exit::Done })
}

fn reports(path: &Path) -> Result<Vec<Report>, Failure> {
    let text = input::text(path)?;
    let file = ScenarioFile::read(&text, input::format(path, &text)).map_err(|found| invalid(path, &found))?;
    let machine = local::load(&path.parent().unwrap_or(Path::new("")).join(&file.machine))?;
    let found = file.check(&machine);
    if found.is_empty() {
        Ok(run_scenarios(&file, &Arc::new(machine)))
    } else {
        Err(invalid(path, &found))
    }
}

fn invalid(path: &Path, found: &[Finding]) -> Failure {
    let failure = Failure::invalid(format!("`{}` has {}", path.display(), counted(found.len(), "error")));
    found.iter().fold(failure.code("scenario-invalid"), |failure, finding| {
        failure.note(findings::text(path, finding).trim_end())
    })
}

/// `ok     file:line: name`, and below what was not as expected.
fn text(path: &Path, report: &Report) -> String {
    let Report {
        name,
        line,
        passed,
        mismatches,
    } = report;
    let (word, file) = (if *passed { "ok    " } else { "failed" }, path.display());
    let mismatches = mismatches.iter().map(|mismatch| {
        let (line, column) = (mismatch.line, mismatch.column);
        format!("       {file}:{line}:{column}: {}\n", plain(&mismatch.sentence()))
    });
    let first = format!("{word} {file}:{line}: {}\n", plain(name));
    std::iter::once(first).chain(mismatches).collect()
}

/// The report with its file.
fn document(path: &Path, report: &Report) -> Value {
    let mut document = json!({"file": path.display().to_string()});
    if let (Value::Object(document), Ok(Value::Object(report))) = (&mut document, serde_json::to_value(report)) {
        document.extend(report);
    }
    document
}
