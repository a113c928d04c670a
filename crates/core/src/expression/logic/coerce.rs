//! JavaScript's conversions between types, and the comparisons built on them.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use super::error::EvaluateError;
use super::fuel::{Fuel, within_depth};
use super::number::{self, Numeric};
use super::operand::OperandValue;

/// What JavaScript writes for any object.
const OBJECT_TEXT: &str = "[object Object]";

/// The value as a number, as comparisons and most arithmetic take it.
pub(super) fn number(plain: OperandValue<'_>, fuel: &mut Fuel) -> Result<Numeric, EvaluateError> {
    Ok(match plain {
        OperandValue::Null => Numeric::Whole(0),
        OperandValue::Bool(truth) => truth.into(),
        OperandValue::Number(number) => number,
        OperandValue::Text(_) | OperandValue::List(_) | OperandValue::Object(_) => {
            let text = text(plain, fuel)?;
            fuel.read(text.len())?;
            number::parse(&text)
        }
    })
}

/// The value as a number, as sums and products take it: a text counts for the number it starts with.
pub(super) fn term(plain: OperandValue<'_>, fuel: &mut Fuel) -> Result<Numeric, EvaluateError> {
    match plain {
        OperandValue::Text(text) if !text.trim().is_empty() => {
            fuel.read(text.len())?;
            Ok(number::parse_start(text))
        }
        OperandValue::List(_) | OperandValue::Object(_) => Ok(number::parse_start(&text(plain, fuel)?)),
        _ => number(plain, fuel),
    }
}

/// The value as a text, as JavaScript's `String` writes it.
pub(super) fn text<'a>(plain: OperandValue<'a>, fuel: &mut Fuel) -> Result<Cow<'a, str>, EvaluateError> {
    match plain {
        OperandValue::Text(text) => Ok(text.into()),
        _ if plain.is_null() => Ok("null".into()),
        _ => {
            let mut text = String::new();
            append(&mut text, plain, fuel)?;
            Ok(text.into())
        }
    }
}

/// Appends the value to `text` as joining a list does: null leaves nothing, lists are joined with commas.
pub(super) fn append(text: &mut String, plain: OperandValue<'_>, fuel: &mut Fuel) -> Result<(), EvaluateError> {
    append_at(text, plain, fuel, 0)
}

fn append_at(text: &mut String, plain: OperandValue<'_>, fuel: &mut Fuel, depth: usize) -> Result<(), EvaluateError> {
    within_depth(depth)?;
    let start = text.len();
    match plain {
        OperandValue::Null => {}
        OperandValue::Bool(truth) => text.push_str(if truth { "true" } else { "false" }),
        OperandValue::Number(number) => number.write(text),
        OperandValue::Object(_) => text.push_str(OBJECT_TEXT),
        OperandValue::Text(part) => {
            // The only part without a bound of its own: its bytes are taken before it is copied.
            fuel.produce(part.len())?;
            text.push_str(part);
            return Ok(());
        }
        OperandValue::List(items) => {
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    text.push(',');
                }
                append_at(text, item.into(), fuel, depth + 1)?;
            }
            return fuel.produce(0);
        }
    }
    fuel.produce(text.len() - start)
}

/// `==`: values of different types are compared as JavaScript converts them.
pub(super) fn loosely_equal(
    left: OperandValue<'_>,
    right: OperandValue<'_>,
    fuel: &mut Fuel,
) -> Result<bool, EvaluateError> {
    use OperandValue::{Bool, List, Null, Number, Object, Text};
    match (left, right) {
        (Number(left), Number(right)) => Ok(left.equals(right)),
        (Null, _) | (_, Null) => Ok(matches!((left, right), (Null, Null))),
        (Number(_) | Bool(_), _) | (_, Number(_) | Bool(_)) => Ok(number(left, fuel)?.equals(number(right, fuel)?)),
        (List(_) | Object(_), Text(_)) | (Text(_), List(_) | Object(_)) => {
            let (left, right) = (text(left, fuel)?, text(right, fuel)?);
            same_text(&left, &right, fuel)
        }
        _ => strictly_equal(left, right, fuel),
    }
}

/// `===`: the same type and the same content.
pub(super) fn strictly_equal(
    left: OperandValue<'_>,
    right: OperandValue<'_>,
    fuel: &mut Fuel,
) -> Result<bool, EvaluateError> {
    same(left, right, fuel, 0)
}

fn same(left: OperandValue<'_>, right: OperandValue<'_>, fuel: &mut Fuel, depth: usize) -> Result<bool, EvaluateError> {
    match (left, right) {
        (OperandValue::Null, OperandValue::Null) => Ok(true),
        (OperandValue::Bool(left), OperandValue::Bool(right)) => Ok(left == right),
        (OperandValue::Number(left), OperandValue::Number(right)) => Ok(left.equals(right)),
        (OperandValue::Text(left), OperandValue::Text(right)) => same_text(left, right, fuel),
        (OperandValue::List(left), OperandValue::List(right)) if left.len() == right.len() => {
            all_same(left.iter().zip(right.iter().map(Some)), fuel, depth)
        }
        (OperandValue::Object(left), OperandValue::Object(right)) if left.len() == right.len() => {
            all_same(left.iter().map(|(name, value)| (value, right.get(name))), fuel, depth)
        }
        _ => Ok(false),
    }
}

fn all_same<'a>(
    pairs: impl Iterator<Item = (&'a Value, Option<&'a Value>)>,
    fuel: &mut Fuel,
    depth: usize,
) -> Result<bool, EvaluateError> {
    within_depth(depth)?;
    for (left, right) in pairs {
        fuel.step()?;
        let Some(right) = right else { return Ok(false) };
        if !same(left.into(), right.into(), fuel, depth + 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn same_text(left: &str, right: &str, fuel: &mut Fuel) -> Result<bool, EvaluateError> {
    if left.len() != right.len() {
        return Ok(false);
    }
    fuel.read(left.len())?;
    Ok(left == right)
}

/// The order that `<` and its kin see: of two texts by their characters, of anything else as numbers. None where a
/// side is not a number.
#[inline]
pub(super) fn order(
    left: OperandValue<'_>,
    right: OperandValue<'_>,
    fuel: &mut Fuel,
) -> Result<Option<Ordering>, EvaluateError> {
    if let (OperandValue::Number(left), OperandValue::Number(right)) = (left, right) {
        return Ok(left.order(right));
    }
    order_converted(left, right, fuel)
}

fn order_converted(
    left: OperandValue<'_>,
    right: OperandValue<'_>,
    fuel: &mut Fuel,
) -> Result<Option<Ordering>, EvaluateError> {
    let is_text = |plain: OperandValue<'_>| {
        matches!(
            plain,
            OperandValue::Text(_) | OperandValue::List(_) | OperandValue::Object(_)
        )
    };
    if is_text(left) && is_text(right) {
        let (left, right) = (text(left, fuel)?, text(right, fuel)?);
        fuel.read(left.len().min(right.len()))?;
        // JavaScript orders by UTF-16 units, which differs from Rust's order beyond the basic plane.
        return Ok(Some(left.encode_utf16().cmp(right.encode_utf16())));
    }
    Ok(number(left, fuel)?.order(number(right, fuel)?))
}
