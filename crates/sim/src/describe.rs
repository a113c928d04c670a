//! Short texts for the trace. They name what matters; bodies appear as a hash, so the trace still knows them.

use std::any::Any;

use crate::ask::{Answer, Reply, Request};
use sprag_core::action::{Outcome, Status};
use sprag_engine::lane::{Fatal, Lane};
use sprag_engine::requests::Target;
use sprag_store::Mutation;
use sprag_store::records::Action;

use crate::trace::hash;

/// The text of a panic.
pub(crate) fn panic(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "something panicked".to_owned())
}

/// Whether a lane opened.
pub(crate) fn opened(opened: &Result<Lane, Fatal>) -> String {
    match opened {
        Ok(_) => "well".to_owned(),
        Err(fatal) => fatal.0.to_string(),
    }
}

/// A request.
pub(crate) fn request(request: &Request) -> String {
    match request {
        Request::Apply(apply) => format!("apply {} {:016x}", apply.machine.id, hash(&apply.machine.digest)),
        Request::Start(start) => format!("start {} {:?} {:?}", start.machine, start.version, start.key),
        Request::Send(send) => {
            let to = match &send.to {
                Target::Id(id) => id.to_string(),
                Target::Key { machine, key } => format!("{machine}/{key}"),
            };
            format!("send {} {} {:?} to {to}", send.kind, send.payload, send.id)
        }
        Request::Outcome(attempt, outcome) => {
            format!("outcome of {}: {}", attempt.attempt, self::outcome(outcome))
        }
        Request::Checkpoint(attempt, _) => format!("checkpoint of {}", attempt.attempt),
        other => format!("{other:?}"),
    }
}

fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Done(_) => "done".to_owned(),
        Outcome::NotDone(failure) => format!(
            "not done, {}, retry after {:?}",
            failure.error.kind, failure.retry_after
        ),
        Outcome::Unknown(failure) => format!("unknown, {}", failure.error.kind),
    }
}

/// An answer.
pub(crate) fn reply(reply: &Reply) -> String {
    match reply {
        Ok(Answer::Execution(view)) => {
            format!(
                "{} {} {} in {:?}",
                view.id, view.status, view.sequence, view.configuration
            )
        }
        Ok(Answer::Action(view)) => format!("{} {} {}", view.id, view.action_id, view.status.word()),
        Ok(Answer::Queue(lines)) => format!("{} lines", lines.lines.len()),
        Ok(other) => format!("{other:?}"),
        Err(refusal) => format!("refused: {} {}", refusal.code.text(), refusal.detail),
    }
}

/// A write.
pub(crate) fn mutation(mutation: &Mutation) -> String {
    match mutation {
        Mutation::InsertMachineVersion(row) => format!("machine {} {}", row.machine, row.version),
        Mutation::InsertExecution(row) => format!("new {} {} {}", row.id, row.machine, row.status.word()),
        Mutation::UpdateExecution {
            execution: row,
            variables,
        } => {
            format!(
                "{} {} {} {variables:?} {:016x}",
                row.id,
                row.status.word(),
                row.sequence,
                hash(&row.body)
            )
        }
        Mutation::AppendHistory(row) => {
            let body = String::from_utf8_lossy(&row.body);
            let short: String = body.chars().take(160).collect();
            format!(
                "history {} {} {short} {:016x}",
                row.execution,
                row.sequence,
                hash(&row.body)
            )
        }
        Mutation::InsertAction(row) => format!("new {}", action(row)),
        Mutation::UpdateAction(row) => action(row),
        Mutation::PutTimer(timer) => format!("timer {:?} at {}", timer.key, timer.due_at),
        Mutation::DeleteTimer(key) => format!("no timer {key:?}"),
        Mutation::InsertInbox(row) => {
            format!(
                "inbox {} {} {}",
                row.execution,
                row.position,
                String::from_utf8_lossy(&row.body)
            )
        }
        Mutation::DeleteInbox { execution, position } => format!("taken {execution} {position}"),
        Mutation::InsertReceipt(row) => format!("receipt {} {}", row.execution, row.message),
        Mutation::PutIdempotency(row) | Mutation::InsertIdempotency(row) => {
            format!("answer {:016x} until {}", hash(&row.scope.0), row.expires_at)
        }
        Mutation::PutPlan(plan) => format!("plan {} {} {:016x}", plan.id, plan.status.word(), hash(&plan.body)),
        Mutation::InsertCatalogVersion(row) => format!("catalog {} {}", row.name, row.version),
        other => format!("{other:?}"),
    }
}

fn action(row: &Action) -> String {
    let status = Status::from_number(row.status).map_or("?", Status::word);
    format!(
        "{} {} of {} {status} at {} line {:?} {:016x}",
        row.id,
        row.action_id,
        row.execution,
        row.run_at,
        row.line,
        hash(&row.body)
    )
}
