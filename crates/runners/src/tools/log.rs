//! `log_message`: a line in the server's log.
//!
//! The line leaves through the log before the engine could mask anything, so a message takes no secret.

use serde_json::{Value, json};
use sprag_core::action::outcome::Outcome;
use sprag_core::action::runner::{Attempt, BoxFuture, ConfigProblem, Runner};
use sprag_core::ids::AttemptId;

use sprag_core::document::Stage;

use crate::registry::config::{self, refused};

const KEYS: [&str; 2] = ["message", "level"];
const LEVELS: [&str; 5] = ["trace", "debug", "info", "warn", "error"];
/// What of a message is logged.
const MESSAGE_CHARACTERS_MAX: usize = 8 * 1024;

/// Runs `log_message`.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogMessage;

struct Line {
    message: String,
    level: &'static str,
}

impl Runner for LogMessage {
    fn types(&self) -> &[&str] {
        &["log_message"]
    }

    fn validate(&self, _kind: &str, config: &Value) -> Vec<ConfigProblem> {
        read(config, Stage::Written).err().unwrap_or_default()
    }

    fn takes_secret(&self, _kind: &str, _pointer: &str) -> bool {
        false
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Outcome> {
        let outcome = match read(attempt.config, Stage::Rendered) {
            Ok(line) => {
                line.write(attempt.id, attempt.action_id);
                Outcome::done(json!({}))
            }
            Err(problems) => refused(&problems),
        };
        Box::pin(std::future::ready(outcome))
    }
}

fn read(config: &Value, stage: Stage) -> Result<Line, Vec<ConfigProblem>> {
    config::read(config, stage, &KEYS, |reader, object| {
        let level = reader.word(object, "level", &LEVELS).unwrap_or("info");
        let message = reader.required_text(object, "message", "`\"the contract is signed\"`");
        message.map(|text| Line {
            message: text.chars().take(MESSAGE_CHARACTERS_MAX).collect(),
            level,
        })
    })
}

impl Line {
    fn write(&self, attempt: AttemptId, action: &str) {
        let Self { message, level } = self;
        match *level {
            "trace" => tracing::trace!(%attempt, action, "{message}"),
            "debug" => tracing::debug!(%attempt, action, "{message}"),
            "warn" => tracing::warn!(%attempt, action, "{message}"),
            "error" => tracing::error!(%attempt, action, "{message}"),
            _ => tracing::info!(%attempt, action, "{message}"),
        }
    }
}
