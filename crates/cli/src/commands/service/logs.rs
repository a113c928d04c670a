//! `sprag service logs`.

use std::time::Duration;

use serde_json::Value;
use sprag_wire::WorkerLog;
use tokio::time::sleep;

use super::Supervisor;
use crate::client::Client;
use crate::completion::Names;
use crate::failure::Exit;
use crate::output::{self, Output, Reader};

/// Between two looks at a log that is followed.
const EVERY: Duration = Duration::from_millis(300);

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The service: its name, or `parent/child`
    #[arg(add = Names::Services.completer())]
    path: String,
    /// Show this many of the last lines
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 100)]
    lines: usize,
    /// Follow the log until you press Ctrl-C
    #[arg(long, short)]
    follow: bool,
    #[command(flatten)]
    supervisor: Supervisor,
}

/// Shows the last lines, and continues if asked to.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.supervisor.client()?;
    let lines = arguments.lines.to_string();
    let mut part = read(&client, &arguments.path, ("lines", &lines)).await?;
    loop {
        if show(&part, output)? == Reader::Gone || !arguments.follow {
            return Ok(Exit::Done);
        }
        sleep(EVERY).await;
        let WorkerLog { offset, .. } = output::read(part)?;
        part = read(&client, &arguments.path, ("after", &offset.to_string())).await?;
    }
}

async fn read(client: &Client, path: &str, which: (&str, &str)) -> anyhow::Result<Value> {
    Ok(client
        .get(&["workers", path, "logs"])
        .query(which.0, Some(which.1))
        .send()
        .await?)
}

/// Shows a part of the log. Its lines stay lines; what else a terminal would obey is escaped, because a service writes what
/// others sent it.
fn show(part: &Value, output: Output) -> anyhow::Result<Reader> {
    match output {
        Output::Json => output::line(&part.to_string()),
        Output::Text => {
            let WorkerLog { text, .. } = output::read(part.clone())?;
            output::piece(&text.replace("\r\n", "\n"))
        }
    }
}
