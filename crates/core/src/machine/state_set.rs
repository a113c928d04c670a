//! A set of states as bits: document order is bit order, so walking a set walks the document.

use super::model::StateIndex;

const WORDS: usize = 16;
const WORD_BITS: usize = u64::BITS as usize;

/// How many states a machine can have at the very most, the root included, whatever the configured limit.
pub const STATES_CEILING: usize = WORDS * WORD_BITS;

/// A set of states of one machine.
///
/// Most machines fit into the first word, so a set knows which of its words hold a state: walking touches no other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StateSet {
    words: [u64; WORDS],
    /// Bit `n` is set if word `n` is not zero.
    used: u16,
}

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
        let place = state.position() / WORD_BITS;
        if let Some(word) = self.words.get_mut(place) {
            *word |= 1 << (state.position() % WORD_BITS);
            self.used |= 1 << place;
        }
    }

    /// Takes a state out.
    pub fn remove(&mut self, state: StateIndex) {
        let place = state.position() / WORD_BITS;
        if let Some(word) = self.words.get_mut(place) {
            *word &= !(1 << (state.position() % WORD_BITS));
            if *word == 0 {
                self.used &= !(1 << place);
            }
        }
    }

    /// Whether the state is in the set.
    pub fn contains(&self, state: StateIndex) -> bool {
        let word = self.words.get(state.position() / WORD_BITS);
        word.is_some_and(|word| word & (1 << (state.position() % WORD_BITS)) != 0)
    }

    /// Whether the two sets share a state.
    pub fn meets(&self, other: &Self) -> bool {
        Places(self.used & other.used).any(|place| self.words[place] & other.words[place] != 0)
    }

    /// Whether there is no state in the set.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Adds all states of `other`.
    pub fn extend(&mut self, other: &Self) {
        for place in Places(other.used) {
            self.words[place] |= other.words[place];
        }
        self.used |= other.used;
    }

    /// The states in document order, which is entry order; reversed, it is exit order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = StateIndex> + '_ {
        Walk {
            words: &self.words,
            between: self.used,
            front: Bits::default(),
            back: Bits::default(),
        }
    }

    /// The members that lie strictly below `ancestor`, whose subtree ends before `end`.
    #[must_use]
    pub fn within(&self, ancestor: StateIndex, end: StateIndex) -> Self {
        let mut inside = Self::default();
        for place in Places(self.used) {
            let base = place * WORD_BITS;
            let above = ones_from((ancestor.position() + 1).saturating_sub(base));
            let below = !ones_from(end.position().saturating_sub(base));
            let word = self.words[place] & above & below;
            if word != 0 {
                inside.words[place] = word;
                inside.used |= 1 << place;
            }
        }
        inside
    }
}

/// A word whose bits are set from `first` upwards.
fn ones_from(first: usize) -> u64 {
    u32::try_from(first)
        .ok()
        .and_then(|first| u64::MAX.checked_shl(first))
        .unwrap_or(0)
}

/// The numbers of the bits that are set, least first.
struct Places(u16);

impl Iterator for Places {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let place = self.0.trailing_zeros() as usize;
        (self.0 != 0).then(|| {
            self.0 &= self.0 - 1;
            place
        })
    }
}

/// A walk over a set, from both ends.
struct Walk<'a> {
    words: &'a [u64; WORDS],
    /// The words that neither end has come to.
    between: u16,
    front: Bits,
    back: Bits,
}

impl Walk<'_> {
    fn bits(&self, place: u32) -> Bits {
        let place = place as usize;
        Bits {
            word: self.words[place],
            base: place * WORD_BITS,
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = StateIndex;

    fn next(&mut self) -> Option<StateIndex> {
        if self.front.word == 0 {
            if self.between == 0 {
                return self.back.next();
            }
            self.front = self.bits(self.between.trailing_zeros());
            self.between &= self.between - 1;
        }
        self.front.next()
    }
}

impl DoubleEndedIterator for Walk<'_> {
    fn next_back(&mut self) -> Option<StateIndex> {
        if self.back.word == 0 {
            if self.between == 0 {
                return self.front.next_back();
            }
            let place = self.between.ilog2();
            self.back = self.bits(place);
            self.between &= !(1 << place);
        }
        self.back.next_back()
    }
}

#[derive(Default)]
struct Bits {
    word: u64,
    base: usize,
}

impl Bits {
    fn next(&mut self) -> Option<StateIndex> {
        if self.word == 0 {
            return None;
        }
        let bit = self.word.trailing_zeros();
        self.word &= self.word - 1;
        StateIndex::from_position(self.base + bit as usize)
    }

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

        #[test]
        fn a_subtree_of_a_set_is_what_lies_between(
            positions in proptest::collection::btree_set(0_usize..STATES_CEILING, 0..40),
            ancestor in 0_usize..STATES_CEILING,
            length in 0_usize..STATES_CEILING,
        ) {
            let index = |position: usize| StateIndex::from_position(position).unwrap();
            let end = ancestor + length;
            let set = StateSet::of(positions.iter().map(|&position| index(position)));
            let inside = positions.into_iter().filter(|&position| ancestor < position && position < end);
            prop_assert_eq!(set.within(index(ancestor), index(end)), StateSet::of(inside.map(index)));
        }

        #[test]
        fn a_set_forgets_what_was_taken_out(positions in proptest::collection::btree_set(0_usize..STATES_CEILING, 0..40)) {
            let mut set = StateSet::default();
            let indexes: Vec<StateIndex> = positions.into_iter().filter_map(StateIndex::from_position).collect();
            for &index in &indexes {
                set.insert(index);
            }
            for &index in &indexes {
                prop_assert!(set.contains(index) && !set.is_empty());
                set.remove(index);
            }
            prop_assert_eq!(set, StateSet::default());
        }
    }
}
