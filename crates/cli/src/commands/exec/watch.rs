//! `sprag exec watch`.
//!
//! Every entry of the history is shown once, in order, also when the server went away in between: what was shown last
//! is where the next connection continues.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use sprag_wire::{Action, Execution};
use tokio::time::sleep;

use crate::client::{Client, Event, Events, NotOpened, Remote};
use crate::completion::Names;
use crate::failure::{Exit, Failure};
use crate::output::{self, Output, Reader};

/// How often a server that went away is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often at most: five minutes.
const LOOKS_MAX: usize = 600;
/// How many actions are remembered, the newest.
const SAID_MAX: usize = 4_096;

const EXIT_CODES: &str = "\
Exit codes:
  0  the execution completed, or the reader of the output closed the pipe
  1  the command could not watch the execution
  2  usage error or invalid input
  3  a decision of the execution failed, and it waits for a person
  4  the execution was cancelled

With --output json, every line is one object with `event` (history, action,
execution, closed or lagged) and `data`. History entries also have their
sequence as `id`.

Examples:
  sprag exec watch order/118
  sprag exec watch order/118 --after 41 --output json";

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    /// The execution: its id, or MACHINE/KEY
    #[arg(add = Names::Executions.completer())]
    id: String,
    /// Start after the history entry with this sequence
    #[arg(long, value_name = "SEQUENCE")]
    after: Option<u64>,
    #[command(flatten)]
    remote: Remote,
}

/// Shows what happens to an execution until it is closed or a decision of it failed.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments { id, after, remote } = arguments;
    let client = remote.client()?;
    let id = client.execution_id(id).await?;
    let path = ["executions", &id, "stream"];
    let mut watch = Watch {
        last: *after,
        said: BTreeMap::new(),
        output,
    };
    let mut events = client.events(&path, watch.last).await.map_err(NotOpened::failure)?;
    loop {
        while let Some(event) = events.next().await {
            if let Some(exit) = watch.show(&event)? {
                return Ok(exit);
            }
        }
        output::note("the connection is closed; reconnecting");
        events = again(&client, &path, watch.last).await?;
        output::note("connected again; continuing where it stopped");
    }
}

/// Opens the stream again, once there is a server.
async fn again(client: &Client, path: &[&str], last: Option<u64>) -> anyhow::Result<Events> {
    for _ in 1..LOOKS_MAX {
        match client.events(path, last).await {
            Ok(events) => return Ok(events),
            Err(NotOpened::Later(_)) => sleep(LOOK_EVERY).await,
            Err(NotOpened::Refused(failure)) => return Err(failure.into()),
        }
    }
    Ok(client.events(path, last).await.map_err(NotOpened::failure)?)
}

/// What was shown so far.
struct Watch {
    /// The sequence of the last history entry.
    last: Option<u64>,
    /// How each of them stood when it was last shown, so that nothing is said twice: two hints may tell of one end.
    said: BTreeMap<String, String>,
    output: Output,
}

impl Watch {
    /// Shows an event; says how the command ends, if it ends with it.
    fn show(&mut self, event: &Event) -> anyhow::Result<Option<Exit>> {
        let Event { name, id, data } = event;
        self.last = id.or(self.last);
        let line = match self.output {
            Output::Json => Some(line(event)),
            Output::Text => self.sentence(name, data)?,
        };
        if let Some(line) = line
            && output::line(&line)? == Reader::Gone
        {
            return Ok(Some(Exit::Done));
        }
        Ok(match (name.as_str(), data["status"].as_str()) {
            ("closed", Some("cancelled")) => Some(Exit::WatchedCancelled),
            ("closed", _) => Some(Exit::Done),
            ("execution", Some("failed")) => Some(Exit::WatchedFailed),
            _ => None,
        })
    }

    fn sentence(&mut self, name: &str, data: &Value) -> Result<Option<String>, Failure> {
        // Not the sentence is compared: it says how long ago something was, which changes by itself.
        Ok(match name {
            "history" => Some(output::happened(&output::read(data.clone())?)),
            "closed" => Some(output::stands(&output::read(data.clone())?)),
            "execution" => {
                let execution: Execution = output::read(data.clone())?;
                let stands = format!("{} {:?}", execution.status, execution.configuration);
                let is_news = self.is_news(execution.id.to_string(), stands);
                is_news.then(|| output::stands(&execution))
            }
            "action" => {
                let action: Action = output::read(data.clone())?;
                let stands = format!("{} {:?}", action.status, action.waiting);
                let is_news = self.is_news(action.id.to_string(), stands);
                is_news.then(|| output::acts(&action))
            }
            _ => None,
        })
    }

    /// Whether it did not stand so when it was last shown. A server that is back says again what is open.
    fn is_news(&mut self, id: String, stands: String) -> bool {
        let is_news = self.said.insert(id, stands.clone()) != Some(stands);
        if self.said.len() > SAID_MAX {
            // Ids follow time, so this is the oldest.
            self.said.pop_first();
        }
        is_news
    }
}

/// An event as one line of JSON.
fn line(event: &Event) -> String {
    let Event { name, id, data } = event;
    match id {
        Some(id) => json!({"event": name, "id": id, "data": data}),
        None => json!({"event": name, "data": data}),
    }
    .to_string()
}

#[cfg(test)]
mod tests {
    use sprag_core::ids::{ActionId, ExecutionId, Slot};
    use sprag_core::time::Timestamp;

    use super::*;

    #[test]
    fn an_end_that_two_hints_tell_of_is_said_once() {
        let mut watch = Watch {
            last: None,
            said: BTreeMap::new(),
            output: Output::Text,
        };
        let at = Timestamp::from_millis;
        let action = |number: i64, status: &str| {
            json!({
                "id": ActionId::compose(at(number), Slot(0), 0), "actionId": "a", "type": "t", "status": status,
                "waiting": {"state": "done"}, "attempts": [], "success": null, "duration": null, "result": null,
                "resultEvents": [], "lastError": null, "executionId": ExecutionId::compose(at(0), Slot(0), 0),
                "machine": "m", "version": 1, "runner": "t", "tags": [], "priority": 50, "createdAt": at(0),
                "runAt": at(0), "idempotencyKey": "k", "cancelRequested": false,
            })
        };
        let mut said = |number: i64, status: &str| watch.sentence("action", &action(number, status)).unwrap();
        assert!(said(1, "succeeded").is_some());
        assert_eq!(said(1, "succeeded"), None);
        assert!(said(1, "archived").is_some());
        for number in (2..).take(SAID_MAX + 1) {
            said(number, "succeeded");
        }
        assert_eq!(watch.said.len(), SAID_MAX);
    }
}
