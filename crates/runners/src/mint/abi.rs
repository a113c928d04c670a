//! Calls by the names of their parameters, and what contracts say back.
//!
//! The ABI is the whole truth about a parameter's type: a value that does not fit is a problem at its own pointer, and
//! nothing is rounded, cut or guessed.

use std::fmt::Write as _;

use alloy_dyn_abi::{DynSolType, DynSolValue, JsonAbiExt, Specifier};
use alloy_json_abi::{Function, JsonAbi, Param};
use alloy_primitives::{Address, B256, Bytes, I256, Selector, U256, hex};
use serde_json::Value;
use sprag_core::document::source::nearest;

use sprag_core::document::source::{Spot, shown};
use sprag_core::document::{Reader, quoted};

/// `Error(string)`, what `require` and `revert` say.
const ERROR: [u8; 4] = [0x08, 0xc3, 0x79, 0xa0];
/// `Panic(uint256)`, what a failed `assert` says.
const PANIC: [u8; 4] = [0x4e, 0x48, 0x7b, 0x71];
const BITS: usize = 256;

/// An address; one in mixed case must have its checksum right.
pub(super) fn address(text: &str) -> Result<Address, (String, String)> {
    let wrong = |detail: String| (detail, "write `0x` and 40 hexadecimal digits".to_owned());
    let digits = text
        .strip_prefix("0x")
        .ok_or_else(|| wrong(format!("`{}` is not an address", shown(text))))?;
    let address: Address = text
        .parse()
        .map_err(|_| wrong(format!("`{}` is not an address", shown(text))))?;
    let mixed =
        digits.bytes().any(|byte| byte.is_ascii_lowercase()) && digits.bytes().any(|byte| byte.is_ascii_uppercase());
    let right = address.to_checksum(None);
    if mixed && right != text {
        let remedy = format!("compare every character: with these digits it would be `{right}`");
        return Err((format!("the checksum of `{text}` is wrong"), remedy));
    }
    Ok(address)
}

/// An ABI: a list of JSON items, a compiler's output that holds one under `abi`, a list of signatures, or JSON text.
pub(super) fn read(value: &Value) -> Result<JsonAbi, String> {
    match value {
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(inner @ (Value::Array(_) | Value::Object(_))) => read(&inner),
            _ => signatures(&[text.as_str()]),
        },
        Value::Object(object) => match object.get("abi") {
            Some(inner @ Value::Array(_)) => read(inner),
            _ => Err("the object holds no list `abi`".to_owned()),
        },
        Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_string) => {
            let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            signatures(&texts)
        }
        Value::Array(_) => {
            serde_json::from_value(value.clone()).map_err(|error| format!("the ABI cannot be read: {error}"))
        }
        _ => Err("neither a list nor an object".to_owned()),
    }
}

fn signatures(texts: &[&str]) -> Result<JsonAbi, String> {
    JsonAbi::parse(texts.iter().copied()).map_err(|error| format!("the signatures cannot be read: {error}"))
}

/// The function a configuration means: by its name, or where that is overloaded by its signature or its parameters.
pub(super) fn function<'a>(
    reader: &mut Reader,
    object: &Spot<'_>,
    abi: &'a JsonAbi,
    text: &str,
) -> Option<&'a Function> {
    let name = text.split('(').next().unwrap_or(text).trim();
    let Some(found) = abi.function(name) else {
        let names: Vec<&str> = abi.functions().map(|function| function.name.as_str()).collect();
        let remedy = match nearest(name, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the ABI has {}", quoted(names)),
        };
        reader.refuse_member(
            object,
            "function",
            format!("the contract has no function `{}`", shown(name)),
            remedy,
        );
        return None;
    };
    if text.contains('(') {
        let wanted: String = text.split_whitespace().collect();
        let chosen = found.iter().find(|function| function.signature() == wanted);
        if chosen.is_none() {
            reader.refuse_member(
                object,
                "function",
                format!("there is no `{}`", shown(text)),
                format!("write one of {}", overloads(found)),
            );
        }
        return chosen;
    }
    let [only] = found.as_slice() else {
        let given = object.value_of("parameters").and_then(Value::as_object);
        let fits = |function: &&Function| {
            given.is_some_and(|given| {
                given.len() == function.inputs.len() && names(function).iter().all(|name| given.contains_key(name))
            })
        };
        let fitting: Vec<&Function> = found.iter().filter(fits).collect();
        if let [one] = fitting.as_slice() {
            return Some(one);
        }
        let detail = format!("`{name}` is overloaded, and the names of the parameters do not say which is meant");
        reader.refuse_member(object, "function", detail, format!("write one of {}", overloads(found)));
        return None;
    };
    Some(only)
}

fn overloads(functions: &[Function]) -> String {
    let signatures: Vec<String> = functions.iter().map(Function::signature).collect();
    let texts: Vec<&str> = signatures.iter().map(String::as_str).collect();
    quoted(texts)
}

/// The names of a function's parameters; one without a name has its number.
fn names(function: &Function) -> Vec<String> {
    let name = |(index, input): (usize, &Param)| match input.name.as_str() {
        "" => index.to_string(),
        name => name.to_owned(),
    };
    function.inputs.iter().enumerate().map(name).collect()
}

/// The call's data, from `parameters` by name. None where something is wrong, or still to be rendered.
pub(super) fn encode(reader: &mut Reader, object: &Spot<'_>, function: &Function) -> Option<Vec<u8>> {
    let names = names(function);
    let texts: Vec<&str> = names.iter().map(String::as_str).collect();
    let given = if object.has("parameters") {
        Some(reader.map(object, "parameters", &texts)?)
    } else {
        None
    };
    let mut values = Vec::with_capacity(names.len());
    let mut whole = true;
    for (name, input) in names.iter().zip(&function.inputs) {
        let Some(spot) = given.as_ref().and_then(|given| given.get(name)) else {
            let detail = format!(
                "parameter `{name}` ({}) of `{}` is missing",
                input.ty,
                function.signature()
            );
            let place = object.place_of("parameters").of(name);
            reader.refuse(&place, detail, format!("add `{name}` to `parameters`"));
            whole = false;
            continue;
        };
        match input.resolve() {
            Ok(kind) => {
                let of = Kind {
                    kind: &kind,
                    parts: &input.components,
                };
                match value_of(reader, &spot, &of) {
                    Some(value) => values.push(value),
                    None => whole = false,
                }
            }
            Err(error) => {
                reader.refuse(
                    &spot.place(),
                    format!("type `{}` is not known: {error}", input.ty),
                    "fix the ABI",
                );
                whole = false;
            }
        }
    }
    if !whole {
        return None;
    }
    function
        .abi_encode_input(&values)
        .map_err(|error| reader.refuse_member(object, "parameters", error.to_string(), "fix the parameters"))
        .ok()
}

/// A type, with the names of its parts where it is a struct.
#[derive(Clone, Copy)]
struct Kind<'a> {
    kind: &'a DynSolType,
    parts: &'a [Param],
}

fn value_of(reader: &mut Reader, spot: &Spot<'_>, of: &Kind<'_>) -> Option<DynSolValue> {
    let Kind { kind, parts } = *of;
    if spot.text().is_some_and(|text| reader.is_open(text)) {
        return None;
    }
    let found = match kind {
        DynSolType::Array(inner) | DynSolType::FixedArray(inner, _) => {
            return list_of(reader, spot, of, &Kind { kind: inner, parts });
        }
        DynSolType::Tuple(kinds) => return tuple_of(reader, spot, kinds, parts),
        DynSolType::Address => match spot.text().map(address) {
            Some(Ok(address)) => Some(DynSolValue::Address(address)),
            Some(Err((detail, remedy))) => {
                reader.refuse(&spot.place(), detail, remedy);
                return None;
            }
            None => None,
        },
        kind => plain(spot.value, kind),
    };
    if found.is_none() {
        reader.wrong(spot, &expected(kind));
    }
    found
}

/// A value without parts.
fn plain(value: &Value, kind: &DynSolType) -> Option<DynSolValue> {
    match kind {
        DynSolType::Bool => value.as_bool().map(DynSolValue::Bool),
        DynSolType::String => value.as_str().map(|text| DynSolValue::String(text.to_owned())),
        DynSolType::Bytes => bytes(value).map(DynSolValue::Bytes),
        DynSolType::FixedBytes(size) => {
            let bytes = bytes(value).filter(|bytes| bytes.len() == *size)?;
            Some(DynSolValue::FixedBytes(B256::right_padding_from(&bytes), *size))
        }
        DynSolType::Uint(bits) => {
            let number = unsigned(value)?;
            (number.bit_len() <= *bits).then_some(DynSolValue::Uint(number, *bits))
        }
        DynSolType::Int(bits) => {
            let number = signed(value)?;
            let most = if *bits == BITS {
                I256::MAX
            } else {
                I256::try_from(U256::from(1) << (bits - 1)).ok()? - I256::ONE
            };
            let least = -most - I256::ONE;
            (number >= least && number <= most).then_some(DynSolValue::Int(number, *bits))
        }
        _ => None,
    }
}

fn bytes(value: &Value) -> Option<Vec<u8>> {
    let text = value.as_str()?;
    text.strip_prefix("0x").and_then(|digits| hex::decode(digits).ok())
}

fn unsigned(value: &Value) -> Option<U256> {
    match value {
        Value::Number(number) => number.as_u64().map(U256::from),
        Value::String(text) => match text.strip_prefix("0x") {
            Some(digits) => U256::from_str_radix(digits, 16).ok().filter(|_| !digits.is_empty()),
            None => U256::from_str_radix(text, 10)
                .ok()
                .filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty()),
        },
        _ => None,
    }
}

fn signed(value: &Value) -> Option<I256> {
    match value {
        Value::Number(number) => number.as_i64().and_then(|number| I256::try_from(number).ok()),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

fn list_of(reader: &mut Reader, spot: &Spot<'_>, outer: &Kind<'_>, inner: &Kind<'_>) -> Option<DynSolValue> {
    let size = match outer.kind {
        DynSolType::FixedArray(_, size) => Some(*size),
        _ => None,
    };
    let count = spot.value.as_array().map(Vec::len);
    if count.is_none() || size.is_some_and(|size| count != Some(size)) {
        reader.wrong(spot, &expected(outer.kind));
        return None;
    }
    let mut values = Vec::new();
    let mut whole = true;
    for item in spot.items() {
        match value_of(reader, &item, inner) {
            Some(value) => values.push(value),
            None => whole = false,
        }
    }
    let made = if size.is_some() {
        DynSolValue::FixedArray(values)
    } else {
        DynSolValue::Array(values)
    };
    whole.then_some(made)
}

fn tuple_of(reader: &mut Reader, spot: &Spot<'_>, kinds: &[DynSolType], parts: &[Param]) -> Option<DynSolValue> {
    let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    let fits = spot
        .value
        .as_object()
        .is_some_and(|object| object.len() == names.len() && names.iter().all(|name| object.contains_key(*name)));
    if !fits {
        reader.wrong(spot, &format!("a map with exactly {}", quoted(names)));
        return None;
    }
    let mut values = Vec::with_capacity(kinds.len());
    let mut whole = true;
    for (kind, part) in kinds.iter().zip(parts) {
        let of = Kind {
            kind,
            parts: &part.components,
        };
        match spot.member(&part.name).and_then(|item| value_of(reader, &item, &of)) {
            Some(value) => values.push(value),
            None => whole = false,
        }
    }
    whole.then_some(DynSolValue::Tuple(values))
}

fn expected(kind: &DynSolType) -> String {
    match kind {
        DynSolType::Bool => "`true` or `false`".to_owned(),
        DynSolType::String => "a string".to_owned(),
        DynSolType::Bytes => "a string of `0x` and hexadecimal digits".to_owned(),
        DynSolType::FixedBytes(size) => format!("a string of `0x` and {} hexadecimal digits", size * 2),
        DynSolType::Address => "an address, `0x` and 40 hexadecimal digits".to_owned(),
        DynSolType::Uint(bits) => format!("a whole number from 0 below 2^{bits} (a string where it is large)"),
        DynSolType::Int(bits) => format!("a whole number of {bits} bits (a string where it is large)"),
        DynSolType::FixedArray(_, size) => format!("a list of {size}"),
        DynSolType::Array(_) => "a list".to_owned(),
        other => format!("a value of type `{other}`"),
    }
}

/// Why a call was reverted, in the contract's own words where the ABI has them.
pub(super) fn reason(abi: &JsonAbi, data: &[u8]) -> String {
    let Some((selector, rest)) = data.split_first_chunk::<4>() else {
        return "without a reason".to_owned();
    };
    let decoded = |kind: DynSolType| kind.abi_decode_params(rest).ok();
    match *selector {
        ERROR => match decoded(DynSolType::String) {
            Some(DynSolValue::String(text)) => format!("`{}`", shown(&text)),
            _ => "without a readable reason".to_owned(),
        },
        PANIC => match decoded(DynSolType::Uint(BITS)) {
            Some(DynSolValue::Uint(code, _)) => format!("panic {code:#x} ({})", panic_text(code)),
            _ => "panic".to_owned(),
        },
        selector => {
            let known = abi.errors().find(|error| error.selector() == Selector::from(selector));
            let named = known.and_then(|error| Some((error, error.abi_decode_input(rest).ok()?)));
            match named {
                Some((error, values)) => {
                    let mut text = format!("`{}(", error.name);
                    for (index, value) in values.iter().enumerate() {
                        // Writing to a text cannot fail.
                        let _ = write!(text, "{}{}", if index == 0 { "" } else { ", " }, said(value));
                    }
                    text.push_str(")`");
                    text
                }
                None => format!(
                    "an error the ABI does not have, selector `{}`",
                    hex::encode_prefixed(selector)
                ),
            }
        }
    }
}

fn panic_text(code: U256) -> &'static str {
    match u8::try_from(code).unwrap_or_default() {
        0x01 => "an assertion failed",
        0x11 => "arithmetic went out of bounds",
        0x12 => "division by zero",
        0x21 => "no such value of the enumeration",
        0x31 => "pop of an empty array",
        0x32 => "index out of bounds",
        0x41 => "out of memory",
        _ => "the compiler's own check failed",
    }
}

fn said(value: &DynSolValue) -> String {
    match value {
        DynSolValue::Bool(flag) => flag.to_string(),
        DynSolValue::Int(number, _) => number.to_string(),
        DynSolValue::Uint(number, _) => number.to_string(),
        DynSolValue::Address(address) => address.to_string(),
        DynSolValue::String(text) => format!("{:?}", shown(text)),
        DynSolValue::Bytes(bytes) => shown(&Bytes::from(bytes.clone()).to_string()),
        DynSolValue::FixedBytes(bytes, size) => hex::encode_prefixed(bytes.get(..*size).unwrap_or_default()),
        _ => "…".to_owned(),
    }
}
