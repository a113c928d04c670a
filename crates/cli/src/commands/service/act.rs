//! `sprag service start`, `stop`, `restart` and `cancel`.

use std::time::Duration;

use sprag_wire::{Worker, WorkerExplanation};
use tokio::time::sleep;

use super::Supervisor;
use super::list::why;
use crate::client::{Client, Why};
use crate::completion::Names;
use crate::failure::{Exit, Failure};
use crate::output::{self, Output};

/// How long it may take until the first step is to be seen.
const STEP_MAX: Duration = Duration::from_secs(2);
/// Between two looks for it.
const EVERY: Duration = Duration::from_millis(50);

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The service: its name, `parent/child`, or `/` for the supervisor
    #[arg(add = Names::Services.completer())]
    path: String,
    #[command(flatten)]
    why: Why,
    #[command(flatten)]
    supervisor: Supervisor,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Start,
    Stop,
    Restart,
    Cancel,
}

impl Verb {
    const fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Restart => "restart",
            Self::Cancel => "cancel",
        }
    }

    /// Whether a service in this state is on the way, or there.
    fn is_followed(self, state: &str) -> bool {
        match self {
            Self::Start => matches!(state, "starting" | "running" | "degraded"),
            Self::Stop => matches!(state, "stopping" | "stopped"),
            Self::Restart => matches!(state, "stopping" | "starting"),
            Self::Cancel => true,
        }
    }
}

/// Has it done. What becomes of it shows in the list.
pub(super) async fn run(arguments: &Arguments, verb: Verb, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.supervisor.client()?;
    let path = &arguments.path;
    let taken = client
        .post(&["workers", path, verb.word()])
        .why(&arguments.why)
        .send()
        .await?;
    if output == Output::Json {
        output::json(&taken)?;
        return Ok(Exit::Done);
    }
    // What was answered is how it stood when the word was taken; people want to see that it was.
    let (worker, step) = first_step(&client, path, verb, output::shown(&taken)?).await?;
    output::data(&text(&worker, verb, step))?;
    Ok(Exit::Done)
}

/// Whether the first step was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstStep {
    Seen,
    NotYet,
}

/// The service once it has followed, or as it is after a while.
async fn first_step(client: &Client, path: &str, verb: Verb, taken: Worker) -> Result<(Worker, FirstStep), Failure> {
    let mut worker = taken.clone();
    for _ in 0..STEP_MAX.as_millis() / EVERY.as_millis() {
        if has_followed(&worker, &taken, verb) {
            return Ok((worker, FirstStep::Seen));
        }
        sleep(EVERY).await;
        let explained = client.get(&["workers", path, "explain"]).send().await?;
        worker = output::shown::<WorkerExplanation>(&explained)?.worker;
    }
    Ok((worker, FirstStep::NotYet))
}

/// A service that waits for another has done what it can.
fn has_followed(worker: &Worker, taken: &Worker, verb: Verb) -> bool {
    let has_moved = worker.since != taken.since && worker.state != "stopped";
    let waits = worker.waiting.as_ref().is_some_and(|waiting| waiting.contains('`'));
    verb.is_followed(&worker.state) || has_moved || waits
}

fn text(worker: &Worker, verb: Verb, step: FirstStep) -> String {
    let (path, state, why) = (&worker.path, &worker.state, why(worker));
    if step == FirstStep::Seen {
        return format!("{path}: {state} ({why})\n");
    }
    format!(
        "{path}: asked to {}; still {state} ({why}), see `sprag service explain {path}`\n",
        verb.word()
    )
}

#[cfg(test)]
mod tests {
    use sprag_core::time::Timestamp;

    use super::*;

    fn worker(state: &str, since: i64, reason: &str) -> Worker {
        Worker {
            path: "b".to_owned(),
            state: state.to_owned(),
            reason: reason.to_owned(),
            pid: None,
            restarts: 0,
            circuit: "closed".to_owned(),
            observation: "fresh".to_owned(),
            waiting: None,
            since: Timestamp::from_millis(since),
            restarted_by: Vec::new(),
        }
    }

    #[test]
    fn a_start_is_followed_once_it_is_on_its_way_and_not_while_it_is_failed() {
        let taken = worker("failed", 1, "it failed 5 times");
        assert!(!has_followed(&taken, &taken, Verb::Start));
        assert_eq!(
            text(&taken, Verb::Start, FirstStep::NotYet),
            "b: asked to start; still failed (it failed 5 times), see `sprag service explain b`\n"
        );
        let starting = worker("starting", 2, "to be started");
        assert!(has_followed(&starting, &taken, Verb::Start));
        assert_eq!(
            text(&starting, Verb::Start, FirstStep::Seen),
            "b: starting (to be started)\n"
        );
        assert!(has_followed(&worker("failed", 3, ""), &taken, Verb::Start));
    }

    #[test]
    fn a_service_that_waits_for_another_has_done_what_it_can() {
        let waits = Worker {
            waiting: Some("`a` to be ready".to_owned()),
            ..worker("stopped", 1, "not to run")
        };
        assert!(has_followed(&waits, &waits, Verb::Restart));
    }

    #[test]
    fn a_restart_is_not_followed_by_what_ran_before() {
        let running = worker("running", 1, "");
        assert!(!has_followed(&running, &running, Verb::Restart));
        assert!(has_followed(&worker("running", 2, ""), &running, Verb::Restart));
    }
}
