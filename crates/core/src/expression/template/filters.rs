//! The filters and tests that templates offer.
//!
//! The environment begins empty: no function, no clock, no randomness, and only filters whose cost is bounded. Most are
//! the library's own behind a meter, which takes what each call is about to read from the expression's
//! [`EXPRESSION_WORK_MAX`]; those that can yield much more than they read are written here. A missing value is refused
//! by all of them but `default`, `defined` and `undefined`.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minijinja::value::{Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, UndefinedBehavior, filters, tests};

use super::convert::{self, Unfit};
use super::limits::{DEPTH_MAX, EXPRESSION_FUEL, EXPRESSION_WORK_MAX, Overrun, Room};

/// The filter that every operand of `*` passes. Authors cannot name it.
pub(super) const NUMBER: &str = "_number";

/// The filter that every operand of `~` passes. Authors cannot name it.
pub(super) const TEXT: &str = "_text";

/// Every call costs this much besides what it reads.
const CALL_COST: usize = 32;

/// The most characters that `trim` can be told to remove; each is compared with each character at both ends.
const TRIM_BYTES_MAX: usize = 64;

/// The most digits of a width or precision in `format`.
const FORMAT_DIGITS_MAX: usize = 2;

/// What expressions are evaluated in, with the names that authors may use.
pub(super) struct Catalog {
    pub(super) environment: Environment<'static>,
    pub(super) filters: BTreeSet<&'static str>,
    pub(super) tests: BTreeSet<&'static str>,
}

/// Built once; nothing in it depends on the process or the time.
pub(super) static CATALOG: LazyLock<Catalog> = LazyLock::new(Catalog::new);

impl Catalog {
    fn new() -> Self {
        let mut catalog = Self {
            environment: Environment::empty(),
            filters: BTreeSet::new(),
            tests: BTreeSet::new(),
        };
        catalog.environment.set_undefined_behavior(UndefinedBehavior::Strict);
        catalog.environment.set_fuel(Some(EXPRESSION_FUEL));
        catalog.environment.add_filter(NUMBER, number);
        catalog.environment.add_filter(TEXT, text);
        catalog.add_filters();
        catalog.add_tests();
        catalog
    }

    fn add_filters(&mut self) {
        for (name, filter) in library_filters().into_iter().chain(own_filters()) {
            self.filters.insert(name);
            self.environment.add_filter(name, metered(filter));
        }
        for name in ["default", "d"] {
            self.filters.insert(name);
            self.environment.add_filter(name, filters::default);
        }
    }

    fn add_tests(&mut self) {
        for (name, test) in library_tests() {
            self.tests.insert(name);
            self.environment.add_test(name, metered(test));
        }
        self.tests.extend(["defined", "undefined"]);
        self.environment.add_test("defined", tests::is_defined);
        self.environment.add_test("undefined", tests::is_undefined);
    }
}

fn library_filters() -> Vec<(&'static str, Value)> {
    vec![
        ("abs", Value::from_function(filters::abs)),
        ("bool", Value::from_function(filters::bool)),
        ("capitalize", Value::from_function(filters::capitalize)),
        ("count", Value::from_function(filters::length)),
        ("first", Value::from_function(filters::first)),
        ("float", Value::from_function(filters::float)),
        ("int", Value::from_function(filters::int)),
        ("items", Value::from_function(filters::items)),
        ("last", Value::from_function(filters::last)),
        ("length", Value::from_function(filters::length)),
        ("lines", Value::from_function(filters::lines)),
        ("list", Value::from_function(filters::list)),
        ("lower", Value::from_function(filters::lower)),
        ("map", Value::from_function(filters::map)),
        ("max", Value::from_function(filters::max)),
        ("min", Value::from_function(filters::min)),
        ("reject", Value::from_function(filters::reject)),
        ("rejectattr", Value::from_function(filters::rejectattr)),
        ("reverse", Value::from_function(filters::reverse)),
        ("round", Value::from_function(filters::round)),
        ("select", Value::from_function(filters::select)),
        ("selectattr", Value::from_function(filters::selectattr)),
        ("sort", Value::from_function(filters::sort)),
        ("split", Value::from_function(filters::split)),
        ("title", Value::from_function(filters::title)),
        ("unique", Value::from_function(filters::unique)),
        ("upper", Value::from_function(filters::upper)),
    ]
}

fn own_filters() -> Vec<(&'static str, Value)> {
    vec![
        ("base64", Value::from_function(base64)),
        ("format", Value::from_function(format)),
        ("join", Value::from_function(join)),
        ("replace", Value::from_function(replace)),
        ("string", Value::from_function(text)),
        ("sum", Value::from_function(sum)),
        ("tojson", Value::from_function(tojson)),
        ("trim", Value::from_function(trim)),
        ("urlencode", Value::from_function(urlencode)),
    ]
}

fn library_tests() -> Vec<(&'static str, Value)> {
    vec![
        ("!=", Value::from_function(tests::is_ne)),
        ("<", Value::from_function(tests::is_lt)),
        ("<=", Value::from_function(tests::is_le)),
        ("==", Value::from_function(tests::is_eq)),
        (">", Value::from_function(tests::is_gt)),
        (">=", Value::from_function(tests::is_ge)),
        ("boolean", Value::from_function(tests::is_boolean)),
        ("divisibleby", Value::from_function(is_divisible)),
        ("endingwith", Value::from_function(tests::is_endingwith)),
        ("eq", Value::from_function(tests::is_eq)),
        ("even", Value::from_function(tests::is_even)),
        ("false", Value::from_function(tests::is_false)),
        ("float", Value::from_function(tests::is_float)),
        ("ge", Value::from_function(tests::is_ge)),
        ("gt", Value::from_function(tests::is_gt)),
        ("in", Value::from_function(tests::is_in)),
        ("integer", Value::from_function(tests::is_integer)),
        ("le", Value::from_function(tests::is_le)),
        ("lt", Value::from_function(tests::is_lt)),
        ("mapping", Value::from_function(tests::is_mapping)),
        ("ne", Value::from_function(tests::is_ne)),
        ("none", Value::from_function(tests::is_none)),
        ("number", Value::from_function(tests::is_number)),
        ("odd", Value::from_function(tests::is_odd)),
        ("sequence", Value::from_function(tests::is_sequence)),
        ("startingwith", Value::from_function(tests::is_startingwith)),
        ("string", Value::from_function(tests::is_string)),
        ("true", Value::from_function(tests::is_true)),
    ]
}

/// The work that the filters of one evaluation may still do.
struct Work(Room);

fn work<'a>(state: &'a mut State<'_, '_>) -> &'a mut Room {
    &mut state
        .get_or_insert_extension_with(|| Work(Room::new(EXPRESSION_WORK_MAX)))
        .0
}

fn spend(state: &mut State<'_, '_>, bytes: usize) -> Result<(), Error> {
    work(state).take(bytes).map_err(overrun)
}

/// Puts a filter or test behind the meter: its arguments are there, and reading them once is paid for.
fn metered(
    inner: Value,
) -> impl Fn(&mut State<'_, '_>, Rest<ValueOrKwargs>) -> Result<Value, Error> + Send + Sync + 'static {
    move |state, arguments| {
        let arguments = arguments.into_values();
        spend(state, CALL_COST)?;
        for argument in &arguments {
            require(argument)?;
            weigh(argument, work(state), 0)?;
        }
        inner.call(state, &arguments)
    }
}

/// Refuses a missing argument, named ones included.
fn require(argument: &Value) -> Result<(), Error> {
    let missing = Error::from(ErrorKind::UndefinedError);
    if argument.is_undefined() {
        return Err(missing);
    }
    if argument.is_kwargs() {
        for name in argument.try_iter()? {
            if argument.get_item(&name)?.is_undefined() {
                return Err(missing);
            }
        }
    }
    Ok(())
}

/// Takes the size of `value` from `room`, item by item, so that it stops where the room ends.
fn weigh(value: &Value, room: &mut Room, depth: usize) -> Result<(), Error> {
    if depth > DEPTH_MAX {
        return Err(overrun(Overrun::Depth));
    }
    match value.kind() {
        ValueKind::String => room.take(value.as_str().map_or(0, str::len)).map_err(overrun),
        ValueKind::Seq | ValueKind::Iterable => value.try_iter()?.try_for_each(|item| {
            room.take(8).map_err(overrun)?;
            weigh(&item, room, depth + 1)
        }),
        ValueKind::Map => value.try_iter()?.try_for_each(|name| {
            room.take(8).map_err(overrun)?;
            weigh(&name, room, depth + 1)?;
            weigh(&value.get_item(&name)?, room, depth + 1)
        }),
        _ => room.take(8).map_err(overrun),
    }
}

fn overrun(_: Overrun) -> Error {
    Error::from(ErrorKind::OutOfFuel)
}

fn invalid(detail: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, detail)
}

fn unfit(reason: Unfit) -> Error {
    match reason {
        Unfit::Missing => Error::from(ErrorKind::UndefinedError),
        Unfit::Overrun(reason) => overrun(reason),
        Unfit::Unlike(detail) => invalid(detail),
        Unfit::Failed(error) => error,
    }
}

/// Lets only numbers through.
fn number(value: &Value) -> Result<Value, Error> {
    require(value)?;
    if value.is_number() {
        Ok(value.clone())
    } else {
        Err(invalid("`*` stands between two numbers"))
    }
}

/// The text that `value` has inside other text.
fn text(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    if value.kind() == ValueKind::String {
        spend(state, value.as_str().map_or(0, str::len))?;
        return Ok(value.clone());
    }
    let json = convert::export(value, work(state)).map_err(unfit)?;
    convert::text(json)
        .map(Value::from)
        .ok_or_else(|| invalid("null has no text"))
}

fn tojson(state: &mut State<'_, '_>, value: &Value) -> Result<String, Error> {
    let json = convert::export(value, work(state)).map_err(unfit)?;
    Ok(json.to_string())
}

fn join(state: &mut State<'_, '_>, items: &Value, separator: Option<Cow<'_, str>>) -> Result<String, Error> {
    let separator = separator.unwrap_or_default();
    let mut joined = String::new();
    for (index, item) in items.try_iter()?.checked().enumerate() {
        if index > 0 {
            spend(state, separator.len())?;
            joined.push_str(&separator);
        }
        joined.push_str(text(state, &item?)?.as_str().unwrap_or_default());
    }
    Ok(joined)
}

fn replace(state: &mut State<'_, '_>, value: &str, from: &str, to: &str) -> Result<String, Error> {
    // An empty pattern matches before each character and at the end.
    let matches = value.len() / from.len().max(1) + 1;
    spend(state, matches.saturating_mul(to.len()))?;
    Ok(value.replace(from, to))
}

fn trim(value: &str, characters: Option<&str>) -> Result<String, Error> {
    let Some(characters) = characters else {
        return Ok(value.trim().to_owned());
    };
    if characters.len() > TRIM_BYTES_MAX {
        return Err(invalid(format!(
            "`trim` removes at most `{TRIM_BYTES_MAX}` bytes of characters"
        )));
    }
    Ok(value
        .trim_matches(|character| characters.contains(character))
        .to_owned())
}

/// Adds numbers. An item that lacks the attribute is missing, not zero.
fn sum(state: &mut State<'_, '_>, items: &Value) -> Result<Value, Error> {
    for item in items.try_iter()?.checked() {
        require(&item?)?;
    }
    Value::from_function(filters::sum).call(state, std::slice::from_ref(items))
}

/// Writes values into a pattern such as `%.2f`.
fn format(state: &mut State<'_, '_>, pattern: &str, values: Rest<Value>) -> Result<Value, Error> {
    if !widths_are_small(pattern) {
        return Err(invalid(format!(
            "a width in `format` is a number of at most `{FORMAT_DIGITS_MAX}` digits"
        )));
    }
    let mut arguments = vec![Value::from(pattern)];
    arguments.extend(values.0);
    Value::from_function(filters::format).call(state, &arguments)
}

/// Whether no `%…` of the pattern pads by much, takes its width from a value, or names a member.
fn widths_are_small(pattern: &str) -> bool {
    let mut rest = pattern;
    while let Some((_, field)) = rest.split_once('%') {
        if let Some(after) = field.strip_prefix('%') {
            rest = after;
            continue;
        }
        let letter = field
            .find(|character: char| character.is_ascii_alphabetic())
            .unwrap_or(field.len());
        let (width, after) = field.split_at(letter);
        let mut runs = width.split(|character: char| !character.is_ascii_digit());
        if width.contains(['*', '(']) || runs.any(|digits| digits.len() > FORMAT_DIGITS_MAX) {
            return false;
        }
        rest = after;
    }
    true
}

/// Percent-encodes what has a meaning in an address, `/` excepted.
fn urlencode(state: &mut State<'_, '_>, value: &Value) -> Result<String, Error> {
    let plain = text(state, value)?;
    let bytes = plain.as_str().unwrap_or_default().as_bytes();
    spend(state, bytes.len().saturating_mul(2))?;
    let mut encoded = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                encoded.push(char::from(*byte));
            }
            // Writing to a string cannot fail.
            _ => drop(write!(encoded, "%{byte:02X}")),
        }
    }
    Ok(encoded)
}

/// Base64 of the text's bytes, in the standard alphabet, padded.
fn base64(state: &mut State<'_, '_>, value: &Value) -> Result<String, Error> {
    let plain = text(state, value)?;
    let bytes = plain.as_str().unwrap_or_default().as_bytes();
    spend(state, bytes.len().saturating_mul(2))?;
    Ok(STANDARD.encode(bytes))
}

/// The library's own test divides by whatever it is given.
fn is_divisible(value: i128, divisor: i128) -> bool {
    value.checked_rem(divisor) == Some(0)
}
