//! How wide text is, without a browser and without a font: a table of advance widths that fits the usual system fonts.
//!
//! The SVG gives every text the width that was measured, so a wider or narrower font changes how the text looks, and
//! never what it covers.

use unicode_width::UnicodeWidthChar;

use crate::text::is_printable;

/// Advance widths of the printable ASCII characters, from the blank on, in hundredths of the text's size.
const ADVANCES: [u8; 95] = [
    29, 31, 40, 63, 58, 86, 70, 24, 35, 35, 46, 63, 27, 38, 28, 36, 58, 58, 58, 58, 58, 58, 58, 58, 58, 58, 28, 28, 63,
    63, 63, 49, 96, 66, 63, 66, 72, 59, 56, 71, 73, 28, 44, 63, 53, 86, 74, 75, 61, 75, 64, 60, 60, 72, 65, 93, 63, 61,
    61, 36, 36, 36, 60, 52, 40, 55, 59, 52, 59, 55, 34, 59, 58, 25, 27, 53, 25, 87, 58, 58, 59, 59, 37, 50, 36, 58, 52,
    76, 52, 52, 49, 40, 32, 40, 63,
];
/// The advance of any other character that takes one column, and of one that takes two.
const ADVANCE_OTHER: i32 = 66;
const ADVANCE_WIDE: i32 = 104;

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Font {
    /// In pixels.
    pub(super) size: i32,
    /// Bold text is wider, in hundredths.
    stretch: i32,
}

/// The names of states.
pub(super) const NAME: Font = Font { size: 13, stretch: 107 };
/// The rows below a name.
pub(super) const NOTE: Font = Font { size: 11, stretch: 100 };
/// The labels of lines.
pub(super) const LABEL: Font = Font { size: 12, stretch: 100 };

/// The width of a text in pixels, rounded up.
pub(super) fn width(text: &str, font: Font) -> i32 {
    let advances: i32 = text.chars().map(advance).sum();
    (advances * font.size * font.stretch).div_euclid(10_000) + 1
}

fn advance(character: char) -> i32 {
    let ascii = u32::from(character)
        .checked_sub(32)
        .and_then(|at| usize::try_from(at).ok());
    match ascii.and_then(|at| ADVANCES.get(at)) {
        Some(&advance) => i32::from(advance),
        None => match character.width() {
            Some(0) => 0,
            Some(2) => ADVANCE_WIDE,
            _ => ADVANCE_OTHER,
        },
    }
}

/// The text with at most so many characters, and without characters that would change how the rest is read.
pub(super) fn cut(text: &str, characters: usize) -> String {
    let shown = |character: char| {
        if is_printable(character) {
            character
        } else {
            char::REPLACEMENT_CHARACTER
        }
    };
    let mut all = text.chars().map(shown);
    let mut cut: String = all.by_ref().take(characters).collect();
    if all.next().is_some() {
        cut.pop();
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_more_room_than_narrow_ones_and_marks_none() {
        assert!(width("iiii", LABEL) < width("wwww", LABEL));
        assert!(width("漢漢", LABEL) > width("ab", LABEL));
        assert_eq!(width("e\u{301}", LABEL), width("e", LABEL));
        assert!(width("state", NAME) > width("state", LABEL));
    }

    #[test]
    fn a_cut_text_ends_with_dots_and_keeps_its_direction() {
        assert_eq!(cut("abcd", 4), "abcd");
        assert_eq!(cut("abcde", 4), "abc…");
        assert_eq!(cut("a\u{202e}b", 9), "a\u{fffd}b");
    }
}
