//! What a client was answered: it must be so, and stay so.

use sprag_core::ids::ExecutionId;
use sprag_core::machine::Cause;
use sprag_engine::requests::Sent;
use sprag_store::records::{Action, Timer};
use sprag_store::traits::{ActionQuery, ExecutionQuery, Reader};
use sprag_store::{Error, Memory, Page, Paged};

use super::Model;
use super::known::{KnownExecution, message_number};
use crate::violation::{Checked, Invariant, ensure};

/// What a client was answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Acknowledged {
    /// Executions that started.
    pub starts: Vec<ExecutionId>,
    /// Messages that were taken or queued.
    pub messages: Vec<Message>,
}

/// A message that was acknowledged.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// The number in its payload.
    pub number: u64,
    /// What was said about it.
    pub answer: Sent,
}

impl Acknowledged {
    /// Everything that was acknowledged is so.
    pub(crate) fn check(&self, model: &Model) -> Checked {
        for id in &self.starts {
            let is_kept = model.executions.get(id).is_some_and(|known| known.at.is_some());
            ensure(is_kept, Invariant::AcknowledgedKept, || {
                format!("{id} was started and is gone")
            })?;
        }
        self.messages.iter().try_for_each(|message| message.check(model))
    }
}

impl Message {
    /// It was taken at the sequence that was named, or waits, or its execution was closed before its turn came.
    pub(crate) fn check(&self, model: &Model) -> Checked {
        let Self { number, answer } = self;
        let known = model.executions.get(&answer.execution);
        let is_kept = known.is_some_and(|known| match known.taken.get(number) {
            Some(sequence) => answer.queued || *sequence == answer.sequence,
            None => answer.queued && (waits(known, *number) || !known.status.is_open()),
        });
        ensure(is_kept, Invariant::AcknowledgedKept, || {
            format!("message {number} was answered {answer:?} and is gone")
        })
    }
}

fn waits(known: &KnownExecution, number: u64) -> bool {
    let is_it = |cause: &Cause| matches!(cause, Cause::Message(found) if message_number(&found.payload) == number);
    known.inbox.values().any(is_it)
}

impl Model {
    /// What a process that starts now would find is what was committed.
    pub(crate) fn compare(&self, memory: &Memory) -> Checked {
        let executions = all(|page| {
            memory.executions(&ExecutionQuery {
                page: *page,
                ..ExecutionQuery::default()
            })
        });
        ensure(
            executions.len() == self.executions.len(),
            Invariant::AcknowledgedKept,
            || {
                format!(
                    "{} executions are stored, {} were committed",
                    executions.len(),
                    self.executions.len()
                )
            },
        )?;
        for row in executions {
            let id = row.id;
            let is_same = self
                .executions
                .get(&id)
                .is_some_and(|known| known.row == row && is_stored(known, memory));
            ensure(is_same, Invariant::AcknowledgedKept, || {
                format!("{id} is stored otherwise than committed")
            })?;
        }
        let actions = all(|page| {
            memory.actions(&ActionQuery {
                page: *page,
                ..ActionQuery::default()
            })
        });
        for (id, known) in &self.plans {
            let stored = memory.plan(*id).ok().flatten();
            ensure(stored.as_ref() == Some(&known.row), Invariant::AcknowledgedKept, || {
                format!("{id} is stored otherwise than committed")
            })?;
        }
        let is_known = |row: &Action| self.actions.get(&row.id).is_some_and(|known| known.row == *row);
        let is_same = actions.len() == self.actions.len() && actions.iter().all(is_known);
        ensure(is_same, Invariant::AcknowledgedKept, || {
            "actions are stored otherwise than committed".to_owned()
        })
    }
}

/// All rows of a list, page by page: a page is bounded in bytes.
fn all<T, C>(mut read: impl FnMut(&Page<C>) -> Result<Paged<T, C>, Error>) -> Vec<T> {
    let (mut rows, mut page) = (Vec::new(), Page::default());
    loop {
        let Paged { rows: more, next } = read(&page).unwrap_or_default();
        rows.extend(more);
        if next.is_none() {
            return rows;
        }
        page.after = next;
    }
}

fn is_stored(known: &KnownExecution, memory: &Memory) -> bool {
    let id = known.row.id;
    let timers: Vec<&Timer> = known.timers.values().collect();
    let stored = memory.timers(id).unwrap_or_default();
    let last = memory
        .history(id, &Page::new(Some(known.length.saturating_sub(1)), usize::MAX))
        .unwrap_or_default()
        .rows;
    let inbox = memory.inbox_length(id).unwrap_or(u64::MAX);
    timers == stored.iter().collect::<Vec<_>>()
        && last.len() == usize::from(known.length > 0)
        && inbox == u64::try_from(known.inbox.len()).unwrap_or(u64::MAX)
}
