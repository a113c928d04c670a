//! Decisions: one function per request, pure but for what it asks of the lane's memory.
//!
//! Each takes the present state and leaves changes in the batch; nothing is written and nothing acts until the batch
//! is durable. A decision that fails fails alone.

mod actions;
mod apply;
mod attempts;
mod chores;
mod control;
mod edit;
mod ends;
mod executions;
mod feed;
mod homes;
mod jobs;
mod leases;
mod messages;
mod migrate;
mod once;
mod start;
mod timers;
mod traced;
mod triggers;

pub(crate) use attempts::{job_of, policy_of, settle_by, timeout_of};
pub(crate) use edit::editable;
pub(crate) use once::EXPIRY_EVERY_MILLIS;
use sprag_core::ids::{ExecutionId, Slot};
use sprag_store::Error;
pub(crate) use triggers::wait_millis;

use crate::aggregate::Aggregate;
use crate::command::{Answer, Internal, Refusal, Reply, Request};
use crate::lane::{Lane, LogEntry};

/// What a decision comes to: the store's failure fails the batch, a refusal only the request.
pub(crate) type Decision<T> = Result<Result<T, Refusal>, Error>;

impl Lane {
    /// Decides on one request. `slot` is where an execution without a key of its own starts, if that is not free.
    pub(crate) fn decide(&mut self, request: &Request, slot: Option<Slot>) -> Result<Reply, Error> {
        match request {
            Request::Apply(apply) => self.apply(apply),
            Request::Start(start) => self.start(start, slot),
            Request::Send(send) => self.send(send),
            Request::Pause(id) => self.pause(*id),
            Request::Resume(id) => self.resume(*id),
            Request::Cancel(id) => self.cancel(*id),
            Request::Migrate(migrate) => self.migrate(migrate),
            Request::RetryNow(action) => self.retry_now(*action),
            Request::CancelAction(action) => self.cancel_action(*action),
            Request::RetryDead(retry) => {
                let reply = self.retry_dead(retry)?;
                if reply.is_ok() {
                    let action = retry.action;
                    self.batch.logged.push(LogEntry::Retried { action });
                }
                Ok(reply)
            }
            Request::RetryLetter(retry) => self.deal(retry),
            Request::Archive(action) => self.archive(*action),
            Request::RetryAll(retry) => Ok(self.retry_all(retry)),
            Request::PauseJob(id) => Ok(self.pause_job(*id)),
            Request::ResumeJob(id) => Ok(self.resume_job(*id)),
            Request::CancelJob(id) => Ok(self.cancel_job(*id)),
            Request::Explain(action) => self.explain(*action),
            Request::Queue => {
                let lines = self.dispatcher.status(&self.control.switches, self.now);
                Ok(Ok(Answer::Queue(lines)))
            }
            Request::Lease(poll) => Ok(Ok(self.lease(poll))),
            Request::State(said) => Ok(self.allow(said)),
            Request::Heartbeat(attempt, checkpoint) => Ok(self.heartbeat(*attempt, checkpoint.as_ref())),
            Request::Finish(attempt, outcome) => self.finish(*attempt, outcome),
            Request::LeasedConfig(attempt) => self.leased_config(*attempt),
            Request::Control(request) => {
                // Whoever asks what is set is told what is stored, whichever node it asks.
                if matches!(
                    request,
                    crate::control::Request::Switches | crate::control::Request::Limits
                ) {
                    self.look_at_control()?;
                }
                Ok(self.control(request))
            }
            Request::Internal(internal) => self.decide_internal(internal),
        }
    }

    fn decide_internal(&mut self, internal: &Internal) -> Result<Reply, Error> {
        match internal {
            Internal::Outcome { attempt, outcome } => self.settle(*attempt, outcome.clone())?,
            Internal::Checkpoint { attempt, value } => return Ok(self.checkpoint(*attempt, value)),
            Internal::Timer(key) => self.timer_due(*key)?,
            Internal::Due(execution, action) => self.action_due(*execution, *action),
            Internal::Begin(execution, action) => self.begin(*execution, *action)?,
            Internal::Lost(execution, action) => self.lost(*execution, *action)?,
            Internal::Heard(heard) => self.heard(heard),
            Internal::Overdue(attempt) => self.overdue(*attempt)?,
            Internal::LeaseOver(attempt) => self.lease_over(*attempt)?,
            Internal::Continue(execution) => self.go_on(*execution)?,
            Internal::Chore(chore) => self.do_chore(chore)?,
            Internal::JobStep(step) => self.step_job(step)?,
            Internal::Dealt { job, dealt } => self.note_dealt(*job, dealt),
            Internal::ForgetJob { job, up_to, is_last } => self.forget_job(*job, *up_to, *is_last),
        }
        Ok(Ok(Answer::Checkpointed))
    }

    /// Takes an execution out of memory to decide on it; whoever does brings it back with `cache.put`.
    pub(crate) fn take(&mut self, id: ExecutionId) -> Result<Aggregate, Refusal> {
        self.cache.take(id).ok_or_else(|| self.unknown(id))
    }
}
