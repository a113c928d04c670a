//! Bugs planted on purpose, each outside the production code: in the store's wrapper, the runners, or the clock.
//!
//! A simulator that never fails proves nothing. Each mutant breaks one promise the way a careless change to the engine
//! would, and a test sees the simulator catch it by the rule that names the promise.

use serde_json::Value;
use sprag_core::action::Status;
use sprag_core::action::error::kind;
use sprag_core::integrity::checksum::crc32;
use sprag_core::operation::approval::Policy;
use sprag_core::operation::{Approvals, WorkflowStatus};
use sprag_core::time::Timestamp;
use sprag_store::records::{Action, ExecutionStatus};
use sprag_store::traits::{Loaded, LoadedExecution, ReadyRef};
use sprag_store::{Fence, Mutation};

use crate::violation::Invariant;

/// How far a mutant that makes things early does so, in milliseconds.
const EARLY_MILLIS: i64 = 900;

macro_rules! mutants {
    ($($(#[$doc:meta])* $name:ident => [$($caught:ident),+];)*) => {
        /// One planted bug.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Mutant { $($(#[$doc])* $name,)* }

        impl Mutant {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The rules of which one must catch it.
            pub fn caught_by(self) -> &'static [Invariant] {
                match self { $(Self::$name => &[$(Invariant::$caught),+],)* }
            }
        }
    };
}

mutants! {
    /// The attempt is written only with its outcome, so the effect comes before the record.
    AttemptNotStored => [AttemptBeforeEffect];
    /// A commit is accepted whatever its fence says.
    FenceIgnored => [Fences];
    /// Timers are stored with an earlier due time.
    TimerEarly => [TimersOnTime];
    /// The lane's clock runs ahead of the world's.
    ClockAhead => [TimersOnTime];
    /// Timers are not stored.
    TimerNotStored => [TimersOnTime];
    /// Retries are due earlier than they were written to be.
    RetryEarly => [TimersOnTime];
    /// The end of an action is fed but not stored, so it comes again.
    EndNotStored => [ExactlyOnce];
    /// A lane that reads an execution back does not know which triggers came later.
    TriggersForgotten => [ExactlyOnce, Replay];
    /// The answer to a message with an id is not stored, so the message is taken again.
    ReceiptNotStored => [ExactlyOnce];
    /// The answer under an idempotency key is not stored, so the request acts again.
    AnswerNotKept => [ExactlyOnce];
    /// A retrying action is stored with a fresh budget of attempts.
    RetryCounterLost => [RetryPolicy];
    /// A retrying action is stored without its last attempt.
    AttemptDropped => [EffectsAccounted];
    /// A runner reports "not done" although the effect happened.
    FalseNotDone => [EffectsAccounted];
    /// Every attempt has an idempotency key of its own.
    KeyChanged => [EffectsAccounted];
    /// A commit is answered before it is on disk: a crash takes the last one back.
    AnswerBeforeCommit => [AcknowledgedKept];
    /// A crash leaves the first half of a commit.
    HalfCommit => [Replay, HistoryDense, AcknowledgedKept, ExactlyOnce, TimersOnTime, Lifecycle];
    /// Input for a held execution is not stored.
    InboxNotStored => [AcknowledgedKept, ExactlyOnce];
    /// A checkpoint is acknowledged but not stored.
    CheckpointNotStored => [AcknowledgedKept];
    /// A lane that reads a paused execution back takes it for a running one.
    PauseForgotten => [HeldStands];
    /// A lane that reads an action back does not know its limits.
    LimitsForgotten => [Limits];
    /// An outcome never comes, not even by timeout, so its permit is never given back.
    OutcomeSwallowed => [Settles];
    /// Some history entries are not stored.
    HistoryGap => [HistoryDense];
    /// A lane that reads an action back does not know its deadline.
    DeadlineForgotten => [Deadlines];
    /// A lane that reads an action back does not know that it was asked to stop.
    CancelForgotten => [CancelHonoured];
    /// A lane that reads an action back does not know how often its process died under it.
    CrashesForgotten => [SuspectsAlone];
    /// A lane that reads an action back does not know that a program holds its attempt.
    LeaseForgotten => [EffectsAccounted];
    /// A lane does not see who holds a key.
    KeysHidden => [StoreAccepts];
    /// A lane that reads a line takes the last for the first.
    LineReversed => [LineOrder];
    /// What is decided after a refused commit is refused too, though it holds no such row.
    RefusalSpreads => [HonestRefusals, Isolation];
    /// The error that replaces a refused outcome is not stored.
    StandInNotStored => [Isolation];
    /// A step of any workflow may run, whoever approved it.
    ApprovalSkipped => [Approved];
    /// Who proposed a plan may approve it.
    OwnApproval => [Approved];
    /// An approval holds for ever.
    ApprovalForever => [Approved];
    /// A lane that reads a plan back does not know that its approval was revoked.
    RevocationForgotten => [Approved];
    /// A revocation is acknowledged but not stored.
    RevocationNotStored => [AcknowledgedKept];
    /// A workflow that ended stays in progress.
    PlanEndNotStored => [Settles];
}

impl Mutant {
    /// The policy by which a lane decides in place of the one that holds.
    pub(crate) fn policy(self, policy: &Policy) -> Policy {
        let mut policy = policy.clone();
        match self {
            Self::ApprovalSkipped => policy.mode = Approvals::Declared,
            Self::OwnApproval => policy.self_approval = true,
            Self::ApprovalForever => policy.valid_for = None,
            _ => {}
        }
        policy
    }

    /// The fences a commit is judged by, of those it carries.
    pub(crate) fn fences(self, fences: &[Fence], stale: &[Fence]) -> Vec<Fence> {
        let is_judged = |fence: &&Fence| self != Self::FenceIgnored || !stale.contains(fence);
        fences.iter().filter(is_judged).copied().collect()
    }

    /// What is written in place of these mutations.
    pub(crate) fn written(self, mutations: &[Mutation]) -> Vec<Mutation> {
        mutations.iter().filter_map(|mutation| self.write(mutation)).collect()
    }

    fn write(self, mutation: &Mutation) -> Option<Mutation> {
        let mut mutation = mutation.clone();
        let kept = match (self, &mut mutation) {
            (Self::TimerNotStored, Mutation::PutTimer(_))
            | (Self::ReceiptNotStored, Mutation::InsertReceipt(_))
            | (Self::AnswerNotKept, Mutation::PutIdempotency(_))
            | (Self::InboxNotStored, Mutation::InsertInbox(_)) => false,
            (Self::TimerEarly, Mutation::PutTimer(timer)) if timer.schedule.is_none() => {
                timer.due_at = Timestamp::from_millis(timer.due_at.as_millis() - EARLY_MILLIS);
                true
            }
            (Self::StandInNotStored, Mutation::UpdateAction(action)) => {
                action.error_kind.as_deref() != Some(kind::OUTCOME_REFUSED)
            }
            (Self::HistoryGap, Mutation::AppendHistory(entry)) => !entry.sequence.is_multiple_of(4),
            (Self::AttemptNotStored, Mutation::UpdateAction(action)) => !is(action, Status::Running),
            (Self::AttemptNotStored, Mutation::InsertAction(action)) if is(action, Status::Running) => {
                action.status = Status::Queued.number();
                edit(action, |body| drop_key(body, "attempts"));
                true
            }
            (Self::RevocationNotStored, Mutation::PutPlan(plan)) => {
                plan.status != WorkflowStatus::AwaitingApproval || !is_revoked(&plan.body)
            }
            (Self::PlanEndNotStored, Mutation::PutPlan(plan)) => {
                !matches!(plan.status, WorkflowStatus::Completed | WorkflowStatus::Failed)
            }
            (Self::EndNotStored, Mutation::UpdateAction(action)) => !is(action, Status::Succeeded),
            (Self::RetryCounterLost, Mutation::UpdateAction(action)) if is(action, Status::Retrying) => {
                edit(action, |body| body["spent"] = Value::from(attempts(body)));
                true
            }
            (Self::AttemptDropped, Mutation::UpdateAction(action)) if is(action, Status::Retrying) => {
                edit(action, drop_last_attempt);
                true
            }
            (Self::CheckpointNotStored, Mutation::UpdateAction(action)) => {
                edit(action, |body| drop_key(body, "checkpoint"));
                true
            }
            _ => true,
        };
        kept.then_some(mutation)
    }

    /// What a lane gets to see in place of what is stored.
    pub(crate) fn read(self, loaded: &mut Loaded) {
        if self == Self::KeysHidden {
            loaded.keys.clear();
        }
        for found in &mut loaded.executions {
            self.read_execution(found);
        }
        if self == Self::RevocationForgotten {
            for plan in &mut loaded.plans {
                plan.body = unrevoked(&plan.body);
                if plan.status == WorkflowStatus::AwaitingApproval && is_started(&plan.body) {
                    plan.status = WorkflowStatus::InProgress;
                }
            }
        }
    }

    /// The places of a line that a lane gets to see.
    pub(crate) fn read_line(self, line: &mut [ReadyRef]) {
        if self == Self::LineReversed {
            for found in line {
                found.key.priority = 100 - found.key.priority;
                found.key.run_at = Timestamp::from_millis(-found.key.run_at.as_millis());
            }
        }
    }

    fn read_execution(self, found: &mut LoadedExecution) {
        if self == Self::PauseForgotten && found.execution.status == ExecutionStatus::Paused {
            found.execution.status = ExecutionStatus::Running;
        }
        if self == Self::TriggersForgotten {
            found.execution.body = edited(&found.execution.body, |body| drop_key(body, "triggered"));
        }
        for action in &mut found.actions {
            match self {
                Self::LimitsForgotten => edit(action, forget_limits),
                Self::DeadlineForgotten => edit(action, |body| drop_key(body, "deadlineAt")),
                Self::CancelForgotten => edit(action, |body| drop_key(body, "cancel")),
                Self::CrashesForgotten => edit(action, |body| drop_key(body, "crashes")),
                Self::LeaseForgotten => edit(action, forget_leases),
                Self::RetryEarly => action.run_at = Timestamp::from_millis(0),
                _ => {}
            }
        }
    }
}

fn is_revoked(body: &[u8]) -> bool {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    body.pointer("/decided/decisions/revoked").is_some()
}

fn is_started(body: &[u8]) -> bool {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    body.pointer("/decided/startedAt").is_some()
}

/// The body of a plan without its revocation, with the checksum that it has then.
fn unrevoked(body: &[u8]) -> Vec<u8> {
    edited(body, |body| {
        if let Some(decisions) = body.pointer_mut("/decided/decisions") {
            drop_key(decisions, "revoked");
        }
        body["checksum"] = crc32(body["decided"].to_string().as_bytes()).into();
    })
}

fn is(action: &Action, status: Status) -> bool {
    action.status == status.number()
}

fn edit(action: &mut Action, change: impl FnOnce(&mut Value)) {
    action.body = edited(&action.body, change);
}

fn edited(body: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(body).unwrap_or_default();
    change(&mut value);
    value.to_string().into_bytes()
}

fn drop_key(body: &mut Value, key: &str) {
    if let Some(members) = body.as_object_mut() {
        members.shift_remove(key);
    }
}

fn attempts(body: &Value) -> usize {
    body["attempts"].as_array().map_or(0, Vec::len)
}

fn drop_last_attempt(body: &mut Value) {
    if let Some(attempts) = body["attempts"].as_array_mut() {
        attempts.pop();
    }
}

fn forget_leases(body: &mut Value) {
    for attempt in body["attempts"].as_array_mut().into_iter().flatten() {
        drop_key(attempt, "lease");
    }
}

fn forget_limits(body: &mut Value) {
    for limit in body["limits"].as_array_mut().into_iter().flatten() {
        drop_key(limit, "concurrency");
        drop_key(limit, "rate");
    }
}
