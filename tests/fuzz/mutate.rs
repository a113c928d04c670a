//! Inputs made from inputs: bytes changed, pieces repeated, removed and exchanged, words of the grammars put in.
//!
//! The same seed gives the same inputs.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Inputs that were accepted and serve as further beginnings, at most.
const KEPT_MAX: usize = 512;
/// No input is longer, so that no run spends its time on copies.
const INPUT_BYTES_MAX: usize = 64 * 1024;
/// Changes of one input, at most.
const CHANGES_MAX: u64 = 6;

/// Pieces that parsers must be ready for: syntax, numbers at the edges of types, text that breaks careless code.
const WORDS: [&str; 60] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    ":",
    ",",
    "\n",
    "\n  ",
    "- ",
    "\t",
    "\0",
    "\u{1b}[31m",
    "\u{202e}",
    "\u{feff}",
    "\u{10ffff}",
    "\u{301}",
    "é",
    "{{",
    "}}",
    "{{variables.",
    " | ",
    "secrets.k",
    "&a ",
    "*a",
    "<<: *a",
    "!!str ",
    "|\n",
    ">-\n",
    "? ",
    "---\n",
    "...",
    "null",
    "true",
    "NaN",
    ".inf",
    "-0",
    "0",
    "1e309",
    "1e-400",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "-9223372036854775809",
    "0.1",
    "PT1H",
    "1h",
    "P1D",
    "* * * * *",
    "*/0",
    "2026-02-30T25:61:00Z",
    "\\u0000",
    "\\ud800",
    "AND",
    "OR NOT (",
    "IN (",
    "%00",
    "../",
    "///",
];

/// Numbers without pattern, the same for the same seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        (seed, name).hash(&mut hasher);
        // Zero would stay zero.
        Self(hasher.finish() | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `bound`, which is not zero.
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % (bound as u64)).unwrap()
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// Makes inputs from a corpus, and from what was accepted of them.
pub(crate) struct Mutator {
    random: Random,
    corpus: Vec<Vec<u8>>,
    kept: Vec<Vec<u8>>,
    given: usize,
}

impl Mutator {
    pub(crate) fn new(random: Random, corpus: Vec<Vec<u8>>) -> Self {
        assert!(!corpus.is_empty(), "a corpus has at least one input");
        Self {
            random,
            corpus,
            kept: Vec::new(),
            given: 0,
        }
    }

    /// The next input: first the corpus as it is, then changes of it.
    pub(crate) fn next(&mut self) -> Vec<u8> {
        self.given += 1;
        if let Some(seed) = self.corpus.get(self.given - 1) {
            return seed.clone();
        }
        let mut input = self.beginning();
        for _ in 0..=self.random.next() % CHANGES_MAX {
            self.change(&mut input);
        }
        input.truncate(INPUT_BYTES_MAX);
        input
    }

    /// Keeps an input that was accepted, as a beginning of others.
    pub(crate) fn keep(&mut self, input: Vec<u8>) {
        if self.kept.len() < KEPT_MAX {
            self.kept.push(input);
        } else {
            let place = self.random.below(KEPT_MAX);
            self.kept[place] = input;
        }
    }

    fn beginning(&mut self) -> Vec<u8> {
        if self.kept.is_empty() || self.random.below(3) == 0 {
            self.random.pick(&self.corpus).clone()
        } else {
            self.random.pick(&self.kept).clone()
        }
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.random.below(input.len() + 1);
        match self.random.below(8) {
            0 | 1 => insert(input, at, self.random.pick(&WORDS).as_bytes()),
            2 => {
                input.truncate(at);
            }
            3 => {
                let end = self.end_of_piece(at, input.len());
                input.drain(at..end);
            }
            4 => {
                let end = self.end_of_piece(at, input.len());
                let piece = input[at..end].to_vec();
                insert(input, at, &piece);
            }
            5 => {
                let other = self.beginning();
                let from = self.random.below(other.len() + 1);
                let end = self.end_of_piece(from, other.len());
                insert(input, at, &other[from..end]);
            }
            6 => {
                let word = self.random.pick(&WORDS);
                let times = 1 << self.random.below(12);
                insert(input, at, word.repeat(times).as_bytes());
            }
            _ => {
                let byte = u8::try_from(self.random.below(256)).unwrap();
                if let Some(place) = input.get_mut(at) {
                    *place = byte;
                }
            }
        }
    }

    fn end_of_piece(&mut self, from: usize, length: usize) -> usize {
        let rest = length - from;
        from + self.random.below(rest.min(200) + 1)
    }
}

fn insert(input: &mut Vec<u8>, at: usize, piece: &[u8]) {
    let tail = input.split_off(at);
    input.extend_from_slice(piece);
    input.extend_from_slice(&tail);
}

#[test]
fn the_same_seed_gives_the_same_inputs_and_another_seed_others() {
    let inputs = |seed| {
        let mut mutator = Mutator::new(Random::new(seed, "x"), vec![b"a: [1, 2]".to_vec()]);
        (0..50).map(|_| mutator.next()).collect::<Vec<_>>()
    };
    assert_eq!(inputs(1), inputs(1));
    assert_ne!(inputs(1), inputs(2));
}
