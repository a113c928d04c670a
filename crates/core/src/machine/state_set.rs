//! A set of states as bits: document order is bit order, so walking a set walks the document.

use super::model::StateIndex;

const WORDS: usize = 16;

/// How many states a machine can have at the very most, the root included, whatever the configured limit.
pub const STATES_CEILING: usize = WORDS * 64;

/// A set of states of one machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StateSet([u64; WORDS]);

impl StateSet {
    /// The set of just these states.
    pub fn of(states: impl IntoIterator<Item = StateIndex>) -> Self {
        let mut set = Self::default();
        for state in states {
            set.insert(state);
        }
        set
    }

    /// Adds a state.
    pub fn insert(&mut self, state: StateIndex) {
        if let Some(word) = self.0.get_mut(state.position() / 64) {
            *word |= 1 << (state.position() % 64);
        }
    }

    /// Takes a state out.
    pub fn remove(&mut self, state: StateIndex) {
        if let Some(word) = self.0.get_mut(state.position() / 64) {
            *word &= !(1 << (state.position() % 64));
        }
    }

    /// Whether the state is in the set.
    pub fn contains(&self, state: StateIndex) -> bool {
        self.0
            .get(state.position() / 64)
            .is_some_and(|word| word & (1 << (state.position() % 64)) != 0)
    }

    /// Whether the two sets share a state.
    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(mine, theirs)| mine & theirs != 0)
    }

    /// Whether there is no state in the set.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// Adds all states of `other`.
    pub fn extend(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine |= theirs;
        }
    }

    /// The states in document order, which is entry order; reversed, it is exit order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = StateIndex> + '_ {
        self.0.iter().enumerate().flat_map(|(position, &word)| Bits {
            word,
            base: position * 64,
        })
    }

    /// The members that lie strictly below `ancestor`, whose subtree ends before `end`.
    #[must_use]
    pub fn within(&self, ancestor: StateIndex, end: StateIndex) -> Self {
        Self::of(self.iter().filter(|&state| ancestor < state && state < end))
    }
}

struct Bits {
    word: u64,
    base: usize,
}

impl Iterator for Bits {
    type Item = StateIndex;

    fn next(&mut self) -> Option<StateIndex> {
        if self.word == 0 {
            return None;
        }
        let bit = self.word.trailing_zeros();
        self.word &= self.word - 1;
        StateIndex::from_position(self.base + bit as usize)
    }
}

impl DoubleEndedIterator for Bits {
    fn next_back(&mut self) -> Option<StateIndex> {
        if self.word == 0 {
            return None;
        }
        let bit = self.word.ilog2();
        self.word &= !(1 << bit);
        StateIndex::from_position(self.base + bit as usize)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_set_holds_what_was_put_in_and_walks_it_in_order(positions in proptest::collection::btree_set(0_usize..STATES_CEILING, 0..40)) {
            let set = StateSet::of(positions.iter().filter_map(|&position| StateIndex::from_position(position)));
            let walked: Vec<usize> = set.iter().map(StateIndex::position).collect();
            let expected: Vec<usize> = positions.iter().copied().collect();
            prop_assert_eq!(&walked, &expected);
            let back: Vec<usize> = set.iter().rev().map(StateIndex::position).collect();
            prop_assert_eq!(back, expected.into_iter().rev().collect::<Vec<_>>());
        }
    }
}
