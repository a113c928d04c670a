//! `sprag service explain`: what a service is, why, since when, what happens next, and what would help.

use std::fmt::Write as _;

use sprag_core::time::Timestamp;
use sprag_wire::{LastAction, LastOutcome, Worker, WorkerEscalation, WorkerExplanation};

use super::Supervisor;
use super::sentences::{can, next, rule};
use crate::completion::Names;
use crate::failure::Exit;
use crate::output::{Output, When, now, plain};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The service: its name, `parent/child`, or `/` for the supervisor
    #[arg(add = Names::Services.completer())]
    path: String,
    #[command(flatten)]
    supervisor: Supervisor,
}

/// Says why it is where it is.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.supervisor.client()?;
    let document = client.get(&["workers", &arguments.path, "explain"]).send().await?;
    output.show(&document, |worker| text(worker, now()))?;
    Ok(Exit::Done)
}

fn text(explained: &WorkerExplanation, now: Timestamp) -> String {
    let worker = &explained.worker;
    let mut text = format!(
        "{} is {} since {}: {}.\n",
        worker.path,
        worker.state,
        When::from(worker.since).long(now),
        plain(&worker.reason)
    );
    // Writing to a text cannot fail.
    if worker.pid.is_some() || worker.restarts > 0 {
        let _ = writeln!(text, "{}", lives(worker));
    }
    if worker.observation != "fresh" {
        let _ = writeln!(text, "Its observation is {}.", plain(&worker.observation));
    }
    if let Some(failed) = failed_action(explained) {
        let _ = writeln!(text, "{failed}");
    }
    for error in &explained.child_errors {
        let _ = writeln!(text, "A child does not follow its definition: {}.", plain(error));
    }
    for WorkerEscalation { child, cause, since } in &explained.escalations {
        let since = When::from(*since).long(now);
        let _ = writeln!(text, "It gave up on `{child}` at {since}: {}.", plain(cause));
    }
    for known in explained.rules.iter().chain(&worker.restarted_by) {
        let _ = writeln!(text, "{}", rule(known, now));
    }
    for sentence in next(explained, now) {
        let _ = writeln!(text, "What happens next: {}.", plain(&sentence));
    }
    for (command, why) in can(explained) {
        let _ = writeln!(text, "What you can do: `{command}` {why}.");
    }
    if let Some(runbook) = &explained.runbook {
        let _ = writeln!(text, "More about circuits: {runbook}.");
    }
    text
}

/// `Its process is 12; it was restarted 3 times.`
fn lives(worker: &Worker) -> String {
    let process = match worker.pid {
        Some(pid) => format!("Its process is {pid}"),
        None => "It has no process".to_owned(),
    };
    match worker.restarts {
        0 => format!("{process}; it was never restarted."),
        1 => format!("{process}; it was restarted once."),
        count => format!("{process}; it was restarted {count} times."),
    }
}

/// What its last action said, unless that is why it is where it is.
fn failed_action(explained: &WorkerExplanation) -> Option<String> {
    let LastAction {
        name, error, outcome, ..
    } = &explained.action;
    let error = error.as_ref()?;
    let has_failed = matches!(outcome, LastOutcome::Failed { .. });
    let is_known = explained.worker.reason.contains(error.as_str()) || !has_failed;
    (!is_known).then(|| format!("Its last {} failed: {}.", plain(name), plain(error)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The explanation of a service at noon: what is given, over what is most common.
    fn at_noon(given: Value) -> String {
        let mut worker = json!({
            "path": "web", "state": "running", "reason": "", "pid": null, "restarts": 0, "circuit": "closed",
            "observation": "fresh", "waiting": null, "since": "2026-01-31T11:58:00.000Z", "restartedBy": [],
            "goal": "running", "holds": [], "rules": [], "escalations": [], "childErrors": [],
            "children": {"healthy": 0, "unhealthy": 0, "stopped": 0},
            "action": {"id": 0, "name": "", "generation": 0, "started": null, "attempt": 0, "outcome": "none", "error": null},
            "observed": null, "runbook": null,
        });
        if let (Some(worker), Value::Object(given)) = (worker.as_object_mut(), given) {
            worker.extend(given);
        }
        let worker = serde_json::from_value(worker).unwrap();
        text(&worker, "2026-01-31T12:00:00.000Z".parse().unwrap())
    }

    fn action(name: &str, outcome: &Value, error: Option<&str>) -> Value {
        json!({
            "id": 1, "name": name, "generation": 1, "started": null, "attempt": 1, "outcome": outcome, "error": error,
        })
    }

    #[test]
    fn a_failed_service_says_why_that_nothing_follows_and_what_helps() {
        let error = "program `nowhere` was not found in any folder of the supervisor's `PATH`";
        let text = at_noon(json!({
            "path": "shop/web", "state": "failed", "reason": error,
            "action": action("start", &json!({"failed": {"class": "start_failed"}}), Some(error)),
        }));
        assert_eq!(
            text,
            "shop/web is failed since 2026-01-31 11:58:00Z (2m ago): program `nowhere` was not found in any folder of the \
             supervisor's `PATH`.\n\
             What happens next: nothing, until a person starts it or the file changes.\n\
             What you can do: `sprag service logs shop/web` shows its log.\n\
             What you can do: `sprag service start shop/web` clears its failures and starts it.\n\
             What you can do: `sprag service reload` reads the fixed file again.\n"
        );
    }

    #[test]
    fn a_stopped_service_says_by_whom_and_how_it_is_started() {
        let text = at_noon(json!({
            "state": "stopped", "reason": "stopped by hand", "goal": "stopped", "restarts": 2,
            "action": action("stop", &json!("succeeded"), None),
        }));
        assert!(
            text.starts_with("web is stopped since 2026-01-31 11:58:00Z (2m ago): stopped by hand.\n"),
            "{text}"
        );
        assert!(text.contains("It has no process; it was restarted 2 times."), "{text}");
        assert!(text.contains("`sprag service start web`"), "{text}");
        assert!(!text.contains("failed"), "{text}");
    }

    #[test]
    fn what_holds_a_service_is_said_with_its_time_and_whom_to_look_at() {
        let text = at_noon(json!({
            "path": "shop/web", "state": "stopped", "reason": "not to run", "goal": "stopped",
            "waiting": "`db` to be ready",
            "holds": [{"what": "it waits for `db` to be ready", "since": "2026-01-31T11:58:00.000Z",
                "next": "it continues after that", "at": null, "givesUp": "2026-01-31T12:00:05.000Z",
                "remedy": ""}],
        }));
        assert!(
            text.contains(
                "What happens next: it waits for `db` to be ready since 2026-01-31 11:58:00Z (2m ago); it continues after that; Sprag gives up waiting at 2026-01-31 12:00:05Z (in 5s).\n"
            ),
            "{text}"
        );
        assert!(text.contains("`sprag service explain shop/db`"), "{text}");
    }
}
