//! `exec`: a program with its arguments, without a shell.
//!
//! Off unless the operator lists the program. A process gets a clean environment and its own process group, and when
//! the attempt ends, however it ends, no process of its tree is left: not one that left the group, and not one
//! that ignores SIGTERM. The attempt is checkpointed before the program starts, so that after a crash the survivors
//! are found and ended before the attempt is settled.

mod allow;
mod checkpoint;
mod config;
mod output;
mod process;
mod user;
mod variables;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};
use sprag_core::action::error::{ActionError, kind, of_io};
use sprag_core::action::outcome::{Done, Failure, Outcome, ResultEvent};
use sprag_core::action::runner::{Attempt, BoxFuture, ConfigProblem, Permission, Runner};

use crate::registry::config::{is_within, refused};
use allow::Programs;
use checkpoint::Checkpoint;
use config::Config;
use process::{Finished, Process, ProcessEnd, Program, StartError};
use sprag_core::document::Stage;
use variables::Variables;

pub use allow::{Options, OptionsError};
pub use user::UserError;

const TYPE: &str = "exec";
/// Where a secret may appear.
const SECRETS: [&str; 3] = ["/command", "/env", "/stdin"];
/// Where the program stands, which messages name.
const PROGRAM: &str = "/command/0";

/// Runs `exec` actions.
pub struct Exec {
    programs: Programs,
    variables: Variables,
    user: Option<String>,
}

impl Exec {
    /// A runner that starts only the programs that `options` allow, with the variables and as the user that they name.
    /// Whether there is such a user is found out when a program starts.
    pub fn new(options: &Options) -> Result<Self, OptionsError> {
        let user = options.user.clone();
        if user
            .as_deref()
            .is_some_and(|name| name.is_empty() || name.contains([':', '\0', '\n']))
        {
            return Err(OptionsError::User);
        }
        Ok(Self {
            programs: Programs::new(options)?,
            variables: Variables::new(&options.env)?,
            user,
        })
    }

    async fn perform(&self, attempt: Attempt<'_>) -> Result<Done, Box<Outcome>> {
        let config = config::read(attempt.config, Stage::Rendered, &self.variables)
            .map_err(|problems| Box::new(refused(&problems)))?;
        let user = self.user.as_deref().map(user::find).transpose();
        let user = user.map_err(|error| Box::new(Outcome::not_done(kind::INVALID_CONFIGURATION, error.to_string())))?;
        let path = self
            .programs
            .find(&config.program)
            .map_err(|error| Box::new(error.outcome()))?;
        let marker = attempt.id.to_string();
        // The program may start and this process die before the next line: the marker alone finds it again.
        commit(&attempt, &Checkpoint::planned(&marker)).await?;
        let program = Program {
            path: &path,
            marker: &marker,
            config: &config,
            user,
        };
        let process = Process::start(&program).map_err(|error| Box::new(not_started(&config, &error)))?;
        commit(&attempt, &Checkpoint::started(&marker, process.root())).await?;
        let finished = process.finish(&config, attempt.timeout, attempt.control).await;
        settle(&config, finished, &attempt)
    }
}

impl Runner for Exec {
    fn types(&self) -> &[&str] {
        &[TYPE]
    }

    fn validate(&self, _kind: &str, config: &Value) -> Vec<ConfigProblem> {
        self.check(config)
    }

    fn takes_secret(&self, _kind: &str, pointer: &str) -> bool {
        is_within(pointer, &SECRETS) && pointer != PROGRAM
    }

    fn permissions(&self, _kind: &str, config: &Value) -> Vec<Permission> {
        let program = config.pointer("/command/0").and_then(Value::as_str);
        program
            .map(|object| Permission {
                scope: "process".to_owned(),
                object: object.to_owned(),
            })
            .into_iter()
            .collect()
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.perform(attempt).await.map_or_else(|failed| *failed, Outcome::Done) })
    }

    fn reap<'a>(&'a self, _kind: &'a str, checkpoint: &'a Value) -> Option<BoxFuture<'a, ()>> {
        let checkpoint = Checkpoint::parse(checkpoint)?;
        Some(Box::pin(async move {
            // What could not be killed is said there.
            let _ = checkpoint.survivors().kill().await;
        }))
    }
}

impl Exec {
    /// What is wrong with the configuration as written, and whether its program is allowed.
    fn check(&self, config: &Value) -> Vec<ConfigProblem> {
        let config = match config::read(config, Stage::Written, &self.variables) {
            Ok(config) => config,
            Err(problems) => return problems,
        };
        if config.program.contains("{{") {
            return Vec::new();
        }
        let refused = self.programs.find(&config.program).err();
        refused.map(|error| error.problem("/command/0")).into_iter().collect()
    }
}

/// Returns once the checkpoint is stored. A superseded attempt ends here, and with it its process.
async fn commit(attempt: &Attempt<'_>, checkpoint: &Checkpoint) -> Result<(), Box<Outcome>> {
    let stored = attempt.control.checkpoint(checkpoint.to_value()).await;
    stored.map_err(|superseded| Box::new(Outcome::unknown(kind::UNKNOWN_ERROR, superseded.to_string())))
}

fn not_started(config: &Config, error: &StartError) -> Outcome {
    let program = &config.program;
    match error {
        StartError::NotStarted(error) => {
            let directory = &config.directory;
            Outcome::not_done(
                of_io(error),
                format!("`{program}` could not be started in `{directory}`: {error}"),
            )
        }
        StartError::Lost(error) => Outcome::unknown(
            kind::UNKNOWN_ERROR,
            format!("`{program}` could not be watched and was killed: {error}"),
        ),
    }
}

fn settle(config: &Config, finished: Finished, attempt: &Attempt<'_>) -> Result<Done, Box<Outcome>> {
    let Finished { end, output } = finished;
    let program = &config.program;
    let unknown = |kind: &str, message: String, code: Option<i32>| {
        let mut error = ActionError::new(kind, message).with_details(output.result(code));
        error.code = code.map(|code| code.to_string());
        Err(Box::new(Outcome::Unknown(Failure::new(error))))
    };
    match end {
        ProcessEnd::Exited(code) if config.expected.contains(&code) => {
            let payload = json!({"exitCode": code, "actionId": attempt.action_id});
            let event = ResultEvent {
                kind: "process_exited".to_owned(),
                payload,
            };
            Ok(Done {
                result: output.result(Some(code)),
                event: Some(event),
                cost: None,
                metadata: Map::new(),
            })
        }
        ProcessEnd::Exited(code) => unknown(
            kind::PROCESS_FAILED,
            format!("`{program}` exited with {code}"),
            Some(code),
        ),
        ProcessEnd::Signalled(signal) => unknown(
            kind::PROCESS_FAILED,
            format!("`{program}` was ended by signal {signal}"),
            None,
        ),
        ProcessEnd::Lost(error) => unknown(
            kind::UNKNOWN_ERROR,
            format!("the state of `{program}` is unknown: {error}"),
            None,
        ),
        ProcessEnd::TimedOut => {
            let millis = attempt.timeout.as_millis();
            unknown(
                kind::TIMEOUT,
                format!("`{program}` did not end within {millis} ms and was killed"),
                None,
            )
        }
        ProcessEnd::Cancelled => unknown(
            CANCELLED,
            format!("`{program}` was killed because the action was cancelled"),
            None,
        ),
    }
}

/// The error type of an attempt that ended because a caller cancelled its action.
const CANCELLED: &str = "cancelled";
