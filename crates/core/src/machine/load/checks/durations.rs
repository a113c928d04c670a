//! Durations of an action that contradict each other: each is fine alone, and together they cannot be meant.

use crate::action::retry::MAX_DELAY_DEFAULT;
use crate::document::source::Spot;
use crate::document::{Fields, Findings, millis};
use crate::machine::load::keys::RETRY;
use crate::machine::load::notes::Notes;
use crate::time::duration::Millis;

/// Names all of them.
pub(super) fn check(notes: &Notes<'_>, findings: &mut Findings) {
    for fields in &notes.actions {
        if let Some(policy) = fields.get("retryPolicy") {
            check_delays(findings, &Fields::new(policy, &RETRY));
        }
        check_deadline(findings, fields);
    }
}

/// A delay that is written longer than `maxDelay` never lasts as long as it says.
fn check_delays(findings: &mut Findings, policy: &Fields<'_>) {
    let is_custom = policy.text("backoffStrategy") == Some("custom");
    let delays: Vec<Spot<'_>> = if is_custom {
        policy.get("delays").iter().flat_map(Spot::items).collect()
    } else {
        policy.get("baseDelay").into_iter().collect()
    };
    let (most, whose) = match policy.millis("maxDelay") {
        Some(most) => (most, ""),
        None => (MAX_DELAY_DEFAULT, ", which holds where no other is given"),
    };
    for delay in delays {
        let Some(length) = millis(delay.value).filter(|length| *length > most) else {
            continue;
        };
        let (length, most) = (written(length), written(most));
        let detail = format!("a delay of `{length}` is longer than `maxDelay: {most}`{whose}");
        let remedy = format!("set `maxDelay` to at least `{length}`, or shorten the delay");
        findings.error(&delay.place(), "contradiction", detail, remedy);
    }
}

/// An action whose time is over before its first attempt is due never runs. The `delay` of a schedule comes before
/// its occurrences, and each of those has the whole time.
fn check_deadline(findings: &mut Findings, fields: &Fields<'_>) {
    let (Some(deadline), Some(delay)) = (fields.millis("deadline"), fields.millis("delay")) else {
        return;
    };
    let Some(spot) = fields.get("deadline").filter(|_| fields.get("schedule").is_none()) else {
        return;
    };
    if deadline <= delay {
        let (deadline, delay) = (written(deadline), written(delay));
        let detail = format!("`deadline: {deadline}` is over before the first attempt, due after `delay: {delay}`");
        let remedy = "both count from the trigger: make `deadline` longer than `delay`";
        findings.error(&spot.place(), "contradiction", detail, remedy);
    }
}

/// Milliseconds as people write them.
fn written(millis: u64) -> String {
    Millis::new(millis).map_or_else(|_| millis.to_string(), |duration| duration.to_string())
}
