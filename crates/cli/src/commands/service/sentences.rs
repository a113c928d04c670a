//! What happens next to a service, and the commands that would help, as people say it.

use std::fmt::Write as _;

use sprag_core::time::Timestamp;
use sprag_wire::{Goal, LastOutcome, Worker, WorkerExplanation, WorkerHold, WorkerRule};

use super::list::below;
use crate::output::{When, plain};

/// What happens next: what holds it, or what its state leads to.
pub(super) fn next(explained: &WorkerExplanation, now: Timestamp) -> Vec<String> {
    let worker = &explained.worker;
    if !explained.holds.is_empty() {
        return explained.holds.iter().map(|held| hold(held, now)).collect();
    }
    if let Some(rule) = worker.restarted_by.iter().find(|rule| rule.circuit != "closed") {
        return vec![format!("{}{} (rule `{}`)", rule.next, at(rule.next_at, now), rule.name)];
    }
    if worker.path == "/" {
        return vec!["it continues; its rules check each new observation".to_owned()];
    }
    // What a service says of itself has its own words.
    let due = explained.observed["service"]["due"].as_str();
    let one = match worker.state.as_str() {
        "failed" => "nothing, until a person starts it or the file changes".to_owned(),
        "stopped" if explained.goal == Goal::Running => "nothing: it completed its work".to_owned(),
        "stopped" => "nothing, until you start it".to_owned(),
        "starting" => match due {
            Some(due) => {
                let due = When::parse(due).map_or_else(|| due.to_owned(), |when| when.long(now));
                format!("it starts again at {due}")
            }
            None => "it is `running` as soon as it is ready".to_owned(),
        },
        "stopping" => {
            "it is `stopped` when all its processes have ended; after its grace, Sprag kills the rest".to_owned()
        }
        "degraded" => "it is `running` again as soon as its check succeeds".to_owned(),
        _ => "Sprag checks it every second; if it ends, its `restart` decides what follows".to_owned(),
    };
    vec![one]
}

/// `, at …`, where that is known.
fn at(at: Option<Timestamp>, now: Timestamp) -> String {
    at.map(|at| format!(", at {}", When::from(at).long(now)))
        .unwrap_or_default()
}

fn hold(hold: &WorkerHold, now: Timestamp) -> String {
    let since = When::from(hold.since).long(now);
    let mut text = format!("{} since {since}; {}{}", hold.what, hold.next, at(hold.at, now));
    if let Some(gives_up) = hold.gives_up {
        // Writing to a text cannot fail.
        let _ = write!(text, "; Sprag gives up waiting at {}", When::from(gives_up).long(now));
    }
    text
}

/// How a rule over its children stands.
pub(super) fn rule(rule: &WorkerRule, now: Timestamp) -> String {
    let mut text = format!(
        "Rule `{}` of {}, which restarts `{}`: circuit {}, {} of {} detections, last check {}",
        rule.name,
        rule.supervisor,
        rule.restart,
        rule.circuit,
        rule.detections,
        rule.detections_max,
        rule.last_check.as_deref().unwrap_or("none yet"),
    );
    // Writing to a text cannot fail.
    if let Some(why) = &rule.gave_up {
        let when = rule.gave_up_at.map(|at| When::from(at).long(now)).unwrap_or_default();
        let _ = write!(text, "; gave up at {when}, because {}", plain(why));
    } else if let Some(reason) = &rule.reason {
        let _ = write!(text, " ({})", plain(reason));
    }
    let _ = write!(text, "; next: {}{}.", plain(&rule.next), at(rule.next_at, now));
    text
}

/// The commands that would help, each with what it does.
pub(super) fn can(explained: &WorkerExplanation) -> Vec<(String, &'static str)> {
    let worker = &explained.worker;
    let path = &worker.path;
    let on = |verb: &str| format!("sprag service {verb} {path}");
    let mut commands = Vec::new();
    if let Some(other) = waits_for(worker) {
        commands.push((
            format!("sprag service explain {other}"),
            "shows the state of the service that it waits for",
        ));
    }
    for escalation in &explained.escalations {
        let child = format!("sprag service restart {}", below(path, &escalation.child));
        commands.push((child, "ends the escalation and clears the count"));
    }
    if explained.action.outcome == LastOutcome::InProgress {
        commands.push((
            on("cancel"),
            "cancels its action; cancelling a stop kills the remaining processes at once",
        ));
    }
    if path == "/" {
        commands.push((
            on("start"),
            "ends escalations and starts failed services; healthy services keep running",
        ));
        return commands;
    }
    if worker.circuit == "escalated" {
        commands.push((on("restart"), "ends the escalation and clears the count"));
    }
    match worker.state.as_str() {
        "failed" => commands.extend([
            (on("logs"), "shows its log"),
            (on("start"), "clears its failures and starts it"),
            ("sprag service reload".to_owned(), "reads the fixed file again"),
        ]),
        "stopped" => commands.push((on("start"), "starts it")),
        "stopping" => commands.push((on("logs"), "shows its log")),
        _ => commands.extend([
            (on("logs"), "shows its log"),
            (on("restart"), "stops it and starts it again"),
            (on("stop"), "stops it and keeps it stopped"),
        ]),
    }
    let mut known: Vec<String> = Vec::new();
    commands.retain(|(command, _)| {
        let is_new = !known.contains(command);
        known.push(command.clone());
        is_new
    });
    commands
}

/// The sibling that it waits for: its name stands between the first two backticks.
fn waits_for(worker: &Worker) -> Option<String> {
    let name = worker.waiting.as_ref()?.split('`').nth(1)?;
    Some(match worker.path.rsplit_once('/') {
        Some((parent, _)) => format!("{parent}/{name}"),
        None => name.to_owned(),
    })
}
