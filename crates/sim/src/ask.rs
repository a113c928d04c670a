//! What simulated clients ask and are answered: one type for all requests, so that a model can compare them.

use serde_json::Value;
use sprag_core::action::Outcome;
use sprag_core::ids::{ActionId, AttemptId, ExecutionId};
use sprag_engine::leases::{Beat, Finished, LeaseAnswer};
use sprag_engine::limits::{GrantReceived, LimitDemand, LimitGrant};
use sprag_engine::read::queue::LinesInMemory;
use sprag_engine::read::view::{ActionView, ExecutionView};
use sprag_engine::requests::idempotency::{Idempotency, Key};
use sprag_engine::requests::operations::{CatalogApplied, WorkflowChanged};
use sprag_engine::requests::{
    self, Applied, Apply, ApplyCatalog, Approve, Archive, AttemptRef, Call, Cancel, CancelAction, CancelWorkflow,
    Checkpoint, Command, Explain, Finish, Heartbeat, Migrate, Pause, Poll, Propose, Refusal, Reject, Replied,
    ReportOutcome, Resume, ResumeWorkflow, RetryDead, RetryNow, Revoke, SendMessage, Sent, ShowQueue, Start,
};
use tokio::sync::oneshot::error::TryRecvError;

/// What is asked of a lane.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    Apply(Apply),
    Start(Start),
    Send(SendMessage),
    Pause(ExecutionId),
    Resume(ExecutionId),
    Cancel(ExecutionId),
    Migrate(Migrate),
    RetryNow(ActionId),
    CancelAction(ActionId),
    RetryDead(RetryDead),
    Archive(ActionId),
    Explain(ActionId),
    Queue,
    Lease(Poll),
    Heartbeat(AttemptId, Option<Value>),
    Finish(AttemptId, Outcome),
    Demand(LimitDemand),
    Outcome(AttemptRef, Outcome),
    Checkpoint(AttemptRef, Value),
    Granted(GrantReceived),
    ApplyCatalog(ApplyCatalog),
    Propose(Propose),
    Approve(Approve),
    Reject(Reject),
    Revoke(Revoke),
    CancelWorkflow(CancelWorkflow),
    ResumeWorkflow(ResumeWorkflow),
}

/// What a lane answers.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Applied(Applied),
    Execution(Box<ExecutionView>),
    Sent(Sent),
    Action(Box<ActionView>),
    /// Something that has no answer but that it is durable.
    Done,
    Leased,
    Beat(Beat),
    Finished(Finished),
    Queue(LinesInMemory),
    LimitGrant(LimitGrant),
    /// A catalog was applied.
    Published,
    Workflow(WorkflowChanged),
    /// The answer to an earlier request under the same idempotency key.
    Replayed(Box<Reply>),
}

/// An answer, or why there is none.
pub(crate) type Reply = Result<Answer, Refusal>;

/// Where the answer to one request arrives.
pub(crate) struct Reception(Box<dyn FnMut() -> Result<Reply, TryRecvError> + Send>);

impl Reception {
    /// The answer, if it is there.
    pub(crate) fn try_recv(&mut self) -> Result<Reply, TryRecvError> {
        (self.0)()
    }
}

impl Request {
    /// The command for a lane, acting once, and where its answer arrives.
    pub(crate) fn asked(&self, once: Option<Idempotency>) -> (Command, Reception) {
        match self.clone() {
            Self::Apply(apply) => asked(apply, once, Answer::Applied),
            Self::Start(start) => asked(start, once, Answer::Execution),
            Self::Send(send) => asked(send, once, Answer::Sent),
            Self::Pause(id) => asked(Pause(id), once, Answer::Execution),
            Self::Resume(id) => asked(Resume(id), once, Answer::Execution),
            Self::Cancel(id) => asked(Cancel(id), once, Answer::Execution),
            Self::Migrate(migrate) => asked(migrate, once, Answer::Execution),
            Self::RetryNow(id) => asked(RetryNow(id), once, Answer::Action),
            Self::CancelAction(id) => asked(CancelAction(id), once, Answer::Action),
            Self::RetryDead(retry) => asked(retry, once, Answer::Action),
            Self::Archive(id) => asked(Archive(id), once, Answer::Action),
            Self::Explain(id) => asked(Explain(id), once, Answer::Action),
            Self::Queue => asked(ShowQueue, once, Answer::Queue),
            Self::Lease(poll) => asked(poll, once, |_: LeaseAnswer| Answer::Leased),
            Self::Heartbeat(attempt, checkpoint) => asked(Heartbeat { attempt, checkpoint }, once, Answer::Beat),
            Self::Finish(attempt, outcome) => asked(Finish { attempt, outcome }, once, Answer::Finished),
            Self::Demand(demand) => asked(demand, once, Answer::LimitGrant),
            Self::Outcome(attempt, outcome) => asked(ReportOutcome { attempt, outcome }, once, |()| Answer::Done),
            Self::Checkpoint(attempt, value) => asked(Checkpoint { attempt, value }, once, |()| Answer::Done),
            Self::Granted(granted) => asked(granted, once, |()| Answer::Done),
            Self::ApplyCatalog(apply) => asked(apply, once, |_: CatalogApplied| Answer::Published),
            Self::Propose(propose) => asked(propose, once, Answer::Workflow),
            Self::Approve(approve) => asked(approve, once, Answer::Workflow),
            Self::Reject(reject) => asked(reject, once, Answer::Workflow),
            Self::Revoke(revoke) => asked(revoke, once, Answer::Workflow),
            Self::CancelWorkflow(cancel) => asked(cancel, once, Answer::Workflow),
            Self::ResumeWorkflow(resume) => asked(resume, once, Answer::Workflow),
        }
    }

    /// The command for a lane, of the engine's own.
    pub(crate) fn own(&self) -> Command {
        // Dropping the reception leaves a caller that is gone, which the engine's own requests never had.
        match self.clone() {
            Self::Outcome(attempt, outcome) => Command::own(ReportOutcome { attempt, outcome }),
            Self::Checkpoint(attempt, value) => Command::own(Checkpoint { attempt, value }),
            Self::Granted(granted) => Command::own(granted),
            Self::Queue => Command::own(ShowQueue),
            Self::Lease(poll) => Command::own(poll),
            Self::Heartbeat(attempt, checkpoint) => Command::own(Heartbeat { attempt, checkpoint }),
            other => other.asked(None).0,
        }
    }

    /// What a start under a key counts for.
    pub(crate) fn once(&self, key: &Key) -> Option<Idempotency> {
        match self {
            Self::Start(start) => Idempotency::of(key, start),
            _ => None,
        }
    }
}

fn asked<R: requests::Request>(
    request: R,
    once: Option<Idempotency>,
    answer: fn(R::Answer) -> Answer,
) -> (Command, Reception) {
    let (call, mut receiver) = Call::asked(request);
    let receive = move || {
        receiver.try_recv().map(
            |Replied {
                 answer: given,
                 replayed,
             }| {
                let reply = given.map(answer);
                if replayed {
                    Ok(Answer::Replayed(Box::new(reply)))
                } else {
                    reply
                }
            },
        )
    };
    (R::command(call.once(once)), Reception(Box::new(receive)))
}
