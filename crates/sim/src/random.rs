//! Chance, all of it from one seed.
//!
//! ``SplitMix64``: small, quick, the same everywhere. A fork is an independent stream, so that one part of the simulation
//! may draw more or less without moving the others.

use sprag_core::ids::scatter;

/// The step of ``SplitMix64``.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of chance.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Another stream, for the part of the simulation with that number.
    #[must_use]
    pub(crate) fn fork(&self, part: u64) -> Self {
        Self(scatter(self.0 ^ scatter(part.wrapping_add(STEP))))
    }

    /// The next 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        scatter(self.0)
    }

    /// A number below `bound`; 0 when there is none.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.bits().checked_rem(bound).unwrap_or(0)
    }

    /// A number from `least` to `most`, both included.
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most.saturating_sub(least) + 1)
    }

    /// True `times` out of `of`.
    pub(crate) fn chance(&mut self, times: u64, of: u64) -> bool {
        self.below(of) < times
    }

    /// One of the items, if there is any.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let bound = u64::try_from(items.len()).unwrap_or(u64::MAX);
        items.get(usize::try_from(self.below(bound)).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_stream_and_its_forks_others() {
        let (mut one, mut same) = (Random::new(7), Random::new(7));
        assert!((0..100).all(|_| one.bits() == same.bits()));
        let (mut left, mut right) = (Random::new(7).fork(1), Random::new(7).fork(2));
        assert_ne!(left.bits(), right.bits());
    }

    #[test]
    fn bounds_are_kept() {
        let mut random = Random::new(1);
        assert!((0..1_000).all(|_| (3..=5).contains(&random.between(3, 5))));
        assert_eq!(random.below(0), 0);
        assert_eq!(random.pick::<u8>(&[]), None);
    }
}
