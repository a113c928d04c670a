//! Consistency rules across children, and the cause when one is broken.

mod cause;
mod definition;

pub use definition::{Check, GRACE_DEFAULT_MILLIS, Rule, RuleError, View};
