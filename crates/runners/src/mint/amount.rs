//! Amounts of a chain's own coin: `30000000000`, `"30 gwei"`, `"0.05 ether"`. Without a unit an amount is in wei.

use alloy_primitives::U256;
use serde_json::Value;

/// Units with the number of zeros behind one of them.
const UNITS: [(&str, usize); 6] = [
    ("wei", 0),
    ("kwei", 3),
    ("mwei", 6),
    ("gwei", 9),
    ("ether", 18),
    ("eth", 18),
];
/// What a person may write in place of any amount.
pub(super) const EXPECTED: &str = "an amount such as `30 gwei`, `0.05 ether`, or a whole number of wei";

/// The amount in wei; none for anything that is not one, or that has parts of a wei.
pub(super) fn read(value: &Value) -> Option<U256> {
    match value {
        Value::Number(number) => number.as_u64().map(U256::from),
        Value::String(text) => parse(text),
        _ => None,
    }
}

/// The amount a text says.
pub(super) fn parse(text: &str) -> Option<U256> {
    let text = text.trim();
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.' && character != '_');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit = unit.trim();
    let zeros = if unit.is_empty() {
        0
    } else {
        let known = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
        known.map(|(_, zeros)| *zeros)?
    };
    let number = number.replace('_', "");
    let (whole, part) = number.split_once('.').unwrap_or((&number, ""));
    let part = part.trim_end_matches('0');
    if whole.is_empty() || part.len() > zeros {
        return None;
    }
    let digits = format!("{whole}{part}{}", "0".repeat(zeros - part.len()));
    U256::from_str_radix(&digits, 10).ok()
}

/// A price of gas: an amount that fits what transactions hold.
pub(super) fn price(value: &Value) -> Option<u128> {
    read(value).and_then(|amount| u128::try_from(amount).ok())
}

/// The amount as people read it.
pub(super) fn shown(wei: u128) -> String {
    const GWEI: u128 = 1_000_000_000;
    if wei < GWEI / 1_000 {
        return format!("{wei} wei");
    }
    let thousandths = wei / (GWEI / 1_000);
    format!("{}.{:03} gwei", thousandths / 1_000, thousandths % 1_000)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn amounts_are_read_in_their_units_and_to_the_wei() {
        let table = [
            (json!(5), "5"),
            (json!("5"), "5"),
            (json!("30 gwei"), "30000000000"),
            (json!("30gwei"), "30000000000"),
            (json!("1.5 Gwei"), "1500000000"),
            (json!("0.05 ether"), "50000000000000000"),
            (json!("1_000 wei"), "1000"),
            (json!("1.0 wei"), "1"),
        ];
        for (written, wei) in table {
            assert_eq!(
                read(&written).map(|amount| amount.to_string()).as_deref(),
                Some(wei),
                "{written}"
            );
        }
        for wrong in [
            json!(-1),
            json!(1.5),
            json!("1.5 wei"),
            json!("x"),
            json!("1 btc"),
            json!(""),
            json!(".5 gwei"),
            json!("1.2.3 gwei"),
            json!(true),
        ] {
            assert_eq!(read(&wrong), None, "{wrong}");
        }
        assert_eq!(shown(30_000_000_000), "30.000 gwei");
        assert_eq!(shown(7), "7 wei");
    }
}
