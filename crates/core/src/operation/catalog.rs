//! The catalog: every operation in its newest version, and every subject. Rules that span documents are checked here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::builtin::{BUILTIN_NAMES, BUILTIN_VERSION, builtins};
use super::definition::{Body, Document, Operation, Subject};
use crate::document::source::{Place, nearest, shown};
use crate::document::{Finding, Findings};

/// Operations inside operations at most.
pub const NESTING_MAX: usize = 4;
/// The names that the tools of `sprag mcp` have besides operations.
pub const RESERVED_TOOLS: [&str; 4] = [
    "workflow_status",
    "execution_explain",
    "dead_letter_case",
    "list_executions",
];

/// What a proposal has besides parameters: tools of `sprag mcp` take both in one object.
pub const RESERVED_PARAMETERS: [&str; 3] = ["reason", "ticket", "delay"];

/// An operation in one of its versions.
#[derive(Clone, Debug, PartialEq)]
pub struct Versioned {
    /// The version, from 1.
    pub version: u32,
    /// The operation.
    pub operation: Arc<Operation>,
}

/// Every operation in its newest version, and every subject.
#[derive(Clone, Debug)]
pub struct Catalog {
    operations: BTreeMap<String, Versioned>,
    subjects: BTreeMap<String, Arc<Subject>>,
}

/// A catalog that holds the built-in operations.
impl Default for Catalog {
    fn default() -> Self {
        let versioned = |operation: Operation| {
            let version = BUILTIN_VERSION;
            (
                operation.name.clone(),
                Versioned {
                    version,
                    operation: Arc::new(operation),
                },
            )
        };
        Self {
            operations: builtins().into_iter().map(versioned).collect(),
            subjects: BTreeMap::new(),
        }
    }
}

impl Catalog {
    /// Puts a version in, instead of the one there was.
    pub fn insert(&mut self, version: u32, document: Document) {
        match document {
            Document::Subject(subject) => {
                self.subjects.insert(subject.name.clone(), Arc::new(subject));
            }
            Document::Operation(operation) => {
                let versioned = Versioned {
                    version,
                    operation: Arc::from(operation),
                };
                self.operations.insert(versioned.operation.name.clone(), versioned);
            }
        }
    }

    /// The newest version of an operation.
    pub fn operation(&self, name: &str) -> Option<&Versioned> {
        self.operations.get(name)
    }

    /// A subject.
    pub fn subject(&self, name: &str) -> Option<&Arc<Subject>> {
        self.subjects.get(name)
    }

    /// All operations, by name.
    pub fn operations(&self) -> impl Iterator<Item = &Versioned> {
        self.operations.values()
    }

    /// All subjects, by name.
    pub fn subjects(&self) -> impl Iterator<Item = &Arc<Subject>> {
        self.subjects.values()
    }

    /// The operation whose name is nearest to `name`.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        nearest(name, self.operations.keys().map(String::as_str))
    }

    /// Everything wrong with applying these documents together: names of built-in operations, a document given twice,
    /// undeclared subjects, unknown operations of steps and compensations, workflows inside themselves, names that become
    /// the same tool, and parameters with a name that tools use.
    pub fn check(&self, documents: &[(Document, Place)]) -> Vec<Finding> {
        let mut after = self.clone();
        for (document, _) in documents {
            after.insert(0, document.clone());
        }
        let mut check = CatalogCheck {
            after: &after,
            findings: Findings::default(),
        };
        check.duplicates(documents);
        for (document, place) in documents {
            if let Document::Operation(operation) = document {
                check.operation(operation, place);
            }
        }
        check.findings.finish()
    }
}

struct CatalogCheck<'a> {
    after: &'a Catalog,
    findings: Findings,
}

impl CatalogCheck<'_> {
    fn duplicates(&mut self, documents: &[(Document, Place)]) {
        let mut seen = BTreeSet::new();
        for (document, place) in documents {
            let is_subject = matches!(document, Document::Subject(_));
            if !seen.insert((is_subject, document.name())) {
                let detail = format!("`{}` is defined twice", document.name());
                self.findings.error(place, "given-twice", detail, "keep one of them");
            }
        }
    }

    fn operation(&mut self, operation: &Operation, place: &Place) {
        if BUILTIN_NAMES.contains(&operation.name.as_str()) {
            let detail = format!("`{}` is a built-in operation", operation.name);
            let place = place.clone().of("operation");
            self.findings
                .error(&place, "reserved-name", detail, "give it another name");
        }
        self.tool_name(operation, place);
        for name in RESERVED_PARAMETERS {
            if operation.parameters.get(name).is_some() {
                let detail = format!("parameter `{name}` has the name of what every proposal has");
                let place = place.clone().of("parameters").of(name);
                self.findings
                    .error(&place, "reserved-name", detail, "give it another name");
            }
        }
        if let Some(subject) = operation
            .subject
            .as_deref()
            .filter(|name| self.after.subject(name).is_none())
        {
            let known = self.after.subjects.keys().map(String::as_str);
            let remedy = match nearest(subject, known) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!("add a document `subject: {subject}`"),
            };
            let detail = format!("subject `{}` is not declared", shown(subject));
            self.findings
                .error(&place.clone().of("subject"), "unknown-subject", detail, remedy);
        }
        match &operation.body {
            Body::Action {
                compensate: Some(compensate),
                ..
            } => {
                let place = place.clone().of("compensate").of("operation");
                self.known(&compensate.operation, &place);
            }
            Body::Action { .. } => {}
            Body::Workflow { steps, .. } => {
                for step in steps {
                    let place = Place {
                        pointer: format!("{}/operation", step.pointer),
                        ..place.clone()
                    };
                    self.known(&step.operation, &place);
                }
                if let Some(detail) = self.nesting(operation) {
                    self.findings
                        .error(&place.clone().of("steps"), "nested-too-deep", detail, "nest less");
                }
            }
        }
    }

    fn known(&mut self, name: &str, place: &Place) {
        if self.after.operation(name).is_some() {
            return;
        }
        let remedy = match self.after.nearest(name) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => "apply that operation first, or in the same file".to_owned(),
        };
        let detail = format!("there is no operation `{}`", shown(name));
        self.findings.error(place, "unknown-operation", detail, remedy);
    }

    /// Names that agree once `.` is `_` would be one tool for an agent.
    fn tool_name(&mut self, operation: &Operation, place: &Place) {
        let tool = tool_name(&operation.name);
        let others = self.after.operations.keys().filter(|name| **name != operation.name);
        let taken = others.map(String::as_str).chain(RESERVED_TOOLS);
        let Some(other) = taken.into_iter().find(|name| tool_name(name) == tool) else {
            return;
        };
        let detail = format!(
            "`{}` and `{other}` would both be the tool `{tool}` for agents",
            operation.name
        );
        self.findings.error(
            &place.clone().of("operation"),
            "tool-taken",
            detail,
            "give it another name",
        );
    }

    /// What is wrong with how deep workflows stand inside this one.
    fn nesting(&self, operation: &Operation) -> Option<String> {
        let mut level: BTreeSet<&str> = [operation.name.as_str()].into();
        for _ in 0..=NESTING_MAX {
            let inside = level
                .iter()
                .filter_map(|name| match &self.after.operation(name)?.operation.body {
                    Body::Workflow { steps, .. } => Some(steps),
                    Body::Action { .. } => None,
                });
            level = inside.flatten().map(|step| step.operation.as_str()).collect();
            if level.contains(operation.name.as_str()) {
                return Some(format!("workflow `{}` contains itself", operation.name));
            }
            if level.is_empty() {
                return None;
            }
        }
        Some(format!(
            "workflows stand more than `{NESTING_MAX}` deep inside `{}`",
            operation.name
        ))
    }
}

/// The name of an operation as a tool of `sprag mcp`.
pub fn tool_name(operation: &str) -> String {
    operation.replace('.', "_")
}
