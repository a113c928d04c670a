//! The text that Sprag stores: which names and keys it accepts, and how it makes text from elsewhere storable.
//!
//! `PostgreSQL` stores no NUL in a text and no index entry of more than about 2,700 bytes. Every text that is stored in a
//! column of its own therefore keeps these rules on every store: a client or a definition that breaks them is refused by
//! name, and text that comes back from the world is adapted, because its attempt must end either way.

pub mod html;
pub mod redact;

use std::borrow::Cow;
use std::fmt;

/// The longest name, key, tag or id that a client or a definition gives, in bytes.
pub const NAME_BYTES_MAX: usize = 512;
/// The longest key of a limit, in bytes. Templates make them, so they may be longer than names.
pub const LIMIT_KEY_BYTES_MAX: usize = 1_024;
/// The longest error type, in bytes.
pub const ERROR_TYPE_BYTES_MAX: usize = 128;
/// The longest text that a store keeps in an index, in bytes: two of them fit into one entry.
pub const INDEXED_BYTES_MAX: usize = 1_024;
/// The longest name of a queue, which has an index of its own, in bytes.
pub const LINE_BYTES_MAX: usize = 2_048;
/// The most tags of one execution, state or action.
pub const TAGS_MAX: usize = 64;
/// What tags begin with that Sprag writes itself: the actions of an operation and of a subject have such tags.
pub const TAGS_RESERVED: [&str; 2] = ["operation:", "subject:"];

/// Why a text cannot be a name or a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It is empty or too long.
    #[error("must have from 1 to {most} bytes, not {bytes}")]
    Length {
        /// How many bytes it has.
        bytes: usize,
        /// How many it may have.
        most: usize,
    },
    /// It holds a NUL.
    #[error("must not hold a NUL character")]
    Nul,
    /// It holds a character that cannot be seen, or that changes how others are shown.
    #[error("must not hold {}, which is not printable", CodePoint(*.0))]
    NotPrintable(char),
}

/// A character by its number, so that it cannot do any harm in a message.
struct CodePoint(char);

impl fmt::Display for CodePoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "U+{:04X}", u32::from(self.0))
    }
}

/// Checks a key: a text that means something to its sender alone, such as the key of an execution or the id of a message.
pub fn check_key(text: &str) -> Result<(), Problem> {
    check_length(text, NAME_BYTES_MAX)?;
    if text.contains('\0') { Err(Problem::Nul) } else { Ok(()) }
}

/// Checks a name: a text that people read and type, such as the name of a state, an action or a tag.
pub fn check_name(text: &str) -> Result<(), Problem> {
    check_printable(text, NAME_BYTES_MAX)
}

/// Checks the key of a limit, as it was rendered or as an operator gave it.
pub fn check_limit_key(text: &str) -> Result<(), Problem> {
    check_printable(text, LIMIT_KEY_BYTES_MAX)
}

fn check_printable(text: &str, most: usize) -> Result<(), Problem> {
    check_length(text, most)?;
    match text.chars().find(|&character| !is_printable(character)) {
        None => Ok(()),
        Some('\0') => Err(Problem::Nul),
        Some(character) => Err(Problem::NotPrintable(character)),
    }
}

fn check_length(text: &str, most: usize) -> Result<(), Problem> {
    match text.len() {
        bytes if (1..=most).contains(&bytes) => Ok(()),
        bytes => Err(Problem::Length { bytes, most }),
    }
}

/// Whether every store can hold the text.
pub fn is_storable(text: &str) -> bool {
    !text.as_bytes().contains(&0)
}

/// Whether a character is no control character, ends no line and leaves the direction of writing alone.
pub fn is_printable(character: char) -> bool {
    !character.is_control()
        && !matches!(
            character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// The text as an error type that every store can hold: characters that are not printable are replaced, and what is too
/// long ends with `…`.
pub fn error_type(text: &str) -> Cow<'_, str> {
    if text.len() <= ERROR_TYPE_BYTES_MAX && text.chars().all(is_printable) {
        return Cow::Borrowed(text);
    }
    let shown = |character: char| {
        if is_printable(character) {
            character
        } else {
            char::REPLACEMENT_CHARACTER
        }
    };
    let replaced: String = text.chars().take(ERROR_TYPE_BYTES_MAX + 1).map(shown).collect();
    Cow::Owned(cut(&replaced, ERROR_TYPE_BYTES_MAX))
}

/// The text as every store can hold it in a column that is not indexed: each NUL is replaced.
pub fn storable(text: String) -> String {
    if is_storable(&text) {
        text
    } else {
        text.replace('\0', "\u{fffd}")
    }
}

/// At most so many bytes of a text, ending with `…` where something was cut off.
pub(crate) fn cut(text: &str, most: usize) -> String {
    const ELLIPSIS: char = '…';
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most.saturating_sub(ELLIPSIS.len_utf8()));
    let mut kept = text.get(..end).unwrap_or_default().to_owned();
    kept.push(ELLIPSIS);
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_printable_and_bounded_and_keys_only_bounded() {
        for name in ["a", "Auftrag läuft", "支払い", "🦀", &"n".repeat(NAME_BYTES_MAX)] {
            assert_eq!(check_name(name), Ok(()), "{name}");
            assert_eq!(check_key(name), Ok(()), "{name}");
        }
        let long = "ä".repeat(NAME_BYTES_MAX / 2 + 1);
        let length = |bytes| Problem::Length {
            bytes,
            most: NAME_BYTES_MAX,
        };
        for (name, problem) in [("", length(0)), (&*long, length(514)), ("a\0b", Problem::Nul)] {
            assert_eq!(check_name(name), Err(problem), "{name}");
            assert_eq!(check_key(name), Err(problem), "{name}");
        }
        for odd in [
            '\n', '\u{1b}', '\u{7f}', '\u{85}', '\u{202e}', '\u{2066}', '\u{2028}', '\u{200f}', '\u{61c}',
        ] {
            let name = format!("a{odd}b");
            assert_eq!(check_name(&name), Err(Problem::NotPrintable(odd)));
            assert_eq!(check_key(&name), Ok(()), "a key means nothing to Sprag");
        }
    }

    #[test]
    fn a_problem_names_the_character_without_showing_it() {
        let problem = check_name("a\u{202e}b").unwrap_err().to_string();
        assert_eq!(problem, "must not hold U+202E, which is not printable");
    }

    #[test]
    fn an_error_type_is_kept_where_it_can_be() {
        assert!(matches!(error_type("rate_limit"), Cow::Borrowed("rate_limit")));
        assert_eq!(error_type("a\0b\nc"), "a\u{fffd}b\u{fffd}c");
        let long = error_type(&"x".repeat(20_000)).into_owned();
        assert_eq!(long.len(), ERROR_TYPE_BYTES_MAX);
        assert!(long.ends_with("x…"), "{long}");
    }

    proptest! {
        #[test]
        fn whatever_comes_back_becomes_an_error_type_that_is_a_name(text in ".{0,300}") {
            let kind = error_type(&text);
            prop_assert!(kind.len() <= ERROR_TYPE_BYTES_MAX);
            prop_assert!(kind.is_empty() || check_name(&kind).is_ok(), "{kind:?}");
            prop_assert!(is_storable(&storable(text)));
        }
    }
}
