//! The indexes that a condition allows to be walked, and the part of them that it speaks of.

use rusqlite::types::Value;
use sprag_core::action::Status;
use sprag_core::filter::{Condition, Constant, Field, Relation, Test};
use sprag_core::ids::{ActionId, Slot};
use sprag_core::time::Timestamp;

use super::render::value;
use crate::records::ExecutionStatus;

/// The greatest number of an open execution's status.
const EXECUTION_OPEN_MAX: i64 = ExecutionStatus::Failed as i64;
/// The greatest number of an open action's status.
const ACTION_OPEN_MAX: i64 = Status::Retrying as i64;
const DEAD: i64 = Status::Dead as i64;
/// The least number of what ended and neither succeeded nor waits for a person.
const OVER_MIN: i64 = Status::Cancelled as i64;
const CANCELLED: i64 = ExecutionStatus::Cancelled as i64;
/// The greatest instant that an id can hold.
const ID_MILLIS_MAX: i64 = (1 << 48) - 1;

/// What is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sqlite) enum Table {
    Execution,
    Action,
}

impl Table {
    /// The column that holds a field.
    pub(super) fn column(self, field: Field) -> Option<&'static str> {
        match (self, field) {
            (Self::Execution, Field::Id) => Some("execution.id"),
            (Self::Action, Field::Id) => Some("action.id"),
            (_, Field::Machine) => Some("machine"),
            (_, Field::Status) => Some("status"),
            (_, Field::CreatedAt) => Some("created_at"),
            (Self::Execution, Field::Version) => Some("version"),
            (Self::Execution, Field::Key) => Some("key"),
            (Self::Execution, Field::UpdatedAt) => Some("updated_at"),
            (Self::Action, Field::ActionId) => Some("action_id"),
            (Self::Action, Field::Type) => Some("kind"),
            (Self::Action, Field::ExecutionId) => Some("action.execution"),
            (Self::Action, Field::ErrorType) => Some("error_kind"),
            (Self::Action, Field::Priority) => Some("priority"),
            (Self::Action, Field::RunAt) => Some("run_at"),
            (Self::Action, Field::Fingerprint) => Some("fingerprint"),
            (Self::Action, Field::DiedAt) => Some("died_at"),
            _ => None,
        }
    }

    /// The column that holds the tags.
    pub(super) fn tags(self) -> &'static str {
        match self {
            Self::Execution => "execution.tags",
            Self::Action => "action.tags",
        }
    }
}

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
    pub(in crate::sqlite) fn whole(table: Table) -> Self {
        match table {
            Table::Execution => Self::new("execution", "1", "execution.id", &[]),
            Table::Action => Self::new("action", "1", "action.id", &[]),
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.place == "1"
    }

    fn new(from: &'static str, place: &str, id: &'static str, tests: &[&Test]) -> Self {
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
pub(in crate::sqlite) fn walks(table: Table, condition: &Condition) -> Vec<Walk> {
    let required = condition.required();
    let equal = |field: Field| {
        let mut tests = required.iter().copied();
        tests.find(|test| test.field == field && test.relation == Relation::Equal)
    };
    let statuses = required.iter().find_map(|test| statuses(test));
    match table {
        Table::Execution => execution_walks(equal, statuses.as_deref()),
        Table::Action => action_walks(equal, statuses.as_deref()),
    }
}

fn execution_walks<'t>(equal: impl Fn(Field) -> Option<&'t Test>, statuses: Option<&[i64]>) -> Vec<Walk> {
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

fn action_walks<'t>(equal: impl Fn(Field) -> Option<&'t Test>, statuses: Option<&[i64]>) -> Vec<Walk> {
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

/// The statuses that a test leaves.
fn statuses(test: &Test) -> Option<Vec<i64>> {
    let is_meant = test.field == Field::Status && matches!(test.relation, Relation::Equal | Relation::In);
    let number = |constant: &Constant| match constant {
        Constant::Number(number) => Some(*number),
        Constant::Text(_) | Constant::Id(_) => None,
    };
    let mut numbers: Vec<i64> = test.constants.iter().map(number).collect::<Option<_>>()?;
    numbers.sort_unstable();
    numbers.dedup();
    is_meant.then_some(numbers)
}

/// The ids in question, first and last. They follow from instants too, because an id bears that of its creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sqlite) struct Bounds {
    first: u128,
    last: u128,
}

impl Bounds {
    /// The ids that a condition allows, before `before`; none when that leaves nothing.
    pub(in crate::sqlite) fn of(condition: &Condition, before: Option<[u8; 16]>) -> Option<Self> {
        let last = match before {
            Some(before) => u128::from_be_bytes(before).checked_sub(1)?,
            None => u128::MAX,
        };
        let mut bounds = Self { first: 0, last };
        for test in condition.required() {
            match test.field {
                Field::CreatedAt => bounds.created(test),
                Field::Id => bounds.id(test),
                _ => {}
            }
        }
        (bounds.first <= bounds.last).then_some(bounds)
    }

    fn created(&mut self, test: &Test) {
        let Some((first, last)) = test.instants() else { return };
        let id = |at: Timestamp, slot, entropy| {
            let at = Timestamp::from_millis(at.as_millis().clamp(0, ID_MILLIS_MAX));
            u128::from_be_bytes(ActionId::compose(at, slot, entropy).to_bytes())
        };
        self.narrow(id(first, Slot(0), 0), id(last, Slot(u16::MAX), u64::MAX));
    }

    fn id(&mut self, test: &Test) {
        let [Constant::Id(id)] = test.constants.as_slice() else {
            return;
        };
        let id = u128::from_be_bytes(*id);
        match test.relation {
            Relation::Equal | Relation::In => self.narrow(id, id),
            Relation::Less | Relation::LessOrEqual => self.narrow(0, id),
            Relation::Greater | Relation::GreaterOrEqual => self.narrow(id, u128::MAX),
            Relation::NotEqual => {}
        }
    }

    fn narrow(&mut self, first: u128, last: u128) {
        self.first = self.first.max(first);
        self.last = self.last.min(last);
    }

    /// As the parameters of a range.
    pub(super) fn values(&self) -> [Value; 2] {
        [self.first, self.last].map(|id| Value::Blob(id.to_be_bytes().to_vec()))
    }
}
