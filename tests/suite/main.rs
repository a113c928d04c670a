//! Whole-product tests: the shape of the workspace, and the real binary under fire.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

mod api_call;
mod backup;
mod closed;
mod crash;
mod demo;
mod external;
mod failpoints;
mod jobs;
mod life;
mod mail;
mod mint;
mod once;
mod openapi;
mod sleeping;
mod streams;
mod structure;
mod timers;
