//! What programs outside this process ask for and say: work, signs of life, outcomes.
//!
//! An attempt is a program's from the commit that begins it until its outcome, or until nothing was heard for as long as
//! its lease. Heartbeats are not stored: they cost no write, and a new process grants one full lease anew.

use std::sync::Arc;

use serde_json::Value;
use sprag_core::action::error::kind;
use sprag_core::action::{Action, Lease, Outcome};
use sprag_core::ids::AttemptId;
use sprag_store::Error;
use sprag_store::traits::Variables;

use super::attempts::config_of;
use crate::command::{Answer, AttemptRef, Code, Refusal, Reply};
use crate::hands::Job;
use crate::lane::{Lane, Write};
use crate::leases::Held;
use crate::leasing::{Beat, Finished, Poll};
use crate::timers::Due;

impl Lane {
    /// A program asks for work: it waits from now on.
    pub(super) fn lease(&mut self, poll: &Poll) -> Answer {
        let id = self.dispatcher.polls.add(poll, self.now);
        self.dispatcher.asked(&poll.wants);
        Answer::Polling(id)
    }

    /// The attempt begins in a program's hands, where it took the place of one. Committed before the program hears of it.
    pub(super) fn lease_attempt(&mut self, action: &mut Action, job: &mut Job) {
        let Some((runner, millis)) = self.dispatcher.polls.terms(job.attempt.attempt) else {
            return;
        };
        let lease = Lease::begin(runner, millis, self.now, self.now.plus(job.timeout_millis));
        self.batch.due.push((lease.until, Due::Lease(job.attempt)));
        self.dispatcher.leases.hold(Held {
            at: job.attempt,
            lease: lease.clone(),
            cancel_requested: false,
        });
        action.lease(lease.clone());
        job.lease = Some(lease);
    }

    /// A program is alive: its attempt is its own for one more lease.
    pub(super) fn heartbeat(&mut self, attempt: AttemptId, checkpoint: Option<&Value>) -> Reply {
        let Held { at, .. } = self.held(attempt)?;
        if let Some(value) = checkpoint {
            self.checkpoint(at, value)?;
        }
        let renewed = self.dispatcher.leases.renew(attempt, self.now);
        let Some(Held {
            lease,
            cancel_requested,
            ..
        }) = renewed
        else {
            return Err(superseded(attempt));
        };
        if checkpoint.is_some() {
            self.store_lease(at, lease.clone());
        }
        Ok(Answer::Beat(Beat {
            lease_until: lease.until,
            cancel_requested,
        }))
    }

    /// What is written anyway says until when the attempt is somebody's.
    fn store_lease(&mut self, at: AttemptRef, lease: Lease) {
        let Ok(mut aggregate) = self.take(at.execution) else {
            return;
        };
        if let Some(action) = aggregate.actions.get_mut(&at.action) {
            Arc::make_mut(action).lease(lease);
            self.batch
                .put_action(Write::Update(Variables::Unchanged), action.clone());
        }
        self.cache.put(aggregate);
    }

    /// A program ended its attempt.
    pub(super) fn finish(&mut self, attempt: AttemptId, outcome: &Outcome) -> Result<Reply, Error> {
        let at = match self.held(attempt) {
            Ok(Held { at, .. }) => at,
            Err(refusal) => {
                if refusal.code == Code::AttemptSuperseded {
                    self.metrics.superseded.inc();
                }
                return Ok(Err(refusal));
            }
        };
        let verdict = outcome.verdict();
        self.settle(at, outcome.clone())?;
        let Some(action) = self.batch.action(at.action) else {
            return Ok(Err(superseded(attempt)));
        };
        Ok(Ok(Answer::Finished(Finished {
            id: attempt,
            outcome: verdict.into(),
            status: action.status.into(),
        })))
    }

    /// The configuration of an attempt that is some program's.
    pub(super) fn leased_config(&mut self, attempt: AttemptId) -> Result<Reply, Error> {
        let at = match self.held(attempt) {
            Ok(Held { at, .. }) => at,
            Err(refusal) if refusal.code == Code::AttemptSuperseded => return Ok(Ok(Answer::LeasedConfig(None))),
            Err(refusal) => return Ok(Err(refusal)),
        };
        let found = self.cache.get(at.execution);
        let Some(action) = found.and_then(|found| found.actions.get(&at.action)).cloned() else {
            return Ok(Ok(Answer::LeasedConfig(None)));
        };
        let machine = self.machine_of_action(&action)?;
        let definition = machine.action(&action.action_id).map(|(_, definition)| definition);
        let config = config_of(&action, definition);
        Ok(Ok(Answer::LeasedConfig(Some(Box::new(config)))))
    }

    /// Nothing was heard for as long as the lease: nobody knows what became of the attempt.
    pub(super) fn lease_over(&mut self, at: AttemptRef) -> Result<(), Error> {
        let Some(Held { lease, .. }) = self.dispatcher.leases.get(at.attempt) else {
            return Ok(());
        };
        if lease.until > self.now {
            // A heartbeat came in the same batch.
            self.batch.due.push((lease.until, Due::Lease(at)));
            return Ok(());
        }
        let holder = lease.runner.map_or_else(
            || "the program that leased the attempt".to_owned(),
            |runner| format!("runner `{runner}`"),
        );
        let message = if lease.until == lease.deadline {
            format!("lease lost: {holder} sent no outcome within the attempt's timeout")
        } else {
            format!("lease lost: nothing was heard of {holder} for {} ms", lease.millis)
        };
        self.settle(at, Outcome::unknown(kind::TIMEOUT, message))
    }

    /// The attempt, if it is some program's.
    fn held(&self, attempt: AttemptId) -> Result<Held, Refusal> {
        let held = self.dispatcher.leases.get(attempt);
        held.ok_or_else(|| {
            if self.is_recovering() {
                let detail = "what an earlier process left is still being read; try again in a moment";
                return Refusal::new(Code::Overloaded, detail);
            }
            superseded(attempt)
        })
    }
}

fn superseded(attempt: AttemptId) -> Refusal {
    let detail = format!(
        "attempt `{attempt}` is nobody's: it has ended, its lease ran out, or there never was one; have no further effect"
    );
    Refusal::new(Code::AttemptSuperseded, detail)
}
