//! Counts of operations.

use super::failures::Failures;
use super::latency::Latency;

/// Operations that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Operations that ended.
    pub ops: u64,
    /// Those of them that failed.
    pub errors: u64,
    /// Those of the failed that were cut: by an abort, or by their timeout after the end of the phase.
    pub cut: u64,
    /// From the intended start to the end.
    pub latency: Latency,
    /// From the actual start to the end.
    pub service: Latency,
    /// When the first one started, and when the last one ended, in microseconds of one clock.
    pub span: Option<(u64, u64)>,
}

impl Tally {
    /// Adds everything that `other` counted.
    pub fn add(&mut self, other: &Self) {
        let Self {
            ops,
            errors,
            cut,
            latency,
            service,
            span,
        } = other;
        self.ops += ops;
        self.errors += errors;
        self.cut += cut;
        self.latency.add(latency);
        self.service.add(service);
        self.span = joined(self.span, *span);
    }

    /// Operations a second, from the earliest start to the latest end.
    pub fn throughput(&self) -> f64 {
        let span = self.span.filter(|(start, end)| end > start);
        span.map_or(0.0, |(start, end)| per_second(self.ops, end - start))
    }
}

/// The span of both.
fn joined(one: Option<(u64, u64)>, other: Option<(u64, u64)>) -> Option<(u64, u64)> {
    match (one, other) {
        (Some((start, end)), Some((other_start, other_end))) => Some((start.min(other_start), end.max(other_end))),
        (one, other) => one.or(other),
    }
}

/// Everything that one agent, or all of them, counted in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Operations of the load at its full height: the figures.
    pub steady: Tally,
    /// Operations meant to start while the load rose.
    pub ramp: Tally,
    /// Operations before, in the prepare phase.
    pub prepare_ops: u64,
    /// Those of them that failed.
    pub prepare_errors: u64,
    /// Arrivals that never started, because too many operations were in flight.
    pub missed: u64,
    /// Why operations failed.
    pub failures: Failures,
}

impl Counts {
    /// Adds everything that `other` counted.
    pub fn add(&mut self, other: &Self) {
        let Self {
            steady,
            ramp,
            prepare_ops,
            prepare_errors,
            missed,
            failures,
        } = other;
        self.steady.add(steady);
        self.ramp.add(ramp);
        self.prepare_ops += prepare_ops;
        self.prepare_errors += prepare_errors;
        self.missed += missed;
        self.failures.add(failures);
    }

    /// Operations of the workload, those of the ramp-up included.
    pub fn ops(&self) -> u64 {
        self.steady.ops + self.ramp.ops
    }

    /// Failed operations of the workload.
    pub fn errors(&self) -> u64 {
        self.steady.errors + self.ramp.errors
    }

    /// What the figures are about: the load at its full height, or the ramp-up where there was nothing else.
    pub fn headline(&self) -> &Tally {
        if self.steady.ops == 0 { &self.ramp } else { &self.steady }
    }

    /// When the first operation of the workload started.
    pub fn first_start(&self) -> Option<u64> {
        joined(self.steady.span, self.ramp.span).map(|(start, _)| start)
    }

    /// The same counts with other instants.
    #[must_use]
    pub fn with_instants(mut self, change: impl Fn(u64) -> u64) -> Self {
        for tally in [&mut self.steady, &mut self.ramp] {
            tally.span = tally.span.map(|(start, end)| (change(start), change(end)));
        }
        self
    }
}

/// Operations a second.
#[expect(clippy::cast_precision_loss, reason = "a rate for people, far below 2^53")]
pub(super) fn per_second(ops: u64, micros: u64) -> f64 {
    ops as f64 * 1_000_000.0 / micros as f64
}
