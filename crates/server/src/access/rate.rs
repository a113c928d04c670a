//! How often something may happen, by key: a token, or the address of a client that guesses tokens.
//!
//! A key has an allowance that refills evenly. A bounded number of keys is known; when there is no room, those whose
//! allowance is full are forgotten, which changes nothing for them.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

/// Keys that are known at once.
const KEYS_MAX: usize = 16_384;

/// Allowances by key.
pub(crate) struct Rates<K> {
    /// Microseconds from one request to the next at an even pace.
    interval: u64,
    /// How far ahead of that pace a key may be, in microseconds.
    ahead: u64,
    /// When the allowance of a key is full again.
    full_at: Mutex<HashMap<K, u64>>,
}

impl<K: Eq + Hash> Rates<K> {
    /// So many a second, and `burst` at once.
    pub(crate) fn new(per_second: u32, burst: u32) -> Self {
        let interval = 1_000_000 / u64::from(per_second.clamp(1, 1_000_000));
        Self {
            interval,
            ahead: interval * u64::from(burst),
            full_at: Mutex::default(),
        }
    }

    /// Takes one of the allowance of a key; says whether there was one.
    pub(crate) fn take(&self, key: K, now_micros: u64) -> bool {
        let mut known = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KEYS_MAX && !known.contains_key(&key) {
            known.retain(|_, full_at| *full_at > now_micros);
            if known.len() >= KEYS_MAX {
                // So many clients at once that the oldest cannot be told: all begin anew.
                known.clear();
            }
        }
        let full_at = known.entry(key).or_insert(now_micros);
        let from = (*full_at).max(now_micros);
        if from - now_micros > self.ahead {
            return false;
        }
        *full_at = from + self.interval;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    fn taken(rates: &Rates<u32>, key: u32, now: u64, tries: usize) -> usize {
        (0..tries).filter(|_| rates.take(key, now)).count()
    }

    #[test]
    fn a_key_has_its_burst_and_then_its_rate_and_takes_nothing_from_others() {
        let rates = Rates::new(10, 20);
        assert_eq!(taken(&rates, 1, SECOND, 100), 21);
        assert_eq!(taken(&rates, 1, SECOND, 100), 0);
        assert_eq!(taken(&rates, 2, SECOND, 5), 5);
        assert_eq!(taken(&rates, 1, 2 * SECOND, 100), 10);
        assert_eq!(
            taken(&rates, 1, 100 * SECOND, 100),
            21,
            "more than a burst is not saved up"
        );
    }

    #[test]
    fn the_number_of_known_keys_is_bounded() {
        let rates = Rates::new(10, 20);
        for key in 0..u32::try_from(KEYS_MAX).unwrap() * 3 {
            rates.take(key, SECOND);
        }
        assert!(rates.full_at.lock().unwrap().len() <= KEYS_MAX);
    }
}
