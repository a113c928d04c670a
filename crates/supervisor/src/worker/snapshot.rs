//! The view of a worker's pure functions: one consistent instant.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sprag_core::time::Timestamp;
pub use sprag_wire::WorkerEscalation as Escalation;

use crate::worker::action::ActionStatus;
use crate::worker::{Goal, Phase, Worker};

/// Who a worker is. It never changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// Its place in the tree: the names from the root, joined by `/`.
    pub path: Arc<str>,
    /// Its own name.
    pub name: Arc<str>,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: Arc<str>,
}

/// One instant of a worker. Its parts belong together.
pub struct Snapshot<W: Worker> {
    /// Who it is.
    pub identity: Arc<Identity>,
    /// When this is.
    pub now: Timestamp,
    /// Where the worker is to go.
    pub goal: Goal,
    /// What its spec asks for.
    pub desired: Arc<W::Desired>,
    /// The last observation. `next` always has one, except when the worker is asked to leave before anything was
    /// seen.
    pub observed: Option<Arc<W::Observed>>,
    /// When the pass that saw it began.
    pub observed_at: Option<Timestamp>,
    /// Its last action.
    pub action: Arc<ActionStatus>,
    /// Its children.
    pub children: Children,
    /// Children that the supervisor gave up on.
    pub escalations: Arc<[Escalation]>,
}

impl<W: Worker> Clone for Snapshot<W> {
    fn clone(&self) -> Self {
        Self {
            identity: Arc::clone(&self.identity),
            now: self.now,
            goal: self.goal,
            desired: Arc::clone(&self.desired),
            observed: self.observed.clone(),
            observed_at: self.observed_at,
            action: Arc::clone(&self.action),
            children: self.children.clone(),
            escalations: Arc::clone(&self.escalations),
        }
    }
}

impl<W: Worker> fmt::Debug for Snapshot<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("identity", &self.identity)
            .field("now", &self.now)
            .field("goal", &self.goal)
            .field("action", &self.action)
            .field("children", &self.children)
            .field("escalations", &self.escalations)
            .finish_non_exhaustive()
    }
}

/// The children of a worker, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Children(Arc<[ChildView]>);

impl FromIterator<ChildView> for Children {
    fn from_iter<T: IntoIterator<Item = ChildView>>(children: T) -> Self {
        let mut children: Vec<ChildView> = children.into_iter().collect();
        children.sort_by(|left, right| left.name.cmp(&right.name));
        Self(children.into())
    }
}

impl Children {
    /// Whether both are one and the same list, not only alike.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The child of that name.
    pub fn get(&self, name: &str) -> Option<&ChildView> {
        let place = self.0.binary_search_by(|child| child.name.as_ref().cmp(name)).ok()?;
        self.0.get(place)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &ChildView> {
        self.0.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether each of them is in a phase for which `test` holds.
    pub fn all(&self, test: impl Fn(Phase) -> bool) -> bool {
        self.0.iter().all(|child| test(child.phase))
    }
}

/// A child as its parent's business logic sees it: ordinary states only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildView {
    /// Its name.
    pub name: Arc<str>,
    /// Its state's name.
    pub state: &'static str,
    /// What that means.
    pub phase: Phase,
}
