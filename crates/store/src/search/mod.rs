//! What searches have in common, whatever they walk: names of columns, the ids that a condition leaves, its statuses.

mod render;

use sprag_core::filter::{Comparison, Condition, Constant, Field, Relation};
use sprag_core::ids::{ActionId, Slot};
use sprag_core::time::Timestamp;

pub(crate) use self::render::{Dialect, Rendered};

/// The greatest instant that an id can hold.
const ID_MILLIS_MAX: i64 = (1 << 48) - 1;

/// What is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchedTable {
    Execution,
    Action,
}

impl SearchedTable {
    /// The column that holds a field.
    pub(crate) fn column(self, field: Field) -> Option<&'static str> {
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
    pub(crate) fn tags(self) -> &'static str {
        match self {
            Self::Execution => "execution.tags",
            Self::Action => "action.tags",
        }
    }
}

/// The statuses that a test leaves.
pub(crate) fn statuses(test: &Comparison) -> Option<Vec<i64>> {
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
pub(crate) struct Bounds {
    first: u128,
    last: u128,
}

impl Bounds {
    /// The ids that a condition allows, before `before`; none when that leaves nothing.
    pub(crate) fn of(condition: &Condition, before: Option<[u8; 16]>) -> Option<Self> {
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

    fn created(&mut self, test: &Comparison) {
        let Some((first, last)) = test.instants() else { return };
        let id = |at: Timestamp, slot, entropy| {
            let at = Timestamp::from_millis(at.as_millis().clamp(0, ID_MILLIS_MAX));
            u128::from_be_bytes(ActionId::compose(at, slot, entropy).to_bytes())
        };
        self.narrow(id(first, Slot(0), 0), id(last, Slot(u16::MAX), u64::MAX));
    }

    fn id(&mut self, test: &Comparison) {
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

    /// The first and the last.
    pub(crate) fn ids(&self) -> [[u8; 16]; 2] {
        [self.first, self.last].map(u128::to_be_bytes)
    }
}
