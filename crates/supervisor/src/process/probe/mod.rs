//! Probes: asking a service how it is, again and again, and counting what it answers.
//!
//! Each probe has its own timeout and its own task, and ends with the process it asks. Its results are read without
//! waiting.

mod ask;
mod tally;
mod task;

pub(super) use ask::{Asker, Subject, probe_mark};
pub(super) use tally::Verdict;
pub(super) use task::{Found, Probes};
