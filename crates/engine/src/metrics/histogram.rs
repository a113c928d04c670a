//! How values are spread: counts between fixed bounds.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts values between bounds. Recording is two additions.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64],
    /// One more than there are bounds: the last is for what is above all of them.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

/// A histogram as it stood at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    /// The upper bounds, each inclusive, ascending.
    pub bounds: &'static [u64],
    /// How many values there were up to each bound and above the one before it, and last how many above all.
    pub counts: Vec<u64>,
    /// All values together.
    pub sum: u64,
}

impl Histogram {
    /// Nothing recorded yet. The bounds are inclusive and ascend.
    pub fn new(bounds: &'static [u64]) -> Self {
        Self {
            bounds,
            counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
        }
    }

    /// Counts a value.
    pub fn record(&self, value: u64) {
        let place = self.bounds.partition_point(|&bound| bound < value);
        if let Some(count) = self.counts.get(place) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// What was recorded so far.
    pub fn read(&self) -> Distribution {
        Distribution {
            bounds: self.bounds,
            counts: self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect(),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_under_the_first_bound_that_holds_it() {
        let histogram = Histogram::new(&[1, 10, 100]);
        for value in [0, 1, 2, 10, 11, 100, 101, 5_000] {
            histogram.record(value);
        }
        let read = histogram.read();
        assert_eq!(read.counts, [2, 2, 2, 2]);
        assert_eq!(read.sum, 5_225);
    }
}
