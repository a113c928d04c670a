//! Rows that the store refuses however often the engine tries: chosen by what is in them, so that the same row is refused
//! again, alone or in company.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::ask::Request;
use sprag_core::action::Status;
use sprag_core::action::error::kind;
use sprag_core::ids::{ActionId, ExecutionId};
use sprag_engine::requests::{SendMessage, Start};
use sprag_store::Mutation;
use sprag_store::records::Action;

use crate::violation::{Checked, Invariant, ensure};

/// One of so many messages with an id.
const MESSAGES: u64 = 6;
/// One of so many tags.
const TAGS: u64 = 4;
/// One of so many ends of attempts.
const ENDS: u64 = 9;
/// One of so many actions can never begin.
const BEGINS: u64 = 15;

/// In so many ticks a process may try to begin an action that it cannot begin: in company, and then alone, where the action
/// lacked a permit while the one to blame was looked for.
const TIMES_MAX: u64 = 2;

/// Whether the run of a seed meets a store that refuses chosen rows: one run of two does, and in every part of them. The
/// others meet a store that refuses any row by chance, which could not be told from a chosen one.
pub(crate) fn is_met_by(seed: u64) -> bool {
    !(seed / 4).is_multiple_of(2)
}

/// The rows of commits that were refused, for the checks to follow.
#[derive(Debug, Default)]
pub(crate) struct Refused {
    /// Whose rows they were.
    blamed: BTreeSet<ExecutionId>,
    /// The actions that a process could not begin, with when it tried.
    begins: BTreeMap<(u64, ActionId), Tried>,
    /// Those that it tried to begin again all the same.
    again: Vec<ActionId>,
}

/// When a process tried something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tried {
    /// In which tick.
    tick: u64,
    /// After how many failures of another kind: one of them may end the search for what is to blame.
    mishaps: u64,
    /// In how many ticks without such a failure between them.
    times: u64,
}

impl Tried {
    /// In this tick, for the first time.
    pub(crate) fn now(tick: u64, mishaps: u64) -> Self {
        Self {
            tick,
            mishaps,
            times: 1,
        }
    }

    /// Once more after `before`.
    fn after(self, before: Self) -> Self {
        let times = if before.tick == self.tick {
            before.times
        } else if before.mishaps == self.mishaps {
            before.times + 1
        } else {
            1
        };
        Self { times, ..self }
    }
}

impl Refused {
    /// Notes the rows of a commit that a process tried, and says whether the store refuses one of them.
    pub(crate) fn meets(&mut self, mutations: &[Mutation], life: u64, tried: Tried) -> bool {
        let refused: Vec<&Mutation> = mutations.iter().filter(|mutation| refuses(mutation)).collect();
        for mutation in &refused {
            self.blamed.extend(owner(mutation));
            if let Some(action) = begun(mutation) {
                let before = self.begins.get(&(life, action)).copied();
                let tried = before.map_or(tried, |before| tried.after(before));
                self.begins.insert((life, action), tried);
                self.again.extend((tried.times > TIMES_MAX).then_some(action));
            }
        }
        !refused.is_empty()
    }

    /// A process leaves these executions alone, and tried nothing again as it was.
    pub(crate) fn check(&self, left_alone: &BTreeSet<ExecutionId>) -> Checked {
        ensure(self.again.is_empty(), Invariant::Isolation, || {
            format!("{:?} could not be begun, and were tried again", self.again)
        })?;
        let innocent = left_alone.difference(&self.blamed).next();
        ensure(innocent.is_none(), Invariant::Isolation, || {
            format!("{innocent:?} is left alone, and no row of it was refused")
        })
    }
}

/// The execution that a row is of, where the store refuses some of its kind.
fn owner(mutation: &Mutation) -> Option<ExecutionId> {
    match mutation {
        Mutation::InsertReceipt(receipt) => Some(receipt.execution),
        Mutation::InsertExecution(execution) => Some(execution.id),
        Mutation::InsertAction(action) | Mutation::UpdateAction(action) => Some(action.execution),
        _ => None,
    }
}

/// The action that a row begins.
fn begun(mutation: &Mutation) -> Option<ActionId> {
    match mutation {
        Mutation::InsertAction(action) | Mutation::UpdateAction(action) => {
            (Status::from_number(action.status) == Some(Status::Running)).then_some(action.id)
        }
        _ => None,
    }
}

/// Whether the store refuses the row.
fn refuses(mutation: &Mutation) -> bool {
    match mutation {
        Mutation::InsertReceipt(receipt) => is_chosen(&receipt.message, MESSAGES),
        Mutation::InsertExecution(execution) => execution.tags.iter().any(|tag| is_chosen(tag, TAGS)),
        Mutation::InsertAction(action) => refuses_begin(action),
        Mutation::UpdateAction(action) => refuses_begin(action) || refuses_end(action),
        _ => false,
    }
}

fn refuses_begin(action: &Action) -> bool {
    Status::from_number(action.status) == Some(Status::Running) && is_chosen((action.id, "begin"), BEGINS)
}

/// Whether the end of an attempt is refused. Its replacement can be stored.
fn refuses_end(action: &Action) -> bool {
    let is_end = matches!(
        Status::from_number(action.status),
        Some(Status::Succeeded | Status::Dead | Status::Retrying)
    );
    let is_stand_in = action.error_kind.as_deref() == Some(kind::OUTCOME_REFUSED);
    is_end && !is_stand_in && is_chosen((action.id, action.status), ENDS)
}

/// Whether a caller's request must end in a refusal by the store.
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
