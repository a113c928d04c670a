//! The pure part of Sprag: everything that decides, nothing that acts.
//!
//! No I/O, no clock, no entropy: time and ids come in with the input, so the same arguments give the same decision on
//! replay, in the simulator and on another node. The one exception is [`clock::System`], behind the feature
//! `system-clock`, which is the workspace's only reader of the machine's clock.

pub mod access;
pub mod action;
pub mod document;
pub mod expression;
pub mod filter;
pub mod ids;
pub mod integrity;
pub mod machine;
pub mod operation;
pub mod supervision;
pub mod text;
pub mod time;

pub use time::clock;
