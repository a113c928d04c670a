//! Times that were probably meant in another unit.

use serde_json::Value;

use crate::document::Findings;
use crate::document::source::Spot;
use crate::machine::load::Notes;

/// Fields of an action that limit how long something may take.
const LIMITS: [&str; 2] = ["timeout", "deadline"];
/// Nothing that leaves the process is done in less, in milliseconds.
const MILLIS_MIN: u64 = 100;

/// Names limits written as a small bare number: it counts milliseconds, and seconds were probably meant.
pub(super) fn check(notes: &Notes<'_>, findings: &mut Findings) {
    for action in &notes.actions {
        for name in LIMITS {
            if let Some(spot) = action.get(name) {
                check_number(name, &spot, findings);
            }
        }
    }
}

fn check_number(name: &str, spot: &Spot<'_>, findings: &mut Findings) {
    let Value::Number(number) = spot.value.clone() else {
        return;
    };
    if let Some(millis) = number.as_u64().filter(|millis| (1..MILLIS_MIN).contains(millis)) {
        let detail = format!("`{name}: {millis}` is {millis} milliseconds, which is hardly enough for anything");
        let remedy = format!("write `{millis}s` if you mean seconds, or `{millis}ms` if you do not");
        findings.warning(&spot.place(), "bare-number-timeout", detail, remedy);
    }
}
