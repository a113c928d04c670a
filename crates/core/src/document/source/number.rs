//! Numbers, in the one reading both formats share: exact integers of 64 bits, other numbers as the nearest `f64`.

use serde_json::Number;

use super::error::{ParseError, shown};
use super::node::Position;

/// An integer written in digits, with an optional sign.
pub(super) fn integer(text: &str, at: Position) -> Result<Number, ParseError> {
    let signed = text.parse::<i64>().map(Number::from);
    signed
        .or_else(|_| text.parse::<u64>().map(Number::from))
        .map_err(|_| out_of_range(text, at))
}

/// An integer written in digits of another base, without a sign.
pub(super) fn integer_in_base(digits: &str, base: u32, at: Position) -> Result<Number, ParseError> {
    u64::from_str_radix(digits, base)
        .map(Number::from)
        .map_err(|_| out_of_range(digits, at))
}

/// A number with a fraction or an exponent.
pub(super) fn fraction(text: &str, at: Position) -> Result<Number, ParseError> {
    // Text that is no number at all cannot come here; it would be refused with the same words.
    text.parse().ok().and_then(Number::from_f64).ok_or_else(|| {
        let detail = format!("number `{}` is too large for a 64-bit float", shown(text));
        ParseError::syntax(at, detail).remedy("quote it to keep it as text")
    })
}

fn out_of_range(text: &str, at: Position) -> ParseError {
    let detail = format!("integer `{}` does not fit in 64 bits", shown(text));
    ParseError::syntax(at, detail).remedy("quote it to keep it as text")
}

/// The parts of a decimal number, its sign taken off; none of them is checked.
pub(super) struct Parts<'t> {
    pub(super) whole: &'t str,
    pub(super) fraction: Option<&'t str>,
    exponent: Option<&'t str>,
}

impl<'t> Parts<'t> {
    pub(super) fn of(unsigned: &'t str) -> Self {
        let (mantissa, exponent) = split(unsigned, &['e', 'E']);
        let (whole, fraction) = split(mantissa, &['.']);
        Self {
            whole,
            fraction,
            exponent,
        }
    }

    pub(super) fn is_integer(&self) -> bool {
        self.fraction.is_none() && self.exponent.is_none()
    }

    /// Whether the exponent, if there is one, is digits after an optional sign.
    pub(super) fn has_valid_exponent(&self) -> bool {
        self.exponent
            .is_none_or(|exponent| is_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
    }
}

/// Whether the text is decimal digits, at least one.
pub(super) fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn split<'t>(text: &'t str, at: &[char]) -> (&'t str, Option<&'t str>) {
    text.split_once(at)
        .map_or((text, None), |(before, after)| (before, Some(after)))
}
