//! Commands of operators: explain, start, stop, restart, cancel.
//!
//! No limit refuses a manual start. It clears the detections of rules against the worker, and the tree records it.

use std::sync::Arc;

use sprag_core::document::source::nearest;
use sprag_core::time::Timestamp;

use super::act::{Act, Count};
use super::node::Node;
use super::nodes::WorkerKey;
use super::recover::{self, Again};
use super::restart;
use super::tick::Tree;
use super::visit::Visit;
use crate::report::explain::Explain;
use crate::report::metrics::RestartCause;
use crate::runtime::executor::CancelReason;
use crate::worker::Goal;

/// The path of the supervisor itself: it owns the workers at the top, and the rules over them.
pub const ROOT_PATH: &str = "/";

/// The most names that a misspelt one is compared with.
const NEAR_MAX: usize = 2_000;

/// A path as people write it: that of the root is empty inside the tree.
pub(crate) fn shown_path(path: &str) -> &str {
    if path.is_empty() { ROOT_PATH } else { path }
}

/// Why something cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OperateError {
    /// No worker has that path.
    #[error("no service or worker `{path}` is known here{}", near.as_ref().map(|near| format!(": did you mean `{near}`?")).unwrap_or_default())]
    Unknown {
        /// The path that was given.
        path: String,
        /// The one that was most likely meant.
        near: Option<String>,
    },
    /// It is leaving.
    #[error("worker `{path}` is shutting down; wait until it is gone")]
    Leaving {
        /// The path that was given.
        path: String,
    },
    /// It cannot be done at present.
    #[error("{why}")]
    Refused {
        /// Why, and what to do.
        why: String,
    },
    /// The supervisor is gone.
    #[error("the supervisor has stopped; start it again")]
    Gone,
}

impl Tree {
    /// Everything about one worker that a person may want to know.
    pub(crate) fn explain(&self, path: &str, now: Timestamp) -> Result<Explain, OperateError> {
        let node = self.find(path).and_then(|key| self.nodes.get(key));
        let node = node.ok_or_else(|| self.unknown(path))?;
        Ok(self.explain_node(node, now))
    }

    fn find(&self, path: &str) -> Option<WorkerKey> {
        if path == ROOT_PATH {
            return Some(self.nodes.root());
        }
        self.paths.get(path).copied()
    }

    /// No worker has that path; names the nearest one.
    fn unknown(&self, path: &str) -> OperateError {
        let mut paths: Vec<&str> = self.paths.keys().map(AsRef::as_ref).collect();
        paths.sort_unstable();
        OperateError::Unknown {
            path: path.to_owned(),
            near: nearest(path, paths.into_iter().take(NEAR_MAX)).map(str::to_owned),
        }
    }

    /// The worker an operator names, as long as it is not leaving.
    fn operable(&self, path: &str) -> Result<WorkerKey, OperateError> {
        let key = self.find(path).ok_or_else(|| self.unknown(path))?;
        if self.nodes.get(key).is_some_and(Node::is_leaving) {
            return Err(OperateError::Leaving { path: path.to_owned() });
        }
        Ok(key)
    }

    /// An operator wants it to run.
    pub(crate) fn start(&mut self, path: &str, by: &str, now: Timestamp) -> Result<(), OperateError> {
        let key = self.operable(path)?;
        tracing::info!(worker = path, by, "started by hand");
        self.act_at(key, now, |visit| {
            wish(visit, Goal::Running);
            recover::bring_back(visit, by, Again::Start);
            is_wished(visit);
        });
        Ok(())
    }

    /// An operator wants it to stop and stay.
    pub(crate) fn stop(&mut self, path: &str, by: &str, now: Timestamp) -> Result<(), OperateError> {
        let key = self.operable(path)?;
        if key == self.nodes.root() {
            return Err(not_the_root("stopped"));
        }
        tracing::info!(worker = path, by, "stopped by hand");
        self.act_at(key, now, |visit| {
            wish(visit, Goal::Stopped);
            if let Some(node) = visit.node_mut() {
                restart::call_off(node);
            }
            is_wished(visit);
        });
        Ok(())
    }

    /// An operator wants it to stop and start. The detections of rules against it are forgotten.
    pub(crate) fn restart(&mut self, path: &str, by: &str, now: Timestamp) -> Result<(), OperateError> {
        let key = self.operable(path)?;
        self.check_restart(key, path, now)?;
        tracing::info!(worker = path, by, "restarted by hand");
        self.act_at(key, now, |visit| {
            let has_given_up = visit.node().is_some_and(|node| !node.rules.escalations.is_empty());
            wish(visit, Goal::Running);
            if has_given_up {
                recover::bring_back(visit, by, Again::Restart);
            } else {
                recover::forgive(visit, by);
                let restarted = Count::Restarted(Arc::from(path), RestartCause::Manual);
                visit.acts.push(Act::Count(restarted));
                restart::begin(visit);
            }
            is_wished(visit);
        });
        Ok(())
    }

    /// A running worker is not stopped for a restart that could not bring it back.
    fn check_restart(&self, key: WorkerKey, path: &str, now: Timestamp) -> Result<(), OperateError> {
        let node = self.nodes.get(key).ok_or_else(|| self.unknown(path))?;
        if node.is_root() && node.rules.escalations.is_empty() {
            return Err(not_the_root("restarted"));
        }
        if node.is_root() || node.phase().is_down() {
            return Ok(());
        }
        match recover::obstacle(&self.nodes, node, now) {
            Some(why) => Err(OperateError::Refused {
                why: format!(
                    "`{path}` cannot be restarted, and is left running: {why}; fix that, or stop it with `sprag service \
                     stop {path}`"
                ),
            }),
            None => Ok(()),
        }
    }

    /// An operator has its action end.
    pub(crate) fn cancel(&mut self, path: &str, by: &str, now: Timestamp) -> Result<(), OperateError> {
        let key = self.find(path).ok_or_else(|| self.unknown(path))?;
        let action = self.nodes.get(key).map(|node| Arc::clone(&node.progress.action));
        if !self.effects.cancel(path, CancelReason::Operator, now) {
            let why = format!("no action of `{path}` is in progress: there is nothing to cancel");
            return Err(OperateError::Refused { why });
        }
        let action = action.as_ref().map_or("", |action| action.name.as_str());
        tracing::info!(worker = path, action, by, "action cancelled by hand");
        self.act_at(key, now, |visit| {
            visit.mark();
        });
        Ok(())
    }
}

/// Notes the operator's wish; the root has none.
fn wish(visit: &mut Visit<'_>, goal: Goal) {
    if let Some(node) = visit.node_mut().filter(|node| !node.is_root()) {
        node.intent.operator = Some(goal);
    }
}

/// Writes the wish, and marks every worker it concerns.
fn is_wished(visit: &mut Visit<'_>) {
    visit.keep();
    visit.mark();
    visit.mark_neighbours();
}

fn not_the_root(done: &str) -> OperateError {
    OperateError::Refused {
        why: format!("`{ROOT_PATH}` is the supervisor itself, which is not {done} here: name a service"),
    }
}
