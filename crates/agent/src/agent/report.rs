//! What an agent says about itself.

use super::run::ActiveRun;
use crate::lifecycle::{Lifecycle, Terminal};
use crate::time::{Micros, whole_micros};
use crate::wire::PROTOCOL;
use crate::wire::proto::{AgentStatus, LastRun, Transition};

/// The answer to `GetStatus`. `ended` is the last run, once it is over and until it is acknowledged.
pub(super) fn status(
    (name, instance): (&str, &str),
    lifecycle: &Lifecycle,
    ended: Option<&ActiveRun>,
    clock: &Micros,
) -> AgentStatus {
    let history = lifecycle.log().history().map(|made| Transition {
        run_id: made.run.to_string(),
        from: made.from.to_string(),
        to: made.to.to_string(),
        reason: made.reason.clone(),
        at_unix_micros: clock.unix_at(made.at),
        previous_millis: whole_micros(made.after) / 1_000,
    });
    AgentStatus {
        name: name.to_owned(),
        state: lifecycle.state().to_string(),
        run_id: lifecycle.run().map(|run| run.to_string()).unwrap_or_default(),
        instance_id: instance.to_owned(),
        leaked_tasks: u64::try_from(lifecycle.leaked()).unwrap_or(u64::MAX),
        history: history.collect(),
        last_run: ended.and_then(last_run),
        protocol: PROTOCOL,
    }
}

fn last_run(run: &ActiveRun) -> Option<LastRun> {
    let (outcome, message) = match run.outcome.as_ref()? {
        Terminal::Completed => ("COMPLETED", ""),
        Terminal::Failed(message) => ("FAILED", message.as_str()),
        Terminal::Aborted(reason) | Terminal::StartRefused(reason) => ("ABORTED", reason.as_str()),
    };
    Some(LastRun {
        run_id: run.id.to_string(),
        outcome: outcome.to_owned(),
        message: message.to_owned(),
    })
}
