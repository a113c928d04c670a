//! The canonical form of JSON (RFC 8785): what digests of plans are of, so that any client can compute them again.
//!
//! No blanks; members in the order of their names' UTF-16 code units; numbers as ECMAScript writes them. A whole number
//! beyond 2⁵³, for which the RFC has no exact form, is written digit by digit, so that two different plans never share
//! their bytes.

use serde_json::{Number, Value};

/// The canonical bytes of a value.
pub fn canonical(value: &Value) -> Vec<u8> {
    let mut text = String::new();
    write(value, &mut text);
    text.into_bytes()
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(truth) => text.push_str(if *truth { "true" } else { "false" }),
        Value::Number(number) => text.push_str(&written(number)),
        Value::String(content) => quote(content, text),
        Value::Array(items) => {
            text.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    text.push(',');
                }
                write(item, text);
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by(|(left, _), (right, _)| left.encode_utf16().cmp(right.encode_utf16()));
            text.push('{');
            for (position, (name, member)) in sorted.into_iter().enumerate() {
                if position > 0 {
                    text.push(',');
                }
                quote(name, text);
                text.push(':');
                write(member, text);
            }
            text.push('}');
        }
    }
}

/// The escapes of the library are those of the RFC: the two-letter ones, and `\u00xx` for other control characters.
fn quote(content: &str, text: &mut String) {
    text.push_str(&Value::from(content).to_string());
}

fn written(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => ecmascript(float),
        _ => number.to_string(),
    }
}

/// `Number::toString` of ECMAScript: the shortest digits that read back, in plain notation from 10⁻⁶ up to 10²¹.
fn ecmascript(float: f64) -> String {
    if float == 0.0 {
        return "0".to_owned();
    }
    let shortest = format!("{:e}", float.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits = mantissa.replace('.', "");
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let sign = if float < 0.0 { "-" } else { "" };
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    // Where the point stands, counted from the first digit.
    let point = exponent + 1;
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    if (count..=21).contains(&point) {
        return format!("{sign}{digits}{}", zeros(point - count));
    }
    if (1..=21).contains(&point) {
        let (whole, rest) = digits.split_at(usize::try_from(point).unwrap_or(0));
        return format!("{sign}{whole}.{rest}");
    }
    if (-5..=0).contains(&point) {
        return format!("{sign}0.{}{digits}", zeros(-point));
    }
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    let plus = if exponent > 0 { "+" } else { "" };
    format!("{sign}{first}{point}{rest}e{plus}{exponent}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn text(value: &Value) -> String {
        String::from_utf8(canonical(value)).unwrap()
    }

    #[test]
    fn numbers_are_written_as_ecmascript_writes_them() {
        for (float, expected) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (0.1, "0.1"),
            (100.0, "100"),
            (1e20, "100000000000000000000"),
            (123e18, "123000000000000000000"),
            (1e21, "1e+21"),
            (1.5e300, "1.5e+300"),
            (0.000_001, "0.000001"),
            (0.000_001_23, "0.00000123"),
            (0.000_000_1, "1e-7"),
            (-1.25e-9, "-1.25e-9"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (9_007_199_254_740_992.0, "9007199254740992"),
            (333_333_333.333_333_3, "333333333.3333333"),
            (0.002, "0.002"),
            (1e-27, "1e-27"),
        ] {
            assert_eq!(ecmascript(float), expected);
        }
        assert_eq!(text(&json!(9_007_199_254_740_993_u64)), "9007199254740993");
        assert_eq!(text(&json!(i64::MIN)), "-9223372036854775808");
    }

    #[test]
    fn members_are_sorted_by_utf_16_and_texts_keep_their_characters() {
        // U+1F600 begins with the code unit D83D and so comes before U+FB33, although its number is larger.
        let value = json!({"\u{fb33}": 1, "\u{1f600}": 2, "\u{20ac}": 3, "\r": 4, "1": 5, "\u{80}": 6, "\u{f6}": 7});
        assert_eq!(
            text(&value),
            "{\"\\r\":4,\"1\":5,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":3,\"\u{1f600}\":2,\"\u{fb33}\":1}"
        );
        let escapes = json!("\u{8}\t\n\u{c}\r\"\\/\u{0}\u{1f}\u{7f}\u{e9}\u{2028}");
        assert_eq!(
            text(&escapes),
            "\"\\b\\t\\n\\f\\r\\\"\\\\/\\u0000\\u001f\u{7f}\u{e9}\u{2028}\""
        );
        assert_eq!(
            text(&json!({"b": [1, {"d": null, "c": true}], "a": ""})),
            r#"{"a":"","b":[1,{"c":true,"d":null}]}"#
        );
    }

    proptest! {
        #[test]
        fn a_float_reads_back_from_its_text(bits in any::<u64>()) {
            let float = f64::from_bits(bits);
            prop_assume!(float.is_finite());
            let read: f64 = ecmascript(float).parse().unwrap();
            prop_assert!((read - float).abs() <= 0.0, "{float:e} {read:e}");
        }

        #[test]
        fn the_order_of_members_says_nothing(names in proptest::collection::vec(".{0,6}", 0..12)) {
            let forward: Value = names.iter().map(|name| (name.clone(), json!(name))).collect::<serde_json::Map<_, _>>().into();
            let backward: Value = names.iter().rev().map(|name| (name.clone(), json!(name))).collect::<serde_json::Map<_, _>>().into();
            prop_assert_eq!(canonical(&forward), canonical(&backward));
            prop_assert_eq!(serde_json::from_slice::<Value>(&canonical(&forward)).unwrap(), forward);
        }
    }
}
