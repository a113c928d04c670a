//! One histogram of latencies, and its form on the wire.

use hdrhistogram::Histogram;

pub use crate::wire::proto::Histogram as Buckets;

/// The longest latency that is told apart: one hour.
pub const HIGHEST_MICROS: u64 = 3_600_000_000;
const LOWEST_MICROS: u64 = 1;
/// What a histogram has room for before it grows.
const HIGHEST_AT_FIRST: u64 = 2_000;
const DIGITS: u8 = 3;
/// A histogram of these bounds has fewer distinct values.
const BUCKETS_MAX: usize = 65_536;

/// Latencies in microseconds, from 1 µs to 1 h, to three digits.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    histogram: Histogram<u64>,
    saturated: u64,
}

impl Default for Latency {
    fn default() -> Self {
        // Bounds that the crate refuses would be a fault of this file; the tests construct one.
        let mut histogram = Histogram::new_with_bounds(LOWEST_MICROS, HIGHEST_AT_FIRST, DIGITS)
            .unwrap_or_else(|error| unreachable!("the bounds are valid: {error}"));
        // A controller has four of them for each agent, and few targets take an hour.
        histogram.auto(true);
        Self {
            histogram,
            saturated: 0,
        }
    }
}

/// Why a histogram is not merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CorruptBuckets {
    /// Another agent version counts otherwise.
    #[error(
        "its histogram counts from {lowest} to {highest} µs with {digits} digits, not from 1 to {HIGHEST_MICROS} with {DIGITS}"
    )]
    Bounds {
        /// The lowest value.
        lowest: u64,
        /// The highest value.
        highest: u64,
        /// Significant digits.
        digits: u32,
    },
    /// Values and counts do not fit together.
    #[error("its histogram is corrupt: {0}")]
    Content(&'static str),
}

impl Latency {
    /// Counts one latency. One beyond the range counts as the longest.
    pub fn record(&mut self, micros: u64) {
        self.saturated += u64::from(micros > HIGHEST_MICROS);
        if let Err(error) = self.histogram.record(micros.clamp(LOWEST_MICROS, HIGHEST_MICROS)) {
            unreachable!("a histogram grows to its bound: {error}");
        }
    }

    /// Adds everything that `other` counted.
    pub fn add(&mut self, other: &Self) {
        let Self { histogram, saturated } = other;
        self.saturated += saturated;
        if let Err(error) = self.histogram.add(histogram) {
            unreachable!("both have the same bounds: {error}");
        }
    }

    /// What was counted since an earlier state of the same counts.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut window = self.clone();
        if window.histogram.subtract(&earlier.histogram).is_err() {
            // It is no earlier state: everything counts.
            return self.clone();
        }
        window.saturated = self.saturated.saturating_sub(earlier.saturated);
        window
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// How many were beyond the range.
    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    /// The latency of this share of operations, in microseconds; zero without any.
    pub fn quantile(&self, share: f64) -> u64 {
        self.histogram.value_at_quantile(share).min(self.max())
    }

    /// The longest, in microseconds.
    pub fn max(&self) -> u64 {
        self.histogram.max()
    }

    /// Its form on the wire.
    pub fn to_buckets(&self) -> Buckets {
        let recorded = self.histogram.iter_recorded();
        let (values, counts) = recorded
            .map(|step| (step.value_iterated_to(), step.count_at_value()))
            .unzip();
        Buckets {
            lowest: LOWEST_MICROS,
            highest: HIGHEST_MICROS,
            digits: DIGITS.into(),
            values,
            counts,
            saturated: self.saturated,
        }
    }

    /// Reads what another process sent.
    pub fn of_buckets(buckets: &Buckets) -> Result<Self, CorruptBuckets> {
        let Buckets {
            lowest,
            highest,
            digits,
            ref values,
            ref counts,
            saturated,
        } = *buckets;
        if (lowest, highest, digits) != (LOWEST_MICROS, HIGHEST_MICROS, DIGITS.into()) {
            return Err(CorruptBuckets::Bounds {
                lowest,
                highest,
                digits,
            });
        }
        let mut latency = Self {
            saturated,
            ..Self::default()
        };
        if values.len() != counts.len() || values.len() > BUCKETS_MAX {
            return Err(CorruptBuckets::Content("values and counts differ in number"));
        }
        if !values.is_sorted_by(|a, b| a < b) {
            return Err(CorruptBuckets::Content("its values do not rise"));
        }
        let mut total: u64 = 0;
        for (&value, &count) in values.iter().zip(counts) {
            total = total
                .checked_add(count)
                .ok_or(CorruptBuckets::Content("its counts overflow"))?;
            // The value of the last bucket is the end of that bucket.
            let is_within = (LOWEST_MICROS..=HIGHEST_MICROS + HIGHEST_MICROS / 1_000).contains(&value);
            let is_known = is_within && count > 0 && latency.histogram.record_n(value, count).is_ok();
            if !is_known {
                return Err(CorruptBuckets::Content("a value is out of its bounds"));
            }
        }
        if saturated > total {
            return Err(CorruptBuckets::Content("it holds fewer values than were out of range"));
        }
        Ok(latency)
    }
}
