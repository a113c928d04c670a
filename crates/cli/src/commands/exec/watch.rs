//! `sprag exec watch`.
//!
//! Every entry of the history is shown once, in order, also when the server went away in between: what was shown last
//! is where the next connection goes on.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use crate::client::{Client, Event, Events, NotOpened, Remote};
use crate::failure::Exit;
use crate::output::{self, Output, Reader};

/// How often a server that went away is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often at most: five minutes.
const LOOKS_MAX: usize = 600;
/// How many actions are remembered, the newest.
const SAID_MAX: usize = 4_096;

const EXIT_CODES: &str = "\
Exit codes:
  0  the execution completed, or the reader of the output closed it
  1  the command could not watch the execution
  2  usage error or invalid input
  3  a decision of the execution failed, and it waits for a person
  4  the execution was cancelled

With --output json every line is one object with event (history, action,
execution, closed or lagged) and data; history entries also have their
sequence as id.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    /// The execution: its id, or MACHINE/KEY
    id: String,
    /// Start after this sequence of the history
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
        output::note("the connection is over; looking for the server");
        events = again(&client, &path, watch.last).await?;
        output::note("going on where it ended");
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
            Output::Text => self.sentence(name, data),
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

    fn sentence(&mut self, name: &str, data: &Value) -> Option<String> {
        match name {
            "history" => Some(output::happened(data)),
            "closed" => Some(output::stands(data)),
            "execution" => self.is_news(data, "configuration").then(|| output::stands(data)),
            "action" => self.is_news(data, "waiting").then(|| output::acts(data)),
            _ => None,
        }
    }

    /// Whether this status and `field` were not said of it last. A server that is back says again what is open.
    fn is_news(&mut self, data: &Value, field: &str) -> bool {
        let id = data["id"].as_str().unwrap_or_default();
        // Not the sentence: it says how long ago something was, which changes by itself.
        let stands = format!("{} {}", data["status"], data[field]);
        let is_news = self.said.insert(id.to_owned(), stands.clone()) != Some(stands);
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
    use super::*;

    #[test]
    fn an_end_that_two_hints_tell_of_is_said_once() {
        let mut watch = Watch {
            last: None,
            said: BTreeMap::new(),
            output: Output::Text,
        };
        let action = |id: &str, status: &str| json!({"id": id, "status": status, "waiting": {"state": "done"}});
        assert!(watch.sentence("action", &action("act_1", "succeeded")).is_some());
        assert_eq!(watch.sentence("action", &action("act_1", "succeeded")), None);
        assert!(watch.sentence("action", &action("act_1", "archived")).is_some());
        for number in 0..=SAID_MAX {
            watch.sentence("action", &action(&format!("act_2{number:05}"), "succeeded"));
        }
        assert_eq!(watch.said.len(), SAID_MAX);
    }
}
