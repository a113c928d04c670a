//! Random conditions over the few values that random records hold.

use sprag_core::filter::{Comparison, Condition, Constant, Field, Relation};

use super::fixtures::at;
use super::random::{PRINTS, Random};

/// How deep a random condition nests.
const DEPTH: u64 = 3;

const EXECUTION_FIELDS: [Field; 8] = [
    Field::Id,
    Field::Machine,
    Field::Version,
    Field::Status,
    Field::Key,
    Field::Tag,
    Field::CreatedAt,
    Field::UpdatedAt,
];

const ACTION_FIELDS: [Field; 13] = [
    Field::Id,
    Field::ActionId,
    Field::Type,
    Field::Status,
    Field::Machine,
    Field::ExecutionId,
    Field::ErrorType,
    Field::Tag,
    Field::Priority,
    Field::CreatedAt,
    Field::RunAt,
    Field::Fingerprint,
    Field::DiedAt,
];

const TEXTS: [&str; 13] = [
    "order",
    "refund",
    "a",
    "b",
    "tag0",
    "tag1",
    "send",
    "email",
    "webhook",
    "timeout",
    "crashed",
    PRINTS[0],
    "' OR 1=1 --",
];

const RELATIONS: [Relation; 7] = [
    Relation::Equal,
    Relation::NotEqual,
    Relation::Less,
    Relation::LessOrEqual,
    Relation::Greater,
    Relation::GreaterOrEqual,
    Relation::In,
];

impl Random {
    /// A condition on executions.
    pub(super) fn execution_condition(&mut self) -> Condition {
        self.condition(&EXECUTION_FIELDS, Side::Execution, DEPTH)
    }

    /// A condition on actions.
    pub(super) fn action_condition(&mut self) -> Condition {
        self.condition(&ACTION_FIELDS, Side::Action, DEPTH)
    }

    fn condition(&mut self, fields: &[Field], side: Side, depth: u64) -> Condition {
        let shape = if depth == 0 { 0 } else { self.below(7) };
        let parts = |random: &mut Self| {
            let count = random.below(4);
            (0..count).map(|_| random.condition(fields, side, depth - 1)).collect()
        };
        match shape {
            0..=2 => Condition::Is(self.test(fields, side)),
            3 | 4 => Condition::All(parts(self)),
            5 => Condition::Any(parts(self)),
            _ => Condition::Not(Box::new(self.condition(fields, side, depth - 1))),
        }
    }

    fn test(&mut self, fields: &[Field], side: Side) -> Comparison {
        let field = self.one_of(fields).unwrap_or(Field::Id);
        let is_ordered = !matches!(field, Field::Tag | Field::Status);
        let relation = if self.once_in(2) {
            Relation::Equal
        } else {
            self.one_of(&RELATIONS).unwrap_or(Relation::Equal)
        };
        let relation = match relation {
            Relation::Equal | Relation::NotEqual | Relation::In => relation,
            _ if is_ordered => relation,
            _ => Relation::NotEqual,
        };
        let count = if relation == Relation::In { 1 + self.below(3) } else { 1 };
        Comparison {
            field,
            relation,
            constants: (0..count).map(|_| self.constant(field, side)).collect(),
        }
    }

    fn constant(&mut self, field: Field, side: Side) -> Constant {
        match (field, side) {
            (Field::Id, Side::Action) => Constant::Id(self.action_id().to_bytes()),
            (Field::Id | Field::ExecutionId, _) => Constant::Id(self.execution_id().to_bytes()),
            (Field::Version | Field::Status, _) => self.number(9),
            (Field::Priority, _) => self.number(120),
            (Field::CreatedAt | Field::UpdatedAt | Field::RunAt | Field::DiedAt, _) => {
                let number = if self.once_in(2) {
                    self.below(30)
                } else {
                    self.below(1_100)
                };
                Constant::Number(at(number).as_millis())
            }
            _ => Constant::Text(self.one_of(&TEXTS).unwrap_or_default().to_owned()),
        }
    }

    fn number(&mut self, bound: u64) -> Constant {
        Constant::Number(i64::try_from(self.below(bound)).unwrap_or(0))
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        let index = self.below(u64::try_from(all.len()).unwrap_or(1));
        all.get(usize::try_from(index).unwrap_or(0)).copied()
    }
}

/// Whose fields.
#[derive(Clone, Copy)]
enum Side {
    Execution,
    Action,
}
