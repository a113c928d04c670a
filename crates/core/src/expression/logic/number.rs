//! Numbers as JavaScript has them, except that whole numbers of 64 bits stay exact.

use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::{Number, Value};

/// A number on its way through an evaluation. A `Whole` always fits an `i64` or a `u64`; a `Float` may be anything,
/// also not finite.
#[derive(Clone, Copy, Debug)]
pub(super) enum Numeric {
    Whole(i128),
    Float(f64),
}

/// The sizes between which JavaScript writes a number without an exponent.
const PLAIN_NOTATION: std::ops::Range<f64> = 1e-6..1e21;

const NOT_A_NUMBER: Numeric = Numeric::Float(f64::NAN);

impl From<&Number> for Numeric {
    #[inline]
    fn from(number: &Number) -> Self {
        if let Some(whole) = number.as_i64() {
            Self::Whole(whole.into())
        } else if let Some(whole) = number.as_u64() {
            Self::Whole(whole.into())
        } else {
            Self::Float(number.as_f64().unwrap_or(f64::NAN))
        }
    }
}

impl From<bool> for Numeric {
    fn from(truth: bool) -> Self {
        Self::Whole(truth.into())
    }
}

impl Numeric {
    /// The number nearest to this one that JavaScript has.
    #[expect(
        clippy::cast_precision_loss,
        reason = "rounding to the nearest float is what is asked for"
    )]
    pub(super) fn to_float(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Float(float) => float,
        }
    }

    /// The number without its fraction, as near as an `i64` comes; 0 for what is not a number.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the cast drops the fraction and saturates, as wanted"
    )]
    pub(super) fn to_position(self) -> i64 {
        self.to_float() as i64
    }

    pub(super) fn is_finite(self) -> bool {
        self.to_float().is_finite()
    }

    /// Neither zero nor without value: what is not finite counts as null.
    pub(super) fn is_truthy(self) -> bool {
        match self {
            Self::Whole(whole) => whole != 0,
            Self::Float(float) => float.is_finite() && float != 0.0,
        }
    }

    /// The JSON value: whole numbers without a fraction, null for what is not finite.
    pub(super) fn into_value(self) -> Value {
        match self.reduced() {
            Self::Whole(whole) => i64::try_from(whole)
                .map(Number::from)
                .or_else(|_| u64::try_from(whole).map(Number::from))
                .map_or(Value::Null, Value::Number),
            Self::Float(float) => Number::from_f64(float).map_or(Value::Null, Value::Number),
        }
    }

    /// Appends the number as JavaScript writes it, if it is finite.
    pub(super) fn write(self, text: &mut String) {
        // Writing to a `String` cannot fail.
        let _ = match self {
            Self::Whole(whole) => write!(text, "{whole}"),
            Self::Float(0.0) => write!(text, "0"),
            Self::Float(float) if !float.is_finite() => Ok(()),
            Self::Float(float) if PLAIN_NOTATION.contains(&float.abs()) => write!(text, "{float}"),
            Self::Float(float) if float.abs() > 1.0 => write!(text, "{}", format!("{float:e}").replace('e', "e+")),
            Self::Float(float) => write!(text, "{float:e}"),
        };
    }

    /// The order of two numbers; none where either is not a number.
    #[inline]
    pub(super) fn order(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Whole(left), Self::Whole(right)) => Some(left.cmp(&right)),
            _ => self.to_float().partial_cmp(&other.to_float()),
        }
    }

    pub(super) fn equals(self, other: Self) -> bool {
        self.order(other) == Some(Ordering::Equal)
    }

    pub(super) fn negated(self) -> Self {
        match self {
            Self::Whole(whole) => Self::Whole(-whole).fitted(),
            Self::Float(float) => Self::Float(-float),
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        self.combine(other, i128::checked_add, |left, right| left + right)
    }

    pub(super) fn minus(self, other: Self) -> Self {
        self.combine(other, i128::checked_sub, |left, right| left - right)
    }

    pub(super) fn times(self, other: Self) -> Self {
        self.combine(other, i128::checked_mul, |left, right| left * right)
    }

    pub(super) fn over(self, other: Self) -> Self {
        let exact = |left: i128, right: i128| (left.checked_rem(right)? == 0).then(|| left.checked_div(right))?;
        self.combine(other, exact, |left, right| left / right)
    }

    pub(super) fn modulo(self, other: Self) -> Self {
        self.combine(other, i128::checked_rem, |left, right| left % right)
    }

    pub(super) fn lesser(self, other: Self) -> Self {
        self.chosen(other, Ordering::Greater)
    }

    pub(super) fn greater(self, other: Self) -> Self {
        self.chosen(other, Ordering::Less)
    }

    /// This number, or `other` where this one is to that one as `unless` says; no number if they have no order.
    fn chosen(self, other: Self, unless: Ordering) -> Self {
        match self.order(other) {
            None => NOT_A_NUMBER,
            Some(order) if order == unless => other,
            Some(_) => self,
        }
    }

    /// Calculates with whole numbers where both are and the result is, otherwise with floats.
    fn combine(
        self,
        other: Self,
        exact: impl Fn(i128, i128) -> Option<i128>,
        rounded: impl Fn(f64, f64) -> f64,
    ) -> Self {
        if let (Self::Whole(left), Self::Whole(right)) = (self, other)
            && let Some(whole) = exact(left, right)
        {
            return Self::Whole(whole).fitted();
        }
        Self::Float(rounded(self.to_float(), other.to_float()))
    }

    /// The same number as a `Float` where it is too large for a `Whole`.
    fn fitted(self) -> Self {
        match self {
            Self::Whole(whole) if !(i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&whole) => {
                Self::Float(self.to_float())
            }
            fitting => fitting,
        }
    }

    /// The same number as a `Whole` where it is one.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a float without a fraction below 2^64 is an i128 exactly"
    )]
    fn reduced(self) -> Self {
        match self {
            Self::Float(float) if float.fract() == 0.0 && float.abs() < 1e20 => {
                match Self::Whole(float as i128).fitted() {
                    Self::Whole(whole) => Self::Whole(whole),
                    Self::Float(_) => self,
                }
            }
            other => other,
        }
    }
}

/// The number that the whole of `text` spells, as JavaScript's `Number` reads it; the blank text is 0.
pub(super) fn parse(text: &str) -> Numeric {
    let text = text.trim_matches(is_blank);
    if text.is_empty() {
        return Numeric::Whole(0);
    }
    match text.get(..2) {
        Some("0x" | "0X") => digits(text, 16),
        Some("0o" | "0O") => digits(text, 8),
        Some("0b" | "0B") => digits(text, 2),
        _ => decimal(text),
    }
}

/// The number that `text` starts with, as JavaScript's `parseFloat` reads it.
pub(super) fn parse_start(text: &str) -> Numeric {
    let text = text.trim_start_matches(is_blank);
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = text.len() - unsigned.len();
    let length = if unsigned.starts_with("Infinity") {
        "Infinity".len()
    } else {
        decimal_length(unsigned.as_bytes())
    };
    text.get(..sign + length).map_or(NOT_A_NUMBER, decimal)
}

/// How many bytes at the start of `text` spell an unsigned decimal number.
fn decimal_length(text: &[u8]) -> usize {
    let digits_at = |at: usize| text.iter().skip(at).take_while(|byte| byte.is_ascii_digit()).count();
    let mut length = digits_at(0);
    if text.get(length) == Some(&b'.') {
        length += 1 + digits_at(length + 1);
    }
    if matches!(text.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(length + 1), Some(b'+' | b'-')));
        let exponent = digits_at(length + 1 + sign);
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    length
}

fn decimal(text: &str) -> Numeric {
    if let Ok(whole) = text.parse::<i128>() {
        return Numeric::Whole(whole).fitted();
    }
    match text {
        "Infinity" | "+Infinity" => return Numeric::Float(f64::INFINITY),
        "-Infinity" => return Numeric::Float(f64::NEG_INFINITY),
        _ => {}
    }
    // Rust also reads `inf` and `nan`, which are no numbers here.
    let spelled = text
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    let float = text.parse().ok().filter(|_| spelled);
    Numeric::Float(float.unwrap_or(f64::NAN))
}

/// The number whose digits follow the two characters that name the `radix`.
fn digits(text: &str, radix: u32) -> Numeric {
    let digits = text.get(2..).filter(|digits| !digits.is_empty());
    let value = digits.and_then(|digits| {
        digits.chars().try_fold(0.0, |value, digit| {
            digit
                .to_digit(radix)
                .map(|digit| value * f64::from(radix) + f64::from(digit))
        })
    });
    Numeric::Float(value.unwrap_or(f64::NAN))
}

/// What JavaScript trims from a text before it reads a number.
fn is_blank(character: char) -> bool {
    (character.is_whitespace() && character != '\u{85}') || character == '\u{feff}'
}
