//! What every backend refuses, so that none can keep what another cannot.
//!
//! Numbers are stored as `i64`, and `PostgreSQL` has no NUL in its texts.

use crate::records::{
    Action, Execution, Fact, HistoryEntry, InboxEntry, Job, JobItem, MachineVersion, Receipt, Timer, TimerKey,
};
use crate::traits::{Error, Mutation};

/// Refuses a mutation that some backend could not store.
pub(crate) fn check(mutation: &Mutation) -> Result<(), Error> {
    match mutation {
        Mutation::InsertMachineVersion(MachineVersion { machine, .. }) | Mutation::ExpectNewest { machine, .. } => {
            text("machine", machine)
        }
        Mutation::InsertExecution(execution) | Mutation::UpdateExecution { execution, .. } => {
            check_execution(execution)
        }
        Mutation::AppendHistory(HistoryEntry { sequence, .. }) => number("sequence", *sequence),
        Mutation::InsertAction(action) | Mutation::UpdateAction(action) => check_action(action),
        Mutation::PutTimer(Timer { key, schedule, .. }) => {
            check_timer_key(key)?;
            schedule.iter().try_for_each(|schedule| text("schedule", schedule))
        }
        Mutation::DeleteTimer(key) => check_timer_key(key),
        Mutation::InsertInbox(InboxEntry { position, .. }) | Mutation::DeleteInbox { position, .. } => {
            number("position", *position)
        }
        Mutation::InsertReceipt(Receipt { message, .. }) | Mutation::DeleteReceipt { message, .. } => {
            text("message", message)
        }
        Mutation::PutIdempotency(_)
        | Mutation::InsertIdempotency(_)
        | Mutation::DeleteIdempotency(_)
        | Mutation::PutLife(_)
        | Mutation::DeleteExecution(_)
        | Mutation::DeleteJob(_) => Ok(()),
        Mutation::PutFact(Fact { key, .. }) | Mutation::DeleteFact { key, .. } => text("key", key),
        Mutation::PutJob(Job { kind, .. }) => text("kind", kind),
        Mutation::InsertJobItem(JobItem {
            number: position,
            detail,
            ..
        }) => {
            number("number", *position)?;
            detail.iter().try_for_each(|detail| text("detail", detail))
        }
        Mutation::DeleteJobItems { up_to, .. } => number("number", *up_to),
    }
}

fn check_execution(execution: &Execution) -> Result<(), Error> {
    text("machine", &execution.machine)?;
    execution.key.iter().try_for_each(|key| text("key", key))?;
    execution.tags.iter().try_for_each(|tag| text("tag", tag))?;
    number("sequence", execution.sequence)
}

fn check_action(action: &Action) -> Result<(), Error> {
    text("machine", &action.machine)?;
    text("action id", &action.action_id)?;
    text("kind", &action.kind)?;
    text("line", &action.line)?;
    action.error_kind.iter().try_for_each(|kind| text("error kind", kind))?;
    action
        .fingerprint
        .iter()
        .try_for_each(|print| text("fingerprint", print))?;
    action.tags.iter().try_for_each(|tag| text("tag", tag))
}

fn check_timer_key(key: &TimerKey) -> Result<(), Error> {
    number("visit", key.visit)
}

fn text(name: &str, text: &str) -> Result<(), Error> {
    if text.as_bytes().contains(&0) {
        return Err(Error::Refused {
            detail: format!("a {name} holds a NUL"),
        });
    }
    Ok(())
}

fn number(name: &str, number: u64) -> Result<(), Error> {
    match i64::try_from(number) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::Refused {
            detail: format!("the {name} `{number}` is too great"),
        }),
    }
}
