//! The panic breaker: code that panics again and again is left alone for a while.
//!
//! It stands apart from circuits: it is about the worker's own code, and it closes by itself as the window slides.

use super::window::Window;
use crate::time::Timestamp;

/// So many panics open the breaker.
pub const PANICS_MAX: usize = 3;
/// Within so many milliseconds.
pub const PANIC_WINDOW_MILLIS: u64 = 5 * 60 * 1_000;

/// Counts panics of one worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breaker(Window);

impl Default for Breaker {
    fn default() -> Self {
        Self(Window::new(PANIC_WINDOW_MILLIS))
    }
}

impl Breaker {
    /// It panicked now; whether that opened the breaker.
    pub fn panicked(&mut self, now: Timestamp) -> bool {
        self.0.record(now) == PANICS_MAX
    }

    /// Until when the worker is left alone; `None` while the breaker is closed.
    pub fn open_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.0.below(PANICS_MAX, now)
    }

    /// Whether any panic counts.
    pub fn is_counting(&self, now: Timestamp) -> bool {
        self.0.count(now) > 0
    }

    /// A person says that it is well again.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The form that is kept.
    pub fn ages(&self, now: Timestamp) -> Vec<u64> {
        self.0.ages(now)
    }

    /// As it was kept.
    pub fn restored(ages: &[u64], now: Timestamp) -> Self {
        Self(Window::restored(PANIC_WINDOW_MILLIS, ages, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // 43.
    #[test]
    fn three_panics_open_it_and_the_sliding_window_closes_it() {
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1_000);
        let mut breaker = Breaker::default();
        assert!(!breaker.panicked(at(0)));
        assert!(!breaker.panicked(at(10)));
        assert_eq!(breaker.open_until(at(10)), None);
        assert!(breaker.panicked(at(20)));
        assert_eq!(breaker.open_until(at(20)), Some(at(300)));
        assert_eq!(breaker.open_until(at(299)), Some(at(300)));
        assert_eq!(breaker.open_until(at(300)), None);
    }
}
