//! Who is to be looked at when. Putting somebody in costs the same for ten workers and for a hundred thousand: there are
//! as many moments as ticks have come up with, not as workers.
//!
//! Nothing is taken out before its moment: whoever is moved stands in two places, and the caller knows which one counts.

use std::collections::BTreeMap;

use sprag_core::time::Timestamp;

/// The place of a worker among those that are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key(pub(super) u32);

/// Moments, and who is due at each.
#[derive(Debug, Default)]
pub(super) struct Calendar {
    moments: BTreeMap<Timestamp, Vec<Key>>,
}

impl Calendar {
    pub(super) fn insert(&mut self, at: Timestamp, key: Key) {
        self.moments.entry(at).or_default().push(key);
    }

    /// The first moment that has come, with everybody who stood there.
    pub(super) fn take_first(&mut self, now: Timestamp) -> Option<(Timestamp, Vec<Key>)> {
        let first = self.moments.first_entry()?;
        (*first.key() <= now).then(|| first.remove_entry())
    }

    /// Those who did not get their turn stand where they stood.
    pub(super) fn put_back(&mut self, at: Timestamp, keys: Vec<Key>) {
        if !keys.is_empty() {
            self.moments.entry(at).or_default().extend(keys);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_come_in_order_and_not_before_their_time() {
        let at = Timestamp::from_millis;
        let mut calendar = Calendar::default();
        calendar.insert(at(20), Key(2));
        calendar.insert(at(10), Key(1));
        calendar.insert(at(20), Key(3));
        assert_eq!(calendar.take_first(at(9)), None);
        assert_eq!(calendar.take_first(at(20)), Some((at(10), vec![Key(1)])));
        let (moment, mut keys) = calendar.take_first(at(20)).unwrap();
        assert_eq!((moment, &keys[..]), (at(20), &[Key(2), Key(3)][..]));
        keys.remove(0);
        calendar.put_back(moment, keys);
        assert_eq!(calendar.take_first(at(20)), Some((at(20), vec![Key(3)])));
        assert_eq!(calendar.take_first(at(99)), None);
    }
}
