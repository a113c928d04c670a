//! What was measured: a figure of a contender at a work, once a round; the median of the rounds counts.

use std::collections::BTreeMap;

use crate::contender::Name;
use crate::work::Work;

/// What a number means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Figure {
    /// A second.
    Rate,
    /// Milliseconds that half stay below.
    P50,
    /// Milliseconds that 99 of 100 stay below.
    P99,
    /// Milliseconds from process start to the first completed execution.
    Start,
    /// Mebibytes resident when idle.
    Idle,
    /// Megabytes of the program's file.
    Size,
    /// Processor seconds for a thousand.
    Cpu,
    /// Transactions of a database that wrote, for each.
    Transactions,
    /// Bytes of a database's log, for each.
    LogBytes,
    /// Flushes of a database's log, for each.
    Flushes,
    /// Nanoseconds of a tick without workers.
    TickNanos,
    /// Instructions for the same.
    TickInstructions,
    /// Nanoseconds of a tick for each worker it visits, the tick's own among them.
    ActiveNanos,
    /// Instructions for the same beyond the tick's own, with the look that leads to the visit.
    ActiveInstructions,
    /// Nanoseconds of a tick for each worker, when nothing happens.
    IdleNanos,
    /// Instructions for the same beyond the tick's own.
    IdleInstructions,
    /// Milliseconds of one core in a second.
    CoreShare,
    /// Bytes of memory for each worker.
    WorkerBytes,
    /// Milliseconds until all processes run.
    StartAll,
    /// Milliseconds until none is left.
    StopAll,
    /// The largest difference between a percentile of the latency and the true one, in percent of that.
    OmissionError,
    /// Milliseconds from the first operation of the first agent to that of the last one.
    StartSpread,
}

impl Figure {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Rate => "per second",
            Self::P50 => "p50 ms",
            Self::P99 => "p99 ms",
            Self::Start => "start ms",
            Self::Idle => "idle MiB",
            Self::Size => "program MB",
            Self::Cpu => "CPU s per 1,000",
            Self::Transactions => "transactions each",
            Self::LogBytes => "WAL bytes each",
            Self::Flushes => "flushes each",
            Self::TickNanos => "ns a tick alone",
            Self::TickInstructions => "instr. a tick alone",
            Self::ActiveNanos => "ns a visit",
            Self::ActiveInstructions => "instr. a visit",
            Self::IdleNanos => "ns an idle one",
            Self::IdleInstructions => "instr. an idle one",
            Self::CoreShare => "core ms a second",
            Self::WorkerBytes => "bytes a worker",
            Self::StartAll => "start all ms",
            Self::StopAll => "stop all ms",
            Self::OmissionError => "omission error %",
            Self::StartSpread => "start spread ms",
        }
    }
}

/// What one measurement gave.
pub(crate) type Figures = BTreeMap<Figure, f64>;

/// What all measurements gave.
#[derive(Debug, Default)]
pub(crate) struct Results {
    /// One value a round.
    pub(crate) values: BTreeMap<(Work, Name, Figure), Vec<f64>>,
    /// Contenders that could not be measured, and why.
    pub(crate) missing: BTreeMap<Name, String>,
}

impl Results {
    pub(crate) fn add(&mut self, work: Work, name: Name, figures: Figures) {
        for (figure, value) in figures {
            self.values.entry((work, name, figure)).or_default().push(value);
        }
    }

    pub(crate) fn median(&self, work: Work, name: Name, figure: Figure) -> Option<f64> {
        let mut values = self.values.get(&(work, name, figure))?.clone();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    }
}

/// The value that `share` of the values do not exceed.
pub(crate) fn percentile(values: &mut [f64], share: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index into a few thousand values"
    )]
    let rank = (values.len() as f64 * share).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_value_that_was_measured() {
        let mut values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(percentile(&mut values, 0.5), Some(50.0));
        assert_eq!(percentile(&mut values, 0.99), Some(99.0));
        assert_eq!(percentile(&mut [7.0], 0.99), Some(7.0));
        assert_eq!(percentile(&mut [], 0.5), None);
    }

    #[test]
    fn the_median_of_the_rounds_counts() {
        let mut results = Results::default();
        for rate in [10.0, 1_000.0, 11.0] {
            results.add(Work::W1, Name::Sprag, Figures::from([(Figure::Rate, rate)]));
        }
        assert_eq!(results.median(Work::W1, Name::Sprag, Figure::Rate), Some(11.0));
        assert_eq!(results.median(Work::W1, Name::Bullmq, Figure::Rate), None);
    }
}
