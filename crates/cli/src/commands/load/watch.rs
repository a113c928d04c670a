//! `sprag load watch`.
//!
//! Figures are cumulative, so after a broken connection the next event has all that was missed.

use std::time::Duration;

use serde_json::{Value, json};
use sprag_wire::{ActionStatus, LiveLoad, Load};
use tokio::time::sleep;

use super::{LOADS, show};
use crate::client::{Client, Event, Events, NotOpened, Remote};
use crate::failure::Exit;
use crate::output::{self, Output, Reader};

/// How often a server that went away is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often at most: five minutes.
const LOOKS_MAX: usize = 600;

const AFTER_HELP: &str = "\
Exit codes:
  0  the load test succeeded, or the reader of the output closed the pipe
  1  the command could not watch the load test
  2  usage error or invalid input
  3  the load test failed
  4  the load test was cancelled

With --output json, every line is one object with `event` (load, figures or
ended) and `data`.

Examples:
  sprag load watch act_01m7kydswteqea2dygh6x7t50q";

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// The id of the load test
    id: String,
    #[command(flatten)]
    remote: Remote,
}

/// Shows a line each second until the load test ends, then its result.
pub(super) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments { id, remote } = arguments;
    let client = remote.client()?;
    let path = [LOADS, id, "stream"];
    let mut events = client.events(&path, None).await.map_err(NotOpened::failure)?;
    loop {
        while let Some(event) = events.next().await {
            if show_event(&event, output)? == Reader::Gone {
                return Ok(Exit::Done);
            }
            if event.name == "ended" {
                return Ok(exit(&output::read::<Load>(event.data)?.status));
            }
        }
        output::note("the connection is closed; reconnecting");
        events = again(&client, &path).await?;
        output::note("connected again");
    }
}

/// Opens the stream again, once there is a server.
async fn again(client: &Client, path: &[&str]) -> anyhow::Result<Events> {
    for _ in 1..LOOKS_MAX {
        match client.events(path, None).await {
            Ok(events) => return Ok(events),
            Err(NotOpened::Later(_)) => sleep(LOOK_EVERY).await,
            Err(NotOpened::Refused(failure)) => return Err(failure.into()),
        }
    }
    Ok(client.events(path, None).await.map_err(NotOpened::failure)?)
}

fn show_event(event: &Event, output: Output) -> anyhow::Result<Reader> {
    let line = match output {
        Output::Json => json!({"event": event.name, "data": event.data}).to_string(),
        Output::Text => match text(&event.name, event.data.clone())? {
            Some(text) => text,
            None => return Ok(Reader::There),
        },
    };
    output::line(&line)
}

fn text(name: &str, data: Value) -> anyhow::Result<Option<String>> {
    Ok(match name {
        "figures" => Some(show::live(&output::read::<LiveLoad>(data)?)),
        "load" => Some(show::stands(&output::read::<Load>(data)?)),
        "ended" => Some(show::load(&output::read::<Load>(data)?).trim_end().to_owned()),
        _ => None,
    })
}

fn exit(status: &ActionStatus) -> Exit {
    match status {
        ActionStatus::Succeeded => Exit::Done,
        ActionStatus::Cancelled => Exit::WatchedCancelled,
        _ => Exit::WatchedFailed,
    }
}
