//! `fail`: an action that fails as configured, to see what follows.

use serde_json::{Value, json};
use sprag_core::action::error::{ActionError, kind};
use sprag_core::action::outcome::{Failure, Outcome};
use sprag_core::action::runner::{Attempt, BoxFuture, ConfigProblem, Runner};

use sprag_core::document::Stage;

use crate::registry::config::{self, refused};

const KEYS: [&str; 5] = ["type", "message", "outcome", "retryAfter", "times"];
const OUTCOMES: [&str; 2] = ["notDone", "unknown"];

/// Runs `fail`: `times: n` fails while the attempt's number is at most n, without it always.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fail;

struct Config {
    failure: Failure,
    outcome: &'static str,
    times: Option<u64>,
}

impl Runner for Fail {
    fn types(&self) -> &[&str] {
        &["fail"]
    }

    fn validate(&self, _kind: &str, config: &Value) -> Vec<ConfigProblem> {
        read(config, Stage::Written).err().unwrap_or_default()
    }

    fn takes_secret(&self, _kind: &str, _pointer: &str) -> bool {
        false
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Outcome> {
        let outcome = match read(attempt.config, Stage::Rendered) {
            Ok(Config { times: Some(times), .. }) if u64::from(attempt.number) > times => Outcome::done(json!({})),
            Ok(Config {
                failure,
                outcome: "unknown",
                ..
            }) => Outcome::Unknown(failure),
            Ok(Config { failure, .. }) => Outcome::NotDone(failure),
            Err(problems) => refused(&problems),
        };
        Box::pin(std::future::ready(outcome))
    }
}

fn read(config: &Value, stage: Stage) -> Result<Config, Vec<ConfigProblem>> {
    config::read(config, stage, &KEYS, |reader, object| {
        let kind = reader.text(object, "type").unwrap_or(kind::TEMPORARY_FAILURE);
        let message = reader.text(object, "message").unwrap_or("failed as configured");
        let outcome = reader.word(object, "outcome", &OUTCOMES).unwrap_or("notDone");
        let retry_after = reader.whole(object, "retryAfter", 0, u64::MAX);
        let times = reader.whole(object, "times", 0, u64::from(u32::MAX));
        let failure = Failure {
            error: ActionError::new(kind, message),
            retry_after,
            hopeless: false,
        };
        Some(Config {
            failure,
            outcome,
            times,
        })
    })
}
