//! When each worker is observed. An insertion costs the same for ten workers and for a hundred thousand, because the
//! calendar has one slot per tick, not per worker.
//!
//! Entries stay until their time. A worker whose time changes has two entries, and the caller knows which one is valid.

use std::collections::BTreeMap;

use sprag_core::time::Timestamp;

use super::entries::EntryKey;

/// Moments, and who is due at each.
#[derive(Debug, Default)]
pub(super) struct Calendar {
    moments: BTreeMap<Timestamp, Vec<EntryKey>>,
}

impl Calendar {
    pub(super) fn insert(&mut self, at: Timestamp, key: EntryKey) {
        self.moments.entry(at).or_default().push(key);
    }

    /// The first moment that has come, with every worker due then.
    pub(super) fn take_first(&mut self, now: Timestamp) -> Option<(Timestamp, Vec<EntryKey>)> {
        let first = self.moments.first_entry()?;
        (*first.key() <= now).then(|| first.remove_entry())
    }

    /// Those who did not get their turn stand where they stood.
    pub(super) fn put_back(&mut self, at: Timestamp, keys: Vec<EntryKey>) {
        if !keys.is_empty() {
            self.moments.entry(at).or_default().extend(keys);
        }
    }
}

#[cfg(test)]
mod tests {
    use slotmap::SlotMap;

    use super::*;

    #[test]
    fn moments_come_in_order_and_not_before_their_time() {
        let at = Timestamp::from_millis;
        let mut keys: SlotMap<EntryKey, ()> = SlotMap::with_key();
        let (first, second, third) = (keys.insert(()), keys.insert(()), keys.insert(()));
        let mut calendar = Calendar::default();
        calendar.insert(at(20), second);
        calendar.insert(at(10), first);
        calendar.insert(at(20), third);
        assert_eq!(calendar.take_first(at(9)), None);
        assert_eq!(calendar.take_first(at(20)), Some((at(10), vec![first])));
        let (moment, mut keys) = calendar.take_first(at(20)).unwrap();
        assert_eq!((moment, &keys[..]), (at(20), &[second, third][..]));
        keys.remove(0);
        calendar.put_back(moment, keys);
        assert_eq!(calendar.take_first(at(20)), Some((at(20), vec![third])));
        assert_eq!(calendar.take_first(at(99)), None);
    }
}
