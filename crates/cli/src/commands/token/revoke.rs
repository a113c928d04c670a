//! `sprag token revoke`.

use serde_json::json;

use crate::client::{Once, Remote};
use crate::completion::Names;
use crate::failure::Exit;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The id of the token
    #[arg(add = Names::Tokens.completer())]
    id: String,
    #[command(flatten)]
    once: Once,
    #[command(flatten)]
    remote: Remote,
}

/// Revokes the token.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.remote.client()?;
    let token = client
        .post(&["tokens", &arguments.id, "revoke"])
        .json(&json!({}))
        .once(&arguments.once)
        .send()
        .await?;
    output.show(&token, super::text)?;
    Ok(Exit::Done)
}
