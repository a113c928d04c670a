//! What programs outside this process use: they ask for work, say that they are alive, and say how it ended.
//!
//! An attempt is durable before the program hears of it. Its configuration is rendered for the answer, in memory only,
//! with the secrets it names; what the program sends back is masked before it is stored.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sprag_core::action::{Outcome, Route, Status, Verdict};
use sprag_core::expression::template::{self, Frozen};
use sprag_core::ids::AttemptId;
use sprag_core::json;
use sprag_core::redact::Redactor;
use sprag_core::time::Timestamp;
use sprag_store::records::Scope;

use crate::command::{Answer, Code, Refusal, Reply, Request};
use crate::handle::{Handle, unexpected};
use crate::hands::Job;
use crate::idempotency::{Idempotency, Repeats};
use crate::once::Asked;
use crate::tasks;

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
/// The lease of whoever does not say, in seconds.
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

/// An attempt as it is given to a program.
#[derive(Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Leased {
    /// The attempt: heartbeats and the outcome are sent under it.
    pub id: AttemptId,
    /// From 1.
    pub number: u32,
    /// What the machine calls the action.
    pub action_id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The configuration, rendered, secrets included.
    pub config: Value,
    /// The same for every attempt, until somebody edits the configuration.
    pub idempotency_key: String,
    /// Then the attempt is over, whatever the heartbeats say.
    pub deadline: Timestamp,
    /// Until then it is the program's without a heartbeat.
    pub lease_until: Timestamp,
    /// What an attempt of the action checkpointed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Value>,
}

impl fmt::Debug for Leased {
    /// Without the configuration: it holds secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Leased");
        shown.field("id", &self.id).field("number", &self.number);
        shown.finish_non_exhaustive()
    }
}

/// The answer to a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Beat {
    /// Until then the attempt is the program's.
    pub lease_until: Timestamp,
    /// Somebody asked for it to stop: end it within ten seconds.
    pub cancel_requested: bool,
}

/// What became of an attempt that a program ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finished {
    /// The attempt.
    pub id: AttemptId,
    /// How it ended.
    pub outcome: Verdict,
    /// Where its action stands now.
    pub status: Status,
}

/// About how many bytes a job takes in an answer: as much as it may have once its secrets are bound.
pub(crate) fn answer_bytes(job: &Job) -> usize {
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

impl Handle {
    /// Work for a program: as soon as there is some, or none when its time is up.
    pub async fn lease(&self, poll: Poll) -> Result<Vec<Leased>, Refusal> {
        match self.inbox.poll(Request::Lease(poll)).await? {
            Answer::Leased(attempts) => Ok(attempts),
            other => Err(unexpected(&other)),
        }
    }

    /// A program is alive, and may want a value committed with the attempt.
    pub async fn heartbeat(&self, attempt: AttemptId, checkpoint: Option<Value>) -> Result<Beat, Refusal> {
        let checkpoint = match checkpoint {
            None => None,
            Some(mut value) => {
                self.check_size("checkpoint", &value)?;
                if let Some(mask) = self.mask(attempt).await? {
                    mask.value(&mut value);
                }
                Some(value)
            }
        };
        match self.inbox.ask(Request::Heartbeat(attempt, checkpoint)).await? {
            Answer::Beat(beat) => Ok(beat),
            other => Err(unexpected(&other)),
        }
    }

    /// A program ended its attempt so. The same again gives the same answer; anything else about an attempt that is
    /// over is refused.
    pub async fn finish(&self, attempt: AttemptId, outcome: Outcome) -> Asked<Finished> {
        match self.finish_masked(attempt, outcome).await {
            Ok(Answer::Replayed(first)) => Asked {
                answer: finished(*first),
                replayed: true,
            },
            reply => Asked {
                answer: finished(reply),
                replayed: false,
            },
        }
    }

    async fn finish_masked(&self, attempt: AttemptId, outcome: Outcome) -> Reply {
        match &outcome {
            Outcome::Done(done) => {
                self.check_size("result", &done.result)?;
                if !done.metadata.is_empty() {
                    self.check_size("metadata", &json!(done.metadata))?;
                }
            }
            Outcome::NotDone(failure) | Outcome::Unknown(failure) => self.check_size("error", &json!(failure.error))?,
        }
        let idempotency = ends_once(attempt, &outcome);
        let outcome = match self.mask(attempt).await? {
            Some(mask) => outcome.masked(&mask),
            None => outcome,
        };
        let request = Request::Finish(attempt, outcome);
        let reply = self.inbox.ask_once(request, Some(idempotency), None).await;
        reply.map_err(|refusal| match refusal.code {
            Code::IdempotencyKeyReused => {
                self.metrics().superseded.inc();
                let detail = format!("attempt `{attempt}` has ended already, with another outcome");
                Refusal::new(Code::AttemptSuperseded, detail)
            }
            _ => refusal,
        })
    }

    /// What masks the secrets that the attempt was given; none if it is nobody's any more, and nothing will be stored.
    async fn mask(&self, attempt: AttemptId) -> Result<Option<Arc<Redactor>>, Refusal> {
        if let Some(mask) = self.masks.get(attempt) {
            return Ok(Some(mask));
        }
        // An earlier process gave the attempt away: which secrets it names is stored, what they are is asked again.
        let config = match self.inbox.ask(Request::LeasedConfig(attempt)).await? {
            Answer::LeasedConfig(Some(config)) => *config,
            Answer::LeasedConfig(None) => return Ok(None),
            other => return Err(unexpected(&other)),
        };
        let mask = self.mask_of(&config).await?;
        Ok(Some(self.masks.keep(attempt, mask)))
    }

    async fn mask_of(&self, config: &Frozen) -> Result<Redactor, Refusal> {
        let unavailable = |outcome: Box<Outcome>| {
            let why = match *outcome {
                Outcome::NotDone(failure) | Outcome::Unknown(failure) => failure.error.message,
                Outcome::Done(_) => String::new(),
            };
            let detail = format!("what the attempt sent cannot be masked, so it is not taken: {why}");
            Refusal::new(Code::SecretUnavailable, detail)
        };
        let secrets = tasks::resolve(self.secrets(), config).await.map_err(unavailable)?;
        Ok(tasks::redactor(&secrets))
    }

    /// What is stored with an action is bounded.
    fn check_size(&self, what: &str, value: &Value) -> Result<(), Refusal> {
        let most = self.limits().variables_bytes;
        let bytes = value.to_string().len();
        if bytes <= most {
            return Ok(());
        }
        let detail = format!("the {what} has {bytes} bytes, at most {most} are kept; keep it elsewhere and send where");
        Err(Refusal {
            errors: vec![(format!("/{what}"), detail.clone())],
            ..Refusal::new(Code::VariablesTooLarge, detail)
        })
    }
}

fn finished(reply: Reply) -> Result<Finished, Refusal> {
    match reply? {
        Answer::Finished(finished) => Ok(finished),
        other => Err(unexpected(&other)),
    }
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

    #[test]
    fn an_attempt_that_is_shown_for_debugging_shows_no_secret() {
        let leased = Leased {
            id: AttemptId::from_bytes([0; 16]),
            number: 1,
            action_id: "x".to_owned(),
            kind: "render".to_owned(),
            config: json!({"token": "hunter22"}),
            idempotency_key: String::new(),
            deadline: Timestamp::default(),
            lease_until: Timestamp::default(),
            checkpoint: None,
        };
        assert!(!format!("{leased:?}").contains("hunter22"));
    }
}
