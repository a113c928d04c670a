//! An action on its way: its attempts, and every move it can make.
//!
//! Pure: each move takes the time and the facts it needs and says what follows. The engine commits the changed action
//! together with whatever follows. Policy and timeouts are not here: they stand in the definition the action refers to.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::definition::{OnUnknown, Rate};
use super::edit::Overrides;
use super::error::ActionError;
use super::lease::{Lease, Route};
use super::lifecycle::{IllegalMove, Status};
use super::outcome::{Done, Failure, Outcome, ResultEvent, Verdict};
use super::retry::{Judgement, Policy, Trial};
use crate::document::json::{digest, hex};
use crate::expression::template::Frozen;
use crate::ids::{ActionId, AttemptId, ExecutionId};
use crate::machine::{End, How, SkipReason};
use crate::text::LINE_BYTES_MAX;
use crate::time::{Timestamp, millis};

/// How many attempts an action keeps; the oldest go first, their number stays counted.
pub const ATTEMPTS_KEPT: usize = 100;

/// What the name of a line begins with that is a digest.
pub const LINE_DIGEST: char = '\u{1c}';

/// One durable occurrence of an action definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// Its id.
    pub id: ActionId,
    /// Where it comes from.
    pub origin: Origin,
    /// What the machine calls it.
    pub action_id: String,
    /// Which runner performs it.
    pub kind: String,
    /// Where it stands.
    pub status: Status,
    /// 0–100, higher first.
    pub priority: u8,
    /// For filters.
    pub tags: Vec<String>,
    /// When it was triggered.
    pub created_at: Timestamp,
    /// When it is due, or was last made ready.
    pub run_at: Timestamp,
    /// The rest, which is only ever read whole.
    pub body: Body,
}

/// Where an action comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The execution that triggered it.
    pub execution: ExecutionId,
    /// The machine's name.
    pub machine: String,
    /// The machine version whose definition holds.
    pub version: u32,
}

/// What an action carries with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Body {
    /// The machine version whose definition holds.
    pub version: u32,
    /// Which trigger of its action id it is.
    pub ordinal: u64,
    /// The visit it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visit: Option<u64>,
    /// The history entry of the step that triggered it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// When it was to be, for an occurrence of a schedule.
    #[serde(with = "millis::option", skip_serializing_if = "Option::is_none")]
    pub nominal: Option<Timestamp>,
    /// When its total time is over.
    #[serde(with = "millis::option", skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<Timestamp>,
    /// The configuration frozen at the trigger, where it is not the definition's own constant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frozen: Option<Frozen>,
    /// The limits it is under, keys rendered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitUse>,
    /// The external runner that performs it, where the definition names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner: Option<String>,
    /// Where its attempts go, as `host:port`, when that was known at the trigger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// Raised when a person edits the configuration; part of the idempotency key.
    #[serde(skip_serializing_if = "is_zero")]
    pub generation: u32,
    /// The attempts, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<AttemptRecord>,
    /// Attempts made before the budget was last refilled.
    #[serde(skip_serializing_if = "is_zero")]
    pub spent: u32,
    /// A caller asked for it to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel: Option<CancelRequest>,
    /// What an attempt checkpointed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Value>,
    /// What came back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// The runner's own event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<ResultEvent>,
    /// Why it last failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<ActionError>,
    /// Why it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SkipReason>,
    /// Something a reader should know about how it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remark: Option<Remark>,
    /// It waits for an earlier occurrence of its schedule to end.
    #[serde(skip_serializing_if = "is_false")]
    pub behind: bool,
    /// It needs a person's approval, which its plan has.
    #[serde(skip_serializing_if = "is_false")]
    pub approval: bool,
    /// How often its process died under it.
    #[serde(skip_serializing_if = "Crashes::is_none")]
    pub crashes: Crashes,
    /// When it became a dead letter, while it is one.
    #[serde(with = "millis::option", skip_serializing_if = "Option::is_none")]
    pub died_at: Option<Timestamp>,
    /// What a person changed about it when it was a dead letter.
    #[serde(skip_serializing_if = "Overrides::is_none")]
    pub overrides: Overrides,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// One limit an action is under.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitUse {
    /// The rendered key.
    pub key: String,
    /// Attempts at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Attempts per time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

/// One try at an action, as it is remembered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptRecord {
    /// Fences the outcome.
    pub id: AttemptId,
    /// From 1, over the action's whole life.
    pub number: u32,
    /// When it was committed, before its effect began.
    #[serde(with = "millis")]
    pub start_time: Timestamp,
    /// When its outcome was committed.
    #[serde(with = "millis::option", default, skip_serializing_if = "Option::is_none")]
    pub end_time: Option<Timestamp>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Verdict>,
    /// Why it did not succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ActionError>,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Whose it is, where a program outside this process performs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// What its runner reported beside the result.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// A caller asked for an action to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelRequest {
    /// When.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// Who.
    pub by: CancelledBy,
}

/// Who ended an action: only a person's doing is news to the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CancelledBy {
    /// A person.
    Person,
    /// The machine: it left the state, or said `cancel`.
    Machine,
    /// The execution was cancelled.
    Execution,
}

/// Something a reader should know about how an action ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Remark {
    /// It was done before the cancellation reached it.
    CancelCameTooLate,
    /// A later trigger of the same action id exists: its end was not fed to the machine.
    Superseded,
    /// Its execution was closed: its end was not fed to the machine.
    ExecutionClosed,
}

/// How often the process died while the action ran: in company, and alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crashes {
    /// Consecutive short lives at whose end it was running.
    pub in_company: u32,
    /// Deaths while it ran alone.
    pub alone: u32,
}

impl Crashes {
    /// After this many short lives an action is a suspect and runs alone.
    pub const SUSPECT_AFTER: u32 = 3;
    /// After this many deaths alone it is dead.
    pub const DEAD_AFTER: u32 = 3;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
    fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it must run alone, after everything else.
    pub fn is_suspect(self) -> bool {
        self.in_company >= Self::SUSPECT_AFTER
    }
}

/// What a move leads to.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "moved once, never kept in numbers")]
pub enum Next {
    /// Another attempt at `run_at`.
    Again,
    /// It is over, and the machine hears of it.
    Ended(End),
    /// It is over, and no event reports it.
    Quiet,
}

/// Why an outcome was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stale {
    /// Another attempt is the current one, or none is.
    #[error("the attempt was superseded")]
    Superseded,
}

/// What the definition says about failures.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// Whether and when to try again.
    pub policy: &'a Policy,
    /// What follows an unknown outcome.
    pub on_unknown: OnUnknown,
    /// What an attempt costs whose effect happened, or may have, unless its runner knows.
    pub cost: Option<f64>,
}

impl Action {
    /// The attempt under way.
    pub fn current(&self) -> Option<&AttemptRecord> {
        self.body.attempts.last().filter(|attempt| attempt.end_time.is_none())
    }

    /// How many attempts were made in all.
    pub fn attempts_made(&self) -> u32 {
        self.body.attempts.last().map_or(0, |attempt| attempt.number)
    }

    /// The same over all attempts, until a person edits the configuration.
    pub fn idempotency_key(&self) -> String {
        format!("{}.{}", self.id, self.body.generation)
    }

    /// What it asks of an external runner, where one performs it.
    pub fn route(&self) -> Option<Route> {
        let runner = self.body.runner.as_ref()?;
        Some(Route::new(runner, &self.kind, &self.tags))
    }

    /// The queue it waits in: its type, the runner it is for, the keys it is limited by, and where it goes. Whatever
    /// holds one of a line back holds all of it back. A name that is too long for an index is its digest, after
    /// [`LINE_DIGEST`]: only an action of such a line can tell what the name stands for.
    pub fn line(&self) -> String {
        let line = self.full_line();
        if line.len() <= LINE_BYTES_MAX {
            return line;
        }
        format!("{LINE_DIGEST}{}", hex(&digest(line.as_bytes())))
    }

    fn full_line(&self) -> String {
        let mut line = self.kind.clone();
        if let Some(route) = self.route() {
            line.push('\u{1d}');
            line.push_str(&route.text());
        }
        for limit in &self.body.limits {
            line.push('\u{1f}');
            line.push_str(&limit.key);
        }
        if let Some(destination) = &self.body.destination {
            line.push('\u{1e}');
            line.push_str(destination);
        }
        line
    }

    fn become_(&mut self, to: Status) -> Result<(), IllegalMove> {
        self.status = self.status.become_checked(to)?;
        Ok(())
    }

    /// It is due: it joins its line.
    pub fn make_ready(&mut self, now: Timestamp) -> Result<(), IllegalMove> {
        self.become_(Status::Queued)?;
        self.run_at = now;
        Ok(())
    }

    /// An attempt begins. To be committed before its effect.
    pub fn begin(&mut self, id: AttemptId, now: Timestamp) -> Result<&AttemptRecord, IllegalMove> {
        self.become_(Status::Running)?;
        let number = self.attempts_made() + 1;
        if self.body.attempts.len() == ATTEMPTS_KEPT {
            self.body.attempts.remove(0);
        }
        self.body.attempts.push(AttemptRecord {
            id,
            number,
            start_time: now,
            end_time: None,
            outcome: None,
            error: None,
            cost: None,
            lease: None,
            metadata: Map::new(),
        });
        Ok(&self.body.attempts[self.body.attempts.len() - 1])
    }

    /// The attempt under way is a program's, for so long. To be committed before the program hears of it.
    pub fn lease(&mut self, lease: Lease) {
        if let Some(current) = self.body.attempts.last_mut() {
            current.lease = Some(lease);
        }
    }

    /// An attempt ended. The outcome of any attempt but the current one is refused.
    pub fn settle(
        &mut self,
        attempt: AttemptId,
        mut outcome: Outcome,
        rules: Rules<'_>,
        now: Timestamp,
    ) -> Result<Next, Stale> {
        if self.current().is_none_or(|current| current.id != attempt) || self.status != Status::Running {
            return Err(Stale::Superseded);
        }
        self.close_attempt(&mut outcome, rules.cost, now);
        Ok(match outcome {
            Outcome::Done(done) => self.succeed(done),
            Outcome::NotDone(failure) => self.fail(failure, rules, Verdict::NotDone, now),
            Outcome::Unknown(failure) => self.fail(failure, rules, Verdict::Unknown, now),
        })
    }

    fn close_attempt(&mut self, outcome: &mut Outcome, estimate: Option<f64>, now: Timestamp) {
        let Some(current) = self.body.attempts.last_mut() else {
            return;
        };
        current.end_time = Some(now);
        current.outcome = Some(outcome.verdict());
        match outcome {
            Outcome::Done(done) => {
                current.cost = done.cost.or(estimate);
                current.metadata = std::mem::take(&mut done.metadata);
            }
            Outcome::NotDone(failure) => current.error = Some(failure.error.clone()),
            Outcome::Unknown(failure) => {
                current.cost = estimate;
                current.error = Some(failure.error.clone());
            }
        }
    }

    fn succeed(&mut self, done: Done) -> Next {
        self.status = Status::Succeeded;
        if self.body.cancel.is_some() {
            self.body.remark = Some(Remark::CancelCameTooLate);
        }
        self.body.result = Some(done.result);
        self.body.event = done.event;
        Next::Ended(self.end(How::Done))
    }

    fn fail(&mut self, failure: Failure, rules: Rules<'_>, verdict: Verdict, now: Timestamp) -> Next {
        if let Some(request) = self.body.cancel {
            self.remember(failure.error, false);
            return self.end_cancelled(request.by);
        }
        if verdict == Verdict::Unknown && rules.on_unknown == OnUnknown::Review {
            self.remember(failure.error, false);
            return self.die(now);
        }
        let attempt = self.attempts_made().saturating_sub(self.body.spent);
        let trial = Trial {
            action: self.id,
            attempt,
            failure: &failure,
            now,
            deadline: self.body.deadline_at,
        };
        match rules.policy.judge(trial) {
            Judgement::Again(run_at) => {
                self.remember(failure.error, true);
                self.status = Status::Retrying;
                self.run_at = run_at;
                Next::Again
            }
            Judgement::Stop(_) => {
                self.remember(failure.error, false);
                self.die(now)
            }
        }
    }

    /// Keeps the error with the engine's verdict on it, on the action and on its attempt.
    fn remember(&mut self, mut error: ActionError, retryable: bool) {
        error.retryable = retryable;
        if let Some(attempt) = self.body.attempts.last_mut() {
            attempt.error = Some(error.clone());
        }
        self.body.last_error = Some(error);
    }

    fn die(&mut self, now: Timestamp) -> Next {
        self.status = Status::Dead;
        self.body.died_at = Some(now);
        Next::Ended(self.end(How::Failed))
    }

    /// It cannot continue: its deadline passed, or its process died too often.
    pub fn give_up(&mut self, error: ActionError, now: Timestamp) -> Result<Next, IllegalMove> {
        self.become_(Status::Dead)?;
        self.body.died_at = Some(now);
        self.body.last_error = Some(error);
        Ok(Next::Ended(self.end(How::Failed)))
    }

    /// Ends it if nothing is under way; else asks the attempt to stop.
    pub fn cancel(&mut self, by: CancelledBy, now: Timestamp) -> Result<Cancelled, IllegalMove> {
        if !self.status.is_open() {
            return Err(IllegalMove {
                from: self.status,
                to: Status::Cancelled,
            });
        }
        if self.body.cancel.is_none() {
            self.body.cancel = Some(CancelRequest { at: now, by });
        }
        if self.status == Status::Running {
            return Ok(Cancelled::Requested);
        }
        Ok(Cancelled::AtOnce(self.end_cancelled(by)))
    }

    fn end_cancelled(&mut self, by: CancelledBy) -> Next {
        self.status = Status::Cancelled;
        match by {
            CancelledBy::Person => Next::Ended(self.end(How::Failed)),
            CancelledBy::Machine | CancelledBy::Execution => Next::Quiet,
        }
    }

    /// A person tries a dead letter again: a fresh budget of attempts, from the end of its line.
    pub fn revive(&mut self, now: Timestamp, deadline_at: Option<Timestamp>) -> Result<(), IllegalMove> {
        self.make_ready(now)?;
        self.body.spent = self.attempts_made();
        self.body.cancel = None;
        self.body.remark = None;
        self.body.died_at = None;
        self.body.deadline_at = deadline_at;
        self.body.crashes = Crashes::default();
        Ok(())
    }

    /// A person puts a dead letter away.
    pub fn archive(&mut self) -> Result<(), IllegalMove> {
        self.become_(Status::Archived)
    }

    /// What the machine hears.
    pub fn end(&self, how: How) -> End {
        End {
            action_id: self.action_id.clone(),
            ordinal: self.body.ordinal,
            how,
            event: self.body.event.clone().filter(|_| how == How::Done),
            result: self
                .body
                .result
                .clone()
                .filter(|_| how == How::Done)
                .unwrap_or(Value::Null),
            error: self.body.last_error.clone().filter(|_| how == How::Failed),
        }
    }
}

/// How a cancellation went.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "moved once, never kept in numbers")]
pub enum Cancelled {
    /// Nothing was under way.
    AtOnce(Next),
    /// An attempt is under way and was asked to stop.
    Requested,
}
