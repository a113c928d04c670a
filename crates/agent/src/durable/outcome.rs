//! From the end of a run to the outcome of its attempt.
//!
//! Before the start no agent performs anything, so a failure there is "not done". A run that started and did not end well is
//! "unknown": part of its load has happened.

use serde_json::{Value, json};
use sprag_core::action::error::{kind, of_io};
use sprag_core::action::outcome::ResultEvent;
use sprag_core::action::{ActionError, Done, Failure, Outcome};
use sprag_wire::RunResult;

use crate::controller::{Ending, Error, Finished, NotReady, Stop};

/// A caller cancelled the action.
const CANCELLED: &str = "cancelled";
/// Characters of a name or a message in a result.
const CHARACTERS_MAX: usize = 200;
/// Where an error has the result of a run that did not end well.
const RESULT: &str = "result";

/// The result among the details of an error.
pub fn result_in(error: &ActionError) -> Option<RunResult> {
    let result = error.details.as_ref()?.get(RESULT)?;
    serde_json::from_value(result.clone()).ok()
}

/// The outcome of a run.
pub(super) fn of(run: Result<Finished, Error>) -> Outcome {
    match run {
        Ok(Finished { result, ending }) => finished(bounded(result), ending),
        Err(error) => not_started(&error),
    }
}

/// Nothing happened, for this reason.
pub(super) fn refused(kind: &str, message: impl Into<String>, fix: &str) -> Outcome {
    Outcome::NotDone(Failure::new(ActionError::new(kind, message).with_fix(fix)))
}

fn finished(result: RunResult, ending: Ending) -> Outcome {
    let shown = json!(result);
    let kind = match ending {
        Ending::Good => {
            let payload = json!({
                "name": result.name,
                "status": result.status,
                "ops": result.total.ops,
                "errors": result.total.errors,
            });
            let event = ResultEvent {
                kind: "load_completed".to_owned(),
                payload,
            };
            return Outcome::Done(Done {
                result: shown,
                event: Some(event),
                ..Done::default()
            });
        }
        Ending::Agents => kind::LOAD_FAILED,
        Ending::Threshold => kind::THRESHOLD_BROKEN,
        Ending::Stopped(Stop::OutOfTime) => kind::TIMEOUT,
        Ending::Stopped(_) => CANCELLED,
    };
    let reason = result.reason.unwrap_or_default();
    let error = ActionError::new(kind, format!("load `{}` did not succeed: {reason}", result.name));
    Outcome::Unknown(Failure::new(error.with_details(json!({ RESULT: shown }))))
}

fn not_started(error: &Error) -> Outcome {
    let message = error.to_string();
    match error {
        Error::Plan(_) => refused(kind::INVALID_CONFIGURATION, message, "change the plan or the agents"),
        Error::NotReady(NotReady::Refused(..)) => refused(
            kind::INVALID_CONFIGURATION,
            message,
            "change the plan, or what the configuration of the agent allows",
        ),
        Error::NotReady(NotReady::Busy(..)) => refused(
            kind::CONFLICT,
            message,
            "wait until the agent has finished its run, or name another agent",
        ),
        Error::NotReady(NotReady::Unauthenticated(..)) => refused(
            kind::AUTHENTICATION_FAILED,
            message,
            "set `token`, or `certificate` and `key`, in `[agents]` of the server's configuration to what the agent accepts",
        ),
        Error::NotReady(NotReady::Agent(..)) => refused(
            kind::SERVICE_UNAVAILABLE,
            message,
            "check that the agent runs, and that `[agents]` has the right `ca`",
        ),
        Error::Stopped(Stop::OutOfTime) => refused(kind::TIMEOUT, message, "give the action a longer `timeout`"),
        Error::Stopped(_) => Outcome::not_done(CANCELLED, message),
        Error::Output(source) => Outcome::unknown(of_io(source), format!("{message}: {source}")),
    }
}

/// A result of bounded size, independent of what agents send.
fn bounded(mut result: RunResult) -> RunResult {
    let cut = |text: &str| text.chars().take(CHARACTERS_MAX).collect::<String>();
    for agent in &mut result.agents {
        agent.name = cut(&agent.name);
        agent.message = agent.message.as_deref().map(cut);
    }
    result.reason = result.reason.as_deref().map(cut);
    result
}

/// The error of an attempt whose configuration cannot be used.
pub(super) fn invalid(problems: &[sprag_core::action::ConfigProblem]) -> Outcome {
    let first = problems.first();
    let message = first.map_or_else(
        || "the configuration cannot be used".to_owned(),
        |problem| format!("{}: {}; {}", problem.pointer, problem.detail, problem.remedy),
    );
    let list: Vec<Value> = problems
        .iter()
        .map(|problem| json!({"pointer": problem.pointer, "detail": problem.detail, "remedy": problem.remedy}))
        .collect();
    let error = ActionError::new(kind::INVALID_CONFIGURATION, message).with_details(json!({ "problems": list }));
    Outcome::NotDone(Failure::new(error))
}
