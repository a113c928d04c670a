//! What happened, line by line: a hash over all of it, and its tail for the person who must find out why.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many lines are kept to be shown.
const TAIL: usize = 60_000;

/// The parameters of 64-bit FNV-1a.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// A handle to the one trace of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace(Arc<Mutex<Lines>>);

#[derive(Debug)]
struct Lines {
    hash: u64,
    tail: VecDeque<String>,
}

impl Default for Lines {
    fn default() -> Self {
        Self {
            hash: OFFSET,
            tail: VecDeque::new(),
        }
    }
}

impl Trace {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more line.
    pub(crate) fn line(&self, text: fmt::Arguments<'_>) {
        let text = text.to_string();
        let mut lines = self.lines();
        lines.hash = hash_from(hash_from(lines.hash, text.as_bytes()), b"\n");
        if lines.tail.len() == TAIL {
            lines.tail.pop_front();
        }
        lines.tail.push_back(text);
    }

    /// The hash of every line so far.
    pub(crate) fn hash(&self) -> u64 {
        self.lines().hash
    }

    /// The last lines.
    pub(crate) fn tail(&self) -> Vec<String> {
        self.lines().tail.iter().cloned().collect()
    }
}

/// The hash of some bytes, as the trace writes it in place of a body.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    hash_from(OFFSET, bytes)
}

fn hash_from(start: u64, bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(start, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_knows_every_line_and_the_tail_only_the_last() {
        let (one, other) = (Trace::default(), Trace::default());
        for number in 0..TAIL + 100 {
            one.line(format_args!("line {number}"));
            other.line(format_args!("line {}", number.max(1)));
        }
        assert_ne!(one.hash(), other.hash(), "the first line differs");
        assert_eq!(one.tail(), other.tail());
        assert_eq!(one.tail().len(), TAIL);
    }
}
