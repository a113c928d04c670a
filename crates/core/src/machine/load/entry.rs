//! The ways in: from a text, from a tree, and from the store.

use serde_json::Value;

use super::config::ConfigCheck;
use super::keys::MACHINE;
use super::limits::DefinitionLimits;
use super::loader::Loader;
use super::reader::Spot;
use super::shape::Shape;
use super::validate::validate;
use crate::json;
use crate::machine::findings::{Finding, Findings, Place};
use crate::machine::lint::lint;
use crate::machine::model::Machine;
use crate::machine::state_set::STATES_CEILING;
use crate::source::{self, Cause, Content, Format, Node, ParseError};

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
        Ok(node) => load_node(&node, options),
        Err(error) => {
            let mut findings = Findings::default();
            not_parsed(error, &mut findings);
            Loaded {
                machine: None,
                findings: findings.finish(),
            }
        }
    }
}

/// Loads a machine from a tree with positions.
pub fn load_node(node: &Node, options: &LoadOptions<'_>) -> Loaded {
    let mut findings = Findings::default();
    validate(&Spot::root(node), &Shape::Map(&MACHINE), &mut findings);
    if !matches!(node.content, Content::Map(_)) {
        return Loaded {
            machine: None,
            findings: findings.finish(),
        };
    }
    let mut loader = Loader::new(node, findings, options.limits.states_max());
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
    let node = Node::of(definition);
    let mut loader = Loader::new(&node, Findings::default(), STATES_CEILING - 1);
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

pub(in crate::machine) fn not_parsed(error: ParseError, findings: &mut Findings) {
    let ParseError {
        at,
        cause,
        detail,
        remedy,
    } = error;
    let (code, default) = match cause {
        Cause::Syntax => ("not-parsed", "mend the text there"),
        Cause::TooLarge => ("definition-too-large", "split it into several machines"),
        Cause::TooDeep => ("too-deep", "nest less"),
        Cause::TooManyNodes => ("too-many-values", "split it into several machines"),
    };
    findings.error(
        &Place {
            at,
            pointer: String::new(),
        },
        code,
        detail,
        remedy.unwrap_or(default),
    );
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
