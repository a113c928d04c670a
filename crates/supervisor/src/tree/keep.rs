//! The state that survives the process: identities, desired states, observations, counters, circuits and windows.
//!
//! The store accepts everything in memory and writes it later, so nothing here waits. A worker that the store cannot
//! write does not affect others, and is reported once a minute. Visits only read ([`Memory`]); the tick writes
//! ([`Keeper`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sprag_core::supervision::Breaker;
use sprag_core::supervision::restart::Saved;
use sprag_core::time::Timestamp;

use super::node::Node;
use super::restart::{Halfway, Procedure};
use crate::report::seldom::Seldom;
use crate::runtime::collector::Recorded;
use crate::runtime::executor::{Marks, NoMarks};
use crate::store::{Expected, PutError, Sight, Store};
use crate::worker::Goal;
use crate::worker::action::ActionStatus;
use crate::worker::document::Document;
use crate::worker::snapshot::Identity;

/// The name under which a worker's counters, circuits and windows are stored.
const SUPERVISION: &str = "supervision";
/// An observation that says nothing new is stored again after so long, in milliseconds, for its time.
const SEEN_AGAIN_MILLIS: u64 = 10_000;
/// How often old deltas are dropped, in milliseconds.
const COMPACT_EVERY_MILLIS: u64 = 60_000;

/// What is stored of a worker's supervision. Instants are ages, see [`Saved`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SavedSupervision {
    starts: u64,
    restarts: u64,
    operator: Option<Goal>,
    /// A restart that is under way: a new process continues it.
    #[serde(skip_serializing_if = "Option::is_none")]
    restarting: Option<Halfway>,
    panics: Vec<u64>,
    rules: BTreeMap<String, Saved>,
}

/// The state of a worker at one instant, to be stored.
pub(crate) struct KeptStatus {
    path: Arc<str>,
    supervision: SavedSupervision,
    /// `None` for the root.
    observation: Option<KeptObservation>,
}

/// The last observation, with the state the worker is in.
struct KeptObservation {
    state: &'static str,
    at: Timestamp,
    document: Option<Document>,
}

impl KeptStatus {
    pub(super) fn of(node: &Node, now: Timestamp) -> Self {
        Self {
            path: Arc::clone(node.path()),
            supervision: SavedSupervision::of(node, now),
            observation: (!node.is_root()).then(|| KeptObservation::of(node, now)),
        }
    }
}

impl KeptObservation {
    fn of(node: &Node, now: Timestamp) -> Self {
        let last = node.observed.last.as_ref();
        Self {
            state: node.progress.shown.state,
            at: last.map_or(now, |last| last.at),
            document: last.map(|last| last.document.clone()),
        }
    }
}

impl SavedSupervision {
    fn of(node: &Node, now: Timestamp) -> Self {
        let rules = node.rules.watches.iter();
        let rules = rules.map(|watch| (watch.rule.name.clone(), watch.machine.save(now)));
        Self {
            starts: node.progress.starts,
            restarts: node.progress.restarts,
            operator: node.intent.operator,
            restarting: node.intent.procedure.as_ref().map(Procedure::halfway),
            panics: node.progress.breaker.ages(now),
            rules: rules.filter(|(_, saved)| *saved != Saved::default()).collect(),
        }
    }
}

/// Reads what earlier processes stored; nothing without a store.
#[derive(Clone, Default)]
pub(crate) struct Memory(Option<Arc<Store>>);

impl Memory {
    /// Whether anything is remembered.
    pub(crate) fn remembers(&self) -> bool {
        self.0.is_some()
    }

    /// Gives a new worker back what is remembered of it.
    pub(super) fn restore(&self, node: &mut Node, now: Timestamp) {
        if !self.remembers() {
            return;
        }
        let saved = self.supervision(&node.placement.identity);
        node.progress.starts = saved.starts;
        node.progress.restarts = saved.restarts;
        node.progress.breaker = Breaker::restored(&saved.panics, now);
        node.intent.operator = saved.operator;
        let resumed = |halfway| Procedure::resumed(node, halfway, now);
        node.intent.procedure = saved.restarting.map(resumed);
    }

    /// What the restart machines of a worker's rules knew, by rule.
    pub(super) fn rules(&self, identity: &Identity) -> BTreeMap<String, Saved> {
        self.supervision(identity).rules
    }

    fn supervision(&self, identity: &Identity) -> SavedSupervision {
        let memory = self.0.as_ref().and_then(|store| store.memory_of(identity, SUPERVISION));
        memory
            .and_then(|memory| serde_json::from_value(memory).ok())
            .unwrap_or_default()
    }
}

/// Writes what must survive; nothing without a store.
#[derive(Default)]
pub(crate) struct Keeper {
    store: Option<Arc<Store>>,
    seldom: Seldom,
    compacted_at: Option<Timestamp>,
}

impl Keeper {
    pub(crate) fn in_store(store: Arc<Store>) -> Self {
        Self {
            store: Some(store),
            ..Self::default()
        }
    }

    /// Where the marks of actions go.
    pub(crate) fn marks(&self) -> Arc<dyn Marks> {
        match &self.store {
            Some(store) => Arc::clone(store) as Arc<dyn Marks>,
            None => Arc::new(NoMarks),
        }
    }

    /// What visits may read.
    pub(crate) fn memory(&self) -> Memory {
        Memory(self.store.clone())
    }

    /// Introduces a worker, and returns the last action that is remembered of it.
    pub(super) fn introduce(&mut self, identity: &Identity, now: Timestamp) -> Option<ActionStatus> {
        let store = self.store.clone()?;
        let mut put = store.put_identity(identity, now);
        if matches!(put, Err(PutError::IdentityChanged { .. })) {
            // Another worker had the path: what is remembered is that one's.
            store.retire(&identity.path, now);
            put = store.put_identity(identity, now);
        }
        self.complain(&identity.path, put.map(drop), now);
        store.snapshot(&identity.path).ok()?.action
    }

    /// What is desired changed.
    pub(super) fn desired(&mut self, node: &Node, now: Timestamp) {
        let Some(store) = &self.store else { return };
        let spec = &node.placement.spec;
        let document = json!({ "spec": spec.spec, "enabled": spec.enabled });
        let put = store.put_desired(node.path(), &document, Expected::Any, now);
        self.complain(node.path(), put.map(drop), now);
    }

    /// The state of a worker or what is counted about it changed.
    pub(super) fn status(&mut self, status: KeptStatus, now: Timestamp) {
        let Some(store) = &self.store else { return };
        let KeptStatus {
            path,
            supervision,
            observation,
        } = status;
        let put = serde_json::to_value(&supervision).map_err(|problem| PutError::NotJson {
            worker: path.as_ref().to_owned(),
            problem: problem.to_string(),
        });
        let put = put.and_then(|document| store.put_memory(&path, SUPERVISION, &document, now));
        self.complain(&path, put.map(drop), now);
        if let Some(observation) = observation {
            self.put_observed(&path, &observation, &Recorded::default(), now);
        }
    }

    /// Stores an observation if it says something new, or if the last one was stored long ago.
    pub(super) fn observed(&mut self, node: &mut Node, before: Option<&Document>, now: Timestamp) {
        if self.store.is_none() {
            return;
        }
        let last = node.observed.last.as_ref();
        let is_same = before.is_some_and(|before| last.is_some_and(|last| last.document == *before));
        let kept_at = node.schedule.kept_at;
        let is_recent = kept_at.is_some_and(|at| now.since(at) < SEEN_AGAIN_MILLIS);
        let recorded = node.inner.as_ref().map(|inner| inner.recorded()).unwrap_or_default();
        if !(is_same && is_recent && recorded.is_empty()) {
            node.schedule.kept_at = Some(now);
            let kept = KeptObservation::of(node, now);
            self.put_observed(node.path(), &kept, &recorded, now);
        }
    }

    fn put_observed(&mut self, path: &Arc<str>, kept: &KeptObservation, recorded: &Recorded, now: Timestamp) {
        let Some(store) = &self.store else { return };
        let document = kept.document.as_ref().map_or(Value::Null, Document::read);
        let sight = Sight {
            at: kept.at,
            state: kept.state,
            document: &document,
            recorded,
        };
        let put = store.put_observed(path, sight);
        self.complain(path, put.map(drop), now);
    }

    /// The worker is gone: with the supervisor, or for good.
    pub(super) fn gone(&mut self, node: &Node, with_supervisor: bool, now: Timestamp) {
        let kept = KeptObservation::of(node, now);
        self.put_observed(node.path(), &kept, &Recorded::default(), now);
        if let Some(store) = self.store.as_ref().filter(|_| !with_supervisor) {
            store.retire(node.path(), now);
        }
        self.seldom.forget(node.path());
    }

    /// Drops old deltas, now and then.
    pub(super) fn compact(&mut self, now: Timestamp) {
        let at = *self.compacted_at.get_or_insert(now);
        if now.since(at) >= COMPACT_EVERY_MILLIS {
            self.compacted_at = Some(now);
            if let Some(store) = &self.store {
                store.compact(now);
            }
        }
    }

    fn complain(&mut self, path: &Arc<str>, put: Result<(), PutError>, now: Timestamp) {
        if let Err(problem) = put
            && self.seldom.says(path, &problem.to_string(), now)
        {
            tracing::error!(worker = %path, %problem, "worker not stored");
        }
    }
}
