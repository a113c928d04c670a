//! The engine on simulated time: the production lane, a store in memory, hands that do what the test says.
//!
//! One test per sentence of the design, by subject.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

mod actions;
mod control;
mod dispatch;
mod messages;
mod metrics;
mod recovery;
mod rig;
mod schedules;
mod timers;
