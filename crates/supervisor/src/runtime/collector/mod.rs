//! The collector: it observes every worker about once a second, and knows the age of the newest observation.
//!
//! Each worker has at most one pass at a time, on a shared bounded pool. A worker that is not being observed uses no
//! task, thread or timer. The age of an observation counts from the beginning of its pass. The collector drops and
//! counts the results of passes that it gave up. Its failures are failures of the infrastructure: they appear in
//! [`Observation`] and in events, and never change a worker's state. Time is an argument of every call.
//! [`Collector::scan`] does only what is due.

mod calendar;
mod entries;
mod entry;
mod event;
mod metrics;
mod options;
mod pass;
mod restart;
mod results;
mod service;
#[cfg(test)]
mod tests;

pub use event::{CollectorCounts, CollectorEvent, Observation, Standing};
pub use metrics::{METRICS_MAX, Recorded, Recorder, WorkerMetrics};
pub use options::{CollectorOptions, RESTART_SPACINGS_MILLIS, ThresholdsError};
pub use service::{AlreadyCollecting, Collector, Source};
