//! Values that appear in many bodies: instants, durations, and enumerations that keep unknown words.

mod time;
pub(crate) mod words;

pub use time::{Duration, Time};
