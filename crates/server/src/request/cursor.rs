//! Cursors: where a list continues, as text that clients only hand back.
//!
//! A cursor bears a checksum over the list, its filters and the position, so one that was made up, cut, or given by
//! another list is refused instead of leading somewhere. It protects nothing: a position is not a secret.

use sprag_core::document::json::{digest, hex};

/// Characters of checksum at the end of a cursor.
const CHECKSUM_CHARACTERS: usize = 16;
/// The longest cursor that is looked at: the longest position is a machine's name.
const CHARACTERS_MAX: usize = 1_024;

/// The cursor for `position` of the list `scope`.
pub(crate) fn encode(scope: &str, position: &str) -> String {
    format!("{}{}", hex(position.as_bytes()), checksum(scope, position))
}

/// The position, if `cursor` is one that [`encode`] gave for the same scope.
pub(crate) fn decode(scope: &str, cursor: &str) -> Option<String> {
    if cursor.len() > CHARACTERS_MAX {
        return None;
    }
    let (position, sum) = cursor.split_at_checked(cursor.len().checked_sub(CHECKSUM_CHARACTERS)?)?;
    let position = String::from_utf8(unhex(position)?).ok()?;
    (checksum(scope, &position) == sum).then_some(position)
}

fn checksum(scope: &str, position: &str) -> String {
    let mut sum = hex(&digest(format!("{scope}\0{position}").as_bytes()));
    sum.truncate(CHECKSUM_CHARACTERS);
    sum
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| Some(nibble(*pair.first()?)? << 4 | nibble(*pair.get(1)?)?))
        .collect()
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_leads_back_to_its_position_in_its_own_list_only() {
        let cursor = encode("executions", "exe_1");
        assert_eq!(decode("executions", &cursor).as_deref(), Some("exe_1"));
        assert_eq!(decode("actions", &cursor), None);
        assert_eq!(decode("executions\0status=running", &cursor), None);
    }

    #[test]
    fn every_single_change_of_a_cursor_is_noticed() {
        let cursor = encode("executions", "exe_1");
        for position in 0..cursor.len() {
            let mut forged = cursor.clone().into_bytes();
            forged[position] = if forged[position] == b'0' { b'1' } else { b'0' };
            let forged = String::from_utf8(forged).unwrap();
            assert_eq!(decode("executions", &forged), None, "{forged}");
            assert_eq!(decode("executions", &cursor[..position]), None);
        }
    }

    #[test]
    fn what_is_no_cursor_at_all_is_none() {
        for text in [
            "",
            "0",
            "äöü€äöü€äöü€",
            "zz0123456789abcdef",
            "FF0123456789abcdef",
            &"0".repeat(100_000),
        ] {
            assert_eq!(decode("executions", text), None);
        }
    }
}
