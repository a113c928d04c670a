//! Values of others inside our own sentences: on one line and not too long.

/// Values in messages are cut after this many characters.
const CHARACTERS_MAX: usize = 64;

/// The value as a message shows it.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::new();
    for (position, character) in text.chars().enumerate() {
        if position == CHARACTERS_MAX {
            shown.push('…');
            break;
        }
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// The innermost reason of an error: the outer ones say only that something failed.
pub(crate) fn cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(inner) = innermost.source() {
        innermost = inner;
    }
    innermost.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stays_on_one_line_and_is_cut() {
        assert_eq!(shown("a\nb\0"), "a\\nb\\u{0}");
        let long = shown(&"x".repeat(1_000));
        assert_eq!(long.chars().count(), CHARACTERS_MAX + 1);
        assert!(long.ends_with('…'));
    }
}
