//! Messages: taken at once, queued while the execution is held, or refused.

use std::sync::Arc;

use serde_json::{Value, json};
use sprag_core::document::json;
use sprag_core::ids::{ExecutionId, Slot};
use sprag_core::machine::{Cause, Message, is_reserved};
use sprag_core::text::check_key;
use sprag_store::Mutation;
use sprag_store::records::Receipt;

use super::idempotency::stored_answer;
use super::start::check_field;
use super::{Answer, Code, Overlap, Refusal, Request, Route, Subject};
use crate::decide::convert::Entry;
use crate::decide::state::ExecutionState;
use crate::decide::{Decider, ExecutionChange, Reads};

/// Send a message.
#[derive(Clone, Debug, PartialEq)]
pub struct SendMessage {
    /// To which execution.
    pub to: Target,
    /// What it is.
    pub kind: String,
    /// What it carries.
    pub payload: Value,
    /// Unique as long as the execution exists; the same id again gets the first answer.
    pub id: Option<String>,
}

/// How an execution is addressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// By id.
    Id(ExecutionId),
    /// By the machine and key of an open one.
    Key {
        /// The machine's name.
        machine: String,
        /// The key.
        key: String,
    },
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sent {
    /// To which execution.
    pub execution: ExecutionId,
    /// Whether a transition answered it.
    pub handled: bool,
    /// It waits in the inbox.
    #[serde(default)]
    pub queued: bool,
    /// The active states afterwards.
    pub configuration: Vec<String>,
    /// The sequence of its history entry.
    pub sequence: u64,
    /// What the active states accept, where no transition answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepts: Vec<String>,
}

impl Answer for Sent {
    stored_answer!("sent");
}

impl Request for SendMessage {
    type Answer = Sent;
    const NAME: &'static str = "send";
    const OVERLAP: Overlap = Overlap::Everyday;

    own_variant!(SendMessage);

    fn route(&self) -> Route {
        Route::Slot(match &self.to {
            Target::Id(id) => id.slot(),
            Target::Key { machine, key } => Slot::of_key(machine, key),
        })
    }

    fn reads(&self, reads: &mut Reads<'_>) {
        let id = match &self.to {
            Target::Id(id) => Some(*id),
            Target::Key { machine, key } => reads.key(machine, key),
        };
        if let Some(id) = id {
            reads.execution(id);
            if let Some(message) = &self.id {
                reads.receipt(id, message);
            }
        }
    }

    fn subject(&self) -> Option<Subject> {
        let Self { to, kind, payload, id } = self;
        let target = match to {
            Target::Id(id) => json!(id),
            Target::Key { machine, key } => json!([machine, key]),
        };
        Some(Subject {
            target,
            body: json!({"type": kind, "payload": payload, "id": id}),
        })
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Sent, Refusal> {
        check_message(self, decider.rules.limits.message_bytes)?;
        let id = addressee(decider, &self.to)?;
        if let Some(answer) = answered_before(decider, id, self) {
            return Ok(answer);
        }
        let sent = decider.change(id, |change| take(change, self))??;
        store_receipt(decider, self.id.as_ref(), &sent);
        Ok(sent)
    }
}

fn check_message(send: &SendMessage, most: usize) -> Result<(), Refusal> {
    if is_reserved(&send.kind) {
        let kind = &send.kind;
        let detail = format!("only Sprag sends messages of type `{kind}`; use another type");
        return Err(Refusal::at("/type", Code::ReservedType, detail));
    }
    if let Target::Key { machine, key } = &send.to {
        check_field("/machine", check_key(machine))?;
        check_field("/key", check_key(key))?;
    }
    check_field("/type", check_key(&send.kind))?;
    send.id.iter().try_for_each(|id| check_field("/id", check_key(id)))?;
    let bytes = send.kind.len() + send.id.as_ref().map_or(0, String::len) + json::size(&send.payload);
    if bytes > most {
        let detail =
            format!("the message has {bytes} bytes, and the limit is {most}; send a reference to the data instead");
        return Err(Refusal::new(Code::MessageTooLarge, detail));
    }
    Ok(())
}

fn addressee(decider: &Decider<'_>, to: &Target) -> Result<ExecutionId, Refusal> {
    match to {
        Target::Id(id) => Ok(*id),
        Target::Key { machine, key } => decider.holder(machine, key).ok_or_else(|| {
            let detail = format!("machine `{machine}` has no open execution with key `{key}`; check the key, or start an execution with it");
            Refusal::new(Code::ExecutionUnknown, detail)
        }),
    }
}

/// The first answer to a message with this id.
fn answered_before(decider: &Decider<'_>, to: ExecutionId, send: &SendMessage) -> Option<Sent> {
    let name = (to, send.id.clone()?);
    if let Some(sent) = decider.batch.receipts.get(&name) {
        return Some(sent.clone());
    }
    let stored = decider.known.found.receipts.get(&name)?.as_ref()?;
    serde_json::from_slice(stored).ok()
}

fn store_receipt(decider: &mut Decider<'_>, id: Option<&String>, sent: &Sent) {
    let Some(id) = id else { return };
    let name = (sent.execution, id.clone());
    decider.batch.receipts.insert(name, sent.clone());
    decider.batch.log.push(Mutation::InsertReceipt(Receipt {
        execution: sent.execution,
        message: id.clone(),
        answer: serde_json::to_vec(sent).unwrap_or_default(),
    }));
}

/// Takes a message: one macrostep, or a place in the inbox.
fn take(change: &mut ExecutionChange<'_, '_>, send: &SendMessage) -> Result<Sent, Refusal> {
    refuse_closed(change.state)?;
    if change.state.is_deciding() {
        change.fire_and_drain();
        // A timer or a deferred input may have closed it, or failed.
        refuse_closed(change.state)?;
    }
    let slot = change.state.head.id.slot();
    let mut new_id = || change.decider.at.mint.message(slot).to_string();
    let message = Message {
        id: send.id.clone().unwrap_or_else(&mut new_id),
        kind: send.kind.clone(),
        payload: send.payload.clone(),
    };
    let cause = Cause::Message(Arc::new(message));
    if change.state.is_deciding() && change.state.inbox.is_empty() {
        decide_message(change, cause)
    } else {
        queue_message(change, cause)
    }
}

fn refuse_closed(state: &ExecutionState) -> Result<(), Refusal> {
    let head = &state.head;
    if head.status.is_open() {
        return Ok(());
    }
    let (id, status) = (head.id, head.status.word());
    let detail = format!("execution `{id}` is {status} and accepts no more messages; start a new execution");
    Err(Refusal::new(Code::ExecutionClosed, detail))
}

fn decide_message(change: &mut ExecutionChange<'_, '_>, cause: Cause) -> Result<Sent, Refusal> {
    match change.step(cause.clone()) {
        Ok(taken) => {
            let sequence = change.state.head.sequence;
            change.follow(taken.ends);
            let configuration = change.machine.configuration(&change.state.execution.active);
            let accepts = if taken.handled {
                Vec::new()
            } else {
                change
                    .machine
                    .accepted_messages(configuration.iter().map(String::as_str))
            };
            Ok(Sent {
                execution: change.state.head.id,
                handled: taken.handled,
                queued: false,
                configuration,
                sequence,
                accepts,
            })
        }
        Err(error) => {
            let error = error.to_string();
            let refusal = Refusal::new(Code::DecisionFailed, error.clone());
            change.record(&Entry::Refused { cause, error });
            Err(refusal)
        }
    }
}

fn queue_message(change: &mut ExecutionChange<'_, '_>, cause: Cause) -> Result<Sent, Refusal> {
    let most = change.decider.rules.limits.inbox;
    let id = change.state.head.id;
    if change.state.inbox.len() >= most {
        let detail =
            format!("the inbox of execution `{id}` is full: {most} inputs wait; resume or cancel the execution first");
        return Err(Refusal::new(Code::InboxFull, detail));
    }
    change.enqueue(cause);
    Ok(Sent {
        execution: id,
        handled: false,
        queued: true,
        configuration: change.machine.configuration(&change.state.execution.active),
        sequence: change.state.head.sequence,
        accepts: Vec::new(),
    })
}
