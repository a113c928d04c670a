//! What survives the process: who there is, what is wanted, what was seen, counters, circuits and windows.
//!
//! The store takes everything in memory and writes at its own pace, so nothing here waits. A worker that could not be
//! written costs no other anything, and is complained about once a minute.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sprag_core::supervision::restart::{Saved, Stage};
use sprag_core::supervision::{Breaker, Circuit, RestartMachine};
use sprag_core::time::Timestamp;

use super::node::Node;
use super::restart::{Halfway, Procedure};
use super::rules::Watch;
use crate::action::ActionStatus;
use crate::collector::Recorded;
use crate::document::Document;
use crate::executor::{Marks, NoMarks};
use crate::rule::Rule;
use crate::seldom::Seldom;
use crate::store::{Expected, PutError, Sight, Store};
use crate::worker::Goal;

/// The name under which a worker's counters, circuits and windows are kept.
const SUPERVISION: &str = "supervision";
/// An observation that says nothing new is put again after so long, in milliseconds, for its time.
const SEEN_AGAIN_MILLIS: u64 = 10_000;
/// Old deltas are forgotten so often, in milliseconds.
const COMPACT_EVERY_MILLIS: u64 = 60_000;

/// What is kept of a worker. Instants are ages, see [`Saved`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Kept {
    starts: u64,
    restarts: u64,
    operator: Option<Goal>,
    /// A restart that is under way: nobody was told that it would happen in vain.
    #[serde(skip_serializing_if = "Option::is_none")]
    restarting: Option<Halfway>,
    panics: Vec<u64>,
    rules: BTreeMap<String, Saved>,
}

/// Writes down what must survive; without a store nothing does.
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

    /// Whether anything is kept.
    pub(crate) fn remembers(&self) -> bool {
        self.store.is_some()
    }

    /// Introduces a worker, and gives it back what is remembered of it.
    pub(crate) fn restore(&mut self, node: &mut Node, now: Timestamp) {
        let Some(store) = self.store.clone() else {
            return;
        };
        let mut put = store.put_identity(&node.identity, now);
        if matches!(put, Err(PutError::IdentityChanged { .. })) {
            // Another worker bore the name; what is remembered is its.
            store.retire(node.path(), now);
            put = store.put_identity(&node.identity, now);
        }
        self.complain(node.path(), put.map(drop), now);
        let kept = self.kept(node.path());
        node.starts = kept.starts;
        node.restarts = kept.restarts;
        node.operator = kept.operator;
        node.procedure = kept.restarting.map(|halfway| Procedure::resumed(node, halfway, now));
        node.breaker = Breaker::restored(&kept.panics, now);
    }

    fn kept(&self, path: &str) -> Kept {
        let memory = self.store.as_ref().and_then(|store| store.memory(path, SUPERVISION));
        memory
            .and_then(|memory| serde_json::from_value(memory).ok())
            .unwrap_or_default()
    }

    /// The last action that is remembered.
    pub(crate) fn action(&self, path: &str) -> Option<ActionStatus> {
        self.store.as_ref()?.snapshot(path).ok()?.action
    }

    /// A rule, with what its machine knew.
    pub(crate) fn watch(&self, node: &Node, rule: Rule, jitter: Option<u64>, now: Timestamp) -> Watch {
        let mut watch = Watch::new(rule, jitter);
        if let Some(saved) = self.kept(node.path()).rules.get(&watch.rule.name) {
            watch.machine = RestartMachine::restored(*watch.machine.limits(), saved, now);
            let stage = match watch.machine.circuit() {
                Circuit::Open { stage, .. } => Some(*stage),
                _ => None,
            };
            watch.is_resumed = matches!(stage, Some(Stage::Restarting { .. }));
        }
        watch
    }

    /// What is wanted changed.
    pub(crate) fn desired(&mut self, node: &Node, now: Timestamp) {
        let Some(store) = self.store.clone() else {
            return;
        };
        let document = json!({ "spec": node.spec.spec, "enabled": node.spec.enabled });
        let put = store.put_desired(node.path(), &document, Expected::Any, now);
        self.complain(node.path(), put.map(drop), now);
    }

    /// Its state, its reason or what is counted about it changed.
    pub(crate) fn status(&mut self, node: &Node, now: Timestamp) {
        let Some(store) = self.store.clone() else {
            return;
        };
        let kept = Kept {
            starts: node.starts,
            restarts: node.restarts,
            operator: node.operator,
            restarting: node.procedure.as_ref().map(Procedure::halfway),
            panics: node.breaker.ages(now),
            rules: node
                .watches
                .iter()
                .map(|watch| (watch.rule.name.clone(), watch.machine.save(now)))
                .filter(|(_, saved)| *saved != Saved::default())
                .collect(),
        };
        let put = serde_json::to_value(&kept).map_err(|problem| PutError::NotJson {
            worker: node.path().as_ref().to_owned(),
            problem: problem.to_string(),
        });
        let put = put.and_then(|document| store.put_memory(node.path(), SUPERVISION, &document, now));
        self.complain(node.path(), put.map(drop), now);
        if !node.is_root() {
            self.sight(node, &Recorded::default(), now);
        }
    }

    /// Something was seen: put if it says something new, or if that was long ago.
    pub(crate) fn observed(&mut self, node: &mut Node, before: Option<&Document>, now: Timestamp) {
        if self.store.is_none() {
            return;
        }
        let is_same = before.is_some_and(|before| node.seen.as_ref().is_some_and(|seen| seen.document == *before));
        let is_recent = node.kept_at.is_some_and(|at| now.since(at) < SEEN_AGAIN_MILLIS);
        let recorded = node.inner.as_ref().map(|inner| inner.recorded()).unwrap_or_default();
        if !(is_same && is_recent && recorded.is_empty()) {
            node.kept_at = Some(now);
            self.sight(node, &recorded, now);
        }
    }

    /// What was seen last, with the state the worker is in.
    fn sight(&mut self, node: &Node, recorded: &Recorded, now: Timestamp) {
        let Some(store) = self.store.clone() else {
            return;
        };
        let document = node.seen.as_ref().map_or(Value::Null, |seen| seen.document.read());
        let sight = Sight {
            at: node.seen.as_ref().map_or(now, |seen| seen.at),
            state: node.shown.state,
            document: &document,
            recorded,
        };
        let put = store.put_observed(node.path(), sight);
        self.complain(node.path(), put.map(drop), now);
    }

    /// The worker is gone: with the supervisor, or for good.
    pub(crate) fn gone(&mut self, node: &Node, with_supervisor: bool, now: Timestamp) {
        self.sight(node, &Recorded::default(), now);
        if let Some(store) = self.store.as_ref().filter(|_| !with_supervisor) {
            store.retire(node.path(), now);
        }
        self.seldom.forget(node.path());
    }

    /// Forgets what is old, now and then.
    pub(crate) fn compact(&mut self, now: Timestamp) {
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
            tracing::error!(worker = %path, %problem, "a worker could not be written down");
        }
    }
}
