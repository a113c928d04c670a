//! The ways in: from a text, from a tree, and from the store.

use serde_json::Value;

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
    /// What stands in the way.
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
    let mut loader = Loader::new(document.root(), reader.findings, options.limits.states_max());
    loader.check_bytes(&options.limits);
    loader.compile();
    if !loader.has_too_many_states {
        loader.check(&options.limits);
        let is_sound = !loader.findings.has_errors();
        loader.check_paths();
        loader.check_configs(options.runners);
        loader.check_secret_uses(options.runners);
        lint(&loader.machine, &loader.notes, &mut loader.findings, is_sound);
    }
    let Loader { machine, findings, .. } = loader;
    let machine = (!findings.has_errors()).then_some(machine);
    Loaded {
        machine,
        findings: findings.finish(),
    }
}

/// Compiles a definition that was applied once. It is not judged again: rules that came later do not apply to it.
pub fn load_stored(definition: &Value) -> Result<Machine, StoredError> {
    let mut loader = Loader::new(Spot::bare(definition), Findings::default(), STATES_CEILING - 1);
    loader.compile();
    let Loader { machine, findings, .. } = loader;
    if findings.has_errors() {
        Err(StoredError {
            findings: findings.finish(),
        })
    } else {
        Ok(machine)
    }
}

/// The JSON Schema (2020-12) of a machine file.
pub fn schema() -> Value {
    document::schema("Sprag machine", &MACHINE)
}

impl Loader<'_> {
    /// A small file may still make a large definition: YAML aliases copy.
    fn check_bytes(&mut self, limits: &DefinitionLimits) {
        let bytes = json::size(&self.machine.definition);
        if bytes > limits.bytes {
            let detail = format!(
                "the definition takes `{bytes}` bytes as JSON, at most `{}` are allowed",
                limits.bytes
            );
            let remedy = "split it into several machines";
            self.findings
                .error(&self.root.place(), "definition-too-large", detail, remedy);
        }
    }
}
