//! The ways in: from a text, from a tree, and from the store.

use serde_json::Value;

use super::checks;
use super::config::ConfigCheck;
use super::keys::MACHINE;
use super::limits::DefinitionLimits;
use super::loader::Loader;
use crate::document::json;
use crate::document::source::Spot;
use crate::document::source::{self, Document, Format};
use crate::document::{self, Finding, Findings, Reader, Shape};
use crate::machine::lint::lint;
use crate::machine::model::Machine;
use crate::machine::state_set::STATES_CEILING;

/// What a load gives.
#[derive(Debug)]
pub struct Loaded {
    /// The machine; none when any finding is an error.
    pub machine: Option<Machine>,
    /// Everything wrong or doubtful, by place in the file.
    pub findings: Vec<Finding>,
}

/// What a load needs besides the file.
#[derive(Clone, Copy)]
pub struct LoadOptions<'a> {
    /// How large the definition may be.
    pub limits: DefinitionLimits,
    /// Who judges the configuration of actions.
    pub runners: &'a dyn ConfigCheck,
}

impl Default for LoadOptions<'_> {
    fn default() -> Self {
        Self {
            limits: DefinitionLimits::default(),
            runners: &(),
        }
    }
}

/// A stored definition that cannot be compiled any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stored definition cannot be compiled: {}", .findings.first().map_or("", |finding| finding.detail.as_str()))]
pub struct StoredError {
    /// The errors.
    pub findings: Vec<Finding>,
}

/// Loads a machine file. A text that cannot be parsed is a finding too.
pub fn load_text(text: &str, format: Format, options: &LoadOptions<'_>) -> Loaded {
    match source::parse(text, format, &options.limits.of_text()) {
        Ok(document) => load_document(&document, options),
        Err(error) => {
            let mut findings = Findings::default();
            findings.not_parsed(error);
            Loaded {
                machine: None,
                findings: findings.finish(),
            }
        }
    }
}

/// Loads a machine from a document with positions.
pub fn load_document(document: &Document, options: &LoadOptions<'_>) -> Loaded {
    let mut reader = Reader::default();
    reader.check(&document.root(), &Shape::Map(&MACHINE));
    if !document.value.is_object() {
        return Loaded {
            machine: None,
            findings: reader.findings.finish(),
        };
    }
    let mut findings = reader.findings;
    check_bytes(document, &mut findings, &options.limits);
    let machine = match Loader::compile(document.root(), findings, options.limits.states_max()) {
        Ok(loader) => {
            let Loader {
                machine,
                notes,
                findings: found,
            } = loader;
            findings = found;
            let is_sound = checks::check(&machine, &notes, &mut findings, options);
            lint(&machine, &notes, &mut findings, is_sound);
            (!findings.has_errors()).then_some(machine)
        }
        Err(found) => {
            findings = found;
            None
        }
    };
    Loaded {
        machine,
        findings: findings.finish(),
    }
}

/// Compiles a definition that was applied once. It is not judged again: rules that came later do not apply to it.
pub fn load_stored(definition: &Value) -> Result<Machine, StoredError> {
    let refused = |findings: Findings| StoredError {
        findings: findings.finish(),
    };
    let loader = Loader::compile(Spot::bare(definition), Findings::default(), STATES_CEILING - 1).map_err(refused)?;
    let Loader { machine, findings, .. } = loader;
    if findings.has_errors() {
        return Err(refused(findings));
    }
    Ok(machine)
}

/// The JSON Schema (2020-12) of a machine file.
pub fn schema() -> Value {
    document::schema("Sprag machine", &MACHINE)
}

/// A small file may still make a large definition: YAML aliases copy.
fn check_bytes(document: &Document, findings: &mut Findings, limits: &DefinitionLimits) {
    let bytes = json::size(&document.value);
    if bytes > limits.bytes {
        let detail = format!(
            "the definition takes `{bytes}` bytes as JSON, at most `{}` are allowed",
            limits.bytes
        );
        let remedy = "split it into several machines";
        findings.error(&document.root().place(), "definition-too-large", detail, remedy);
    }
}
