//! Thresholds: figures of the merged data that must hold.

use std::fmt;

use sprag_core::time::duration::Millis;
use sprag_core::words;

words! {
    /// A figure.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Measure as name {
        /// The median latency, in milliseconds.
        P50 => "p50",
        /// The 90th percentile.
        P90 => "p90",
        /// The 95th percentile.
        P95 => "p95",
        /// The 99th percentile.
        P99 => "p99",
        /// The 99.9th percentile.
        P999 => "p999",
        /// The longest latency.
        Max => "max",
        /// The share of operations that failed.
        ErrorRate => "errorRate",
        /// Operations a second.
        Throughput => "throughput",
    }
}

impl Measure {
    /// What a threshold on it looks like.
    pub(super) fn example(self) -> &'static str {
        match self {
            Self::ErrorRate => "< 1%",
            Self::Throughput => ">= 100",
            _ => "< 250ms",
        }
    }

    fn value(self, text: &str) -> Option<f64> {
        let number = |text: &str| {
            text.parse::<f64>()
                .ok()
                .filter(|number| number.is_finite() && *number >= 0.0)
        };
        match self {
            Self::ErrorRate => match text.strip_suffix('%') {
                Some(percent) => number(percent.trim()).map(|percent| percent / 100.0),
                None => number(text),
            },
            Self::Throughput => number(text),
            _ => Millis::parse(text)
                .ok()
                .and_then(|millis| u32::try_from(millis.get()).ok())
                .map(f64::from),
        }
    }
}

/// On which side of a value a figure must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

/// A bound with its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// On which side.
    pub bound: Bound,
    /// Milliseconds, a share from 0 to 1, or operations a second.
    pub value: f64,
}

impl Limit {
    /// Whether a figure holds.
    pub fn holds(self, figure: f64) -> bool {
        match self.bound {
            Bound::Below => figure < self.value,
            Bound::AtMost => figure <= self.value,
            Bound::Above => figure > self.value,
            Bound::AtLeast => figure >= self.value,
        }
    }
}

/// A figure that must hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// The figure.
    pub measure: Measure,
    /// Its bound.
    pub limit: Limit,
    /// As the plan writes it.
    pub written: String,
}

impl Threshold {
    /// Reads `< 250ms`, `<= 1%` or `>= 100`.
    pub fn parse(measure: Measure, text: &str) -> Option<Self> {
        let trimmed = text.trim();
        let bounds = [
            ("<=", Bound::AtMost),
            (">=", Bound::AtLeast),
            ("<", Bound::Below),
            (">", Bound::Above),
        ];
        let (rest, bound) = bounds
            .iter()
            .find_map(|(sign, bound)| Some((trimmed.strip_prefix(sign)?, *bound)))?;
        Some(Self {
            measure,
            limit: Limit {
                bound,
                value: measure.value(rest.trim())?,
            },
            written: trimmed.to_owned(),
        })
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.measure.name(), self.written)
    }
}
