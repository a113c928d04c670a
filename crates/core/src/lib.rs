//! The pure part of Sprag: everything that decides, nothing that acts.
//!
//! No I/O, no clock, no entropy: time and ids come in with the input, so the same arguments give the same decision on
//! replay, in the simulator and on another node. The one exception is [`clock::System`], behind the feature
//! `system-clock`, which is the workspace's only reader of the machine's clock.

pub mod access;
pub mod action;
pub mod audit;
pub mod checksum;
pub mod clock;
pub mod digest;
pub mod document;
pub mod duration;
pub mod expression;
pub mod filter;
pub mod html;
pub mod ids;
pub mod json;
pub mod machine;
pub mod patch;
pub mod redact;
pub mod schedule;
pub mod signature;
pub mod source;
pub mod supervision;
pub mod text;
pub mod time;
pub mod trace;
