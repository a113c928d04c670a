//! `sprag switch on`.

use serde_json::json;

use crate::client::{Once, Remote};
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// What it holds: all, machine:NAME, type:TYPE or actionId:MACHINE/ACTION
    scope: String,
    /// Why, for whoever finds it on
    #[arg(long)]
    reason: String,
    /// hold: nothing new begins; cancel: what waits is cancelled too, and what runs is asked to stop
    #[arg(long, default_value = "hold")]
    mode: String,
    /// Go off by itself after this time, as in 2h
    #[arg(long = "for", value_name = "DURATION")]
    lasts: Option<String>,
    #[command(flatten)]
    once: Once,
    #[command(flatten)]
    remote: Remote,
}

/// Puts the switch on.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments {
        scope,
        reason,
        mode,
        lasts,
        once,
        remote,
    } = arguments;
    let client = remote.client()?;
    let body = json!({"scope": scope, "reason": reason, "mode": mode, "expiresIn": lasts});
    let request = client.post(&["kill-switches"]).json(&body);
    let switch = request.once(once).send().await?;
    output.show(&switch, super::text)?;
    if output == Output::Text {
        let id = switch["id"].as_str().unwrap_or_default();
        output::note(&format!("release it with: sprag switch off {id}"));
    }
    Ok(Exit::Done)
}
