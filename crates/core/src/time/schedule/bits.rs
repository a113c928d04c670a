//! A set of small numbers, one bit each: what a field of a cron expression comes down to.
//!
//! Holds 0 to 63. Numbers outside are never members, so no operation can panic.

/// A set of numbers from 0 to 63.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bits(u64);

impl Bits {
    /// Adds `value`; one that the set cannot hold is left out.
    pub(super) fn insert(&mut self, value: i8) {
        self.0 |= bit(value);
    }

    pub(super) fn contains(self, value: i8) -> bool {
        self.0 & bit(value) != 0
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many members there are.
    pub(super) fn count(self) -> u64 {
        u64::from(self.0.count_ones())
    }

    /// How many members are smaller than `value`.
    pub(super) fn count_below(self, value: i8) -> u64 {
        Self(self.0 & below(value)).count()
    }

    /// The smallest member that is at least `value`.
    pub(super) fn first_from(self, value: i8) -> Option<i8> {
        let rest = self.0 & !below(value);
        if rest == 0 {
            return None;
        }
        i8::try_from(rest.trailing_zeros()).ok()
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The members that are at most `value`.
    pub(super) fn up_to(self, value: i8) -> Self {
        Self(self.0 & (below(value) | bit(value)))
    }
}

impl FromIterator<i8> for Bits {
    fn from_iter<I: IntoIterator<Item = i8>>(values: I) -> Self {
        let mut bits = Self::default();
        for value in values {
            bits.insert(value);
        }
        bits
    }
}

fn bit(value: i8) -> u64 {
    u32::try_from(value)
        .ok()
        .and_then(|shift| 1u64.checked_shl(shift))
        .unwrap_or(0)
}

/// All bits under `value`: none for a negative one, all for one above 63.
fn below(value: i8) -> u64 {
    match u32::try_from(value) {
        Ok(shift) => 1u64.checked_shl(shift).map_or(u64::MAX, |bit| bit - 1),
        Err(_) => 0,
    }
}
