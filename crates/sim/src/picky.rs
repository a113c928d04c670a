//! Rows that the store refuses however often the engine tries: chosen by what is in them, so that the same row is refused
//! again, alone or in company.

use std::hash::{DefaultHasher, Hash, Hasher};

use sprag_core::action::Status;
use sprag_core::action::error::kind;
use sprag_engine::command::{Request, SendMessage, Start};
use sprag_store::Mutation;
use sprag_store::records::Action;

/// One of so many messages with an id.
const MESSAGES: u64 = 6;
/// One of so many tags.
const TAGS: u64 = 4;
/// One of so many ends of attempts.
const ENDS: u64 = 9;
/// One of so many actions can never begin.
const BEGINS: u64 = 15;

/// Whether the store refuses the row.
pub(crate) fn refuses(mutation: &Mutation) -> bool {
    match mutation {
        Mutation::InsertReceipt(receipt) => is_chosen(&receipt.message, MESSAGES),
        Mutation::InsertExecution(execution) => execution.tags.iter().any(|tag| is_chosen(tag, TAGS)),
        Mutation::InsertAction(action) | Mutation::UpdateAction(action) => refuses_action(action),
        _ => false,
    }
}

fn refuses_action(action: &Action) -> bool {
    // What stands in for a refused outcome can be stored.
    let is_stand_in = action.error_kind.as_deref() == Some(kind::OUTCOME_REFUSED);
    match Status::from_number(action.status) {
        Some(Status::Running) => is_chosen((action.id, "begin"), BEGINS),
        Some(Status::Succeeded | Status::Dead | Status::Retrying) => {
            !is_stand_in && is_chosen((action.id, action.status), ENDS)
        }
        _ => false,
    }
}

/// Whether a request of somebody's must end in a refusal by the store.
pub(crate) fn is_guilty(request: &Request) -> bool {
    match request {
        Request::Send(SendMessage { id: Some(id), .. }) => is_chosen(id, MESSAGES),
        Request::Start(Start { tags, .. }) => tags.iter().any(|tag| is_chosen(tag, TAGS)),
        _ => false,
    }
}

/// The same for the same row in every run.
fn is_chosen(row: impl Hash, one_of: u64) -> bool {
    let mut hasher = DefaultHasher::new();
    row.hash(&mut hasher);
    hasher.finish().is_multiple_of(one_of)
}
