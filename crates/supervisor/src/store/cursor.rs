//! How far a reader of deltas is: in which run of the store, up to which delta.

use std::fmt;
use std::str::FromStr;

/// A place among the deltas. Its text is opaque to readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The life of the store: ids of one life mean nothing in another.
    pub(super) life: u64,
    /// The last delta that was read.
    pub(super) id: u64,
}

/// Why a text is not a cursor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a cursor; use one that came with a page, or none to begin with")]
pub struct ParseCursorError(String);

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}.{:x}", self.life, self.id)
    }
}

impl FromStr for Cursor {
    type Err = ParseCursorError;

    fn from_str(text: &str) -> Result<Self, ParseCursorError> {
        let number = |digits: &str| u64::from_str_radix(digits, 16).ok();
        text.split_once('.')
            .and_then(|(life, id)| Some((number(life)?, number(id)?)))
            .map(|(life, id)| Self { life, id })
            .ok_or_else(|| ParseCursorError(text.chars().take(64).collect()))
    }
}
