//! The documents of a catalog, as they are used once they were read: subjects and operations.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::parameters::Parameters;
use super::risk::Risk;
use crate::action::Rate;
use crate::document::json;
use crate::time::Timestamp;

/// One document of a catalog file.
#[derive(Clone, Debug, PartialEq)]
pub enum Document {
    /// A system that operations act on.
    Subject(Subject),
    /// Something that can be proposed.
    Operation(Box<Operation>),
}

/// A system that operations act on.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Attempts at once, of all operations on it together.
    pub concurrency: Option<u32>,
    /// Attempts per time, of all operations on it together.
    pub rate: Option<Rate>,
    /// The document, to store and to show.
    pub definition: Value,
}

/// Something that can be proposed.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// What it acts on.
    pub kind: Kind,
    /// The subject it acts on.
    pub subject: Option<String>,
    /// How much can go wrong. For a workflow this is what its document says; its steps may raise it.
    pub risk: Risk,
    /// Whether it always needs approval.
    pub requires_approval: bool,
    /// What its caller gives.
    pub parameters: Parameters,
    /// The secrets that a parameter may name.
    pub secrets: Vec<String>,
    /// What it does.
    pub body: Body,
    /// For filters.
    pub tags: Vec<String>,
    /// The document, to store and to show.
    pub definition: Value,
}

/// What an operation acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A declared subject.
    Subject,
    /// Nothing in particular.
    Tool,
    /// What its steps act on.
    Workflow,
}

/// What an operation does.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// One action.
    Action {
        /// The action definition, as in a machine file, without `actionId` and `triggerState`.
        action: Map<String, Value>,
        /// The operation that takes its effect back.
        compensate: Option<Compensate>,
    },
    /// Steps.
    Workflow {
        /// The steps, in the order of the document.
        steps: Vec<StepDocument>,
        /// What a failed step leads to.
        on_failure: OnFailure,
    },
}

/// An operation that takes the effect of another back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compensate {
    /// Its name.
    pub operation: String,
    /// Its parameters; templates over `params` and `steps`.
    #[serde(default)]
    pub params: Map<String, Value>,
}

/// A step as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct StepDocument {
    /// Its name.
    pub name: String,
    /// The operation it runs.
    pub operation: String,
    /// The operation's parameters.
    pub params: Map<String, Value>,
    /// Why it is there.
    pub reason: Option<String>,
    /// The steps before it, if they were given.
    pub depends_on: Option<Vec<String>>,
    /// When it begins.
    pub due: Due,
    /// Whether steps that depend on it begin also if it fails.
    pub continue_on_error: bool,
    /// Where it stands in the document, as a JSON pointer.
    pub pointer: String,
}

/// When something begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Due {
    /// As soon as it can.
    #[default]
    Now,
    /// So many milliseconds after it could.
    Delay(u64),
    /// Not before this instant.
    At(Timestamp),
}

/// What a failed step leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// The steps that depend on it wait for a person.
    #[default]
    Stop,
    /// The compensations of completed steps run in reverse.
    Compensate,
}

impl Document {
    /// The name of what it is about.
    pub fn name(&self) -> &str {
        match self {
            Self::Subject(subject) => &subject.name,
            Self::Operation(operation) => &operation.name,
        }
    }

    /// The document, to store and to show.
    pub fn definition(&self) -> &Value {
        match self {
            Self::Subject(subject) => &subject.definition,
            Self::Operation(operation) => &operation.definition,
        }
    }

    /// SHA-256 of its canonical form: a document whose digest is known is no new version.
    pub fn digest(&self) -> [u8; 32] {
        json::digest(&json::canonical(self.definition()))
    }
}

impl Operation {
    /// SHA-256 of its canonical form.
    pub fn digest(&self) -> [u8; 32] {
        json::digest(&json::canonical(&self.definition))
    }

    /// What it is called where a rule lets an owner name a secret.
    pub fn secret_owner(&self) -> String {
        secret_owner(&self.name)
    }
}

/// What an operation is called where a rule lets an owner name a secret (`[secrets] allow`).
pub fn secret_owner(operation: &str) -> String {
    format!("operation:{operation}")
}

impl OnFailure {
    /// The words of documents.
    pub(super) const WORDS: [(&'static str, Self); 2] = [("stop", Self::Stop), ("compensate", Self::Compensate)];
}
