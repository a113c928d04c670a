//! Agents and controllers as processes: the real binary, kill -9, signals, a real HTTP server as the target (agents.md).
//!
//! Tests that need the times of the design, or many tries, are proofs: they run with `SPRAG_PROVE`, as part `agents` of
//! tests/prove.sh, and print their figures.

mod actions;
mod crowd;
mod examples;
mod hosts;
mod losses;
mod rig;
mod runs;

pub(crate) use self::rig::{Agent, target};
