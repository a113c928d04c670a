//! What Sprag asks of JSON values beyond holding them: one canonical form, a digest, sizes, depth, its texts, and a reader for
//! bytes from outside that takes nothing on trust.

use std::io;

use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::document::source::{self, Cause, Format, Limits, ParseError};

/// JSON that is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// Lists and maps are nested deeper than allowed.
    #[error("json is nested deeper than `{limit}` levels")]
    TooDeep {
        /// The levels that are allowed.
        limit: usize,
    },
    /// There are more bytes than allowed.
    #[error("json has `{bytes}` bytes, at most `{limit}` are allowed")]
    TooLarge {
        /// The bytes there are.
        bytes: usize,
        /// The bytes that are allowed.
        limit: usize,
    },
    /// The bytes are not text.
    #[error("json is not utf-8 from byte `{offset}` on")]
    NotUtf8 {
        /// How many bytes before it are valid.
        offset: usize,
    },
    /// The text is not JSON, gives a key twice, or holds a number that 64 bits cannot.
    #[error(transparent)]
    Invalid(ParseError),
}

/// The canonical bytes of a value: no blanks, the keys of every map in the order of their UTF-8 bytes, numbers and
/// escapes as `serde_json` writes them.
///
/// Equal values have equal bytes, whatever order their keys were written in. This differs from RFC 8785 only in the
/// order of keys beyond the basic multilingual plane and in the text of floats (`1.0` stays `1.0`, so an integer and
/// a float never share a form).
pub fn canonical(value: &Value) -> Vec<u8> {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    sorted.to_string().into_bytes()
}

/// The SHA-256 of some bytes.
pub fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Bytes as lowercase hexadecimal text.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or_default();
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)])
        .collect()
}

/// Refuses a value in which more than `depth` lists and maps are nested in each other.
///
/// Values from outside are bounded by [`parse_bounded`]; this is for values that expressions made.
pub fn check(value: &Value, depth: usize) -> Result<(), JsonError> {
    // A stack of our own, so that the check itself bears any depth.
    let mut open = vec![(value, 0)];
    while let Some((value, above)) = open.pop() {
        if value.is_array() || value.is_object() {
            if above == depth {
                return Err(JsonError::TooDeep { limit: depth });
            }
            open.extend(children(value).map(|child| (child, above + 1)));
        }
    }
    Ok(())
}

fn children(value: &Value) -> impl Iterator<Item = &Value> {
    let items = value.as_array().into_iter().flatten();
    items.chain(value.as_object().into_iter().flat_map(|map| map.values()))
}

/// The bytes a value takes as compact JSON, counted without writing them anywhere.
pub fn size(value: &(impl Serialize + ?Sized)) -> usize {
    let mut counter = Counter(0);
    match serde_json::to_writer(&mut counter, value) {
        Ok(()) => counter.0,
        // A value always serialises and the counter takes every byte. Were that ever untrue, nothing would fit.
        Err(_) => usize::MAX,
    }
}

/// Roughly the bytes a value takes in memory, beyond itself.
pub fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => size_of_val(items.as_slice()) + items.iter().map(weight).sum::<usize>(),
        Value::Object(map) => map_weight(map),
    }
}

/// Roughly the bytes a map takes in memory, beyond itself.
pub fn map_weight(map: &Map<String, Value>) -> usize {
    let members = map.iter().map(|(key, value)| key.len() + weight(value)).sum::<usize>();
    members + map.len() * MEMBER_BYTES
}

/// A key, a value, and where the map has them.
const MEMBER_BYTES: usize = size_of::<(u64, usize, String, Value)>();

struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads JSON from outside.
///
/// Refuses what is larger, deeper or has more values than `limits` allow, bytes that are not UTF-8, anything after
/// the value, a key given twice, and numbers that fit neither 64-bit integers nor a finite `f64`. An escaped NUL
/// inside text is a character like any other.
pub fn parse_bounded(bytes: &[u8], limits: &Limits) -> Result<Value, JsonError> {
    if bytes.len() > limits.bytes {
        return Err(JsonError::TooLarge {
            bytes: bytes.len(),
            limit: limits.bytes,
        });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| JsonError::NotUtf8 {
        offset: error.valid_up_to(),
    })?;
    match source::parse_value(text, Format::Json, limits) {
        Ok(value) => Ok(value),
        Err(error) if error.cause == Cause::TooDeep => Err(JsonError::TooDeep { limit: limits.depth }),
        Err(error) => Err(JsonError::Invalid(error)),
    }
}

/// Visits every text of a value with its JSON pointer, and stops at the first error.
pub fn each_text<E>(value: &Value, visit: &mut impl FnMut(&str, &str) -> Result<(), E>) -> Result<(), E> {
    texts_at(value, &mut String::new(), visit)
}

fn texts_at<E>(
    value: &Value,
    pointer: &mut String,
    visit: &mut impl FnMut(&str, &str) -> Result<(), E>,
) -> Result<(), E> {
    let length = pointer.len();
    match value {
        Value::String(text) => visit(pointer, text)?,
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                pointer.push('/');
                pointer.push_str(&position.to_string());
                texts_at(item, pointer, visit)?;
                pointer.truncate(length);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                pointer.push('/');
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                texts_at(member, pointer, visit)?;
                pointer.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests;
