//! One worker's documents in memory: texts, shared with readers and the writing thread.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sprag_core::time::Timestamp;

use crate::runtime::collector::WorkerMetrics;
use sprag_core::words;

words! {
    /// The parts of a worker.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Part as name {
        /// Who it is.
        Identity => "identity",
        /// What is wanted.
        Desired => "desired",
        /// What was seen.
        Observed => "observed",
        /// Its last action.
        Action => "action",
        /// What the supervisor must not forget: budgets, circuits, windows.
        Memory => "memory",
    }
}

impl Part {
    pub(super) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.name() == name)
    }
}

/// A document and when it came and changed.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) body: Arc<str>,
    pub(super) version: u64,
    pub(super) created: Timestamp,
    pub(super) updated: Timestamp,
}

/// A document of a worker.
#[derive(Clone, Debug)]
pub(super) struct StoredDocument {
    pub(super) part: Part,
    /// Distinguishes documents of one part; `None` for parts that have one.
    pub(super) name: Option<Arc<str>>,
    pub(super) text: Text,
}

/// One worker's. There are few documents, so they are looked through.
#[derive(Debug, Default)]
pub(super) struct WorkerRecord {
    pub(super) documents: Vec<StoredDocument>,
    /// When the newest observation was made, changed or not. Not written: after a start everything is old.
    pub(super) observed_at: Option<Timestamp>,
    pub(super) metrics: Option<Box<WorkerMetrics>>,
    pub(super) gone_at: Option<Timestamp>,
}

/// The content of an observation, as it is read.
#[derive(Debug, Deserialize)]
pub(super) struct ObservedBody {
    /// The state of the worker that saw it.
    pub(super) state: String,
    /// What was seen.
    pub(super) observed: Value,
    #[serde(default)]
    pub(super) metrics: Option<WorkerMetrics>,
}

/// The same as it is written.
#[derive(Debug, Serialize)]
pub(super) struct ObservedText<'a> {
    pub(super) state: &'a str,
    pub(super) observed: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metrics: Option<&'a WorkerMetrics>,
}

impl WorkerRecord {
    pub(super) fn text(&self, part: Part, name: Option<&str>) -> Option<&Text> {
        let is_it = |document: &&StoredDocument| document.part == part && document.name.as_deref() == name;
        self.documents.iter().find(is_it).map(|document| &document.text)
    }

    pub(super) fn text_mut(&mut self, part: Part, name: Option<&str>) -> Option<&mut Text> {
        let is_it = |document: &&mut StoredDocument| document.part == part && document.name.as_deref() == name;
        self.documents.iter_mut().find(is_it).map(|document| &mut document.text)
    }

    /// Whether it was introduced and is not gone.
    pub(super) fn is_there(&self) -> bool {
        self.gone_at.is_none() && self.text(Part::Identity, None).is_some()
    }
}
