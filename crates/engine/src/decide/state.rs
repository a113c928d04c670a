//! An execution in memory with everything open about it: what a lane decides on.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sprag_core::action::{Action, Status};
use sprag_core::document::json::{map_weight, weight};
use sprag_core::ids::{ActionId, ExecutionId, WorkflowId};
use sprag_core::machine::{Cause, Execution};
use sprag_core::time::Timestamp;
use sprag_store::records::{ExecutionStatus, Timer};

use super::plans::PlanState;
use crate::engine::options::SNAPSHOT_EVERY;

/// The position of the first input in an empty inbox. Input whose decision failed goes before all that waits, so there
/// must be room in front.
const FIRST_POSITION: u64 = 1 << 32;

/// What a small execution takes in memory, and a small action beside it, in bytes.
const STATE_BYTES: usize = 1_536;
const ACTION_BYTES: usize = 1_536;
/// Inputs whose size is looked at.
const INBOX_WEIGHED: usize = 16;

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
    /// The plan that it runs, and those of its actions that need approval.
    pub(crate) plans: BTreeMap<WorkflowId, PlanState>,
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

impl Waiting {
    fn weight(&self) -> usize {
        let value = match &self.cause {
            Cause::Message(message) => weight(&message.payload),
            Cause::Ended(end) => weight(&end.result),
            _ => 0,
        };
        size_of::<Self>() + value
    }
}

/// Roughly the bytes an open action takes in memory.
fn action_weight(action: &Action) -> usize {
    let body = &action.body;
    let frozen = body.frozen.as_ref();
    let frozen = frozen.map_or(0, |frozen| weight(&frozen.config) + map_weight(&frozen.bindings));
    ACTION_BYTES + frozen + body.checkpoint.as_ref().map_or(0, weight) + body.result.as_ref().map_or(0, weight)
}

impl ExecutionState {
    /// The sequence of the newest entry, or of the step before it if that is a snapshot.
    pub(crate) fn newest_step(&self) -> u64 {
        let newest = self.head.sequence;
        let is_snapshot = newest > 1 && newest.saturating_sub(1).is_multiple_of(SNAPSHOT_EVERY);
        newest - u64::from(is_snapshot)
    }

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
            plans: BTreeMap::new(),
        }
    }

    /// Roughly the bytes it takes in memory.
    pub(crate) fn weight(&self) -> usize {
        let Execution {
            variables,
            results,
            message,
            ..
        } = &self.execution;
        let values = map_weight(variables)
            + map_weight(results)
            + message.as_deref().map_or(0, |message| weight(&message.payload))
            + self.output.as_ref().map_or(0, weight);
        let actions: usize = self.open().map(action_weight).sum();
        // Weighing all of a long inbox for every input would take long: the first inputs stand for all.
        let seen = self.inbox.iter().take(INBOX_WEIGHED);
        let inbox: usize = seen.map(|(_, waiting)| waiting.weight()).sum();
        let inbox = inbox.saturating_mul(self.inbox.len()) / self.inbox.len().clamp(1, INBOX_WEIGHED);
        let plans: usize = self.plans.values().map(PlanState::weight).sum();
        STATE_BYTES + values + actions + inbox + plans
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
