//! `sprag switch on`: returns once the switch holds on every node.

use std::time::Duration;

use serde_json::{Value, json};
use sprag_wire::{Switch, SwitchStatus};

use crate::client::{Client, Once, Remote};
use crate::completion::{Names, words};
use crate::failure::Exit;
use crate::output::{self, Output};

/// How often it is looked whether every node knows of it.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often at the most: by then it holds, whatever became of any node.
const LOOKS_MAX: u32 = 30;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// all, machine:NAME, type:TYPE, actionId:MACHINE/ACTION,{n}operation:NAME, subject:NAME or tag:TAG
    #[arg(add = Names::Scopes.completer())]
    scope: String,
    /// Reason, shown to other operators
    #[arg(long)]
    reason: String,
    /// hold: start no attempt; cancel: also cancel open{n}actions and ask running attempts to stop{n}[default: hold]
    #[arg(long, default_value = "hold", hide_default_value = true, add = words(&["hold", "cancel"]))]
    mode: String,
    /// Release the switch after this time, such as 2h
    #[arg(long = "for", value_name = "DURATION")]
    lasts: Option<String>,
    /// Do not wait until every node knows the switch
    #[arg(long)]
    no_wait: bool,
    /// Set the switch even if its scope matches nothing
    #[arg(long)]
    allow_unknown: bool,
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
        no_wait,
        allow_unknown,
        once,
        remote,
    } = arguments;
    let client = remote.client()?;
    let mut body = json!({"scope": scope, "reason": reason, "mode": mode, "expiresIn": lasts});
    if *allow_unknown {
        body["allowUnknown"] = json!(true);
    }
    let request = client.post(&["kill-switches"]).json(&body);
    let mut document = request.once(once).send().await?;
    let mut switch: Switch = output::read(document.clone())?;
    if switch.status == SwitchStatus::Arming && !no_wait {
        output::note("the switch is on; waiting until every node knows it (at most 10 s)");
        document = until_effective(&client, &switch).await?.unwrap_or(document);
        switch = output::read(document.clone())?;
    }
    output.show(&document, super::text)?;
    if output == Output::Text {
        if switch.status == SwitchStatus::Unmatched {
            output::note("it stops nothing yet: its scope matches nothing that exists");
        }
        output::note(&format!("release it with: sprag switch off {}", switch.id));
    }
    Ok(Exit::Done)
}

/// The switch once it is not arming any more; as it is, should that take too long or it be gone.
async fn until_effective(client: &Client, switch: &Switch) -> anyhow::Result<Option<Value>> {
    let id = switch.id.to_string();
    let mut last = None;
    for _ in 0..LOOKS_MAX {
        tokio::time::sleep(LOOK_EVERY).await;
        let document = client.get(&["kill-switches", &id]).send().await?;
        let Switch { status, .. } = output::read(document.clone())?;
        last = Some(document);
        if status != SwitchStatus::Arming {
            break;
        }
    }
    Ok(last)
}
