//! What a person should know about a dead letter: can a retry help, must a person look first, what would fix it.
//!
//! Pure: the same letter gives the same advice. A runner's own advice (`details.suggestedFix`) comes first; what the
//! engine can see for itself (a timeout that was used up, a list that lacks the error) is added, and where a change of
//! the action alone would do, as a JSON Patch of [`super::Editable`].

use serde_json::{Value, json};

use super::definition::OnUnknown;
use super::error::{ActionError, kind};
use super::outcome::Verdict;
use super::progress::{Action, AttemptRecord, Crashes};
use super::retry::Policy;
use crate::document::patch::Operation;

/// What is shown of another side's own words.
const SAID_CHARACTERS_MAX: usize = 200;

/// What holds for the action besides what it carries itself.
#[derive(Clone, Copy, Debug)]
pub struct TriageFacts<'a> {
    /// Milliseconds per attempt, as they are in force.
    pub timeout: u64,
    /// The policy in force.
    pub policy: &'a Policy,
    /// What follows an unknown outcome.
    pub on_unknown: OnUnknown,
    /// The secrets that its configuration names.
    pub secrets: &'a [String],
    /// Its configuration.
    pub config: Option<&'a Value>,
}

/// What a person should know.
#[derive(Clone, Debug, PartialEq)]
pub struct Triage {
    /// A retry of the action as it is can succeed, once the cause outside of it is fixed.
    pub recoverable: bool,
    /// A person must look before it is retried: the request itself must change, or its effect may have happened.
    pub manual_review_required: bool,
    /// What would fix it.
    pub fix: Option<Fix>,
}

/// What would fix a dead letter.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// In words.
    pub text: String,
    /// As changes of the action, where those alone would do.
    pub patch: Vec<Operation>,
}

impl Fix {
    fn words(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            patch: Vec::new(),
        }
    }
}

/// Looks at a dead letter.
pub fn triage(action: &Action, facts: TriageFacts<'_>) -> Triage {
    let Some(error) = &action.body.last_error else {
        return Triage {
            recoverable: true,
            manual_review_required: false,
            fix: None,
        };
    };
    let recoverable = is_recoverable(error);
    let is_unsure = budget(action).any(|attempt| attempt.outcome == Some(Verdict::Unknown));
    let kills = action.body.crashes.alone >= Crashes::DEAD_AFTER;
    Triage {
        recoverable,
        manual_review_required: !recoverable || kills || (is_unsure && facts.on_unknown == OnUnknown::Review),
        fix: fix(action, error, facts),
    }
}

/// Whether the action can succeed as it is.
fn is_recoverable(error: &ActionError) -> bool {
    match error.kind.as_str() {
        // Fixed outside of the action: a secret that is set, a network that is allowed, a provider that is configured.
        kind::INVALID_CONFIGURATION => ["secret", "add", "provider"]
            .iter()
            .any(|name| detail(error, name).is_some()),
        kind::MALFORMED_REQUEST | kind::NOT_FOUND | kind::CONFLICT | kind::UNEXPECTED_STATUS => false,
        _ => true,
    }
}

/// The attempts since the budget was last refilled.
fn budget(action: &Action) -> impl Iterator<Item = &AttemptRecord> {
    let spent = action.body.spent;
    action
        .body
        .attempts
        .iter()
        .filter(move |attempt| attempt.number > spent)
}

fn detail<'e>(error: &'e ActionError, name: &str) -> Option<&'e Value> {
    error.details.as_ref()?.get(name).filter(|value| !value.is_null())
}

fn fix(action: &Action, error: &ActionError, facts: TriageFacts<'_>) -> Option<Fix> {
    let own = detail(error, "suggestedFix").and_then(Value::as_str);
    let applicable = used_up(action, error, facts).or_else(|| not_listed(error, facts.policy));
    match (own, applicable) {
        (Some(own), Some(fix)) => Some(Fix {
            text: format!("{own}; {}", fix.text),
            ..fix
        }),
        (Some(own), None) => Some(Fix::words(own)),
        (None, Some(fix)) => Some(fix),
        (None, None) => by_kind(action, error, facts).map(Fix::words),
    }
}

/// The last attempt took all the time it had: twice as much may be enough.
fn used_up(action: &Action, error: &ActionError, facts: TriageFacts<'_>) -> Option<Fix> {
    let attempt = budget(action).last()?;
    let took = attempt.end_time?.since(attempt.start_time);
    if error.kind != kind::TIMEOUT || took < facts.timeout / 10 * 9 {
        return None;
    }
    let longer = facts.timeout.saturating_mul(2);
    Some(Fix {
        text: format!(
            "the last attempt took all of its `timeout` of {}: raise it to {}",
            shown(facts.timeout),
            shown(longer)
        ),
        patch: vec![Operation::Replace {
            path: "/timeout".to_owned(),
            value: json!(longer),
        }],
    })
}

/// The lists keep an error from being retried that usually goes away by itself.
fn not_listed(error: &ActionError, policy: &Policy) -> Option<Fix> {
    let name = error.kind.as_str();
    if policy.retries(name) || kind::NOT_RETRIED_BY_DEFAULT.contains(&name) {
        return None;
    }
    let never = policy.non_retryable_errors.iter().position(|never| never == name);
    Some(match never {
        Some(position) => Fix {
            text: format!("`{name}` is in `nonRetryableErrors`, so Sprag did not retry: remove it there"),
            patch: vec![Operation::Remove {
                path: format!("/retryPolicy/nonRetryableErrors/{position}"),
            }],
        },
        None => Fix {
            text: format!("`{name}` is not in `retryableErrors`, so Sprag did not retry: add it"),
            patch: vec![Operation::Add {
                path: "/retryPolicy/retryableErrors/-".to_owned(),
                value: json!(name),
            }],
        },
    })
}

/// What usually helps against errors of this type, with the host, secret or field that it is about.
fn by_kind(action: &Action, error: &ActionError, facts: TriageFacts<'_>) -> Option<String> {
    let host = action
        .host()
        .map_or("the service".to_owned(), |host| format!("`{host}`"));
    let text = match error.kind.as_str() {
        kind::TIMEOUT => format!("{host} did not answer in time: check that it is up, then retry"),
        kind::RATE_LIMIT => {
            format!("{host} gets too many requests: give the action a `rate` under `limits`, then retry")
        }
        kind::AUTHENTICATION_FAILED => format!(
            "{host} did not accept the credentials: check {}, then retry",
            keys(facts)
        ),
        kind::AUTHORIZATION_FAILED => format!(
            "{host} accepted the credentials but does not allow the request: grant the right to the owner of {}, \
             then retry",
            keys(facts)
        ),
        kind::INVALID_CONFIGURATION => misconfigured(error),
        kind::MALFORMED_REQUEST => {
            let said = said(error).unwrap_or_else(|| "its reply is in `failureReason.details`".to_owned());
            format!("{host} refused the request ({said}): retry with a fixed `config`")
        }
        kind::NOT_FOUND => format!(
            "there is nothing at {}: retry with a fixed `config`",
            place(facts, &host)
        ),
        kind::CONFLICT => format!(
            "the state of {host} forbids the request: if the effect has happened, archive the dead letter; otherwise \
             fix it there and retry"
        ),
        kind::UNEXPECTED_STATUS => format!(
            "status {} is not expected from {}: fix the address, or list it in `expectedStatusCodes`",
            error.code.as_deref().unwrap_or("of the reply"),
            place(facts, &host)
        ),
        kind::NETWORK_ERROR => format!("{host} could not be reached: check its name and the network, then retry"),
        kind::SERVICE_UNAVAILABLE | kind::TEMPORARY_FAILURE => {
            format!(
                "{host} was unavailable: retry when it has recovered; {}",
                bridged(action, facts)
            )
        }
        kind::PROCESS_FAILED => "read the output of the process in `failureReason.details`, then retry".to_owned(),
        kind::PANIC | kind::CRASHED => "check the server's log first: the action may crash the server".to_owned(),
        _ => return None,
    };
    Some(text)
}

fn misconfigured(error: &ActionError) -> String {
    if let Some(line) = detail(error, "add").and_then(Value::as_str) {
        return format!("add `{line}` to `sprag.toml`, restart the server, then retry");
    }
    if let Some(secret) = detail(error, "secret").and_then(Value::as_str) {
        let variable = secret.to_ascii_uppercase();
        return format!(
            "set the secret `{secret}` (`SPRAG_SECRET_{variable}`, unless it comes from a file), then retry"
        );
    }
    let problem = error
        .details
        .as_ref()
        .and_then(|details| details.pointer("/problems/0"));
    let text = |name| problem.and_then(|problem| problem.get(name)).and_then(Value::as_str);
    match (text("pointer"), text("remedy")) {
        (Some(pointer), Some(remedy)) => format!("`config{pointer}`: {remedy}; retry with a fixed `config`"),
        _ => "retry with a fixed `config`".to_owned(),
    }
}

/// The secrets that say who we are.
fn keys(facts: TriageFacts<'_>) -> String {
    if facts.secrets.is_empty() {
        return "the credentials of the service or provider".to_owned();
    }
    let quoted: Vec<String> = facts.secrets.iter().map(|secret| format!("`{secret}`")).collect();
    format!("the secret {}", quoted.join(", "))
}

/// The field of the configuration that says where to go.
fn place(facts: TriageFacts<'_>, host: &str) -> String {
    let named = ["url", "endpoint", "path"].into_iter().find_map(|field| {
        let value = facts.config?.get(field)?.as_str()?;
        Some(format!("`config.{field}` (`{}`)", cut(value)))
    });
    named.unwrap_or_else(|| host.to_owned())
}

/// What the other side said about a request, in its own words.
fn said(error: &ActionError) -> Option<String> {
    let data = detail(error, "data")?;
    let members = ["detail", "message", "error", "title"];
    let words = members.iter().find_map(|name| data.get(name)?.as_str());
    words
        .or_else(|| data.as_str())
        .map(|words| format!("it says: {}", cut(words)))
}

/// How long the attempts took.
fn bridged(action: &Action, facts: TriageFacts<'_>) -> String {
    let first = budget(action).next().map(|attempt| attempt.start_time);
    let last = budget(action).last().and_then(|attempt| attempt.end_time);
    let span = last.zip(first).map_or(0, |(last, first)| last.since(first));
    format!(
        "its {} attempts took {}; a higher `maxAttempts` or `maxDelay` covers a longer outage",
        facts.policy.max_attempts,
        shown(span)
    )
}

fn cut(text: &str) -> String {
    let mut shown: String = text.chars().take(SAID_CHARACTERS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown.replace(['\n', '\r'], " ")
}

/// Milliseconds as people say them.
fn shown(millis: u64) -> String {
    match millis {
        0..1_000 => format!("{millis} ms"),
        _ if millis.is_multiple_of(60_000) => format!("{} min", millis / 60_000),
        _ if millis.is_multiple_of(1_000) => format!("{} s", millis / 1_000),
        _ => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
    }
}

#[cfg(test)]
mod tests;
