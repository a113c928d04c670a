//! Executions and actions as callers see them: the shapes scripts rely on.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use sprag_core::action::{Action, ActionError, AttemptRecord, Lease, Remark, Status, Verdict};
use sprag_core::ids::{ActionId, AttemptId, ExecutionId, NodeId};
use sprag_core::machine::{Machine, SkipReason};
use sprag_core::time::Timestamp;
use sprag_store::nodes::Node;
use sprag_store::records::ExecutionStatus;

use crate::aggregate::Aggregate;
use crate::control::Switches;
use crate::leases::Leases;

/// A word for a status. It has a name of its own because a plain reference would be taken for one into what is read.
pub type Word = &'static str;

/// An execution as callers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionView {
    /// Its id.
    pub id: ExecutionId,
    /// Its key.
    pub key: Option<String>,
    /// The machine's name.
    pub machine: String,
    /// The version it is pinned to.
    pub version: u32,
    /// Where it stands.
    #[serde(deserialize_with = "status_word")]
    pub status: Word,
    /// The active atomic and final states as dotted paths, sorted.
    pub configuration: Vec<String>,
    /// The variables.
    pub variables: Map<String, Value>,
    /// For filters.
    pub tags: Vec<String>,
    /// Why it does not move.
    pub waiting: Waiting,
    /// The sequence of its newest history entry.
    pub sequence: u64,
    /// When it started.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// What it gave, once completed.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Why its last decision failed, while its status is `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl ExecutionView {
    /// Whether it has ended.
    pub fn is_closed(&self) -> bool {
        matches!(self.status, "completed" | "cancelled")
    }
}

/// The word for a status, read back.
fn status_word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Word, D::Error> {
    word_among(&ExecutionStatus::ALL.map(ExecutionStatus::word), deserializer)
}

/// One of these words, read back.
pub(crate) fn word_among<'de, D: Deserializer<'de>>(words: &[Word], deserializer: D) -> Result<Word, D::Error> {
    let text = String::deserialize(deserializer)?;
    let known = words.iter().copied().find(|word| *word == text);
    known.ok_or_else(|| serde::de::Error::custom(format!("`{text}` is no status")))
}

/// A value that is there, even if it is null.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// An action as callers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionView {
    /// Its id.
    pub id: ActionId,
    /// What the machine calls it.
    pub action_id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where it stands.
    pub status: Status,
    /// Why it does not move.
    pub waiting: Waiting,
    /// Its attempts, oldest first.
    pub attempts: Vec<AttemptView>,
    /// Whether it succeeded; null while it is open, and for one that was skipped.
    #[serde(default)]
    pub success: Option<bool>,
    /// Milliseconds from the start of its first recorded attempt to the end of the last; null without one that ended.
    #[serde(default)]
    pub duration: Option<u64>,
    /// What came back.
    pub result: Option<Value>,
    /// The events that its runner made of the result.
    #[serde(default)]
    pub result_events: Vec<ResultEventView>,
    /// Why it last failed.
    pub last_error: Option<ActionError>,
    /// Whose.
    pub execution_id: ExecutionId,
    /// The machine's name.
    pub machine: String,
    /// The version whose definition holds.
    pub version: u32,
    /// Which runner performs it.
    pub runner: String,
    /// For filters.
    pub tags: Vec<String>,
    /// 0–100, higher first.
    pub priority: u8,
    /// When it was triggered.
    pub created_at: Timestamp,
    /// When it is due, or was last made ready.
    pub run_at: Timestamp,
    /// When it became a dead letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub died_at: Option<Timestamp>,
    /// What a dead letter has in common with others that failed like it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// What its attempts cost, where somebody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_estimate: Option<f64>,
    /// The same for every attempt until somebody edits the configuration.
    pub idempotency_key: String,
    /// The configuration as it was frozen: templates that name secrets stay templates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
    /// Somebody asked for it to end.
    pub cancel_requested: bool,
    /// Why it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SkipReason>,
    /// Something to know about how it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remark: Option<Remark>,
}

/// An attempt as callers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptView {
    /// Its id.
    pub id: AttemptId,
    /// From 1.
    pub number: u32,
    /// When it was committed, before its effect began.
    pub start_time: Timestamp,
    /// When its outcome was committed.
    pub end_time: Option<Timestamp>,
    /// How long it took, in milliseconds; null while it runs.
    #[serde(default)]
    pub duration: Option<u64>,
    /// How it ended.
    pub outcome: Option<Verdict>,
    /// Whether it succeeded; null while it runs.
    #[serde(default)]
    pub success: Option<bool>,
    /// Why it did not succeed.
    pub error: Option<ActionError>,
    /// What it cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Whose it is, or was, where a program outside this process performs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseView>,
    /// What its runner reported beside the result.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// An event that a runner made of its result, as the machine received it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultEventView {
    /// `email_sent`, `webhook_called`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// What the event carries.
    pub payload: Value,
    /// Always `action_runner`.
    pub source: String,
    /// When the attempt that made it ended.
    pub timestamp: Timestamp,
}

/// The events that an action's runner made of its result.
pub fn result_events(action: &Action) -> Vec<ResultEventView> {
    let ended = action.body.attempts.last().and_then(|attempt| attempt.end_time);
    let event = action.body.event.iter().map(|event| ResultEventView {
        kind: event.kind.clone(),
        payload: event.payload.clone(),
        source: "action_runner".to_owned(),
        timestamp: ended.unwrap_or(action.run_at),
    });
    event.collect()
}

/// Whose an attempt is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseView {
    /// What the program calls itself.
    pub runner: Option<String>,
    /// Until when it is the program's, unless the next heartbeat comes first.
    pub until: Timestamp,
}

impl From<Lease> for LeaseView {
    fn from(lease: Lease) -> Self {
        let Lease {
            runner,
            until,
            millis: _,
            deadline: _,
        } = lease;
        Self { runner, until }
    }
}

/// Why something is not moving.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Waiting {
    /// An attempt is under way.
    Running {
        /// Which.
        attempt: AttemptId,
        /// Since when.
        since: Timestamp,
        /// On which node, where several share a database.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<NodeId>,
        /// Until when that node may be counted on, as far as is known here. After that others take over what it had.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node_until: Option<Timestamp>,
        /// Whose it is, where a program outside this process performs it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease: Option<LeaseView>,
    },
    /// An attempt failed and the next one has its time.
    Retrying {
        /// How many were made.
        attempt: u32,
        /// When the next one is due.
        next_at: Timestamp,
        /// Why the last one failed.
        error: String,
    },
    /// Something must happen first.
    Waiting {
        /// What kind of thing.
        #[serde(rename = "for")]
        reason: WaitingFor,
        /// Which one.
        object: String,
        /// Since when. For a runner: since when nobody asked for such work, as far as this process knows.
        since: Timestamp,
        /// Until when, where that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// Nothing is left to happen.
    Done,
}

/// What something waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WaitingFor {
    /// A due time.
    Timer,
    /// Somebody to send one.
    Message,
    /// A place among those at work.
    Permit,
    /// Its turn under a rate.
    Rate,
    /// A program that serves its type.
    Runner,
    /// Something else to end first.
    Dependency,
    /// A kill switch to be released.
    KillSwitch,
    /// Somebody to resume it.
    Pause,
    /// A destination to recover.
    Circuit,
    /// Somebody to mend what failed.
    Decision,
}

impl From<&AttemptRecord> for AttemptView {
    fn from(record: &AttemptRecord) -> Self {
        let AttemptRecord {
            id,
            number,
            start_time,
            end_time,
            outcome,
            error,
            cost,
            lease,
            metadata,
        } = record.clone();
        Self {
            id,
            number,
            start_time,
            end_time,
            duration: end_time.map(|end| end.since(start_time)),
            outcome,
            success: outcome.map(|outcome| outcome == Verdict::Done),
            error,
            cost,
            lease: lease.map(LeaseView::from),
            metadata,
        }
    }
}

impl ActionView {
    /// With what heartbeats granted since it was stored.
    pub(crate) fn renew(&mut self, leases: &Leases) {
        self.waiting.renew(leases);
        if let Some(last) = self.attempts.last_mut()
            && let (Some(lease), Some(until)) = (last.lease.as_mut(), leases.until(last.id))
        {
            lease.until = until;
        }
    }

    /// The action as far as the store knows; what the dispatcher knows about a queued one comes on top.
    pub fn of(action: &Action, execution: ExecutionStatus) -> Self {
        let body = &action.body;
        Self {
            id: action.id,
            action_id: action.action_id.clone(),
            kind: action.kind.clone(),
            status: action.status,
            waiting: action_waiting(action, execution),
            attempts: body.attempts.iter().map(AttemptView::from).collect(),
            success: success(action.status),
            duration: duration(action),
            result: body.result.clone(),
            result_events: result_events(action),
            last_error: body.last_error.clone(),
            execution_id: action.origin.execution,
            machine: action.origin.machine.clone(),
            version: action.origin.version,
            runner: body.runner.as_ref().unwrap_or(&action.kind).clone(),
            tags: action.tags.clone(),
            priority: action.priority,
            created_at: action.created_at,
            run_at: action.run_at,
            died_at: body.died_at,
            fingerprint: (action.status == Status::Dead).then(|| action.fingerprint()).flatten(),
            cost_estimate: cost(action),
            idempotency_key: action.idempotency_key(),
            config: body.frozen.as_ref().map(|frozen| frozen.config.clone()),
            cancel_requested: body.cancel.is_some(),
            skipped: body.skipped,
            remark: body.remark,
        }
    }
}

fn success(status: Status) -> Option<bool> {
    match status {
        Status::Succeeded => Some(true),
        Status::Dead | Status::Cancelled | Status::Archived => Some(false),
        Status::Scheduled | Status::Queued | Status::Running | Status::Retrying | Status::Skipped => None,
    }
}

fn duration(action: &Action) -> Option<u64> {
    let attempts = &action.body.attempts;
    let end = attempts.last()?.end_time?;
    Some(end.since(attempts.first()?.start_time))
}

/// What the attempts that are kept cost together; none where nobody knows of any.
pub(crate) fn cost(action: &Action) -> Option<f64> {
    let known = action.body.attempts.iter().filter_map(|attempt| attempt.cost);
    known.fold(None, |sum, cost| Some(sum.unwrap_or(0.0) + cost))
}

fn action_waiting(action: &Action, execution: ExecutionStatus) -> Waiting {
    let waiting = |reason, object: String, until| Waiting::Waiting {
        reason,
        object,
        since: action.run_at,
        until,
    };
    let paused = execution == ExecutionStatus::Paused;
    match action.status {
        Status::Running => action.current().map_or(Waiting::Done, |attempt| Waiting::Running {
            attempt: attempt.id,
            since: attempt.start_time,
            node: None,
            node_until: None,
            lease: attempt.lease.clone().map(LeaseView::from),
        }),
        Status::Queued if paused => waiting(WaitingFor::Pause, action.origin.execution.to_string(), None),
        Status::Scheduled if action.body.behind => waiting(
            WaitingFor::Dependency,
            format!("the running occurrence of {}", action.action_id),
            None,
        ),
        Status::Scheduled => Waiting::Waiting {
            reason: WaitingFor::Timer,
            object: action.id.to_string(),
            since: action.created_at,
            until: Some(action.run_at),
        },
        Status::Queued => waiting(WaitingFor::Permit, action.kind.clone(), None),
        Status::Retrying => Waiting::Retrying {
            attempt: action.attempts_made(),
            next_at: action.run_at,
            error: action
                .body
                .last_error
                .as_ref()
                .map(|error| error.kind.clone())
                .unwrap_or_default(),
        },
        Status::Succeeded | Status::Dead | Status::Cancelled | Status::Skipped | Status::Archived => Waiting::Done,
    }
}

impl ExecutionView {
    /// The execution with what is open about it.
    pub(crate) fn of(aggregate: &Aggregate, machine: &Machine) -> Self {
        let head = &aggregate.head;
        Self {
            id: head.id,
            key: head.key.clone(),
            machine: head.machine.to_string(),
            version: head.version,
            status: head.status.word(),
            configuration: machine.configuration(&aggregate.execution.active),
            variables: Map::clone(&aggregate.execution.variables),
            tags: head.tags.clone(),
            waiting: execution_waiting(aggregate),
            sequence: head.sequence,
            created_at: head.created_at,
            updated_at: head.updated_at,
            output: aggregate.output.clone(),
            failure: aggregate.failure.clone(),
        }
    }
}

impl Waiting {
    /// With the node that has it.
    pub(crate) fn kept_by(&mut self, keeper: Option<&Node>) {
        if let Self::Running { node, node_until, .. } = self {
            *node = keeper.map(|keeper| keeper.id);
            *node_until = keeper.map(|keeper| keeper.lease_until);
        }
    }

    /// With what heartbeats granted since it was stored.
    pub(crate) fn renew(&mut self, leases: &Leases) {
        if let Self::Running {
            attempt,
            lease: Some(lease),
            ..
        } = self
            && let Some(until) = leases.until(*attempt)
        {
            lease.until = until;
        }
    }

    /// Whether it says only that an action is queued: what it lacks, its owner knows.
    pub fn is_for_permit(&self) -> bool {
        let permit = WaitingFor::Permit;
        matches!(self, Self::Waiting { reason, .. } if *reason == permit)
    }

    /// What a queued action of these waits for, where a switch holds it: then nothing else would help.
    pub(crate) fn under<'a>(
        self,
        mut actions: impl Iterator<Item = &'a Action>,
        switches: &Switches,
        now: Timestamp,
    ) -> Self {
        let is_queued = self.is_for_permit();
        let held = |action: &Action| {
            let queued = action.status == Status::Queued;
            queued.then(|| switches.waiting(action, now)).flatten()
        };
        match is_queued.then(|| actions.find_map(held)).flatten() {
            Some(held) => held,
            None => self,
        }
    }
}

/// The nearest thing that could move an execution: an attempt under way, a retry, a due action, a timer, a message.
pub(crate) fn execution_waiting(aggregate: &Aggregate) -> Waiting {
    let head = &aggregate.head;
    let waiting = |reason, object: String| Waiting::Waiting {
        reason,
        object,
        since: head.updated_at,
        until: None,
    };
    match head.status {
        ExecutionStatus::Completed | ExecutionStatus::Cancelled => return Waiting::Done,
        ExecutionStatus::Paused => return waiting(WaitingFor::Pause, head.id.to_string()),
        ExecutionStatus::Failed => return waiting(WaitingFor::Decision, head.id.to_string()),
        ExecutionStatus::Running => {}
    }
    let rank = |action: &&Action| match action.status {
        Status::Running => 0,
        Status::Queued => 1,
        Status::Retrying => 2,
        _ => 3,
    };
    if let Some(action) = aggregate
        .open()
        .min_by_key(rank)
        .filter(|action| action.status != Status::Scheduled)
    {
        return action_waiting(action, head.status);
    }
    let timers = aggregate.timers.values().map(|timer| timer.due_at);
    let delayed = aggregate
        .actions
        .values()
        .filter(|action| !action.body.behind)
        .map(|action| action.run_at);
    match timers.chain(delayed).min() {
        Some(until) => Waiting::Waiting {
            reason: WaitingFor::Timer,
            object: head.id.to_string(),
            since: head.updated_at,
            until: Some(until),
        },
        None => waiting(WaitingFor::Message, head.id.to_string()),
    }
}
