//! Attempts that failed, by the type of their error. The types are those that Sprag knows, and `other`.

use sprag_core::action::error::kind;

use super::Counter;
use super::kinds::OTHER;

/// Where an error type stands among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ErrorIndex(usize);

impl ErrorIndex {
    /// Where a type stands; beyond the last, if it is not among them.
    pub(crate) fn of(error: &str) -> Self {
        let found = kind::KNOWN.iter().position(|known| *known == error);
        Self(found.unwrap_or(kind::KNOWN.len()))
    }
}

/// A counter for each type.
#[derive(Debug)]
pub struct Errors {
    counts: Box<[Counter]>,
}

impl Default for Errors {
    fn default() -> Self {
        Self {
            counts: (0..=kind::KNOWN.len()).map(|_| Counter::default()).collect(),
        }
    }
}

impl Errors {
    pub(super) fn add(&self, index: ErrorIndex) {
        if let Some(count) = self.counts.get(index.0) {
            count.add(1);
        }
    }

    /// The types that occurred, each with how often.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let names = kind::KNOWN.iter().copied().chain([OTHER]);
        let counts = self.counts.iter().map(Counter::get);
        names.zip(counts).filter(|(_, count)| *count > 0)
    }
}
