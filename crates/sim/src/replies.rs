//! Answers: whatever is said is so.

use crate::ask::{Answer, Reply, Request};
use sprag_core::ids::WorkflowId;
use sprag_core::operation::WorkflowStatus;
use sprag_engine::requests::{Code, Refusal, Target};
use sprag_store::traits::Reader;

use crate::clients::{Ask, Purpose};
use crate::describe;
use crate::model::Message;
use crate::picky;
use crate::simulation::Simulation;
use crate::violation::{Checked, Invariant, Violation, ensure};

impl Simulation {
    /// Takes an answer for what it is: a promise.
    pub(crate) fn take_reply(&mut self, ask: &Ask, reply: &Reply) -> Checked {
        self.trace.line(format_args!("  answer {}", describe::reply(reply)));
        self.check_once(ask, reply)?;
        match &ask.purpose {
            Purpose::Beat(attempt) => return self.take_beat(*attempt, ask, reply),
            Purpose::Finish(attempt) => return self.take_finish(*attempt, ask, reply),
            _ => {}
        }
        match reply {
            // A refusal was honest when it was first given; an execution must be there still.
            Ok(Answer::Replayed(first)) => match first.as_ref() {
                Ok(answer) => self.take_answer(ask, answer),
                Err(_) => Ok(()),
            },
            Ok(answer) => self.take_answer(ask, answer),
            Err(refusal) => self.take_refusal(ask, refusal),
        }
    }

    /// Whatever was decided under a key is what every client gets that asks under it.
    fn check_once(&mut self, ask: &Ask, reply: &Reply) -> Checked {
        let Purpose::StartOnce(number) = &ask.purpose else {
            return Ok(());
        };
        let decided = match reply {
            Ok(Answer::Replayed(first)) => first.as_ref(),
            other => other,
        };
        if !matches!(
            decided,
            Ok(_)
                | Err(Refusal {
                    code: Code::KeyInUse,
                    ..
                })
        ) {
            return Ok(());
        }
        let answer = format!("{decided:?}");
        let first = self.clients.first_answer(*number, answer.clone());
        ensure(first.as_ref() == Some(&answer), Invariant::ExactlyOnce, || {
            format!("{answer} and {first:?} answer the same idempotency key")
        })
    }

    fn take_answer(&mut self, ask: &Ask, answer: &Answer) -> Checked {
        let lost = |what: String| Violation::new(Invariant::AcknowledgedKept, what);
        match (answer, &ask.purpose) {
            (Answer::Applied(applied), _) => {
                let stored = self
                    .disk
                    .memory()
                    .machine(&applied.id, Some(applied.version))
                    .ok()
                    .flatten();
                let is_so = match &ask.request {
                    Request::Apply(apply) => stored.is_some_and(|row| row.digest == apply.machine.digest),
                    _ => stored.is_some(),
                };
                is_so
                    .then_some(())
                    .ok_or_else(|| lost(format!("{applied:?} is not stored as it was applied")))
            }
            (Answer::Execution(view), purpose) => {
                let stored = self.disk.memory().execution(view.id).ok().flatten();
                let is_so = stored.as_ref().is_some_and(|row| row.sequence >= view.sequence);
                ensure(is_so, Invariant::AcknowledgedKept, || {
                    format!("{view:?} was answered, stored is {stored:?}")
                })?;
                if matches!(purpose, Purpose::Start | Purpose::StartOnce(_)) {
                    self.acknowledged.starts.push(view.id);
                }
                Ok(())
            }
            (Answer::Sent(sent), Purpose::Send(number)) => {
                let first = self.clients.answered(*number, sent);
                let has_id = matches!(&ask.request, Request::Send(message) if message.id.is_some());
                let is_first = !has_id || first.as_ref().is_none_or(|first| first == sent);
                ensure(is_first, Invariant::ExactlyOnce, || {
                    format!("{sent:?} and {first:?} answer message {number}")
                })?;
                let message = Message {
                    number: *number,
                    answer: sent.clone(),
                };
                message.check(&self.model)?;
                self.acknowledged.messages.push(message);
                Ok(())
            }
            (Answer::Action(view), _) => {
                let stored = self.disk.memory().action(view.id).ok().flatten();
                stored
                    .map(|_| ())
                    .ok_or_else(|| lost(format!("{} is not stored", view.id)))
            }
            (Answer::Workflow(changed), _) => self.take_decision(&ask.request, changed.id),
            (Answer::Done, Purpose::Checkpoint(attempt, value)) => {
                let known = self.model.actions.get(&attempt.action).map(|known| &known.action.body);
                let is_kept = known.is_some_and(|body| body.checkpoint.as_ref() == Some(value));
                ensure(is_kept, Invariant::AcknowledgedKept, || {
                    format!("checkpoint {value} is not stored")
                })?;
                self.world.lock().checkpointed(*attempt, true);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// What people decided is stored.
    fn take_decision(&self, request: &Request, id: WorkflowId) -> Checked {
        let stored = self.disk.memory().plan(id).ok().flatten();
        let is_stored = stored.is_some()
            && self.model.plans.get(&id).is_some_and(|known| match request {
                Request::Approve(approve) => {
                    let by = |by: &str| *approve.caller.principal == *by;
                    known.decisions.given.iter().any(|given| by(&given.by))
                }
                Request::Reject(_) => known.row.status == WorkflowStatus::Rejected,
                Request::Revoke(_) => known.decisions.revoked.is_some(),
                Request::CancelWorkflow(_) => known.row.status == WorkflowStatus::Cancelled,
                _ => true,
            });
        ensure(is_stored, Invariant::AcknowledgedKept, || {
            format!("{} was answered, stored is {stored:?}", describe::request(request))
        })
    }

    fn take_refusal(&mut self, ask: &Ask, refusal: &Refusal) -> Checked {
        if let Purpose::Checkpoint(attempt, _) = &ask.purpose {
            self.world.lock().checkpointed(*attempt, false);
        }
        let is_honest = match refusal.code {
            Code::ExecutionUnknown => !self.is_known(&ask.request),
            Code::ExecutionClosed => self.is_closed(&ask.request),
            Code::StoreRefused => !self.disk.lock().is_picky || picky::is_guilty(&ask.request),
            Code::KeyInUse => self.is_held(&ask.request),
            Code::ActionUnknown => !matches!(ask.purpose, Purpose::Action(id) if self.model.actions.contains_key(&id)),
            // Where nodes answer late, another client may have applied it since.
            Code::MachineUnknown if self.model.is_shared() => true,
            Code::MachineUnknown => {
                matches!(&ask.request, Request::Start(start) if self.model.newest(&start.machine).is_none())
            }
            _ => true,
        };
        ensure(is_honest, Invariant::HonestRefusals, || {
            format!("{} was answered {:?}", describe::request(&ask.request), refusal)
        })
    }

    /// Whether the execution that a request is for was there before this instant.
    fn is_known(&self, request: &Request) -> bool {
        match request {
            Request::Pause(id) | Request::Resume(id) | Request::Cancel(id) => self.model.executions.contains_key(id),
            Request::Migrate(migrate) => self.model.executions.contains_key(&migrate.execution),
            Request::Send(send) => match &send.to {
                Target::Id(id) => self.model.executions.contains_key(id),
                Target::Key { machine, key } => self.model.executions.values().any(|known| {
                    let is_it = known.row.machine == *machine && known.row.key.as_ref() == Some(key);
                    is_it && known.status.is_open() && known.row.created_at < self.asked_at
                }),
            },
            _ => false,
        }
    }

    fn is_closed(&self, request: &Request) -> bool {
        let is_closed = |id| {
            self.model
                .executions
                .get(id)
                .is_some_and(|known| !known.status.is_open())
        };
        match request {
            Request::Migrate(migrate) => is_closed(&migrate.execution),
            Request::Send(send) => match &send.to {
                Target::Id(id) => is_closed(id),
                Target::Key { .. } => true,
            },
            _ => false,
        }
    }

    /// Whether an open execution holds the key, or held it until this instant.
    fn is_held(&self, request: &Request) -> bool {
        let Request::Start(start) = request else { return false };
        self.model.executions.values().any(|known| {
            let is_it = known.row.machine == start.machine && known.row.key == start.key;
            is_it && (known.status.is_open() || known.row.updated_at >= self.asked_at)
        })
    }
}
