//! A filter whose fields exist and whose values have their types.
//!
//! A condition is true or false of every row, never something between: a field that is absent equals nothing, differs
//! from everything, and is neither less nor greater than anything.

use super::field::Field;
use super::parse::Operator;
use crate::time::Timestamp;

/// What must hold of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// All of these; none at all means everything.
    All(Vec<Self>),
    /// One of these.
    Any(Vec<Self>),
    /// Not this.
    Not(Box<Self>),
    /// One comparison.
    Is(Comparison),
}

/// A field compared with constants of its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Which field.
    pub field: Field,
    /// How it is compared.
    pub relation: Relation,
    /// With what: one, or at least one for [`Relation::In`].
    pub constants: Vec<Constant>,
}

/// How a field is compared.
pub type Relation = Operator;

/// A value in the form in which rows hold it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Constant {
    /// A text.
    Text(String),
    /// A whole number, the number of a status, or the milliseconds of an instant.
    Number(i64),
    /// The bytes of an id.
    Id([u8; 16]),
}

/// What a row holds under a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValue<'r> {
    /// Nothing.
    Absent,
    /// A text.
    Text(&'r str),
    /// A number.
    Number(i64),
    /// The bytes of an id.
    Id([u8; 16]),
    /// Any number of texts.
    Texts(&'r [String]),
}

/// Something with fields.
pub trait Row {
    /// What it holds; [`FieldValue::Absent`] for a field that it does not have.
    fn value(&self, field: Field) -> FieldValue<'_>;
}

impl Condition {
    /// Holds of every row.
    pub const EVERYTHING: Self = Self::All(Vec::new());

    /// The field equals the text.
    pub fn text(field: Field, text: impl Into<String>) -> Self {
        Self::equal(field, Constant::Text(text.into()))
    }

    /// The field equals the number.
    pub fn number(field: Field, number: impl Into<i64>) -> Self {
        Self::equal(field, Constant::Number(number.into()))
    }

    /// The field equals the id.
    pub fn id(field: Field, id: [u8; 16]) -> Self {
        Self::equal(field, Constant::Id(id))
    }

    fn equal(field: Field, constant: Constant) -> Self {
        Self::Is(Comparison {
            field,
            relation: Relation::Equal,
            constants: vec![constant],
        })
    }

    /// This and the other.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match self {
            Self::All(mut parts) => {
                parts.push(other);
                Self::All(parts)
            }
            one => Self::All(vec![one, other]),
        }
    }

    /// Whether it holds of a row.
    pub fn holds(&self, row: &impl Row) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.holds(row)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(row)),
            Self::Not(inner) => !inner.holds(row),
            Self::Is(test) => test.holds(row.value(test.field)),
        }
    }

    /// Whether a comparison is with this field.
    pub fn names(&self, field: Field) -> bool {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().any(|part| part.names(field)),
            Self::Not(inner) => inner.names(field),
            Self::Is(test) => test.field == field,
        }
    }

    /// The narrowest condition that does not name this field and holds of every row of which this one does.
    #[must_use]
    pub fn without(&self, field: Field) -> Self {
        self.relaxed(field, true)
    }

    /// A comparison with the field becomes what keeps the whole from holding of less: true, or false within a `NOT`.
    fn relaxed(&self, field: Field, holds: bool) -> Self {
        let all = |parts: &[Self]| parts.iter().map(|part| part.relaxed(field, holds)).collect();
        match self {
            Self::All(parts) => Self::All(all(parts)),
            Self::Any(parts) => Self::Any(all(parts)),
            Self::Not(inner) => Self::Not(Box::new(inner.relaxed(field, !holds))),
            Self::Is(test) if test.field != field => Self::Is(test.clone()),
            Self::Is(_) if holds => Self::All(Vec::new()),
            Self::Is(_) => Self::Any(Vec::new()),
        }
    }

    /// The comparisons that must all hold, whatever else must: what a store may look up.
    pub fn required(&self) -> Vec<&Comparison> {
        match self {
            Self::All(parts) => parts.iter().flat_map(Self::required).collect(),
            Self::Any(_) | Self::Not(_) => Vec::new(),
            Self::Is(test) => vec![test],
        }
    }
}

impl Comparison {
    fn holds(&self, held: FieldValue<'_>) -> bool {
        let equals = |constant: &Constant| match (held, constant) {
            (FieldValue::Text(text), Constant::Text(wanted)) => text == wanted,
            (FieldValue::Number(number), Constant::Number(wanted)) => number == *wanted,
            (FieldValue::Id(id), Constant::Id(wanted)) => id == *wanted,
            (FieldValue::Texts(texts), Constant::Text(wanted)) => texts.contains(wanted),
            _ => false,
        };
        let order = |constant: &Constant| match (held, constant) {
            (FieldValue::Text(text), Constant::Text(wanted)) => Some(text.cmp(wanted)),
            (FieldValue::Number(number), Constant::Number(wanted)) => Some(number.cmp(wanted)),
            (FieldValue::Id(id), Constant::Id(wanted)) => Some(id.cmp(wanted)),
            _ => None,
        };
        let mut constants = self.constants.iter();
        match self.relation {
            Relation::Equal | Relation::In => constants.any(equals),
            Relation::NotEqual => !constants.any(equals),
            Relation::Less => constants.any(|constant| order(constant).is_some_and(std::cmp::Ordering::is_lt)),
            Relation::LessOrEqual => constants.any(|constant| order(constant).is_some_and(std::cmp::Ordering::is_le)),
            Relation::Greater => constants.any(|constant| order(constant).is_some_and(std::cmp::Ordering::is_gt)),
            Relation::GreaterOrEqual => {
                constants.any(|constant| order(constant).is_some_and(std::cmp::Ordering::is_ge))
            }
        }
    }

    /// The instants that a comparison of an instant with one constant allows, first and last.
    pub fn instants(&self) -> Option<(Timestamp, Timestamp)> {
        let [Constant::Number(millis)] = self.constants.as_slice() else {
            return None;
        };
        let (first, last) = match self.relation {
            Relation::Equal | Relation::In => (*millis, *millis),
            Relation::Less => (i64::MIN, millis.saturating_sub(1)),
            Relation::LessOrEqual => (i64::MIN, *millis),
            Relation::Greater => (millis.saturating_add(1), i64::MAX),
            Relation::GreaterOrEqual => (*millis, i64::MAX),
            Relation::NotEqual => return None,
        };
        Some((Timestamp::from_millis(first), Timestamp::from_millis(last)))
    }
}
