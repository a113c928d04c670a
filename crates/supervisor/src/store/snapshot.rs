//! Snapshots for readers: all parts of a worker at one instant, as separate documents.

use std::sync::Arc;

use serde_json::Value;
use sprag_core::time::Timestamp;

use super::record::{ObservedBody, Part, Text, WorkerRecord};
use crate::runtime::collector::WorkerMetrics;
use crate::worker::action::ActionStatus;

/// What is wanted of a worker.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredDesired {
    /// The document.
    pub document: Value,
    /// One more with every change.
    pub version: u64,
    /// When it was first put.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
}

/// What was seen of a worker.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredObserved {
    /// The state the worker was in.
    pub state: String,
    /// The document.
    pub document: Value,
    /// What the worker counted and measured.
    pub metrics: WorkerMetrics,
    /// When it was last seen, changed or not; `None`: in an earlier run.
    pub at: Option<Timestamp>,
    /// When it last changed.
    pub updated: Timestamp,
}

/// A worker, at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredSnapshot {
    /// Its place in the tree.
    pub worker: Arc<str>,
    /// Who it is.
    pub identity: Value,
    /// What is wanted, if that is known.
    pub desired: Option<StoredDesired>,
    /// What was seen, if anything was.
    pub observed: Option<StoredObserved>,
    /// Its last action, if there was one.
    pub action: Option<ActionStatus>,
    /// When it went, if it is gone.
    pub gone_at: Option<Timestamp>,
}

/// The texts of one instant, taken under the lock; read at leisure after it.
pub(super) struct StoredTexts {
    worker: Arc<str>,
    identity: Text,
    desired: Option<Text>,
    observed: Option<Text>,
    observed_at: Option<Timestamp>,
    action: Option<Text>,
    gone_at: Option<Timestamp>,
}

impl StoredTexts {
    /// `None`: it was not introduced.
    pub(super) fn of(worker: &Arc<str>, record: &WorkerRecord) -> Option<Self> {
        let text = |part| record.text(part, None).cloned();
        Some(Self {
            worker: Arc::clone(worker),
            identity: text(Part::Identity)?,
            desired: text(Part::Desired),
            observed: text(Part::Observed),
            observed_at: record.observed_at,
            action: text(Part::Action),
            gone_at: record.gone_at,
        })
    }

    pub(super) fn read(self) -> StoredSnapshot {
        let Self {
            worker,
            identity,
            desired,
            observed,
            observed_at,
            action,
            gone_at,
        } = self;
        StoredSnapshot {
            worker,
            identity: document(&identity),
            desired: desired.map(|text| StoredDesired {
                document: document(&text),
                version: text.version,
                created: text.created,
                updated: text.updated,
            }),
            observed: observed.and_then(|text| observation(&text, observed_at)),
            action: action.and_then(|text| serde_json::from_str(&text.body).ok()),
            gone_at,
        }
    }
}

/// Only what was read or written as JSON comes here, so there is a document.
fn document(text: &Text) -> Value {
    serde_json::from_str(&text.body).unwrap_or_default()
}

fn observation(text: &Text, at: Option<Timestamp>) -> Option<StoredObserved> {
    let ObservedBody {
        state,
        observed,
        metrics,
    } = serde_json::from_str(&text.body).ok()?;
    Some(StoredObserved {
        state,
        document: observed,
        metrics: metrics.unwrap_or_default(),
        at,
        updated: text.updated,
    })
}
