//! `sprag exec send`: by id, or by machine and key.

use serde_json::{Map, Value, json};
use sprag_wire::Sent;

use crate::client::{Once, Remote};
use crate::completion::{Names, send_words};
use crate::failure::{Exit, Failure};
use crate::input;
use crate::output::{Output, plain};

const USAGE: &str = "\
sprag exec send [OPTIONS] ID|MACHINE/KEY TYPE [PAYLOAD]
       sprag exec send [OPTIONS] --machine MACHINE --key KEY TYPE [PAYLOAD]";

const AFTER_HELP: &str = "\
Exits with 0 if Sprag recorded the message, even if no transition handled it
(see `handled` in the JSON output). Exits with 1 if Sprag refused the message.

Examples:
  sprag exec send order/118 SHIPPED
  sprag exec send order/118 PAID '{\"amount\": 12}'";

#[derive(Debug, clap::Args)]
#[command(override_usage = USAGE, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// The execution (its id or MACHINE/KEY), the type{n}of the message, and its payload as JSON
    #[arg(required = true, num_args = 1..=3, value_name = "ID TYPE PAYLOAD", add = send_words())]
    words: Vec<String>,
    /// Machine of the open execution, with --key
    #[arg(long, requires = "key", add = Names::Machines.completer())]
    machine: Option<String>,
    /// Key of the open execution
    #[arg(long, requires = "machine")]
    key: Option<String>,
    /// Id of the message; a repeat gets the first answer
    #[arg(long)]
    id: Option<String>,
    #[command(flatten)]
    once: Once,
    #[command(flatten)]
    remote: Remote,
}

/// Sends the message and shows what became of it.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.remote.client()?;
    let words: Vec<&str> = arguments.words.iter().map(String::as_str).collect();
    let (request, kind, payload) = match (&arguments.machine, &arguments.key, words.as_slice()) {
        (Some(machine), Some(key), [kind, payload @ ..]) if payload.len() <= 1 => {
            let address = Map::from_iter([("machine".to_owned(), json!(machine)), ("key".to_owned(), json!(key))]);
            ((client.post(&["messages"]), address), *kind, payload.first())
        }
        (None, None, [named, kind, payload @ ..]) if named.contains('/') => {
            let (machine, key) = named.split_once('/').unwrap_or_default();
            let address = Map::from_iter([("machine".to_owned(), json!(machine)), ("key".to_owned(), json!(key))]);
            ((client.post(&["messages"]), address), *kind, payload.first())
        }
        (None, None, [id, kind, payload @ ..]) => (
            (client.post(&["executions", id, "messages"]), Map::new()),
            *kind,
            payload.first(),
        ),
        _ => {
            return Err(Failure::invalid("the execution or the type of the message is missing")
                .note(format!("usage: {USAGE}"))
                .into());
        }
    };
    let (request, mut message) = request;
    message.insert("type".to_owned(), json!(kind));
    if let Some(payload) = payload {
        message.insert("payload".to_owned(), input::json(payload)?);
    }
    if let Some(id) = &arguments.id {
        message.insert("id".to_owned(), json!(id));
    }
    let request = request.json(&Value::Object(message)).once(&arguments.once);
    let reply = request.send().await?;
    output.show(&reply, |reply| text(kind, reply))?;
    Ok(Exit::Done)
}

/// What became of the message, in a sentence.
fn text(kind: &str, sent: &Sent) -> String {
    let kind = plain(kind);
    if sent.queued {
        return format!("{kind} waits in the inbox\n");
    }
    let how = if sent.handled {
        "was handled"
    } else {
        "was recorded; no transition handles it"
    };
    format!(
        "{kind} {how}; now in {} (sequence {})\n{}",
        sent.configuration.join(", "),
        sent.sequence,
        accepted(&kind, sent)
    )
}

/// What the states accept, for a message that nothing handles.
fn accepted(kind: &str, sent: &Sent) -> String {
    if sent.handled {
        return String::new();
    }
    let names: Vec<String> = sent.accepts.iter().map(|name| plain(name)).collect();
    if names.is_empty() {
        return "The active states accept no messages.\n".to_owned();
    }
    let list = names.join(", ");
    if names.iter().any(|name| name == kind) {
        return format!("Accepted now: {list}. A transition names {kind}, but its guard is false.\n");
    }
    format!("Accepted now: {list}.\n")
}
