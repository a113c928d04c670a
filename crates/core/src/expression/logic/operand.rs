//! A value on its way through an evaluation: borrowed wherever it can be.

use serde_json::{Map, Value};

use super::error::EvaluateError;
use super::fuel::Fuel;
use super::number::Numeric;

static NULL: Value = Value::Null;

/// What a node evaluates to.
#[derive(Debug)]
pub(super) enum Operand<'a> {
    Bool(bool),
    Number(Numeric),
    Borrowed(&'a Value),
    /// Boxed, because operands are moved far more often than they own anything.
    Owned(Box<Value>),
}

/// What an operand is, for matching.
#[derive(Clone, Copy, Debug)]
pub(super) enum OperandValue<'a> {
    Null,
    Bool(bool),
    Number(Numeric),
    Text(&'a str),
    List(&'a [Value]),
    Object(&'a Map<String, Value>),
}

impl From<Value> for Operand<'_> {
    fn from(value: Value) -> Self {
        Self::Owned(Box::new(value))
    }
}

impl Operand<'_> {
    /// What a missing value is.
    pub(super) const NULL: Operand<'static> = Operand::Borrowed(&NULL);

    #[inline]
    pub(super) fn plain(&self) -> OperandValue<'_> {
        match self {
            Self::Bool(truth) => OperandValue::Bool(*truth),
            Self::Number(number) => OperandValue::Number(*number),
            Self::Borrowed(value) => OperandValue::from(*value),
            Self::Owned(value) => OperandValue::from(value.as_ref()),
        }
    }

    /// The value itself, copied if it was borrowed. A number comes out as JSON can carry it.
    pub(super) fn into_value(self, fuel: &mut Fuel) -> Result<Value, EvaluateError> {
        match self {
            Self::Bool(truth) => {
                fuel.produce(0)?;
                Ok(Value::Bool(truth))
            }
            Self::Number(number) => {
                fuel.produce(0)?;
                Ok(number.into_value())
            }
            Self::Borrowed(value) => fuel.copy(value).map(normal),
            // Its bytes were taken when it was built.
            Self::Owned(value) => Ok(normal(*value)),
        }
    }
}

/// The value with a number written as JSON's shortest form has it: `1`, not `1.0`.
fn normal(value: Value) -> Value {
    match value {
        Value::Number(number) => Numeric::from(&number).into_value(),
        other => other,
    }
}

impl<'a> From<&'a Value> for OperandValue<'a> {
    #[inline]
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(truth) => Self::Bool(*truth),
            Value::Number(number) => Self::Number(number.into()),
            Value::String(text) => Self::Text(text),
            Value::Array(items) => Self::List(items),
            Value::Object(members) => Self::Object(members),
        }
    }
}

impl<'a> OperandValue<'a> {
    /// `JSONLogic`'s truth: null, zero, the empty text and the empty list are false.
    #[inline]
    pub(super) fn is_truthy(self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(truth) => truth,
            Self::Number(number) => number.is_truthy(),
            Self::Text(text) => !text.is_empty(),
            Self::List(items) => !items.is_empty(),
            Self::Object(_) => true,
        }
    }

    /// Whether this becomes null as a value.
    pub(super) fn is_null(self) -> bool {
        match self {
            Self::Null => true,
            Self::Number(number) => !number.is_finite(),
            _ => false,
        }
    }

    /// The items of a list; none of anything else.
    pub(super) fn items(self) -> &'a [Value] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }
}
