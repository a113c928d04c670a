//! What every backend refuses, so that none can keep what another cannot.
//!
//! Numbers are stored as `i64`. `PostgreSQL` has no NUL in its texts, and no long text in an index. The one exception are
//! the action ids and tags of definitions that were applied before names had a bound: `SQLite` keeps those it has.

use sprag_core::integrity::audit::{Decision, Entry};
use sprag_core::text::{INDEXED_BYTES_MAX, LINE_BYTES_MAX, is_storable};

use crate::records::{
    Action, CatalogVersion, Execution, Fact, HistoryEntry, InboxEntry, Job, JobItem, MachineVersion, Plan, Receipt,
    Timer, TimerKey,
};
use crate::traits::{Error, Mutation};

/// Refuses a mutation that some backend could not store.
pub(crate) fn check(mutation: &Mutation) -> Result<(), Error> {
    match mutation {
        Mutation::InsertMachineVersion(MachineVersion { machine, .. }) | Mutation::ExpectNewest { machine, .. } => {
            indexed("machine", machine)
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
            indexed("message", message)
        }
        Mutation::PutIdempotency(_)
        | Mutation::InsertIdempotency(_)
        | Mutation::DeleteIdempotency(_)
        | Mutation::PutRun(_)
        | Mutation::DeleteExecution(_)
        | Mutation::DeleteJob(_) => Ok(()),
        Mutation::PutFact(Fact { key, .. }) | Mutation::DeleteFact { key, .. } => indexed("key", key),
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
        Mutation::InsertAudit(entry) => check_audit(entry),
        Mutation::InsertCatalogVersion(CatalogVersion { name, .. }) => indexed("name", name),
        Mutation::PutPlan(plan) => check_plan(plan),
    }
}

fn check_execution(execution: &Execution) -> Result<(), Error> {
    indexed("machine", &execution.machine)?;
    execution.key.iter().try_for_each(|key| indexed("key", key))?;
    execution.tags.iter().try_for_each(|tag| text("tag", tag))?;
    number("sequence", execution.sequence)
}

fn check_action(action: &Action) -> Result<(), Error> {
    indexed("machine", &action.machine)?;
    text("action id", &action.action_id)?;
    text("kind", &action.kind)?;
    bounded("line", &action.line, LINE_BYTES_MAX)?;
    action
        .error_kind
        .iter()
        .try_for_each(|kind| indexed("error kind", kind))?;
    action
        .fingerprint
        .iter()
        .try_for_each(|print| indexed("fingerprint", print))?;
    action.tags.iter().try_for_each(|tag| text("tag", tag))
}

fn check_audit(entry: &Entry) -> Result<(), Error> {
    let Decision {
        principal,
        verb,
        target,
        reason,
        address,
        refused,
        before,
        after,
    } = &entry.decision;
    let given = [reason, address, refused, before, after].into_iter().flatten();
    let mut texts = [principal, verb, target].into_iter().chain(given);
    texts.try_for_each(|given| text("text of the audit", given))?;
    number("sequence", entry.sequence)
}

fn check_plan(plan: &Plan) -> Result<(), Error> {
    indexed("name", &plan.name)?;
    indexed("proposer", &plan.proposer)?;
    plan.ticket.iter().try_for_each(|ticket| indexed("ticket", ticket))
}

fn check_timer_key(key: &TimerKey) -> Result<(), Error> {
    number("visit", key.visit)
}

/// A text that is stored in an index.
fn indexed(name: &str, given: &str) -> Result<(), Error> {
    bounded(name, given, INDEXED_BYTES_MAX)
}

fn bounded(name: &str, given: &str, most: usize) -> Result<(), Error> {
    if given.len() > most {
        return Err(Error::Refused {
            detail: format!("a {name} has {} bytes, more than {most}", given.len()),
        });
    }
    text(name, given)
}

fn text(name: &str, text: &str) -> Result<(), Error> {
    if is_storable(text) {
        return Ok(());
    }
    Err(Error::Refused {
        detail: format!("a {name} holds a NUL"),
    })
}

fn number(name: &str, number: u64) -> Result<(), Error> {
    match i64::try_from(number) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::Refused {
            detail: format!("the {name} `{number}` is too great"),
        }),
    }
}
