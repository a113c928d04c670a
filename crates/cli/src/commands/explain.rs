//! `sprag explain ID`: why something is not moving, and what would free it.

use std::fmt::Write as _;

use serde_json::Value;
use sprag_core::machine::load_stored;

use crate::client::{Client, Remote};
use crate::completion::Names;
use crate::failure::{Exit, Failure};
use crate::output::{Output, Reason, Subject, now, plain, reason};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The id of an execution (exe_…) or an action (act_…), or MACHINE/KEY of an execution
    #[arg(add = Names::Explained.completer())]
    id: String,
    #[command(flatten)]
    remote: Remote,
}

/// Explains whatever the id is of.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments { id, remote } = arguments;
    match id.split_once('_').filter(|_| !id.contains('/')) {
        Some(("exe", _)) => execution(&remote.client()?, id, output).await,
        Some(("act", _)) => action(&remote.client()?, id, output).await,
        _ if id.contains('/') => {
            let client = remote.client()?;
            let id = client.execution_id(id).await?;
            execution(&client, &id, output).await
        }
        _ => {
            let failure = Failure::invalid(format!("`{id}` is the id of nothing that can be explained"));
            Err(failure
                .note("give the id of an execution (exe_…) or an action (act_…), or MACHINE/KEY of an execution")
                .into())
        }
    }
}

/// Explains an execution and its open actions.
pub(crate) async fn execution(client: &Client, id: &str, output: Output) -> anyhow::Result<Exit> {
    let explained = client.get(&["executions", id, "explain"]).send().await?;
    if output == Output::Json {
        output.show(&explained, |_| String::new())?;
        return Ok(Exit::Done);
    }
    let answers = if explained["status"] == "running" {
        accepted_messages(client, id).await?
    } else {
        Vec::new()
    };
    output.show(&explained, |explained| text(explained, id, &answers))?;
    Ok(Exit::Done)
}

async fn action(client: &Client, id: &str, output: Output) -> anyhow::Result<Exit> {
    let mut explained = client.get(&["actions", id]).send().await?;
    if explained["status"] == "dead" {
        explained = client.get(&["dead-letters", id]).send().await?;
    }
    output.show(&explained, |explained| action_text(explained, id))?;
    Ok(Exit::Done)
}

/// The messages that the active states of an execution accept.
pub(crate) async fn accepted_messages(client: &Client, id: &str) -> Result<Vec<String>, Failure> {
    let execution = client.get(&["executions", id]).send().await?;
    let machine = execution["machine"].as_str().unwrap_or_default();
    let version = execution["version"].to_string();
    let kept = client.get(&["machines", machine, "versions", &version]).send().await?;
    let paths = execution["configuration"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    // Whatever stands in the way of reading the definition, the rest of the explanation is still true.
    Ok(load_stored(&kept["definition"])
        .map(|machine| machine.accepted_messages(paths))
        .unwrap_or_default())
}

fn text(explained: &Value, id: &str, answers: &[String]) -> String {
    if has_ended(explained) {
        return format!("{id} has ended: it is {}.\n", word(explained, "status"));
    }
    let Reason { what, freed_by } = reason(&explained["waiting"], Subject::Execution(id), now());
    let mut text = format!("{id} is {}: {what}.\n", word(explained, "status"));
    if let Some(failure) = explained["failure"].as_str() {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "Why: {}.", plain(failure));
    }
    let _ = writeln!(text, "What would free it: {freed_by}.");
    if !answers.is_empty() {
        let _ = writeln!(text, "Its states answer to: {}.", plain(&answers.join(", ")));
    }
    for action in explained["actions"].as_array().into_iter().flatten() {
        let _ = write!(text, "\n{}", action_text(action, &word(action, "id")));
    }
    text
}

fn action_text(action: &Value, id: &str) -> String {
    let (name, status) = (word(action, "actionId"), word(action, "status"));
    if status == "dead" {
        return dead_letter(action, &name, id);
    }
    if has_ended(action) {
        return format!("{name} ({id}) has ended: it is {status}.\n");
    }
    let Reason { what, freed_by } = reason(&action["waiting"], Subject::Action(id), now());
    format!("{name} ({id}) is {status}: {what}.\nWhat would free it: {freed_by}.\n")
}

/// Why it died, what would fix it, and the commands that settle it.
fn dead_letter(action: &Value, name: &str, id: &str) -> String {
    let error = &action["lastError"];
    let why = match error["message"].as_str().filter(|message| !message.is_empty()) {
        Some(message) => format!("{}: {}", word(error, "type"), plain(message)),
        None => word(error, "type"),
    };
    let mut text = format!("{name} ({id}) is a dead letter: {}.\n", why.trim_end_matches('.'));
    if let Some(fix) = action["suggestedFix"].as_str() {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "Suggested fix: {}.", plain(fix).trim_end_matches('.'));
    }
    if action["manualReviewRequired"] == true {
        text.push_str(
            "Check the other system before you retry: the effect may have happened, or a retry cannot help.\n",
        );
    }
    let apply = if action["fixPatch"].is_array() {
        format!("`sprag dlq retry {id} --apply-fix` applies the fix and retries it, ")
    } else {
        String::new()
    };
    let _ = writeln!(
        text,
        "What would free it: {apply}`sprag dlq retry {id}` retries it as it is, `sprag dlq archive {id}` puts it away."
    );
    text
}

fn has_ended(document: &Value) -> bool {
    document["waiting"]["state"] == "done"
}

fn word(document: &Value, name: &str) -> String {
    plain(document[name].as_str().unwrap_or("-"))
}
