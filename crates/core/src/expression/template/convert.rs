//! Between JSON and the values that expressions work on.
//!
//! Integers are exact in both directions, from the smallest `i64` to the largest `u64`, and objects keep the order of
//! their members. Nothing passes unmeasured: each direction takes from a [`Room`] what it is about to copy, and stops
//! at [`DEPTH_MAX`].

use minijinja::value::{Value, ValueKind};
use serde_json::{Map, Number, Value as Json};

use super::limits::{DEPTH_MAX, Overrun, Room};

/// Why a value cannot be JSON.
#[derive(Debug)]
pub(super) enum Unfit {
    /// It is missing, or holds something that is.
    Missing,
    /// It does not fit.
    Overrun(Overrun),
    /// JSON has nothing like it.
    Unlike(&'static str),
    /// It could not be computed.
    Failed(minijinja::Error),
}

impl From<Overrun> for Unfit {
    fn from(overrun: Overrun) -> Self {
        Self::Overrun(overrun)
    }
}

impl From<minijinja::Error> for Unfit {
    fn from(error: minijinja::Error) -> Self {
        Self::Failed(error)
    }
}

/// The text that `json` has inside other text; null has none.
pub(super) fn text(json: Json) -> Option<String> {
    match json {
        Json::Null => None,
        Json::String(text) => Some(text),
        other => Some(other.to_string()),
    }
}

/// Takes the size of `json` from `room`.
pub(super) fn measure(json: &Json, room: &mut Room) -> Result<(), Overrun> {
    measure_at(json, room, 0)
}

/// Refuses what nests deeper than [`DEPTH_MAX`].
pub(super) fn check_depth(json: &Json) -> Result<(), Overrun> {
    measure(json, &mut Room::new(usize::MAX))
}

fn measure_at(json: &Json, room: &mut Room, depth: usize) -> Result<(), Overrun> {
    room.take(own_size(json))?;
    match json {
        Json::Array(items) => items.iter().try_for_each(|item| measure_at(item, room, deeper(depth)?)),
        Json::Object(members) => members.iter().try_for_each(|(name, member)| {
            room.take(name_size(name))?;
            measure_at(member, room, deeper(depth)?)
        }),
        _ => Ok(()),
    }
}

/// The size of `json` without what it holds: about its share of the compact text.
fn own_size(json: &Json) -> usize {
    match json {
        Json::Null | Json::Bool(_) => 5,
        Json::Number(_) => 8,
        Json::String(text) => text.len() + 3,
        Json::Array(_) | Json::Object(_) => 3,
    }
}

/// The size of a member's name, with its quotes and colon.
pub(super) fn name_size(name: &str) -> usize {
    name.len() + 3
}

fn deeper(depth: usize) -> Result<usize, Overrun> {
    if depth < DEPTH_MAX {
        Ok(depth + 1)
    } else {
        Err(Overrun::Depth)
    }
}

/// A copy of `json` for an expression to work on.
pub(super) fn import(json: &Json, room: &mut Room) -> Result<Value, Overrun> {
    measure(json, room)?;
    Ok(import_measured(json))
}

fn import_measured(json: &Json) -> Value {
    match json {
        Json::Null => Value::from(()),
        Json::Bool(flag) => Value::from(*flag),
        Json::Number(number) => import_number(number),
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => items.iter().map(import_measured).collect(),
        Json::Object(members) => Value::from_pairs(
            members
                .iter()
                .map(|(name, member)| (name.as_str(), import_measured(member))),
        ),
    }
}

fn import_number(number: &Number) -> Value {
    let integer = number
        .as_i64()
        .map(Value::from)
        .or_else(|| number.as_u64().map(Value::from));
    integer.unwrap_or_else(|| number.as_f64().map_or(Value::UNDEFINED, Value::from))
}

/// What an expression yielded, as JSON.
pub(super) fn export(value: &Value, room: &mut Room) -> Result<Json, Unfit> {
    export_at(value, room, 0)
}

fn export_at(value: &Value, room: &mut Room, depth: usize) -> Result<Json, Unfit> {
    let json = match value.kind() {
        ValueKind::Undefined => return Err(Unfit::Missing),
        ValueKind::None => Json::Null,
        ValueKind::Bool => Json::Bool(value.is_true()),
        ValueKind::Number => Json::Number(export_number(value)?),
        ValueKind::String => {
            let text = value.as_str().unwrap_or_default();
            // Measured before it is copied.
            room.take(text.len() + 3)?;
            return Ok(Json::String(text.to_owned()));
        }
        ValueKind::Seq | ValueKind::Iterable => return export_list(value, room, depth),
        ValueKind::Map => return export_object(value, room, depth),
        _ => return Err(Unfit::Unlike("the result is neither text, number, list nor object")),
    };
    room.take(own_size(&json))?;
    Ok(json)
}

fn export_number(value: &Value) -> Result<Number, Unfit> {
    if !value.is_integer() {
        let number = f64::try_from(value.clone())?;
        return Number::from_f64(number).ok_or(Unfit::Unlike("the result is not a finite number"));
    }
    let exact = i64::try_from(value.clone()).map(Number::from);
    exact
        .or_else(|_| u64::try_from(value.clone()).map(Number::from))
        .map_err(|_| Unfit::Unlike("the result is an integer of more than 64 bits"))
}

fn export_list(value: &Value, room: &mut Room, depth: usize) -> Result<Json, Unfit> {
    let depth = deeper(depth)?;
    room.take(3)?;
    let mut items = Vec::new();
    for item in value.try_iter()?.checked() {
        items.push(export_at(&item?, room, depth)?);
    }
    Ok(Json::Array(items))
}

fn export_object(value: &Value, room: &mut Room, depth: usize) -> Result<Json, Unfit> {
    let depth = deeper(depth)?;
    room.take(3)?;
    let mut members = Map::new();
    for name in value.try_iter()?.checked() {
        let name = name?;
        let member = value.get_item(&name)?;
        let Some(name) = name.as_str() else {
            return Err(Unfit::Unlike("the names in an object must be text"));
        };
        room.take(name_size(name))?;
        members.insert(name.to_owned(), export_at(&member, room, depth)?);
    }
    Ok(Json::Object(members))
}
