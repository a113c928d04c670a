//! `sprag limit set`.

use serde_json::{Map, Value, json};

use crate::client::{Remote, Why};
use crate::completion::Names;
use crate::failure::Exit;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The key; the default key of an action is MACHINE/ACTION
    #[arg(add = Names::Limits.completer())]
    key: String,
    /// Run at most this many attempts at once
    #[arg(long, value_name = "COUNT")]
    concurrency: Option<u32>,
    /// Start at most this many per time, such as 100/1m
    #[arg(long, value_name = "COUNT/TIME")]
    rate: Option<String>,
    /// Set only at this revision; 0: no override
    #[arg(long)]
    revision: Option<u64>,
    #[command(flatten)]
    why: Why,
    #[command(flatten)]
    remote: Remote,
}

/// Overrides the limit.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments {
        key,
        concurrency,
        rate,
        revision,
        why,
        remote,
    } = arguments;
    let mut body = Map::new();
    if let Some(concurrency) = concurrency {
        body.insert("concurrency".to_owned(), json!(concurrency));
    }
    if let Some(rate) = rate {
        body.insert("rate".to_owned(), super::rate_of(rate)?);
    }
    let client = remote.client()?;
    let limit = client
        .put(&["limits", key])
        .matching(*revision)
        .why(why)
        .json(&Value::Object(body))
        .send()
        .await?;
    output.show(&limit, super::one)?;
    Ok(Exit::Done)
}
