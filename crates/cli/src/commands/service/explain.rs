//! `sprag service explain`: what a service is, why, since when, what happens next, and what would help.

use std::fmt::Write as _;

use serde_json::Value;
use sprag_core::time::Timestamp;

use super::Supervisor;
use super::list::field;
use super::sentences::{can, next, rule};
use crate::completion::Names;
use crate::failure::Exit;
use crate::output::{Output, When, now, plain};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The service: its name, `parent/child`, or `/` for the supervisor and its rules
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

fn text(worker: &Value, now: Timestamp) -> String {
    let mut text = format!(
        "{} is {} since {}: {}.\n",
        field(worker, "path"),
        field(worker, "state"),
        when(worker, "since", now),
        plain(&field(worker, "reason"))
    );
    // Writing to a text cannot fail.
    if worker["pid"].is_number() || worker["restarts"].as_u64().is_some_and(|count| count > 0) {
        let _ = writeln!(text, "{}", lives(worker));
    }
    if worker["observation"] != "fresh" {
        let _ = writeln!(text, "What is seen of it is {}.", plain(&field(worker, "observation")));
    }
    if let Some(failed) = failed_action(worker) {
        let _ = writeln!(text, "{failed}");
    }
    for error in list(worker, "childErrors") {
        let error = plain(error.as_str().unwrap_or_default());
        let _ = writeln!(text, "A child cannot be as it is declared: {error}.");
    }
    for escalation in list(worker, "escalations") {
        let _ = writeln!(
            text,
            "It gave up on `{}` at {}: {}.",
            field(escalation, "child"),
            when(escalation, "since", now),
            plain(&field(escalation, "cause"))
        );
    }
    for known in list(worker, "rules").chain(list(worker, "restartedBy")) {
        let _ = writeln!(text, "{}", rule(known, now));
    }
    for sentence in next(worker, now) {
        let _ = writeln!(text, "What happens next: {}.", plain(&sentence));
    }
    for (command, why) in can(worker) {
        let _ = writeln!(text, "What you can do: `{command}` {why}.");
    }
    if let Some(runbook) = worker["runbook"].as_str() {
        let _ = writeln!(text, "More about circuits: {runbook}.");
    }
    text
}

/// `Its process is 12; it was restarted 3 times.`
fn lives(worker: &Value) -> String {
    let process = match worker["pid"].as_i64() {
        Some(pid) => format!("Its process is {pid}"),
        None => "It has no process".to_owned(),
    };
    match worker["restarts"].as_u64() {
        None | Some(0) => format!("{process}; it was never restarted."),
        Some(1) => format!("{process}; it was restarted once."),
        Some(count) => format!("{process}; it was restarted {count} times."),
    }
}

/// What its last action said, unless that is why it is where it is.
fn failed_action(worker: &Value) -> Option<String> {
    let action = &worker["action"];
    let (name, error) = (action["name"].as_str()?, action["error"].as_str()?);
    let is_known = field(worker, "reason").contains(error) || !action["outcome"]["failed"].is_object();
    (!is_known).then(|| format!("Its last {} failed: {}.", plain(name), plain(error)))
}

/// The entries of a field that is a list.
pub(super) fn list<'w>(worker: &'w Value, name: &str) -> impl Iterator<Item = &'w Value> {
    worker[name].as_array().into_iter().flatten()
}

/// An instant as people read it.
pub(super) fn when(document: &Value, name: &str, now: Timestamp) -> String {
    let text = field(document, name);
    When::parse(&text).map_or(text, |when| when.long(now))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at_noon(worker: &Value) -> String {
        text(worker, "2026-01-31T12:00:00.000Z".parse().unwrap())
    }

    #[test]
    fn a_failed_service_says_why_that_nothing_follows_and_what_helps() {
        let error = "program `nowhere` was not found in any folder of the supervisor's `PATH`";
        let text = at_noon(&json!({
            "path": "shop/web", "state": "failed", "since": "2026-01-31T11:58:00.000Z", "reason": error, "goal": "running",
            "restarts": 0, "observation": "fresh",
            "action": {"name": "start", "outcome": {"failed": {"class": "start_failed"}}, "error": error},
        }));
        assert_eq!(
            text,
            "shop/web is failed since 2026-01-31 11:58:00Z (2m ago): program `nowhere` was not found in any folder of the \
             supervisor's `PATH`.\n\
             What happens next: nothing, until a person or a changed file says otherwise.\n\
             What you can do: `sprag service logs shop/web` shows what it wrote.\n\
             What you can do: `sprag service start shop/web` forgets what failed and tries again.\n\
             What you can do: `sprag service reload` follows the file once it is mended.\n"
        );
    }

    #[test]
    fn a_stopped_service_says_by_whom_and_how_it_is_started() {
        let text = at_noon(&json!({
            "path": "web", "state": "stopped", "since": "2026-01-31T11:58:00.000Z", "reason": "stopped by hand",
            "goal": "stopped", "restarts": 2, "observation": "fresh", "action": {"name": "stop", "outcome": "succeeded"},
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
        let text = at_noon(&json!({
            "path": "shop/web", "state": "stopped", "since": "2026-01-31T11:58:00.000Z", "reason": "not to run",
            "goal": "stopped", "restarts": 0, "observation": "fresh", "waiting": "`db` to be ready", "action": {},
            "holds": [{"what": "it waits for `db` to be ready", "since": "2026-01-31T11:58:00.000Z",
                "next": "it goes on when that has happened", "at": null, "givesUp": "2026-01-31T12:00:05.000Z"}],
        }));
        assert!(
            text.contains(
                "What happens next: it waits for `db` to be ready since 2026-01-31 11:58:00Z (2m ago); it goes on when \
                 that has happened; that is given up at 2026-01-31 12:00:05Z (in 5s).\n"
            ),
            "{text}"
        );
        assert!(text.contains("`sprag service explain shop/db`"), "{text}");
    }
}
