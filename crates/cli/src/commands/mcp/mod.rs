//! `sprag mcp`: serves the catalog of operations to AI agents, over the Model Context Protocol.
//!
//! It is a client of the server with no privileges of its own: it acts with the agent's token. A call of a tool proposes, and
//! the server decides whether a person must approve. Tokens that may do more than propose and read are refused.

mod agent;
mod handler;
mod http;
mod readers;
mod result;
mod tools;
mod workflow;

use std::net::SocketAddr;
use std::sync::Arc;

use rmcp::ServiceExt as _;

use self::agent::Agent;
use self::handler::Handler;
use crate::client::Remote;
use crate::config::ConfigFile;
use crate::failure::{Exit, Failure};
use crate::output::Output;

const AFTER_HELP: &str = "\
An MCP client starts this command and speaks with it over stdin and stdout. The
token in SPRAG_TOKEN may only have the roles proposer and viewer. A call of a
tool proposes the operation; people approve what needs approval.

With --listen, each client sends its own token as `Authorization: Bearer`.

Examples:
  sprag token create helper --role proposer
  SPRAG_TOKEN=sprag_... sprag mcp --server http://127.0.0.1:7400
  sprag mcp --listen 127.0.0.1:7403";

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// Listen for MCP clients over HTTP, instead of stdio
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    #[command(flatten)]
    config: ConfigFile,
    #[command(flatten)]
    remote: Remote,
}

/// Serves agents until their client goes away, or until a signal.
pub(crate) fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let settings = arguments.config.load()?;
    let client = arguments.remote.client()?;
    let hosts = Arc::new(settings.engine.check_hosts.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let exit = runtime.block_on(async {
        match arguments.listen {
            Some(listen) => http::serve(listen, &settings, client, hosts, output).await,
            None => stdio(Handler::of(Agent::enter(client).await?, hosts)).await,
        }
    });
    // A thread that still reads stdin must not keep the process.
    runtime.shutdown_background();
    exit
}

async fn stdio(handler: Handler) -> anyhow::Result<Exit> {
    let failed = |error: &dyn std::fmt::Display| Failure::new(format!("the MCP client was lost: {error}"));
    let running = handler
        .serve(rmcp::transport::stdio())
        .await
        .map_err(|error| failed(&error))?;
    running.waiting().await.map_err(|error| failed(&error))?;
    Ok(Exit::Done)
}
