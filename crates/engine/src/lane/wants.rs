//! What a batch must know before it can decide: which records its requests are about.

use sprag_core::ids::ExecutionId;
use sprag_store::Wanted;
use sprag_store::traits::Loaded;

use super::chores;
use crate::command::{Command, Internal, Request, SendMessage, Target};

/// What a request needs to be loaded.
pub(super) fn want(request: &Request, wanted: &mut Wanted) {
    match request {
        Request::Apply(apply) => wanted.newest.push(apply.machine.id.clone()),
        Request::Start(start) => {
            wanted.newest.push(start.machine.clone());
            if let Some(key) = &start.key {
                wanted.keys.push((start.machine.clone(), key.clone()));
            }
        }
        Request::Send(send) => match &send.to {
            Target::Id(id) => {
                wanted.executions.push(*id);
                wanted.receipts.extend(send.id.clone().map(|message| (*id, message)));
            }
            Target::Key { machine, key } => wanted.keys.push((machine.clone(), key.clone())),
        },
        Request::Pause(id) | Request::Resume(id) | Request::Cancel(id) => wanted.executions.push(*id),
        Request::Migrate(migrate) => wanted.executions.push(migrate.execution),
        Request::RetryNow(action)
        | Request::CancelAction(action)
        | Request::Archive(action)
        | Request::Explain(action) => wanted.actions.push(*action),
        Request::RetryDead(retry) => wanted.actions.push(retry.action),
        Request::RetryLetter(letter) => wanted.actions.push(letter.retry.action),
        // Which execution an attempt belongs to, the lane knows: `Lane::want_leased`.
        Request::Lease(_)
        | Request::Heartbeat(..)
        | Request::Finish(..)
        | Request::LeasedConfig(_)
        | Request::State(_)
        | Request::Queue
        | Request::RetryAll(_)
        | Request::PauseJob(_)
        | Request::ResumeJob(_)
        | Request::CancelJob(_)
        | Request::Control(_) => {}
        Request::Internal(internal) => want_internal(internal, wanted),
    }
}

fn want_internal(internal: &Internal, wanted: &mut Wanted) {
    match internal {
        Internal::Outcome { attempt, .. }
        | Internal::Checkpoint { attempt, .. }
        | Internal::Overdue(attempt)
        | Internal::LeaseOver(attempt) => wanted.executions.push(attempt.execution),
        Internal::Timer(key) => wanted.executions.push(key.execution),
        Internal::Due(execution, _)
        | Internal::Begin(execution, _)
        | Internal::Lost(execution, _)
        | Internal::Continue(execution) => wanted.executions.push(*execution),
        Internal::JobStep(step) => wanted.actions.extend(&step.letters),
        Internal::Dealt { .. } | Internal::ForgetJob { .. } | Internal::Heard(_) => {}
        Internal::Chore(chore) => chores::want(chore, wanted),
    }
}

/// Answers to look for once it is known who holds the keys that messages were addressed to.
pub(super) fn receipts_by_key(commands: &[Command], loaded: &Loaded) -> Vec<(ExecutionId, String)> {
    let by_key = commands.iter().filter_map(|command| match &command.request {
        Request::Send(SendMessage {
            to: Target::Key { machine, key },
            id: Some(message),
            ..
        }) => {
            let holder = loaded
                .keys
                .iter()
                .find(|((of, held), _)| of == machine && held == key)?;
            Some((holder.1, message.clone()))
        }
        _ => None,
    });
    by_key.collect()
}
