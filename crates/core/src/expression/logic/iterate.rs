//! The operators that go over a list. What is not a list counts as an empty one.

use serde_json::Value;

use super::error::EvaluateError;
use super::evaluate::{evaluate, test};
use super::frame::Frame;
use super::fuel::Fuel;
use super::node::{Iteration, Reduction};

/// What the body gives for every item.
pub(super) fn map<'a>(
    iteration: &'a Iteration,
    frame: &Frame<'a>,
    fuel: &mut Fuel,
) -> Result<Vec<Value>, EvaluateError> {
    fuel.produce(0)?;
    let list = evaluate(&iteration.list, frame, fuel)?;
    let mut mapped = Vec::new();
    for (position, item) in list.plain().items().iter().enumerate() {
        let inner = frame.item(item, position);
        mapped.push(evaluate(&iteration.body, &inner, fuel)?.into_value(fuel)?);
    }
    Ok(mapped)
}

/// The items for which the body is truthy.
pub(super) fn filter<'a>(
    iteration: &'a Iteration,
    frame: &Frame<'a>,
    fuel: &mut Fuel,
) -> Result<Vec<Value>, EvaluateError> {
    fuel.produce(0)?;
    let list = evaluate(&iteration.list, frame, fuel)?;
    let mut kept = Vec::new();
    for (position, item) in list.plain().items().iter().enumerate() {
        if test(&iteration.body, &frame.item(item, position), fuel)? {
            kept.push(fuel.copy(item)?);
        }
    }
    Ok(kept)
}

/// Whether there are items and the body is truthy for every one.
pub(super) fn all<'a>(iteration: &'a Iteration, frame: &Frame<'a>, fuel: &mut Fuel) -> Result<bool, EvaluateError> {
    let list = evaluate(&iteration.list, frame, fuel)?;
    let items = list.plain().items();
    for (position, item) in items.iter().enumerate() {
        if !test(&iteration.body, &frame.item(item, position), fuel)? {
            return Ok(false);
        }
    }
    Ok(!items.is_empty())
}

/// Whether the body is truthy for any item.
pub(super) fn some<'a>(iteration: &'a Iteration, frame: &Frame<'a>, fuel: &mut Fuel) -> Result<bool, EvaluateError> {
    let list = evaluate(&iteration.list, frame, fuel)?;
    for (position, item) in list.plain().items().iter().enumerate() {
        if test(&iteration.body, &frame.item(item, position), fuel)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What the body makes, item by item, of the initial value.
pub(super) fn reduce<'a>(reduction: &'a Reduction, frame: &Frame<'a>, fuel: &mut Fuel) -> Result<Value, EvaluateError> {
    let list = evaluate(&reduction.list, frame, fuel)?;
    let mut accumulator = evaluate(&reduction.initial, frame, fuel)?.into_value(fuel)?;
    for (position, item) in list.plain().items().iter().enumerate() {
        let inner = frame.reduction(item, position, &accumulator);
        accumulator = evaluate(&reduction.body, &inner, fuel)?.into_value(fuel)?;
    }
    Ok(accumulator)
}
