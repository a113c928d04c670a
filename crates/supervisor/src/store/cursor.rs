//! The position of a reader of deltas: the run of the store, and the last delta read.

use std::fmt;
use std::str::FromStr;

/// A place among the deltas. Its text is opaque to readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The run of the store: ids of one run mean nothing in another.
    pub(super) run: u64,
    /// The last delta that was read.
    pub(super) id: u64,
}

/// Why a text is not a cursor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a cursor; use one that came with a page, or none to begin with")]
pub struct ParseCursorError(String);

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}.{:x}", self.run, self.id)
    }
}

impl FromStr for Cursor {
    type Err = ParseCursorError;

    fn from_str(text: &str) -> Result<Self, ParseCursorError> {
        let number = |digits: &str| u64::from_str_radix(digits, 16).ok();
        text.split_once('.')
            .and_then(|(run, id)| Some((number(run)?, number(id)?)))
            .map(|(run, id)| Self { run, id })
            .ok_or_else(|| ParseCursorError(text.chars().take(64).collect()))
    }
}
