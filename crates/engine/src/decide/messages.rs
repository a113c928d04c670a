//! Messages: taken at once, queued while the execution is held, or refused.

use std::sync::Arc;

use sprag_core::ids::ExecutionId;
use sprag_core::json;
use sprag_core::machine::{Cause, Machine, Message, is_reserved};
use sprag_core::text::check_key;
use sprag_store::records::Receipt;
use sprag_store::{Error, Mutation};

use super::start::check_field;
use crate::aggregate::Aggregate;
use crate::command::{Answer, Code, Refusal, Reply, SendMessage, Sent, Target};
use crate::convert::Entry;
use crate::lane::Lane;

impl Lane {
    /// Takes a message: one macrostep, or a place in the inbox.
    pub(super) fn send(&mut self, send: &SendMessage) -> Result<Reply, Error> {
        if let Err(refusal) = self.check_message(send) {
            return Ok(Err(refusal));
        }
        let id = match self.addressee(&send.to) {
            Ok(id) => id,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if let Some(answer) = self.answered_before(id, send) {
            return Ok(Ok(Answer::Sent(answer)));
        }
        let mut aggregate = match self.take(id) {
            Ok(aggregate) => aggregate,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let machine = self.machine_of(&aggregate)?;
        let taken = self.take_message(&mut aggregate, &machine, send);
        self.cache.put(aggregate);
        Ok(taken.map(|sent| {
            self.keep_receipt(send.id.as_ref(), &sent);
            Answer::Sent(sent)
        }))
    }

    fn check_message(&self, send: &SendMessage) -> Result<(), Refusal> {
        if is_reserved(&send.kind) {
            let detail = format!(
                "messages of type `{}` come from the engine only; give it another type",
                send.kind
            );
            return Err(Refusal {
                errors: vec![("/type".to_owned(), detail.clone())],
                ..Refusal::new(Code::ReservedType, detail)
            });
        }
        if let Target::Key { machine, key } = &send.to {
            check_field("/machine", check_key(machine))?;
            check_field("/key", check_key(key))?;
        }
        check_field("/type", check_key(&send.kind))?;
        send.id.iter().try_for_each(|id| check_field("/id", check_key(id)))?;
        let bytes = send.kind.len() + send.id.as_ref().map_or(0, String::len) + json::size(&send.payload);
        let most = self.options.limits.message_bytes;
        if bytes > most {
            return Err(Refusal::new(
                Code::MessageTooLarge,
                format!("the message takes {bytes} bytes, more than {most}"),
            ));
        }
        Ok(())
    }

    fn addressee(&self, to: &Target) -> Result<ExecutionId, Refusal> {
        match to {
            Target::Id(id) => Ok(*id),
            Target::Key { machine, key } => self.holder(machine, key).ok_or_else(|| {
                let detail = format!("machine `{machine}` has no open execution with key `{key}`");
                Refusal::new(Code::ExecutionUnknown, detail)
            }),
        }
    }

    /// The first answer to a message with this id.
    fn answered_before(&self, to: ExecutionId, send: &SendMessage) -> Option<Sent> {
        let id = send.id.as_ref()?;
        if let Some(sent) = self.batch.receipts.get(&(to, id.clone())) {
            return Some(sent.clone());
        }
        let stored = self
            .loaded
            .receipts
            .iter()
            .find(|receipt| receipt.execution == to && receipt.message == *id)?;
        serde_json::from_slice(&stored.answer).ok()
    }

    fn keep_receipt(&mut self, id: Option<&String>, sent: &Sent) {
        let Some(id) = id else { return };
        self.batch.receipts.insert((sent.execution, id.clone()), sent.clone());
        self.batch.log.push(Mutation::InsertReceipt(Receipt {
            execution: sent.execution,
            message: id.clone(),
            answer: serde_json::to_vec(sent).unwrap_or_default(),
        }));
    }

    fn take_message(
        &mut self,
        aggregate: &mut Aggregate,
        machine: &Machine,
        send: &SendMessage,
    ) -> Result<Sent, Refusal> {
        Self::refuse_closed(aggregate)?;
        if aggregate.is_deciding() {
            self.fire_due(aggregate, machine);
            self.drain(aggregate, machine);
            // A timer or a deferred input may have closed it, or failed.
            Self::refuse_closed(aggregate)?;
        }
        let message = Message {
            id: send
                .id
                .clone()
                .unwrap_or_else(|| self.mint.message(aggregate.head.id.slot()).to_string()),
            kind: send.kind.clone(),
            payload: send.payload.clone(),
        };
        let cause = Cause::Message(Arc::new(message));
        if aggregate.is_deciding() && aggregate.inbox.is_empty() {
            self.decide_message(aggregate, machine, cause)
        } else {
            self.queue_message(aggregate, machine, cause)
        }
    }

    fn refuse_closed(aggregate: &Aggregate) -> Result<(), Refusal> {
        if aggregate.head.status.is_open() {
            return Ok(());
        }
        let head = &aggregate.head;
        Err(Refusal::new(
            Code::ExecutionClosed,
            format!(
                "execution `{}` is {} and takes no more messages; start another one",
                head.id,
                head.status.word()
            ),
        ))
    }

    fn decide_message(&mut self, aggregate: &mut Aggregate, machine: &Machine, cause: Cause) -> Result<Sent, Refusal> {
        match self.step(aggregate, machine, cause.clone()) {
            Ok(stepped) => {
                let sequence = aggregate.head.sequence;
                self.follow(aggregate, machine, stepped.ends);
                let configuration = machine.configuration(&aggregate.execution.active);
                let execution = aggregate.head.id;
                let accepts = if stepped.handled {
                    Vec::new()
                } else {
                    machine.accepted_messages(configuration.iter().map(String::as_str))
                };
                Ok(Sent {
                    execution,
                    handled: stepped.handled,
                    queued: false,
                    configuration,
                    sequence,
                    accepts,
                })
            }
            Err(error) => {
                self.record(
                    aggregate,
                    &Entry::Refused {
                        cause,
                        error: error.to_string(),
                    },
                );
                Err(Refusal::new(Code::DecisionFailed, error.to_string()))
            }
        }
    }

    fn queue_message(&mut self, aggregate: &mut Aggregate, machine: &Machine, cause: Cause) -> Result<Sent, Refusal> {
        let most = self.options.limits.inbox;
        if aggregate.inbox.len() >= most {
            let detail = format!("{most} inputs wait for execution `{}` already", aggregate.head.id);
            return Err(Refusal::new(Code::InboxFull, detail));
        }
        self.enqueue(aggregate, cause);
        Ok(Sent {
            execution: aggregate.head.id,
            handled: false,
            queued: true,
            configuration: machine.configuration(&aggregate.execution.active),
            sequence: aggregate.head.sequence,
            accepts: Vec::new(),
        })
    }
}
