//! Recommendations: what an operator could change about an action, with the figures that speak for it.
//!
//! Each rule looks at one action of one machine and its definition. It says nothing about a handful of occurrences.

use serde_json::{Value, json};
use sprag_core::action::Definition;
use sprag_core::action::error::kind;
use sprag_core::action::retry::Policy;
use sprag_wire::{Latency, Recommendation};

use super::Found;
use super::figures::{float, share, spread};
use super::tally::Tally;

/// Fewer attempts or dead letters than this prove nothing.
const ENOUGH: u64 = 5;
/// Recommendations of a report.
const MOST: usize = 50;
/// The part of attempts that is worth a word.
const NOTABLE: f64 = 0.05;
/// Attempts after the first in one second that look like a herd.
const HERD: u64 = 20;
/// Waiting that is worth a word, in milliseconds.
const SLOW_QUEUE_MILLIS: u64 = 1_000;
/// A timeout that is so many times the longest attempt notices a hang late.
const IDLE_TIMEOUT_FACTOR: u64 = 100;
/// Timeouts shorter than this are never too long, in milliseconds.
const IDLE_TIMEOUT_MILLIS: u64 = 60_000;

/// What a rule has to say.
struct Advice {
    code: &'static str,
    text: String,
    figures: Value,
}

type Rule = fn(&Seen<'_>) -> Option<Advice>;

const RULES: [Rule; 7] = [
    timeout_too_short,
    errors_not_retried,
    jitter_off,
    asked_for_less,
    waits_longer_than_it_works,
    needs_many_attempts,
    timeout_too_long,
];

/// One action of one machine.
struct Seen<'a> {
    tally: &'a Tally,
    timeout: u64,
    policy: &'a Policy,
    took: Option<Latency>,
    waited: Option<Latency>,
}

/// All that there is to say.
pub(super) fn all(found: &mut Found) -> Vec<Recommendation> {
    let mut recommendations = Vec::new();
    for ((name, action_id, _), tally) in &mut found.by_action {
        let machine = found.machines.get(&(name.clone(), tally.version));
        let definition = machine.and_then(|machine| machine.action(action_id));
        let Some((_, definition)) = definition else { continue };
        for advice in of(tally, definition) {
            let Advice { code, text, figures } = advice;
            recommendations.push(Recommendation {
                code: code.into(),
                machine: name.clone(),
                action_id: action_id.clone(),
                text,
                figures,
            });
        }
    }
    recommendations.truncate(MOST);
    recommendations
}

fn of(tally: &mut Tally, definition: &Definition) -> Vec<Advice> {
    let (took, waited) = (spread(&mut tally.took), spread(&mut tally.waited));
    let seen = Seen {
        tally,
        timeout: definition.timeout,
        policy: &definition.policy,
        took,
        waited,
    };
    RULES.iter().filter_map(|rule| rule(&seen)).collect()
}

fn timeout_too_short(seen: &Seen<'_>) -> Option<Advice> {
    let Seen { tally, timeout, .. } = seen;
    let took = seen.took?;
    let ended = u64::try_from(tally.took.len()).unwrap_or(u64::MAX);
    let part = share(tally.timed_out, ended)?;
    if tally.timed_out < ENOUGH || (part < NOTABLE && took.p99 < timeout / 10 * 9) {
        return None;
    }
    Some(Advice {
        code: "timeout-too-short",
        text: format!(
            "`timeout` is {} and p99 is {}: {} of {ended} attempts ran into it; raise it, or find out what takes so long",
            seconds(*timeout),
            seconds(took.p99),
            tally.timed_out
        ),
        figures: json!({
            "timeoutMillis": timeout, "p99Millis": took.p99, "timedOut": tally.timed_out, "attempts": ended,
        }),
    })
}

fn timeout_too_long(seen: &Seen<'_>) -> Option<Advice> {
    let took = seen.took?;
    let timeout = seen.timeout;
    let ended = u64::try_from(seen.tally.took.len()).unwrap_or(u64::MAX);
    let is_idle = timeout >= IDLE_TIMEOUT_MILLIS && timeout / IDLE_TIMEOUT_FACTOR > took.max.max(1);
    if ended < ENOUGH * 4 || !is_idle {
        return None;
    }
    Some(Advice {
        code: "timeout-too-long",
        text: format!(
            "`timeout` is {}, and the longest of {ended} attempts took {}: one that hangs is noticed late; lower it",
            seconds(timeout),
            seconds(took.max)
        ),
        figures: json!({ "timeoutMillis": timeout, "maxMillis": took.max, "attempts": ended }),
    })
}

fn errors_not_retried(seen: &Seen<'_>) -> Option<Advice> {
    let Seen { tally, policy, .. } = seen;
    let passing = tally.errors.iter().filter(|(error, _)| {
        let usually = !kind::NOT_RETRIED_BY_DEFAULT.contains(&error.as_str());
        usually && !policy.retries(error)
    });
    let (error, failed) = passing.max_by_key(|(_, failed)| failed.dead)?;
    let part = share(failed.dead, tally.dead)?;
    if failed.dead < ENOUGH {
        return None;
    }
    let never = policy.non_retryable_errors.contains(error);
    let list = if never {
        "which is in `nonRetryableErrors`: remove it there"
    } else {
        "which is not in `retryableErrors`: add it"
    };
    Some(Advice {
        code: "error-not-retried",
        text: format!("{} of dead letters are `{error}`, {list}", percent(part)),
        figures: json!({
            "errorType": error, "deadLetters": tally.dead, "ofThisType": failed.dead, "share": part,
        }),
    })
}

fn jitter_off(seen: &Seen<'_>) -> Option<Advice> {
    let most = seen.tally.retries_at_once();
    if seen.policy.jitter || most < HERD {
        return None;
    }
    Some(Advice {
        code: "jitter-off",
        text: format!("{most} retries in the same second: `jitter` is off; put it on"),
        figures: json!({ "retriesInOneSecond": most }),
    })
}

fn asked_for_less(seen: &Seen<'_>) -> Option<Advice> {
    let tally = seen.tally;
    let limited = tally.errors.get(kind::RATE_LIMIT).map_or(0, |failed| failed.attempts);
    let part = share(limited, tally.attempts)?;
    if limited < ENOUGH || part < NOTABLE {
        return None;
    }
    Some(Advice {
        code: "rate-limited",
        text: format!(
            "{} of {} attempts reached a rate limit of the called service: give the action a `rate` under `limits`",
            percent(part),
            tally.attempts
        ),
        figures: json!({ "rateLimited": limited, "attempts": tally.attempts, "share": part }),
    })
}

fn waits_longer_than_it_works(seen: &Seen<'_>) -> Option<Advice> {
    let (took, waited) = (seen.took?, seen.waited?);
    let works = took.p50.max(1);
    if seen.tally.tried < ENOUGH || waited.p95 < SLOW_QUEUE_MILLIS || waited.p95 / 10 < works {
        return None;
    }
    Some(Advice {
        code: "queue-delay",
        text: format!(
            "ready actions wait {} (p95) for an attempt that takes {} (p50): raise the `concurrency` or `rate` they are \
             limited by, or `[limits] attempts`",
            seconds(waited.p95),
            seconds(took.p50)
        ),
        figures: json!({ "queueDelayP95Millis": waited.p95, "latencyP50Millis": took.p50 }),
    })
}

fn needs_many_attempts(seen: &Seen<'_>) -> Option<Advice> {
    let tally = seen.tally;
    let again = tally.attempts.saturating_sub(tally.tried);
    let average = share(again, tally.tried)?;
    let (error, failed) = tally.errors.iter().max_by_key(|(_, failed)| failed.attempts)?;
    if again < ENOUGH || average < 1.0 {
        return None;
    }
    Some(Advice {
        code: "many-retries",
        text: format!(
            "an action needs {:.1} retries on average, mostly after `{error}` ({} attempts): {}",
            average, failed.attempts, failed.example
        ),
        figures: json!({
            "averageRetries": average, "retries": again, "errorType": error, "attempts": failed.attempts,
        }),
    })
}

fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

/// Milliseconds as people say them.
fn seconds(millis: u64) -> String {
    if millis < 1_000 {
        format!("{millis} ms")
    } else {
        format!("{:.1} s", float(millis) / 1_000.0)
    }
}
