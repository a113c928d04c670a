//! Consistency rules across children, and why a broken one is broken.

mod cause;
mod definition;

pub use definition::{Check, GRACE_DEFAULT_MILLIS, Rule, RuleError, View};
