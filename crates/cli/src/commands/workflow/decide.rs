//! What people decide about a workflow: `approve`, `reject`, `revoke`, `cancel`, `resume`.

use serde_json::{Value, json};

use crate::client::{Once, Remote};
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Approve {
    /// The id of the workflow
    id: String,
    /// Digest of the plan, as `show` prints it
    #[arg(long)]
    digest: String,
    /// A comment for others
    #[arg(long)]
    comment: Option<String>,
    #[command(flatten)]
    once: Once,
    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Commented {
    /// The id of the workflow
    id: String,
    /// Why
    #[arg(long)]
    comment: String,
    #[command(flatten)]
    once: Once,
    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Reasoned {
    /// The id of the workflow
    id: String,
    /// Why
    #[arg(long)]
    reason: String,
    #[command(flatten)]
    once: Once,
    #[command(flatten)]
    remote: Remote,
}

impl Approve {
    pub(crate) async fn run(&self, output: Output) -> anyhow::Result<Exit> {
        let mut body = json!({"digest": self.digest});
        if let Some(comment) = &self.comment {
            body["comment"] = json!(comment);
        }
        decide(&self.remote, (&self.id, "approve"), &body, &self.once, output).await
    }
}

impl Commented {
    pub(crate) async fn run(&self, verb: &str, output: Output) -> anyhow::Result<Exit> {
        let body = json!({"comment": self.comment});
        decide(&self.remote, (&self.id, verb), &body, &self.once, output).await
    }
}

impl Reasoned {
    pub(crate) async fn run(&self, verb: &str, output: Output) -> anyhow::Result<Exit> {
        let body = json!({"reason": self.reason});
        decide(&self.remote, (&self.id, verb), &body, &self.once, output).await
    }
}

async fn decide(
    remote: &Remote,
    (id, verb): (&str, &str),
    body: &Value,
    once: &Once,
    output: Output,
) -> anyhow::Result<Exit> {
    let client = remote.client()?;
    let document = client
        .post(&["workflows", id, verb])
        .json(body)
        .once(once)
        .send()
        .await?;
    output.show(&document, output::workflow)?;
    Ok(Exit::Done)
}
