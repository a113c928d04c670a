//! One thing at a server, by its id: looked at, or changed by a verb that needs nothing more said about it.

use serde::de::DeserializeOwned;
use serde_json::json;

use crate::client::{Once, Remote};
use crate::completion::Names;
use crate::failure::Exit;
use crate::output::Output;

/// What executions are called in the API.
pub(super) const EXECUTIONS: &str = "executions";

/// What actions are called there.
pub(super) const ACTIONS: &str = "actions";
/// What dead letters are called there.
pub(super) const DEAD_LETTERS: &str = "dead-letters";

/// Which one, and where.
#[derive(Debug, clap::Args)]
pub(crate) struct One {
    /// Its id, as lists show it; an execution also as MACHINE/KEY, an action as MACHINE/KEY/ACTION
    #[arg(add = Names::OfNoun.completer())]
    pub(super) id: String,
    #[command(flatten)]
    pub(super) remote: Remote,
}

/// One to which something is done.
#[derive(Debug, clap::Args)]
pub(crate) struct Changed {
    #[command(flatten)]
    one: One,
    #[command(flatten)]
    once: Once,
}

impl Changed {
    /// Asks for `verb` to be done to the one of this name among `things`, and shows it as it is then.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        things: &str,
        verb: &str,
        output: Output,
        text: impl FnOnce(&T) -> String,
    ) -> anyhow::Result<Exit> {
        let Self { one, once } = self;
        let client = one.remote.client()?;
        let id = match things {
            EXECUTIONS => client.execution_id(&one.id).await?,
            ACTIONS | DEAD_LETTERS => client.action_id(&one.id).await?,
            _ => one.id.clone(),
        };
        let request = client.post(&[things, &id, verb]).json(&json!({}));
        let changed = request.once(once).send().await?;
        output.show(&changed, text)?;
        Ok(Exit::Done)
    }
}
