//! What external runners ask: work, signs of life, outcomes.
//!
//! An attempt belongs to an external runner from the commit that starts it until its outcome, or until the runner was
//! silent for as long as its lease. Heartbeats are not stored: they cost no write, and a new process grants one full lease
//! again.

use std::sync::Arc;

use serde_json::Value;
use sprag_core::action::error::kind;
use sprag_core::action::{Lease, Outcome};
use sprag_core::expression::template::Frozen;
use sprag_core::ids::AttemptId;

use super::attempts::{checkpoint, timed_out};
use super::idempotency::stored_answer;
use super::{Answer, AttemptRef, Code, IfRefused, Refusal, Request, Route};
use crate::decide::{self, Decider, Due, Note, Reads, config_of};
use crate::leases::table::LeasedAttempt;
use crate::leases::{Beat, Finished, LeaseAnswer, Poll, polls};

impl Answer for LeaseAnswer {}
impl Answer for Beat {}
impl Answer for Option<Box<Frozen>> {}

impl Answer for Finished {
    stored_answer!("finished");
}

impl Request for Poll {
    type Answer = LeaseAnswer;
    const NAME: &'static str = "poll";

    own_variant!(Poll);

    fn route(&self) -> Route {
        Route::Any
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<LeaseAnswer, Refusal> {
        let now = decider.now();
        let queue = &mut decider.known.queue;
        let id = queue.polls.add(self, now);
        polls::asked(queue, &self.wants);
        Ok(LeaseAnswer::Waiting(id))
    }
}

/// An external runner is alive, and may want a value committed with its attempt.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    /// Which attempt.
    pub attempt: AttemptId,
    /// The value.
    pub checkpoint: Option<Value>,
}

impl Request for Heartbeat {
    type Answer = Beat;
    const NAME: &'static str = "heartbeat";

    own_variant!(Heartbeat);

    fn route(&self) -> Route {
        Route::Slot(self.attempt.slot())
    }

    fn reads(&self, reads: &mut Reads<'_>) {
        if self.checkpoint.is_some() {
            reads.leased(self.attempt);
        }
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Beat, Refusal> {
        let at = leased(decider, self.attempt)?.at;
        if let Some(value) = &self.checkpoint {
            checkpoint(decider, at, value)?;
        }
        let renewed = decider.known.queue.leases.renew(self.attempt, decider.now());
        let LeasedAttempt {
            lease,
            cancel_requested,
            ..
        } = renewed.ok_or_else(|| superseded(self.attempt))?;
        let lease_until = lease.until;
        if self.checkpoint.is_some() {
            store_lease(decider, at, lease);
        }
        Ok(Beat {
            lease_until,
            cancel_requested,
        })
    }
}

/// The commit that stores a checkpoint stores until when the attempt is leased, too.
fn store_lease(decider: &mut Decider<'_>, at: AttemptRef, lease: Lease) {
    // The checkpoint found the execution a moment ago.
    let _ = decider.change(at.execution, |change| {
        if let Some(action) = change.state.actions.get_mut(&at.action) {
            Arc::make_mut(action).lease(lease);
            change.decider.put_action(action.clone());
        }
    });
}

/// An external runner ended its attempt.
#[derive(Clone, Debug)]
pub struct Finish {
    /// Which.
    pub attempt: AttemptId,
    /// How.
    pub outcome: Outcome,
}

impl Request for Finish {
    type Answer = Finished;
    const NAME: &'static str = "finish";

    own_variant!(Finish);

    fn route(&self) -> Route {
        Route::Attempt(self.attempt)
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Finished, Refusal> {
        let at = match leased(decider, self.attempt) {
            Ok(leased) => leased.at,
            Err(refusal) => {
                if refusal.code == Code::AttemptSuperseded {
                    decider.batch.notes.push(Note::Superseded);
                }
                return Err(refusal);
            }
        };
        decide::settle(decider, at, self.outcome.clone());
        let action = decider
            .batch
            .action(at.action)
            .ok_or_else(|| superseded(self.attempt))?;
        Ok(Finished {
            id: self.attempt,
            outcome: self.outcome.verdict().into(),
            status: action.status.into(),
        })
    }

    /// The attempt must end: with an error that can be stored.
    fn if_refused(&self) -> IfRefused<Self> {
        if self.outcome.is_not_stored() {
            return IfRefused::Fail;
        }
        IfRefused::Replace(Self {
            attempt: self.attempt,
            outcome: self.outcome.not_stored(),
        })
    }
}

/// Show the configuration of a leased attempt, secrets still to be bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeasedConfig(pub AttemptId);

impl Request for LeasedConfig {
    type Answer = Option<Box<Frozen>>;
    const NAME: &'static str = "leased-config";

    fn route(&self) -> Route {
        Route::Attempt(self.0)
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        let Some(at) = still_leased(decider, self.0)? else {
            return Ok(None);
        };
        let config = decider.change(at.execution, |change| {
            let action = change.state.actions.get(&at.action)?;
            let machine = change.machine_of(action);
            let definition = machine.action(&action.action_id).map(|(_, definition)| definition);
            Some(Box::new(config_of(action, definition)))
        });
        Ok(config.ok().flatten())
    }
}

/// Show the type of the action of a leased attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeasedType(pub AttemptId);

impl Answer for Option<String> {}

impl Request for LeasedType {
    type Answer = Option<String>;
    const NAME: &'static str = "leased-type";

    fn route(&self) -> Route {
        Route::Attempt(self.0)
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        let Some(at) = still_leased(decider, self.0)? else {
            return Ok(None);
        };
        let found = decider.change(at.execution, |change| {
            let action = change.state.actions.get(&at.action)?;
            Some(action.kind.clone())
        });
        Ok(found.ok().flatten())
    }
}

/// The lease of an attempt may be over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseOver(pub AttemptRef);

impl Request for LeaseOver {
    type Answer = ();
    const NAME: &'static str = "lease-over";

    fn route(&self) -> Route {
        Route::Execution(self.0.execution)
    }

    /// The runner was silent for as long as the lease: what became of the attempt is unknown.
    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        let at = self.0;
        let Some(LeasedAttempt { lease, .. }) = decider.known.queue.leases.get(at.attempt) else {
            return Ok(());
        };
        if lease.until > decider.now() {
            // A heartbeat came in the same batch.
            decider.batch.due.push((lease.until, Due::Lease(at)));
            return Ok(());
        }
        let runner = lease.runner.map_or_else(
            || "the program that leased the attempt".to_owned(),
            |runner| format!("runner `{runner}`"),
        );
        let message = if lease.until == lease.deadline {
            format!("lease lost: {runner} sent no outcome within the attempt's timeout")
        } else {
            format!("lease lost: {runner} sent no heartbeat for {} ms", lease.millis)
        };
        decide::settle(decider, at, Outcome::unknown(kind::TIMEOUT, message));
        Ok(())
    }

    fn if_refused(&self) -> IfRefused<Self> {
        IfRefused::Instead(Box::new(timed_out(self.0)))
    }
}

/// The attempt, if an external runner holds it.
fn leased(decider: &Decider<'_>, attempt: AttemptId) -> Result<LeasedAttempt, Refusal> {
    decider.known.queue.leases.get(attempt).ok_or_else(|| {
        if decider.is_recovering {
            let detail = "the server still reads the work of an earlier process; try again in a moment";
            return Refusal::new(Code::Overloaded, detail);
        }
        superseded(attempt)
    })
}

/// Where the attempt is, unless it holds no lease any more.
fn still_leased(decider: &Decider<'_>, attempt: AttemptId) -> Result<Option<AttemptRef>, Refusal> {
    match leased(decider, attempt) {
        Ok(leased) => Ok(Some(leased.at)),
        Err(refusal) if refusal.code == Code::AttemptSuperseded => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

fn superseded(attempt: AttemptId) -> Refusal {
    let detail = format!(
        "attempt `{attempt}` holds no lease: it has ended, its lease expired, or it never started; stop the work"
    );
    Refusal::new(Code::AttemptSuperseded, detail)
}
