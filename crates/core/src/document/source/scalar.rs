//! What a YAML scalar means: the core schema of YAML 1.2.
//!
//! Only `null`, `true`, `false`, their capitalised forms and numbers are anything but text. `yes`, `no`, `on` and
//! `off` are text, as in no older YAML, so a machine's `on:` is a key like any other.

use serde_json::Number;

use super::error::{ParseError, shown};
use super::node::{Content, Position};
use super::number::{self, Parts, is_digits};

/// The tags of the core schema, as YAML writes them out.
const CORE: &str = "tag:yaml.org,2002:";

/// What a plain scalar without a tag means.
pub(super) fn plain(text: &str, at: Position) -> Result<Content, ParseError> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Ok(Content::Null),
        "true" | "True" | "TRUE" => Ok(Content::Bool(true)),
        "false" | "False" | "FALSE" => Ok(Content::Bool(false)),
        _ => Ok(number(text, at)?.map_or_else(|| Content::Text(text.to_owned()), Content::Number)),
    }
}

/// What a scalar with a tag of the core schema means; `name` is the tag's last part.
pub(super) fn tagged(name: &str, text: &str, at: Position) -> Result<Content, ParseError> {
    if name == "str" {
        return Ok(Content::Text(text.to_owned()));
    }
    match (name, plain(text, at)?) {
        ("null", Content::Null) => Ok(Content::Null),
        ("bool", Content::Bool(truth)) => Ok(Content::Bool(truth)),
        ("int", Content::Number(number)) if !number.is_f64() => Ok(Content::Number(number)),
        ("float", Content::Number(number)) => float(number, at),
        ("null" | "bool" | "int" | "float", _) => Err(ParseError::syntax(
            at,
            format!("`{}` is not what its tag `!!{name}` says", shown(text)),
        )),
        _ => Err(refused_tag(&format!("!!{name}"), at)),
    }
}

/// The last part of a core schema's tag; other tags are refused.
pub(super) fn core_tag<'t>(handle: &str, suffix: &'t str, at: Position) -> Result<&'t str, ParseError> {
    let verbatim = if handle.is_empty() {
        suffix.strip_prefix(CORE)
    } else {
        None
    };
    let name = if handle == CORE { Some(suffix) } else { verbatim };
    name.ok_or_else(|| refused_tag(&format!("{handle}{suffix}"), at))
}

/// The refusal of a tag that has no meaning here.
pub(super) fn refused_tag(tag: &str, at: Position) -> ParseError {
    ParseError::syntax(at, format!("tag `{}` is not supported", shown(tag)))
        .remedy("use plain values, or the core tags such as `!!str` and `!!int`")
}

fn float(number: Number, at: Position) -> Result<Content, ParseError> {
    let float = if number.is_f64() {
        number
    } else {
        number::fraction(&number.to_string(), at)?
    };
    Ok(Content::Number(float))
}

fn number(text: &str, at: Position) -> Result<Option<Number>, ParseError> {
    if let Some(digits) = text.strip_prefix("0x").filter(|digits| all_in_base(digits, 16)) {
        return number::integer_in_base(digits, 16, at).map(Some);
    }
    if let Some(digits) = text.strip_prefix("0o").filter(|digits| all_in_base(digits, 8)) {
        return number::integer_in_base(digits, 8, at).map(Some);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        let detail = format!("`{text}` is not a number JSON can hold");
        return Err(ParseError::syntax(at, detail).remedy("quote it to keep it as text"));
    }
    let parts = Parts::of(unsigned);
    if !is_decimal(&parts) {
        Ok(None)
    } else if parts.is_integer() {
        number::integer(text, at).map(Some)
    } else {
        number::fraction(text, at).map(Some)
    }
}

/// Digits before the point or after it; a point may stand at either end.
fn is_decimal(parts: &Parts<'_>) -> bool {
    let whole = parts.whole.is_empty() || is_digits(parts.whole);
    let fraction = parts
        .fraction
        .is_none_or(|digits| digits.is_empty() || is_digits(digits));
    let some = !parts.whole.is_empty() || parts.fraction.is_some_and(|digits| !digits.is_empty());
    whole && fraction && some && parts.has_valid_exponent()
}

fn all_in_base(digits: &str, base: u32) -> bool {
    !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base))
}
