//! Evaluating a compiled rule.
//!
//! Two functions share the work: `test` asks only for the truth of a node and allocates nothing for comparisons,
//! `evaluate` gives its value, borrowed wherever it can be. For every node, the truth of the value that `evaluate`
//! gives is what `test` says.

use serde_json::Value;

use super::coerce;
use super::compile::{Logic, unwrapped};
use super::error::EvaluateError;
use super::frame::Frame;
use super::fuel::{Fuel, VALUE_DEPTH_MAX, is_deeper};
use super::iterate;
use super::node::{Arguments, Key, Keys, RuleNode, Substr, ValuePath, dotted, reach};
use super::number::Numeric;
use super::operand::{Operand, OperandValue};
use super::operator::{Arithmetic, Relation};
use crate::expression::scope::Scope;

impl Logic {
    /// The value of the rule in `scope`.
    pub fn evaluate(&self, scope: &dyn Scope, fuel: &mut Fuel) -> Result<Value, EvaluateError> {
        let value = evaluate(&self.root, &Frame::new(scope), fuel)?.into_value(fuel)?;
        if is_deeper(&value, VALUE_DEPTH_MAX) {
            return Err(EvaluateError::TooLarge);
        }
        Ok(value)
    }

    /// Whether the value of the rule in `scope` is truthy: neither null, false, zero, an empty text nor an empty list.
    pub fn test(&self, scope: &dyn Scope, fuel: &mut Fuel) -> Result<bool, EvaluateError> {
        test(&self.root, &Frame::new(scope), fuel)
    }
}

/// Whether `node` is truthy.
pub(super) fn test<'a>(node: &'a RuleNode, frame: &Frame<'a>, fuel: &mut Fuel) -> Result<bool, EvaluateError> {
    fuel.step()?;
    match node {
        RuleNode::Compare(relation, nodes) => compare(*relation, nodes, frame, fuel),
        RuleNode::Not(node) => Ok(!test(node, frame, fuel)?),
        RuleNode::Truth(node) => test(node, frame, fuel),
        RuleNode::And(nodes) => {
            for node in nodes {
                if !test(node, frame, fuel)? {
                    return Ok(false);
                }
            }
            Ok(!nodes.is_empty())
        }
        RuleNode::Or(nodes) => {
            for node in nodes {
                if test(node, frame, fuel)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        RuleNode::If(nodes) => match branch(nodes, frame, fuel)? {
            Some(node) => test(node, frame, fuel),
            None => Ok(false),
        },
        RuleNode::In(nodes) => contains(nodes, frame, fuel),
        RuleNode::Exists(path) => Ok(reached(path, frame, fuel)?.is_some()),
        RuleNode::InState(target) => Ok(frame.in_state(target)),
        RuleNode::All(iteration) => iterate::all(iteration, frame, fuel),
        RuleNode::None(iteration) => Ok(!iterate::some(iteration, frame, fuel)?),
        RuleNode::Some(iteration) => iterate::some(iteration, frame, fuel),
        _ => Ok(evaluate(node, frame, fuel)?.plain().is_truthy()),
    }
}

/// The value of `node`. What most arguments are, a literal or a path, is settled here, without a call.
#[inline]
pub(super) fn evaluate<'a>(
    node: &'a RuleNode,
    frame: &Frame<'a>,
    fuel: &mut Fuel,
) -> Result<Operand<'a>, EvaluateError> {
    fuel.step()?;
    match node {
        RuleNode::Literal(value) => Ok(Operand::Borrowed(value)),
        RuleNode::Var(Key::Fixed(path), None) => Ok(frame.lookup(path, fuel)?.unwrap_or(Operand::NULL)),
        _ => operation(node, frame, fuel),
    }
}

fn operation<'a>(node: &'a RuleNode, frame: &Frame<'a>, fuel: &mut Fuel) -> Result<Operand<'a>, EvaluateError> {
    match node {
        RuleNode::Literal(value) => Ok(Operand::Borrowed(value)),
        RuleNode::Var(key, default) => var(key, default.as_deref(), frame, fuel),
        RuleNode::Val(path) => Ok(reached(path, frame, fuel)?.unwrap_or(Operand::NULL)),
        RuleNode::Compare(..)
        | RuleNode::Not(_)
        | RuleNode::Truth(_)
        | RuleNode::In(_)
        | RuleNode::Exists(_)
        | RuleNode::InState(_)
        | RuleNode::All(_)
        | RuleNode::None(_)
        | RuleNode::Some(_) => test(node, frame, fuel).map(Operand::Bool),
        RuleNode::And(nodes) => until(nodes, frame, fuel, |value| !value.plain().is_truthy()),
        RuleNode::Or(nodes) => until(nodes, frame, fuel, |value| value.plain().is_truthy()),
        RuleNode::Coalesce(nodes) => coalesce(nodes, frame, fuel),
        RuleNode::If(nodes) => match branch(nodes, frame, fuel)? {
            Some(node) => evaluate(node, frame, fuel),
            None => Ok(Operand::NULL),
        },
        RuleNode::Arithmetic(arithmetic, arguments) => {
            calculate(*arithmetic, arguments, frame, fuel).map(Operand::Number)
        }
        RuleNode::Length(node) => length(node, frame, fuel),
        RuleNode::List(nodes) => values(nodes, frame, fuel).map(owned),
        RuleNode::Merge(nodes) => merge(nodes, frame, fuel),
        RuleNode::Cat(arguments) => cat(arguments, frame, fuel),
        RuleNode::Substr(parts) => substr(parts, frame, fuel),
        RuleNode::Missing(keys) => Ok(owned(missing(keys, frame, fuel)?.0)),
        RuleNode::MissingSome { need, keys } => missing_some(need, keys, frame, fuel),
        RuleNode::Map(iteration) => iterate::map(iteration, frame, fuel).map(owned),
        RuleNode::Filter(iteration) => iterate::filter(iteration, frame, fuel).map(owned),
        RuleNode::Reduce(reduction) => iterate::reduce(reduction, frame, fuel).map(Operand::from),
    }
}

fn owned(items: Vec<Value>) -> Operand<'static> {
    Value::Array(items).into()
}

/// Whether every two neighbours among `nodes` relate; those after the first that do not are not evaluated.
fn compare<'a>(
    relation: Relation,
    nodes: &'a [RuleNode],
    frame: &Frame<'a>,
    fuel: &mut Fuel,
) -> Result<bool, EvaluateError> {
    let Some((first, rest)) = nodes.split_first() else {
        return Ok(false);
    };
    let mut left = evaluate(first, frame, fuel)?;
    for node in rest {
        let right = evaluate(node, frame, fuel)?;
        if !relation.holds(left.plain(), right.plain(), fuel)? {
            return Ok(false);
        }
        left = right;
    }
    Ok(true)
}

/// The first value that is `wanted`, or else the last one, or else false.
fn until<'a>(
    nodes: &'a [RuleNode],
    frame: &Frame<'a>,
    fuel: &mut Fuel,
    wanted: impl Fn(&Operand<'_>) -> bool,
) -> Result<Operand<'a>, EvaluateError> {
    let mut value = Operand::Bool(false);
    for node in nodes {
        value = evaluate(node, frame, fuel)?;
        if wanted(&value) {
            break;
        }
    }
    Ok(value)
}

fn coalesce<'a>(nodes: &'a [RuleNode], frame: &Frame<'a>, fuel: &mut Fuel) -> Result<Operand<'a>, EvaluateError> {
    for node in nodes {
        let value = evaluate(node, frame, fuel)?;
        if !value.plain().is_null() {
            return Ok(value);
        }
    }
    Ok(Operand::NULL)
}

/// The part of an `if` that applies: what follows the first truthy condition, or the one left over at the end.
fn branch<'a>(
    nodes: &'a [RuleNode],
    frame: &Frame<'a>,
    fuel: &mut Fuel,
) -> Result<Option<&'a RuleNode>, EvaluateError> {
    for pair in nodes.chunks(2) {
        match pair {
            [condition, then] => {
                if test(condition, frame, fuel)? {
                    return Ok(Some(then));
                }
            }
            otherwise => return Ok(otherwise.first()),
        }
    }
    Ok(None)
}

fn var<'a>(
    key: &'a Key,
    default: Option<&'a RuleNode>,
    frame: &Frame<'a>,
    fuel: &mut Fuel,
) -> Result<Operand<'a>, EvaluateError> {
    let found = match key {
        Key::Fixed(path) => frame.lookup(path, fuel)?,
        Key::Computed(node) => {
            let key = evaluate(node, frame, fuel)?;
            lookup(key.plain(), frame, fuel)?
        }
    };
    match (found, default) {
        (Some(value), _) => Ok(value),
        (None, Some(default)) => evaluate(default, frame, fuel),
        (None, None) => Ok(Operand::NULL),
    }
}

/// What the computed `key` finds.
fn lookup<'a>(key: OperandValue<'_>, frame: &Frame<'a>, fuel: &mut Fuel) -> Result<Option<Operand<'a>>, EvaluateError> {
    if let OperandValue::Text(text) = key {
        fuel.produce(text.len())?;
    }
    match dotted(key) {
        Some(path) => frame.lookup(&path, fuel),
        None => Ok(None),
    }
}

fn reached<'a>(path: &'a ValuePath, frame: &Frame<'a>, fuel: &mut Fuel) -> Result<Option<Operand<'a>>, EvaluateError> {
    match path {
        ValuePath::Fixed { up, path } => frame.reach(*up, path, fuel),
        ValuePath::Computed(names) => match reach(&all_values(names, frame, fuel)?) {
            Some((up, path)) => frame.reach(up, &path, fuel),
            None => Ok(None),
        },
    }
}

/// The keys that have no value or an empty text, and how many were asked for.
fn missing<'a>(keys: &'a Keys, frame: &Frame<'a>, fuel: &mut Fuel) -> Result<(Vec<Value>, usize), EvaluateError> {
    let is_missing = |found: Option<Operand<'_>>| {
        found.is_none_or(|value| matches!(value.plain(), OperandValue::Null | OperandValue::Text("")))
    };
    fuel.produce(0)?;
    let mut missing = Vec::new();
    let count = match keys {
        Keys::Fixed(keys) => {
            for (key, path) in keys {
                fuel.step()?;
                if is_missing(frame.lookup(path, fuel)?) {
                    missing.push(fuel.copy(key)?);
                }
            }
            keys.len()
        }
        Keys::Computed(keys) => {
            let keys = unwrapped(all_values(keys, frame, fuel)?);
            let count = keys.len();
            for key in keys {
                fuel.step()?;
                if is_missing(lookup((&key).into(), frame, fuel)?) {
                    missing.push(key);
                }
            }
            count
        }
    };
    Ok((missing, count))
}

fn missing_some<'a>(
    need: &'a RuleNode,
    keys: &'a Keys,
    frame: &Frame<'a>,
    fuel: &mut Fuel,
) -> Result<Operand<'a>, EvaluateError> {
    let need = coerce::number(evaluate(need, frame, fuel)?.plain(), fuel)?;
    let (missing, count) = missing(keys, frame, fuel)?;
    let present = Numeric::Whole((count - missing.len()) as i128);
    let enough = present.order(need).is_some_and(std::cmp::Ordering::is_ge);
    Ok(owned(if enough { Vec::new() } else { missing }))
}

fn calculate<'a>(
    arithmetic: Arithmetic,
    arguments: &'a Arguments,
    frame: &Frame<'a>,
    fuel: &mut Fuel,
) -> Result<Numeric, EvaluateError> {
    let mut result = None;
    let mut is_single = true;
    for_each(arguments, frame, fuel, |argument, fuel| {
        let number = arithmetic.number(argument, fuel)?;
        is_single = result.is_none();
        result = Some(result.map_or(number, |result| arithmetic.join(result, number)));
        Ok(())
    })?;
    Ok(match result {
        None => arithmetic.of_none(),
        Some(number) if is_single => arithmetic.of_one(number),
        Some(number) => number,
    })
}

/// Whether the first of `nodes` is an item or a part of the second.
fn contains<'a>(nodes: &'a [RuleNode; 2], frame: &Frame<'a>, fuel: &mut Fuel) -> Result<bool, EvaluateError> {
    let [needle, haystack] = nodes;
    let needle = evaluate(needle, frame, fuel)?;
    let haystack = evaluate(haystack, frame, fuel)?;
    match haystack.plain() {
        OperandValue::Text("") => Ok(false),
        OperandValue::Text(text) => {
            let part = coerce::text(needle.plain(), fuel)?;
            fuel.read(text.len())?;
            Ok(text.contains(part.as_ref()))
        }
        OperandValue::List(items) => {
            for item in items {
                fuel.step()?;
                if coerce::strictly_equal(needle.plain(), item.into(), fuel)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => Ok(false),
    }
}

/// The number of characters, items or members; a missing value has none.
fn length<'a>(node: &'a RuleNode, frame: &Frame<'a>, fuel: &mut Fuel) -> Result<Operand<'a>, EvaluateError> {
    let count = match evaluate(node, frame, fuel)?.plain() {
        OperandValue::Null => 0,
        OperandValue::Text(text) => {
            fuel.read(text.len())?;
            text.chars().count()
        }
        OperandValue::List(items) => items.len(),
        OperandValue::Object(members) => members.len(),
        OperandValue::Bool(_) | OperandValue::Number(_) => return Ok(Operand::NULL),
    };
    Ok(Operand::Number(Numeric::Whole(count as i128)))
}

fn merge<'a>(nodes: &'a [RuleNode], frame: &Frame<'a>, fuel: &mut Fuel) -> Result<Operand<'a>, EvaluateError> {
    fuel.produce(0)?;
    let mut merged = Vec::new();
    for node in nodes {
        match evaluate(node, frame, fuel)?.into_value(fuel)? {
            Value::Array(items) => merged.extend(items),
            single => merged.push(single),
        }
    }
    Ok(owned(merged))
}

fn cat<'a>(arguments: &'a Arguments, frame: &Frame<'a>, fuel: &mut Fuel) -> Result<Operand<'a>, EvaluateError> {
    fuel.produce(0)?;
    let mut text = String::new();
    for_each(arguments, frame, fuel, |argument, fuel| {
        coerce::append(&mut text, argument, fuel)
    })?;
    Ok(Value::String(text).into())
}

/// The part of a text from a position, counted from the end if negative; its length likewise.
fn substr<'a>(parts: &'a Substr, frame: &Frame<'a>, fuel: &mut Fuel) -> Result<Operand<'a>, EvaluateError> {
    let whole = evaluate(&parts.text, frame, fuel)?;
    let whole = coerce::text(whole.plain(), fuel)?;
    let start = position(&parts.start, frame, fuel)?;
    let length = parts
        .length
        .as_ref()
        .map(|length| position(length, frame, fuel))
        .transpose()?;
    fuel.read(whole.len())?;
    let count = i64::try_from(whole.chars().count()).unwrap_or(i64::MAX);
    let start = from_end(start, count).min(count);
    let rest = count - start;
    let length = length.map_or(rest, |length| from_end(length, rest));
    let (_, part) = split(&whole, start);
    let (part, _) = split(part, length);
    fuel.produce(part.len())?;
    Ok(Value::from(part).into())
}

/// What comes before and what comes after the first `count` characters.
fn split(text: &str, count: i64) -> (&str, &str) {
    let character = text.char_indices().nth(usize::try_from(count).unwrap_or(usize::MAX));
    let at = character.map_or(text.len(), |(at, _)| at);
    text.split_at_checked(at).unwrap_or((text, ""))
}

fn position<'a>(node: &'a RuleNode, frame: &Frame<'a>, fuel: &mut Fuel) -> Result<i64, EvaluateError> {
    Ok(coerce::number(evaluate(node, frame, fuel)?.plain(), fuel)?.to_position())
}

/// A negative `position` counts back from `end`, and stops at the start.
fn from_end(position: i64, end: i64) -> i64 {
    if position < 0 {
        end.saturating_add(position).max(0)
    } else {
        position
    }
}

/// Hands every argument to `visit`, in order.
fn for_each<'a>(
    arguments: &'a Arguments,
    frame: &Frame<'a>,
    fuel: &mut Fuel,
    mut visit: impl FnMut(OperandValue<'_>, &mut Fuel) -> Result<(), EvaluateError>,
) -> Result<(), EvaluateError> {
    match arguments {
        Arguments::Each(nodes) => {
            for node in nodes {
                visit(evaluate(node, frame, fuel)?.plain(), fuel)?;
            }
        }
        Arguments::Spread(node) => match evaluate(node, frame, fuel)?.plain() {
            OperandValue::List(items) => {
                for item in items {
                    fuel.step()?;
                    visit(item.into(), fuel)?;
                }
            }
            single => visit(single, fuel)?,
        },
    }
    Ok(())
}

/// The values of all arguments.
fn all_values<'a>(arguments: &'a Arguments, frame: &Frame<'a>, fuel: &mut Fuel) -> Result<Vec<Value>, EvaluateError> {
    match arguments {
        Arguments::Each(nodes) => values(nodes, frame, fuel),
        Arguments::Spread(node) => Ok(match evaluate(node, frame, fuel)?.into_value(fuel)? {
            Value::Array(items) => items,
            single => vec![single],
        }),
    }
}

fn values<'a>(nodes: &'a [RuleNode], frame: &Frame<'a>, fuel: &mut Fuel) -> Result<Vec<Value>, EvaluateError> {
    fuel.produce(0)?;
    nodes
        .iter()
        .map(|node| evaluate(node, frame, fuel)?.into_value(fuel))
        .collect()
}
