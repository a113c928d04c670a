//! Waiting for a condition, with a hang guard. Never for a time.

use std::time::Duration;

/// How often a condition is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Looks until `found` gives something; panics with `what` after `guard`.
pub fn until<T>(what: &str, guard: Duration, mut found: impl FnMut() -> Option<T>) -> T {
    patiently(guard, &mut found).unwrap_or_else(|| panic!("waited {guard:?} in vain for {what}"))
}

/// Looks until `found` gives something, or `guard` is over.
pub fn patiently<T>(guard: Duration, mut found: impl FnMut() -> Option<T>) -> Option<T> {
    let looks = guard.as_millis() / LOOK_EVERY.as_millis();
    for _ in 0..=looks {
        if let Some(value) = found() {
            return Some(value);
        }
        std::thread::park_timeout(LOOK_EVERY);
    }
    None
}
