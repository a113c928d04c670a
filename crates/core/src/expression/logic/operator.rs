//! The operators: their names, the arguments they take, and the name someone may have meant.

use std::cmp::Ordering;

use super::coerce;
use super::error::EvaluateError;
use super::fuel::Fuel;
use super::number::Numeric;
use super::operand::OperandValue;

use RuleOperator::{Apply, Iterate, Preserve, Reduce};
use Shape::{Any, AtLeastOne, List, One};

/// The kinds of operators.
#[derive(Clone, Copy, Debug)]
pub(super) enum RuleOperator {
    /// Its arguments are evaluated where it stands.
    Apply(Function),
    /// Its body is evaluated for every item of a list.
    Iterate(Loop),
    /// Its body is evaluated for every item of a list and what the items before came to.
    Reduce,
    /// Its argument is not evaluated at all.
    Preserve,
}

/// What is made of evaluated arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    And,
    Arithmetic(Arithmetic),
    Cat,
    Coalesce,
    Compare(Relation),
    Exists,
    If,
    In,
    InState,
    Length,
    Log,
    Merge,
    Missing,
    MissingSome,
    Not,
    Or,
    Substr,
    Truth,
    Val,
    Var,
}

/// What is made of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loop {
    All,
    Filter,
    Map,
    None,
    Some,
}

/// Which arguments make sense of an operator.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// Any number of them, or one that is not in a list.
    Any,
    /// At least one, in a list or not.
    AtLeastOne,
    /// Exactly one, in a list or not.
    One,
    /// A list of at least this many.
    List(usize),
}

/// How two neighbouring arguments of a comparison must relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    NotEqual,
    StrictlyEqual,
    NotStrictlyEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// How arguments make one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Min,
    Max,
}

/// Every operator by its name.
const TABLE: &[(&str, RuleOperator, Shape)] = &[
    ("var", Apply(Function::Var), Any),
    ("val", Apply(Function::Val), Any),
    ("exists", Apply(Function::Exists), Any),
    ("missing", Apply(Function::Missing), Any),
    ("missing_some", Apply(Function::MissingSome), List(2)),
    ("==", Apply(Function::Compare(Relation::Equal)), List(2)),
    ("!=", Apply(Function::Compare(Relation::NotEqual)), List(2)),
    ("===", Apply(Function::Compare(Relation::StrictlyEqual)), List(2)),
    ("!==", Apply(Function::Compare(Relation::NotStrictlyEqual)), List(2)),
    ("<", Apply(Function::Compare(Relation::Less)), List(2)),
    ("<=", Apply(Function::Compare(Relation::LessOrEqual)), List(2)),
    (">", Apply(Function::Compare(Relation::Greater)), List(2)),
    (">=", Apply(Function::Compare(Relation::GreaterOrEqual)), List(2)),
    ("!", Apply(Function::Not), Any),
    ("!!", Apply(Function::Truth), Any),
    ("and", Apply(Function::And), List(0)),
    ("or", Apply(Function::Or), List(0)),
    ("if", Apply(Function::If), List(0)),
    ("?:", Apply(Function::If), List(0)),
    ("??", Apply(Function::Coalesce), Any),
    ("in", Apply(Function::In), List(2)),
    ("cat", Apply(Function::Cat), Any),
    ("substr", Apply(Function::Substr), AtLeastOne),
    ("length", Apply(Function::Length), One),
    ("+", Apply(Function::Arithmetic(Arithmetic::Add)), Any),
    ("-", Apply(Function::Arithmetic(Arithmetic::Subtract)), AtLeastOne),
    ("*", Apply(Function::Arithmetic(Arithmetic::Multiply)), Any),
    ("/", Apply(Function::Arithmetic(Arithmetic::Divide)), AtLeastOne),
    ("%", Apply(Function::Arithmetic(Arithmetic::Modulo)), List(2)),
    ("min", Apply(Function::Arithmetic(Arithmetic::Min)), Any),
    ("max", Apply(Function::Arithmetic(Arithmetic::Max)), Any),
    ("merge", Apply(Function::Merge), Any),
    ("map", Iterate(Loop::Map), List(2)),
    ("filter", Iterate(Loop::Filter), List(2)),
    ("reduce", Reduce, List(2)),
    ("all", Iterate(Loop::All), List(2)),
    ("none", Iterate(Loop::None), List(2)),
    ("some", Iterate(Loop::Some), List(2)),
    ("in_state", Apply(Function::InState), One),
    ("log", Apply(Function::Log), Any),
    ("preserve", Preserve, Any),
];

/// Longer names than this are no misspelt operators.
const MISSPELT_LENGTH_MAX: usize = 32;

/// Names of operators that no object uses for a member, although they start with a letter.
const UNMISTAKABLE: &[&str] = &["and", "or", "if", "var"];

/// The operator called `name`, and the arguments it takes.
pub(super) fn named(name: &str) -> Option<(RuleOperator, Shape)> {
    TABLE
        .iter()
        .find(|(known, ..)| *known == name)
        .map(|(_, operator, shape)| (*operator, *shape))
}

/// The names of all operators.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|(name, ..)| *name)
}

/// Whether `name`, beside other members of an object, must have been meant as an operator.
pub(super) fn is_unmistakable(name: &str) -> bool {
    let is_symbol = !name.starts_with(|character: char| character.is_ascii_alphabetic());
    UNMISTAKABLE.contains(&name) || (is_symbol && named(name).is_some())
}

/// The known name nearest to `name`, if one is near enough to have been meant.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    if name.len() > MISSPELT_LENGTH_MAX {
        return None;
    }
    let name = name.to_lowercase();
    names()
        .map(|known| (distance(&name, known), known))
        .filter(|(distance, known)| *distance <= known.len() / 2)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// How many characters must be added, dropped or changed to turn `from` into `to`.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (position, left) in from.chars().enumerate() {
        let mut diagonal = position;
        let mut previous = position + 1;
        let mut next = vec![previous];
        for (right, above) in to.chars().zip(row.iter().skip(1)) {
            let changed = diagonal + usize::from(left != right);
            previous = changed.min(above + 1).min(previous + 1);
            diagonal = *above;
            next.push(previous);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

impl Relation {
    /// Whether the relation holds between `left` and `right`.
    #[inline]
    pub(super) fn holds(
        self,
        left: OperandValue<'_>,
        right: OperandValue<'_>,
        fuel: &mut Fuel,
    ) -> Result<bool, EvaluateError> {
        use Ordering::{Equal, Greater, Less};
        Ok(match self {
            Self::Equal => coerce::loosely_equal(left, right, fuel)?,
            Self::NotEqual => !coerce::loosely_equal(left, right, fuel)?,
            Self::StrictlyEqual => coerce::strictly_equal(left, right, fuel)?,
            Self::NotStrictlyEqual => !coerce::strictly_equal(left, right, fuel)?,
            Self::Less => coerce::order(left, right, fuel)? == Some(Less),
            Self::Greater => coerce::order(left, right, fuel)? == Some(Greater),
            Self::LessOrEqual => matches!(coerce::order(left, right, fuel)?, Some(Less | Equal)),
            Self::GreaterOrEqual => matches!(coerce::order(left, right, fuel)?, Some(Greater | Equal)),
        })
    }
}

impl Arithmetic {
    /// The number an argument stands for.
    pub(super) fn number(self, argument: OperandValue<'_>, fuel: &mut Fuel) -> Result<Numeric, EvaluateError> {
        match self {
            Self::Add | Self::Multiply => coerce::term(argument, fuel),
            _ => coerce::number(argument, fuel),
        }
    }

    /// The result so far and one more argument.
    pub(super) fn join(self, left: Numeric, right: Numeric) -> Numeric {
        match self {
            Self::Add => left.plus(right),
            Self::Subtract => left.minus(right),
            Self::Multiply => left.times(right),
            Self::Divide => left.over(right),
            Self::Modulo => left.modulo(right),
            Self::Min => left.lesser(right),
            Self::Max => left.greater(right),
        }
    }

    /// The result of a single argument.
    pub(super) fn of_one(self, number: Numeric) -> Numeric {
        match self {
            Self::Subtract => number.negated(),
            Self::Divide => Numeric::Whole(1).over(number),
            _ => number,
        }
    }

    /// The result of no argument at all.
    pub(super) fn of_none(self) -> Numeric {
        match self {
            Self::Add => Numeric::Whole(0),
            Self::Multiply => Numeric::Whole(1),
            Self::Min => Numeric::Float(f64::INFINITY),
            Self::Max => Numeric::Float(f64::NEG_INFINITY),
            Self::Subtract | Self::Divide | Self::Modulo => Numeric::Float(f64::NAN),
        }
    }
}
