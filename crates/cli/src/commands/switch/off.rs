//! `sprag switch off`.

use serde_json::json;
use sprag_wire::ReleasedSwitch;

use crate::client::{Once, Remote, Why};
use crate::commands::limit::rate_of;
use crate::completion::{Names, words};
use crate::failure::Exit;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The id of the switch
    #[arg(add = Names::Switches.completer())]
    id: String,
    /// run: start the actions that it held;{n}skip: cancel them [default: run]
    #[arg(long, default_value = "run", hide_default_value = true, add = words(&["run", "skip"]))]
    held: String,
    /// How many held actions start per time: 10/1s{n}[default: `[switches] rate` of the server]
    #[arg(long, value_name = "COUNT/TIME")]
    rate: Option<String>,
    /// Release only at this revision
    #[arg(long)]
    revision: Option<u64>,
    #[command(flatten)]
    why: Why,
    #[command(flatten)]
    once: Once,
    #[command(flatten)]
    remote: Remote,
}

/// Releases the switch.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.remote.client()?;
    let mut body = json!({"held": arguments.held});
    if let Some(rate) = &arguments.rate {
        body["rate"] = rate_of(rate)?;
    }
    let switch = client
        .post(&["kill-switches", &arguments.id, "release"])
        .matching(arguments.revision)
        .json(&body)
        .once(&arguments.once)
        .why(&arguments.why)
        .send()
        .await?;
    output.show(&switch, text)?;
    Ok(Exit::Done)
}

fn text(released: &ReleasedSwitch) -> String {
    let ReleasedSwitch { switch, held } = released;
    super::text(switch) + &super::held(held)
}
