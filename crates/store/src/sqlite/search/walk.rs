//! The indexes that a condition allows to be walked, and the part of them that it speaks of.

use rusqlite::types::Value;
use sprag_core::action::Status;
use sprag_core::filter::{Comparison, Condition, Field, Relation};

use super::value;
use crate::records::ExecutionStatus;
use crate::search::{SearchedTable, statuses};

/// The greatest number of an open execution's status.
const EXECUTION_OPEN_MAX: i64 = ExecutionStatus::Failed as i64;
/// The greatest number of an open action's status.
const ACTION_OPEN_MAX: i64 = Status::Retrying as i64;
const DEAD: i64 = Status::Dead as i64;
/// The least number of what ended and neither succeeded nor waits for a person.
const OVER_MIN: i64 = Status::Cancelled as i64;
const CANCELLED: i64 = ExecutionStatus::Cancelled as i64;

/// A part of an index.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::sqlite) struct Walk {
    /// The table with the index, and the rows that it leads to.
    pub(super) from: &'static str,
    /// The index alone, to count its entries: looking at each row would cost as much as the walk.
    pub(super) index: &'static str,
    /// The part of the index.
    pub(super) place: String,
    /// The parameters of `place`.
    pub(super) values: Vec<Value>,
    /// The column of the id that the index is ordered by.
    pub(super) id: &'static str,
    /// Whether the entries come newest first without sorting.
    pub(super) in_order: bool,
}

impl Walk {
    /// All rows of a table.
    pub(in crate::sqlite) fn whole(table: SearchedTable) -> Self {
        match table {
            SearchedTable::Execution => Self::new("execution", "1", "execution.id", &[]),
            SearchedTable::Action => Self::new("action", "1", "action.id", &[]),
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.place == "1"
    }

    fn new(from: &'static str, place: &str, id: &'static str, tests: &[&Comparison]) -> Self {
        let constants = tests.iter().filter_map(|test| test.constants.first());
        Self {
            from,
            index: from,
            place: place.to_owned(),
            values: constants.map(value).collect(),
            id,
            in_order: true,
        }
    }
}

/// All parts of indexes that hold every row of which the condition can be true.
pub(in crate::sqlite) fn walks(table: SearchedTable, condition: &Condition) -> Vec<Walk> {
    let required = condition.required();
    let equal = |field: Field| {
        let mut tests = required.iter().copied();
        tests.find(|test| test.field == field && test.relation == Relation::Equal)
    };
    let statuses = required.iter().find_map(|test| statuses(test));
    match table {
        SearchedTable::Execution => execution_walks(equal, statuses.as_deref()),
        SearchedTable::Action => action_walks(equal, statuses.as_deref()),
    }
}

fn execution_walks<'t>(equal: impl Fn(Field) -> Option<&'t Comparison>, statuses: Option<&[i64]>) -> Vec<Walk> {
    const ID: &str = "execution.id";
    let mut walks = Vec::new();
    walks.extend(equal(Field::Key).map(|key| {
        let place = "key = ? AND key IS NOT NULL";
        Walk::new("execution INDEXED BY execution_by_key", place, ID, &[key])
    }));
    walks.extend(equal(Field::Tag).map(|tag| {
        let from = "execution_tag CROSS JOIN execution ON execution.id = execution_tag.execution";
        Walk {
            index: "execution_tag",
            ..Walk::new(from, "execution_tag.tag = ?", "execution_tag.execution", &[tag])
        }
    }));
    walks.extend(
        equal(Field::Machine)
            .map(|machine| Walk::new("execution INDEXED BY execution_machine", "machine = ?", ID, &[machine])),
    );
    walks.extend(
        open("execution INDEXED BY execution_open", ID, statuses, EXECUTION_OPEN_MAX).map(|walk| Walk {
            in_order: statuses.is_some_and(|statuses| statuses.len() == 1),
            ..walk
        }),
    );
    if statuses == Some(&[CANCELLED]) {
        let from = "execution INDEXED BY execution_cancelled";
        walks.push(Walk::new(from, "status = 4", ID, &[]));
    }
    walks
}

fn action_walks<'t>(equal: impl Fn(Field) -> Option<&'t Comparison>, statuses: Option<&[i64]>) -> Vec<Walk> {
    const ID: &str = "action.id";
    let mut walks = Vec::new();
    walks.extend(equal(Field::ExecutionId).map(|execution| {
        let place = "action.execution = ?";
        Walk::new("action INDEXED BY action_execution", place, ID, &[execution])
    }));
    walks.extend(equal(Field::Tag).map(|tag| {
        let from = "action_tag CROSS JOIN action ON action.id = action_tag.action";
        Walk {
            index: "action_tag",
            ..Walk::new(from, "action_tag.tag = ?", "action_tag.action", &[tag])
        }
    }));
    walks.extend(equal(Field::ErrorType).map(|error| {
        let place = "error_kind = ? AND error_kind IS NOT NULL";
        Walk::new("action INDEXED BY action_error", place, ID, &[error])
    }));
    walks.extend(
        equal(Field::ActionId).map(|name| Walk::new("action INDEXED BY action_name", "action_id = ?", ID, &[name])),
    );
    // The index has the execution before the id, so what is found there has to be sorted.
    walks.extend(
        open("action INDEXED BY action_open", ID, statuses, ACTION_OPEN_MAX).map(|walk| Walk {
            in_order: false,
            ..walk
        }),
    );
    if let Some(&[status]) = statuses
        && status >= OVER_MIN
    {
        let place = format!("status = {status} AND status >= {OVER_MIN}");
        walks.push(Walk::new("action INDEXED BY action_over", &place, ID, &[]));
    }
    if statuses == Some(&[DEAD]) {
        // First, so that it wins where there are more of either than anybody counts.
        walks.extend(equal(Field::Fingerprint).map(|print| {
            let place = "status = 5 AND fingerprint = ?";
            Walk::new("action INDEXED BY action_dead_fingerprint", place, ID, &[print])
        }));
        walks.push(Walk::new("action INDEXED BY action_dead", "status = 5", ID, &[]));
        walks.extend(equal(Field::Machine).map(|machine| {
            let place = "status = 5 AND machine = ?";
            Walk::new("action INDEXED BY action_dead_machine", place, ID, &[machine])
        }));
        walks.extend(equal(Field::ActionId).map(|name| {
            let place = "status = 5 AND action_id = ?";
            Walk::new("action INDEXED BY action_dead_name", place, ID, &[name])
        }));
    }
    walks
}

/// The part of an index of open things. Statuses are written out, because only then does the planner see that a
/// partial index holds them; they are numbers of ours.
fn open(from: &'static str, id: &'static str, statuses: Option<&[i64]>, most: i64) -> Option<Walk> {
    let statuses = statuses.filter(|all| !all.is_empty() && all.iter().all(|status| (0..=most).contains(status)))?;
    let numbers: Vec<String> = statuses.iter().map(i64::to_string).collect();
    let place = match numbers.as_slice() {
        [one] => format!("status = {one} AND status <= {most}"),
        several => format!("status IN ({}) AND status <= {most}", several.join(", ")),
    };
    Some(Walk::new(from, &place, id, &[]))
}
