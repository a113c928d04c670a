//! The collector: it observes every worker about once a second, and knows how old the newest observation is.
//!
//! One pass per worker at a time, on a shared bounded pool; no task, thread or timer belongs to a worker that is not
//! being observed. An observation is as old as the beginning of its pass. The collector drops and counts the results of
//! passes it gave up. Trouble here is trouble of the infrastructure: it shows in [`Observation`] and in events, and
//! never touches a worker's state. Time comes in with every call; [`Collector::scan`] does only what is due.

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
