//! The engine on simulated time: the production lane, a store in memory, hands that do what the test says.
//!
//! One test per sentence of the design, by subject.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

mod actions;
mod alerts;
mod audit;
mod backups;
mod clock;
mod closings;
mod control;
mod crowd;
mod dead_letters;
mod dispatch;
mod everywhere;
mod jobs;
mod leases;
mod limits;
mod logs;
mod messages;
mod metrics;
mod once;
mod operations;
mod owners;
mod recovery;
mod refused;
mod retention;
mod retries;
mod rig;
mod schedules;
mod shards;
mod spread;
mod switches;
mod timers;
mod tokens;
mod versions;
