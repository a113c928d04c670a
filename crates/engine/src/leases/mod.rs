//! What programs outside this process use: they ask for work, say that they are alive, and say how it ended.
//!
//! An attempt is durable before the program hears of it. Its configuration is rendered for the answer, in memory only,
//! with the secrets it names; what the program sends back is masked before it is stored.

pub(crate) mod polls;
pub(crate) mod table;

use serde_json::{Value, json};
use sprag_core::action::{Outcome, Route};
use sprag_core::document::json;
use sprag_core::expression::template::{self, Frozen};
use sprag_core::ids::AttemptId;
use sprag_store::records::Scope;
use tokio::sync::oneshot;

pub use sprag_wire::{Finished, Heartbeat as Beat, LeasedAttempt as Leased};

pub use self::polls::PollId;
use crate::decide::AttemptJob;
use crate::requests::Replied;
use crate::requests::idempotency::{Idempotency, Repeats};

/// The most attempts that one answer gives.
pub const LEASED_MAX: usize = 100;
/// The most bytes of an answer, unless one attempt alone has more. What does not fit stays in the queue.
pub const ANSWER_BYTES_MAX: usize = sprag_store::PAGE_BYTES_MAX;
/// The largest secret: its value is not known yet when the answer is measured.
const SECRET_BYTES_MAX: usize = 64 << 10;
/// How much an attempt takes besides its configuration and its checkpoint, names excluded.
const FRAME_BYTES: usize = 512;
/// The most types or tags that one request names.
pub const NAMES_MAX: usize = 100;
/// The longest lease between two heartbeats, in seconds: an hour.
pub const LEASE_SECONDS_MAX: u64 = 3_600;
/// The lease of a program that names none, in seconds.
pub const LEASE_SECONDS_DEFAULT: u64 = 60;

/// Which work a program takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wants {
    /// What the program calls itself: it takes actions for this runner. Without a name, for any.
    pub runner: Option<String>,
    /// The types it serves.
    pub kinds: Vec<String>,
    /// Tags that an action must all have.
    pub tags: Vec<String>,
}

impl Wants {
    /// Whether such work is among it.
    pub fn takes(&self, route: &Route) -> bool {
        let is_named = self.runner.as_ref().is_none_or(|runner| *runner == route.runner);
        is_named && self.kinds.contains(&route.kind) && self.tags.iter().all(|tag| route.tags.contains(tag))
    }
}

/// A program asks for work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Poll {
    /// Which.
    pub wants: Wants,
    /// How many attempts at most.
    pub max: usize,
    /// How long it waits for the first of them, in milliseconds.
    pub wait_millis: u64,
    /// How long an attempt is its own without a heartbeat, in milliseconds.
    pub lease_millis: u64,
}

/// The answer to a poll.
#[derive(Clone, Debug, PartialEq)]
pub enum LeaseAnswer {
    /// The poll waits for work; its answer comes later.
    Waiting(PollId),
    /// Attempts for the runner: perhaps none.
    Leased(Vec<Leased>),
}

/// Attempts for an external runner that polled: perhaps none.
#[derive(Debug)]
pub struct Grant {
    /// Durable, and the runner's from now on.
    pub jobs: Vec<AttemptJob>,
    /// Where the answer goes.
    pub reply: oneshot::Sender<Replied<LeaseAnswer>>,
}

/// About how many bytes a job takes in an answer: as much as it may have once its secrets are bound.
pub(crate) fn answer_bytes(job: &AttemptJob) -> usize {
    let Frozen { config, late, .. } = &job.config;
    let secrets: usize = late
        .iter()
        .filter_map(|pointer| config.pointer(pointer).and_then(Value::as_str))
        .map(|template| template.matches("secrets").count())
        .sum();
    let bound = secrets
        .saturating_mul(SECRET_BYTES_MAX)
        .min(template::TemplateLimits::default().output_bytes);
    let checkpoint = job.checkpoint.as_ref().map_or(0, json::size);
    FRAME_BYTES + job.action_id.len() + job.kind.len() + json::size(config) + bound + checkpoint
}

/// An attempt ends once: its own id is what makes a repetition known, as an idempotency key would.
pub fn ends_once(attempt: AttemptId, outcome: &Outcome) -> Idempotency {
    let scope = json::digest(&json::canonical(&json!(["", "finish", attempt])));
    let said = match outcome {
        Outcome::Done(done) => json!({"done": done.result, "cost": done.cost, "metadata": done.metadata}),
        Outcome::NotDone(failure) => json!({"notDone": failure.error, "retryAfter": failure.retry_after}),
        Outcome::Unknown(failure) => json!({"unknown": failure.error, "retryAfter": failure.retry_after}),
    };
    Idempotency {
        scope: Scope::new(attempt.slot(), scope),
        digest: json::digest(&json::canonical(&said)),
        repeats: Repeats::AtTarget,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wants(runner: Option<&str>, tags: &[&str]) -> Wants {
        Wants {
            runner: runner.map(str::to_owned),
            kinds: vec!["render".to_owned(), "encode".to_owned()],
            tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
        }
    }

    #[test]
    fn a_program_takes_what_is_for_it_of_its_types_and_with_all_its_tags() {
        let route = Route::new("gpu", "render", &["big".to_owned(), "night".to_owned()]);
        assert!(wants(Some("gpu"), &[]).takes(&route));
        assert!(wants(Some("gpu"), &["night"]).takes(&route));
        assert!(wants(None, &["night", "big"]).takes(&route), "no name: for any runner");
        assert!(!wants(Some("cpu"), &[]).takes(&route));
        assert!(!wants(None, &["night", "small"]).takes(&route));
        assert!(!wants(None, &[]).takes(&Route::new("gpu", "paint", &[])));
    }
}
