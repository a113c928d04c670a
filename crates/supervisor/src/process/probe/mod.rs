//! Probes: check a service repeatedly, and count the results.
//!
//! Each probe has its own timeout and its own task, and ends with the process that it checks. Readers get its results
//! without waiting.

mod ask;
mod tally;
mod task;

pub(super) use ask::{Asker, Subject, probe_mark};
pub(super) use tally::Verdict;
pub(super) use task::{Found, Probes};
