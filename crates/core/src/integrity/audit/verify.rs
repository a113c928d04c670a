//! Checking chains: entry after entry, the newest first, so that any number of them needs no memory.

use std::collections::BTreeMap;
use std::fmt;

use super::{BEGINNING, Entry, Hash, Head};

/// The first entry of a chain that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Whose chain.
    pub shard: u32,
    /// The place of the entry.
    pub sequence: u64,
    /// What is wrong.
    pub fault: Fault,
}

impl fmt::Display for Broken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shard, sequence, fault } = self;
        write!(formatter, "entry {sequence} of shard {shard} {fault}")
    }
}

/// What is wrong with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Its fields do not have its hash.
    Changed,
    /// It is not there, and later ones are.
    Missing,
    /// The entry after it was written after another one.
    Replaced,
    /// A head was exported with this entry, and the chain ends before it.
    RolledBack,
    /// A head was exported with another entry at this place.
    NotExported,
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Changed => "was changed: its fields do not have its hash",
            Self::Missing => "is missing, although later entries are there",
            Self::Replaced => "is another one than the next entry follows",
            Self::RolledBack => "was exported and is not there: the end of the chain was cut off, or rolled back",
            Self::NotExported => "is not the one that was exported: the chain was rolled back, or written again",
        })
    }
}

/// What the next older entry of a chain must be.
#[derive(Clone, Copy, Debug)]
struct Expected {
    sequence: u64,
    /// None if the entry that would say so was changed.
    hash: Option<Hash>,
}

/// Checks entries of any chains, those of each chain from its newest to its oldest, against each other and against
/// exported heads.
#[derive(Debug, Default)]
pub struct Verifier {
    exported: BTreeMap<(u32, u64), Hash>,
    chains: BTreeMap<u32, Option<Expected>>,
    broken: BTreeMap<u32, Broken>,
    entries: u64,
}

impl Verifier {
    /// Checks against these heads too, any number of each chain.
    pub fn new(exported: impl IntoIterator<Item = Head>) -> Self {
        let exported = exported.into_iter().filter(|head| head.sequence > 0);
        Self {
            exported: exported.map(|head| ((head.shard, head.sequence), head.hash)).collect(),
            ..Self::default()
        }
    }

    /// Checks the next older entry of its chain.
    pub fn add(&mut self, entry: &Entry) {
        let &Entry { shard, sequence, .. } = entry;
        self.entries += 1;
        match self.chains.get(&shard).copied() {
            None => self.end_of_chain(entry),
            Some(Some(Expected { sequence: wanted, hash })) => {
                if wanted != sequence {
                    // Those in between are gone; the oldest of them is the first that is broken.
                    self.note(shard, wanted.min(sequence + 1), Fault::Missing);
                } else if hash.is_some_and(|hash| hash != entry.hash) {
                    self.note(shard, sequence, Fault::Replaced);
                }
            }
            // An entry before the first.
            Some(None) => self.note(shard, sequence, Fault::Changed),
        }
        let is_changed = entry.computed() != entry.hash;
        if is_changed {
            self.note(shard, sequence, Fault::Changed);
        }
        if let Some(exported) = self.exported.remove(&(shard, sequence))
            && exported != entry.hash
        {
            self.note(shard, sequence, Fault::NotExported);
        }
        let is_first = sequence <= 1;
        if is_first && entry.previous != BEGINNING {
            self.note(shard, sequence, Fault::Changed);
        }
        let expected = (!is_first).then(|| Expected {
            sequence: sequence - 1,
            hash: (!is_changed).then_some(entry.previous),
        });
        self.chains.insert(shard, expected);
    }

    /// The newest entry of a chain: what was exported with later ones is not there any more.
    fn end_of_chain(&mut self, entry: &Entry) {
        let later = (entry.shard, entry.sequence + 1)..=(entry.shard, u64::MAX);
        if let Some((&(shard, sequence), _)) = self.exported.range(later).next() {
            self.note(shard, sequence, Fault::RolledBack);
        }
    }

    /// Notes a fault. Entries come newest first, so a later one of the same chain is the earlier entry.
    fn note(&mut self, shard: u32, sequence: u64, fault: Fault) {
        let broken = Broken { shard, sequence, fault };
        let known = self.broken.entry(shard).or_insert_with(|| broken.clone());
        if sequence < known.sequence {
            *known = broken;
        }
    }

    /// How many entries were checked, if every chain is whole; the first broken entry of each chain that is not.
    pub fn finish(mut self) -> Result<u64, Vec<Broken>> {
        let unfinished: Vec<(u32, u64)> = self
            .chains
            .iter()
            .filter_map(|(shard, expected)| Some((*shard, expected.as_ref()?.sequence)))
            .collect();
        for (shard, _) in unfinished {
            self.note(shard, 1, Fault::Missing);
        }
        let gone: Vec<(u32, u64)> = self.exported.keys().copied().collect();
        for (shard, sequence) in gone {
            if !self.chains.contains_key(&shard) {
                self.note(shard, sequence, Fault::RolledBack);
            }
        }
        if self.broken.is_empty() {
            return Ok(self.entries);
        }
        Err(self.broken.into_values().collect())
    }
}
