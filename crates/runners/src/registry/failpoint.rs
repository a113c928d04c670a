//! Dying on purpose between two steps of a runner, so that recovery can be tested at every place it matters.
//!
//! Only builds with the feature `failpoints` can die; in others reaching a place does nothing. Places are counted from
//! 1: `mint-stored:2` is the second time that an attempt of this process has stored what it signed.

/// The places of `blockchain_mint`, in their order.
pub const PLACES: [&str; 8] = [
    "mint-begun",
    "mint-signed",
    "mint-stored",
    "mint-sent",
    "mint-mined",
    "mint-confirmed",
    "mint-raise-stored",
    "mint-raise-sent",
];

/// The places where a runner panics instead of dying, with everything it has in hand.
pub const PANICS: [&str; 1] = ["webhook-panic"];

#[cfg(feature = "failpoints")]
mod chosen {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static CHOSEN: OnceLock<(String, u64)> = OnceLock::new();
    static REACHED: AtomicU64 = AtomicU64::new(0);

    /// Chooses where to die, as `mint-sent:1`; says whether the text names a place of a runner.
    pub fn choose(text: &str) -> bool {
        let Some((place, number)) = text.split_once(':') else {
            return false;
        };
        match number.parse() {
            Ok(number) if number > 0 && (super::PLACES.contains(&place) || super::PANICS.contains(&place)) => {
                CHOSEN.set((place.to_owned(), number)).is_ok()
            }
            _ => false,
        }
    }

    /// Ends the process without a word if this is the chosen place.
    pub(crate) fn reach(place: &str) {
        if is_chosen(place) {
            std::process::abort();
        }
    }

    /// Panics with what the runner holds if this is the chosen place.
    pub(crate) fn panic_at(place: &str, holding: &serde_json::Value) {
        if is_chosen(place) {
            std::panic::panic_any(format!("the runner held {holding}"));
        }
    }

    fn is_chosen(place: &str) -> bool {
        CHOSEN
            .get()
            .is_some_and(|(chosen, number)| chosen == place && REACHED.fetch_add(1, Ordering::SeqCst) + 1 == *number)
    }
}

#[cfg(feature = "failpoints")]
pub use chosen::choose;
#[cfg(feature = "failpoints")]
pub(crate) use chosen::{panic_at, reach};

/// Nothing, in builds without failpoints.
#[cfg(not(feature = "failpoints"))]
pub(crate) fn reach(_place: &str) {}

/// Nothing, in builds without failpoints.
#[cfg(not(feature = "failpoints"))]
pub(crate) fn panic_at(_place: &str, _holding: &serde_json::Value) {}
