//! What happens next to a service, and the commands that would help, as people say it.

use std::fmt::Write as _;

use serde_json::Value;
use sprag_core::time::Timestamp;

use super::explain::{list, when};
use super::list::{below, field};
use crate::output::plain;

/// What happens next: what holds it, or what its state leads to.
pub(super) fn next(worker: &Value, now: Timestamp) -> Vec<String> {
    let holds: Vec<String> = list(worker, "holds").map(|held| hold(held, now)).collect();
    if !holds.is_empty() {
        return holds;
    }
    if let Some(rule) = list(worker, "restartedBy").find(|rule| rule["circuit"] != "closed") {
        let at = if rule["nextAt"].is_string() {
            format!(", at {}", when(rule, "nextAt", now))
        } else {
            String::new()
        };
        return vec![format!("{}{at} (rule `{}`)", field(rule, "next"), field(rule, "name"))];
    }
    if worker["path"] == "/" {
        return vec!["it goes on; its rules are judged with each new observation".to_owned()];
    }
    let due = worker["observed"]["service"]["due"].as_str();
    let one = match worker["state"].as_str().unwrap_or_default() {
        "failed" => "nothing, until a person or a changed file says otherwise".to_owned(),
        "stopped" if worker["goal"] == "running" => "nothing: its work is done".to_owned(),
        "stopped" => "nothing, until somebody starts it".to_owned(),
        "starting" if due.is_some() => {
            let due = when(&worker["observed"]["service"], "due", now);
            format!("it is started again at {due}")
        }
        "starting" => "it is running once it is ready".to_owned(),
        "stopping" => "it is stopped once nothing of it runs; what is left after its grace is killed".to_owned(),
        "degraded" => "it is running again once it is well".to_owned(),
        _ => "it is looked at every second; should it end, its `restart` says what follows".to_owned(),
    };
    vec![one]
}

fn hold(hold: &Value, now: Timestamp) -> String {
    let mut text = format!(
        "{} since {}; {}",
        field(hold, "what"),
        when(hold, "since", now),
        field(hold, "next")
    );
    // Writing to a text cannot fail.
    if hold["at"].is_string() {
        let _ = write!(text, ", at {}", when(hold, "at", now));
    }
    if hold["givesUp"].is_string() {
        let _ = write!(text, "; that is given up at {}", when(hold, "givesUp", now));
    }
    text
}

/// How a rule over its children stands.
pub(super) fn rule(rule: &Value, now: Timestamp) -> String {
    let mut text = format!(
        "Rule `{}` of {}, which restarts `{}`: circuit {}, {} of {} detections, last check {}",
        field(rule, "name"),
        field(rule, "supervisor"),
        field(rule, "restart"),
        field(rule, "circuit"),
        field(rule, "detections"),
        field(rule, "detectionsMax"),
        rule["lastCheck"].as_str().unwrap_or("none yet"),
    );
    // Writing to a text cannot fail.
    if let Some(why) = rule["gaveUp"].as_str() {
        let _ = write!(
            text,
            "; gave up at {}, because {}",
            when(rule, "gaveUpAt", now),
            plain(why)
        );
    } else if let Some(reason) = rule["reason"].as_str() {
        let _ = write!(text, " ({})", plain(reason));
    }
    let _ = write!(text, "; next: {}", plain(&field(rule, "next")));
    if rule["nextAt"].is_string() {
        let _ = write!(text, ", at {}", when(rule, "nextAt", now));
    }
    text.push('.');
    text
}

/// The commands that would help, each with what it does.
pub(super) fn can(worker: &Value) -> Vec<(String, &'static str)> {
    let path = field(worker, "path");
    let on = |verb: &str| format!("sprag service {verb} {path}");
    let mut commands = Vec::new();
    if let Some(other) = waits_for(worker, &path) {
        commands.push((
            format!("sprag service explain {other}"),
            "says how the one it waits for is",
        ));
    }
    for escalation in list(worker, "escalations") {
        let child = format!("sprag service restart {}", below(&path, &field(escalation, "child")));
        commands.push((child, "ends the escalation, and what was counted is forgotten"));
    }
    if worker["action"]["outcome"] == "inProgress" {
        commands.push((
            on("cancel"),
            "cancels its action; cancelling a stop kills what is left at once",
        ));
    }
    if path == "/" {
        commands.push((
            on("start"),
            "ends escalations and starts what failed; what is well is not touched",
        ));
        return commands;
    }
    if worker["circuit"] == "escalated" {
        commands.push((on("restart"), "ends the escalation, and what was counted is forgotten"));
    }
    match worker["state"].as_str().unwrap_or_default() {
        "failed" => commands.extend([
            (on("logs"), "shows what it wrote"),
            (on("start"), "forgets what failed and tries again"),
            ("sprag service reload".to_owned(), "follows the file once it is mended"),
        ]),
        "stopped" => commands.push((on("start"), "starts it")),
        "stopping" => commands.push((on("logs"), "shows what it writes")),
        _ => commands.extend([
            (on("logs"), "shows what it writes"),
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
fn waits_for(worker: &Value, path: &str) -> Option<String> {
    let name = worker["waiting"].as_str()?.split('`').nth(1)?;
    Some(match path.rsplit_once('/') {
        Some((parent, _)) => format!("{parent}/{name}"),
        None => name.to_owned(),
    })
}
