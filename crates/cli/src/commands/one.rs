//! One thing at a server, by its id: looked at, or changed by a verb that needs nothing more said about it.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::client::{Once, Remote, Why};
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
    /// The id
    #[arg(add = Names::OfNoun.completer())]
    pub(super) id: String,
    #[command(flatten)]
    pub(super) remote: Remote,
}

/// The help of an `id` that names an execution.
pub(super) fn of_execution(id: clap::Arg) -> clap::Arg {
    id.help("The execution: its id, or MACHINE/KEY")
}

/// The help of an `id` that names an action or a dead letter.
pub(super) fn of_action(id: clap::Arg) -> clap::Arg {
    id.help("The action: its id, or MACHINE/KEY/ACTION")
}

/// The help of an `id` that names a job.
pub(super) fn of_job(id: clap::Arg) -> clap::Arg {
    id.help("The id of the job")
}

/// A verb that needs nothing more than the record it changes.
#[derive(Debug, clap::Args, Serialize)]
pub(crate) struct Bare {}

/// A record that a command changes, with the body of the request as options.
#[derive(Debug, clap::Args)]
pub(crate) struct Changed<Body: clap::Args = Bare> {
    #[command(flatten)]
    one: One,
    #[command(flatten)]
    body: Body,
    #[command(flatten)]
    why: Why,
    #[command(flatten)]
    once: Once,
}

impl<Body: clap::Args + Serialize> Changed<Body> {
    /// Asks for `verb` to be done to the one of this name among `things`, and shows it as it is then.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        things: &str,
        verb: &str,
        output: Output,
        text: impl FnOnce(&T) -> String,
    ) -> anyhow::Result<Exit> {
        let Self { one, body, once, why } = self;
        let client = one.remote.client()?;
        let id = match things {
            EXECUTIONS => client.execution_id(&one.id).await?,
            ACTIONS | DEAD_LETTERS => client.action_id(&one.id).await?,
            _ => one.id.clone(),
        };
        let request = client.post(&[things, &id, verb]).json(&json!(body));
        let changed = request.once(once).why(why).send().await?;
        output.show(&changed, text)?;
        Ok(Exit::Done)
    }
}
