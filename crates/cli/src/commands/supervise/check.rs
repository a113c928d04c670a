//! The file of services: read, and everything that is wrong with it shown.

use std::path::Path;

use serde_json::{Value, json};
use sprag_core::document::source::{Format, Limits, parse};
use sprag_core::document::{Finding, Findings, Severity};
use sprag_core::supervision::RestartBudget;
use sprag_server::NotReloaded;
use sprag_supervisor::process;
use sprag_supervisor::services::{self, Loaded, Schedule, ServicesFile};

use super::services::ServicesSource;
use crate::commands::machine::findings;
use crate::failure::{Exit, Failure};
use crate::output::{self, Output};

/// Reads a file. What is doubtful is said; what is wrong is said and refused.
pub(crate) fn load(path: &Path, state: &Path) -> Result<ServicesSource, Failure> {
    let read = look(path);
    let findings = match &read {
        Ok((_, findings)) => findings,
        Err(not) => &not.findings,
    };
    for finding in findings {
        output::notes(&findings::text(path, finding));
    }
    match read {
        Ok((file, _)) => Ok(ServicesSource {
            path: path.to_owned(),
            state: state.to_owned(),
            file,
        }),
        Err(not) => Err(Failure::invalid(not.detail)),
    }
}

/// Reads a file again, for a supervisor that runs.
pub(super) fn read(path: &Path) -> Result<ServicesFile, NotReloaded> {
    look(path).map(|(file, _)| file)
}

fn look(path: &Path) -> Result<(ServicesFile, Vec<Finding>), NotReloaded> {
    let shown = path.display();
    let not = |detail: String| NotReloaded {
        detail,
        findings: Vec::new(),
    };
    let text = std::fs::read_to_string(path).map_err(|error| not(format!("`{shown}` cannot be read: {error}")))?;
    let format = format(path, &text);
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let folder = folder
        .canonicalize()
        .map_err(|error| not(format!("`{}` cannot be used: {error}", folder.display())))?;
    let Loaded { file, findings } = services::load(&text, format, &folder);
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
    match file {
        Some(file) => Ok((file, findings)),
        None => Err(NotReloaded {
            detail: format!("`{shown}` has {}", findings::counted(errors.count(), "error")),
            findings,
        }),
    }
}

/// Shows what a valid file would do, and what of it could not be started on this machine.
pub(super) fn show(source: &ServicesSource, output: Output) -> anyhow::Result<Exit> {
    let missing = missing(source);
    match output {
        Output::Text => {
            output::data(&services::plan(&source.file))?;
            for finding in &missing {
                output::notes(&findings::text(&source.path, finding));
            }
        }
        Output::Json => output::json(&document(&source.file, &missing))?,
    }
    if missing.is_empty() {
        return Ok(Exit::Done);
    }
    let count = findings::counted(missing.len(), "thing");
    output::note(&format!(
        "the file is valid, but this machine cannot start {count} of it"
    ));
    Ok(Exit::Failed)
}

/// Programs, folders and users that are not on this machine, where the file names them.
fn missing(source: &ServicesSource) -> Vec<Finding> {
    let text = std::fs::read_to_string(&source.path).unwrap_or_default();
    let format = format(&source.path, &text);
    let Ok(document) = parse(&text, format, &Limits::DEFINITION) else {
        return Vec::new();
    };
    let root = document.root();
    let mut findings = Findings::default();
    for (path, service) in source.file.walk() {
        let service_pointer = format!("/services/{}", path.replace('/', "/children/"));
        for error in process::missing(service, &source.file.folder) {
            let place = root.inside(&format!("{service_pointer}{}", error.pointer()));
            let remedy = "install or create it before you start the service, or fix the file";
            findings.error(&place, "not-here", format!("`{path}`: {error}"), remedy);
        }
    }
    findings.finish()
}

fn format(path: &Path, text: &str) -> Format {
    Format::of_path(&path.to_string_lossy()).unwrap_or_else(|| Format::sniff(text))
}

fn document(file: &ServicesFile, missing: &[Finding]) -> Value {
    let schedule = |schedule: &Schedule| json!({"restarts": schedule.restarts, "givesUp": schedule.gives_up});
    let all = file.walk();
    let above = std::iter::once(("", &file.rules, file.services.as_slice()));
    let owned = all
        .iter()
        .map(|(path, service)| (path.as_str(), &service.rules, service.children.as_slice()));
    let rules: Vec<Value> = above
        .chain(owned)
        .flat_map(|(path, rules, services)| rules.iter().map(move |rule| (path, rule, services)))
        .map(|(path, rule, siblings)| {
            let budget = services::budget_of(rule, siblings);
            json!({"parent": path, "name": rule.name, "restart": rule.restart,
                "schedule": schedule(&Schedule::of_rule(rule.grace, budget))})
        })
        .collect();
    let paths: Vec<&str> = all.iter().map(|(path, _)| path.as_str()).collect();
    let budgets: serde_json::Map<String, Value> = all
        .iter()
        .filter(|(_, service)| service.budget.is_some())
        .map(|(path, service)| (path.clone(), schedule(&Schedule::of_failures(service.budget()))))
        .collect();
    json!({
        "services": paths,
        "rules": rules,
        "failing": schedule(&Schedule::of_failures(RestartBudget::default())),
        "failingWithBudget": budgets,
        "missing": missing,
    })
}
