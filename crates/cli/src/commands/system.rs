//! `sprag system`.

use serde_json::Value;

use crate::client::Remote;
use crate::failure::Exit;
use crate::output::{Output, Table};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    remote: Remote,
}

/// Shows what the server is and how it runs.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.remote.client()?;
    let system = client.get(&["system"]).send().await?;
    output.show(&system, text)?;
    Ok(Exit::Done)
}

/// Every value with its name; those inside others behind a dot.
fn text(system: &Value) -> String {
    let mut table = Table::bare();
    for (name, value) in system.as_object().into_iter().flatten() {
        match value {
            Value::Object(members) => {
                for (member, value) in members {
                    table.pair(&format!("{name}.{member}"), shown(value));
                }
            }
            value => table.pair(name, shown(value)),
        }
    }
    table.text()
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
