//! The time series of a run: one point a second, with one owner, so every reader sees the same values.

use super::latency::Latency;
use super::tally::{Counts, per_second};

/// A point this soon after the one before has its rate: agents report once a second, so a shorter time may hold the operations of a
/// longer one.
const SHORT_MICROS: u64 = 750_000;

/// One point of the series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Since the start of the run, in microseconds.
    pub at: u64,
    /// Operations so far.
    pub ops: u64,
    /// Failed operations so far.
    pub errors: u64,
    /// Operations a second since the previous point.
    pub rate: f64,
    /// The median so far, in microseconds.
    pub p50: u64,
    /// The 95th percentile so far.
    pub p95: u64,
    /// The 99th percentile so far.
    pub p99: u64,
    /// The same of the operations since the previous point.
    pub now: Now,
}

/// Latencies of the operations between two points, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// The median.
    pub p50: u64,
    /// The 95th percentile.
    pub p95: u64,
    /// The 99th percentile.
    pub p99: u64,
}

/// The points of a run.
#[derive(Clone, Debug, Default)]
pub struct Series {
    points: Vec<Point>,
    /// All latencies at the latest point.
    latency: Latency,
}

impl Series {
    /// Takes the next point. Reading it later does not change it.
    pub fn take(&mut self, at: u64, counts: &Counts) -> Point {
        let last = self.points.last();
        let (before, ops_before) = last.map_or((0, 0), |point| (point.at, point.ops));
        let elapsed = at.saturating_sub(before);
        let ops = counts.ops();
        let rate = if elapsed < SHORT_MICROS {
            last.map_or(0.0, |point| point.rate)
        } else {
            per_second(ops.saturating_sub(ops_before), elapsed)
        };
        let headline = counts.headline();
        let mut latency = counts.steady.latency.clone();
        latency.add(&counts.ramp.latency);
        let window = latency.since(&self.latency);
        self.latency = latency;
        let point = Point {
            at,
            ops,
            errors: counts.errors(),
            rate,
            p50: headline.latency.quantile(0.5),
            p95: headline.latency.quantile(0.95),
            p99: headline.latency.quantile(0.99),
            now: Now {
                p50: window.quantile(0.5),
                p95: window.quantile(0.95),
                p99: window.quantile(0.99),
            },
        };
        self.points.push(point);
        point
    }

    /// The latest point.
    pub fn latest(&self) -> Option<Point> {
        self.points.last().copied()
    }

    /// All points.
    pub fn points(&self) -> &[Point] {
        &self.points
    }
}
