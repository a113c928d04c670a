//! Agents over real TCP (agents.md B to H): each test has agents of its own, with workloads that behave as badly as it needs.
//! Short times stand in for the design's seconds where a rule is about order and not about length.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue says so by panicking")]

mod aborts;
mod admission;
mod controllers;
mod losses;
mod proofs;
mod rig;
mod runs;
mod security;
