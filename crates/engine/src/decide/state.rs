//! An execution in memory with everything open about it: what a lane decides on.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sprag_core::action::{Action, Status};
use sprag_core::ids::{ActionId, ExecutionId};
use sprag_core::machine::{Cause, Execution};
use sprag_core::time::Timestamp;
use sprag_store::records::{ExecutionStatus, Timer};

/// The position of the first input in an empty inbox. Input whose decision failed goes before all that waits, so there
/// must be room in front.
const FIRST_POSITION: u64 = 1 << 32;

/// An execution and all that is open about it.
#[derive(Clone, Debug)]
pub(crate) struct ExecutionState {
    pub(crate) head: Head,
    pub(crate) execution: Execution,
    pub(crate) output: Option<Value>,
    /// Why the last decision failed, while the status is `failed`.
    pub(crate) failure: Option<String>,
    /// Scheduled, queued, running and retrying actions. Shared with the batch that writes them: an action is large.
    pub(crate) actions: BTreeMap<ActionId, Arc<Action>>,
    /// By visit and index.
    pub(crate) timers: BTreeMap<(u64, u16), Timer>,
    /// Input that waits, with its stored position.
    pub(crate) inbox: VecDeque<(u64, Waiting)>,
    pub(crate) next_position: u64,
}

/// The searchable facts of an execution.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) id: ExecutionId,
    pub(crate) machine: Arc<str>,
    pub(crate) version: u32,
    pub(crate) key: Option<String>,
    pub(crate) status: ExecutionStatus,
    pub(crate) sequence: u64,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) tags: Vec<String>,
    /// Whether it was ever moved to another version: then its history speaks of more than one.
    pub(crate) migrated: bool,
}

/// Input in the inbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Waiting {
    pub(crate) cause: Cause,
}

impl ExecutionState {
    pub(crate) fn new(head: Head, execution: Execution) -> Self {
        Self {
            head,
            execution,
            output: None,
            failure: None,
            actions: BTreeMap::new(),
            timers: BTreeMap::new(),
            inbox: VecDeque::new(),
            next_position: FIRST_POSITION,
        }
    }

    /// Whether input is decided on at once.
    pub(crate) fn is_deciding(&self) -> bool {
        self.head.status == ExecutionStatus::Running
    }

    /// The earliest timer due at `now`, in due order.
    pub(crate) fn due_timer(&self, now: Timestamp) -> Option<Timer> {
        let due = self.timers.values().filter(|timer| timer.due_at <= now);
        due.min_by_key(|timer| (timer.due_at, timer.key)).cloned()
    }

    /// Whether an earlier occurrence of the action has not ended.
    pub(crate) fn has_open(&self, action_id: &str) -> bool {
        self.actions.values().any(|action| action.action_id == action_id)
    }

    /// Its open actions, by id.
    pub(crate) fn open(&self) -> impl Iterator<Item = &Action> {
        self.actions.values().map(Arc::as_ref)
    }

    /// Actions that wait for a permit.
    pub(crate) fn queued(&self) -> impl Iterator<Item = &Arc<Action>> {
        self.actions.values().filter(|action| action.status == Status::Queued)
    }
}
