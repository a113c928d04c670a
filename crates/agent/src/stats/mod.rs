//! What agents count, and how counts of many agents become one.
//!
//! Latencies are histograms of microseconds with three digits, so percentiles of merged agents equal those of one agent that did
//! everything. Nothing is dropped: a value beyond the range counts as the longest, and is reported as such.

mod failures;
mod latency;
mod merged;
mod offset;
mod recorder;
mod tally;
mod window;

#[cfg(test)]
mod tests;

pub use failures::Failures;
pub use latency::{Buckets, CorruptBuckets, HIGHEST_MICROS, Latency};
pub use merged::{AgentCounts, Merged};
pub use offset::{Offset, PROBES_MIN, Probe};
pub use recorder::{Operation, OperationEnd, Recorder, Stage};
pub use tally::{Counts, Tally};
pub use window::{Now, Point, Series};
