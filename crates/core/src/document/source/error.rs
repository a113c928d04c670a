//! Why a document was refused, and where. Every refusal has a position somebody can go to.

use super::node::Position;

/// Values quoted in messages are cut after this many characters: a document may hold a megabyte on one line.
const SHOWN_CHARACTERS_MAX: usize = 40;

/// What kind of refusal it is, for callers that answer a limit differently from a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The text is not what its format, or this reader, allows.
    Syntax,
    /// The document has more bytes than allowed, or its aliases would copy more than that.
    TooLarge,
    /// Lists and maps are nested deeper than allowed.
    TooDeep,
    /// The document has more values than allowed, those that aliases copy included.
    TooManyNodes,
}

/// A document that was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {detail}")]
pub struct ParseError {
    /// Where the trouble starts.
    pub at: Position,
    /// What kind of refusal this is.
    pub cause: Cause,
    /// What is wrong, as a lowercase fragment.
    pub detail: String,
    /// What to write instead, where that is known.
    pub remedy: Option<&'static str>,
}

impl ParseError {
    pub(super) fn new(at: Position, cause: Cause, detail: impl Into<String>) -> Self {
        Self {
            at,
            cause,
            detail: detail.into(),
            remedy: None,
        }
    }

    pub(super) fn syntax(at: Position, detail: impl Into<String>) -> Self {
        Self::new(at, Cause::Syntax, detail)
    }

    pub(super) fn remedy(self, remedy: &'static str) -> Self {
        Self {
            remedy: Some(remedy),
            ..self
        }
    }
}

/// A piece of the document as a message shows it: on one line and not too long.
pub(super) fn shown(text: &str) -> String {
    let mut shown = String::new();
    for (index, character) in text.chars().enumerate() {
        if index == SHOWN_CHARACTERS_MAX {
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
