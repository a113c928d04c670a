//! `sprag agent`: performs workloads for controllers, until it is asked to stop.

mod registration;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sprag_agent::agent::{Agent, Error, Options, Security, Tls};
use sprag_agent::workload::Standard;
use sprag_core::clock::{Clock, System};
use sprag_core::time::Timestamp;
use sprag_runners::secrets::Secrets;
use tokio::sync::oneshot;

use self::registration::Registration;
use crate::client::Remote;
use crate::commands::up::Signals;
use crate::config::ConfigFile;
use crate::failure::{Exit, Failure};
use crate::input;
use crate::output::{self, Output};
use crate::privacy;

const AFTER_HELP: &str = "\
An agent on a loopback address may load services on loopback addresses. Other
private addresses need [outbound] allow, and programs need [exec] allow, in the
configuration file. With --server, the agent registers with a server, which may
then run load tests on it. That needs a token with the role agent.

Exit codes:
  0    SIGINT ended the agent
  1    the agent failed
  2    usage error, or an address that needs TLS and a token or certificates
  143  SIGTERM ended the agent

Examples:
  sprag agent --listen 127.0.0.1:7402 --name a1
  SPRAG_TOKEN=… sprag agent --server https://sprag.example.com:7400
  sprag agent --listen 10.0.0.5:7402 --tls-cert agent.pem --tls-key agent.key \\
    --client-ca controllers.pem";

/// What an agent on a loopback address may reach besides the public internet.
const LOOPBACK: [&str; 2] = ["127.0.0.0/8", "::1/128"];

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// Address for controllers
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7402")]
    listen: SocketAddr,
    /// Name in reports [default: the address]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Certificate chain of the agent, PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the agent, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Accept only controllers signed by this authority
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    client_ca: Option<PathBuf>,
    /// Accept only controllers with this file's token
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Accept any controller, on any address
    #[arg(long)]
    insecure: bool,
    /// Address to register [default: as --listen]
    #[arg(long, value_name = "HOST:PORT", requires = "server")]
    advertise: Option<String>,
    #[command(flatten)]
    remote: Remote,
    #[command(flatten)]
    config: ConfigFile,
}

/// Performs workloads until a signal ends it.
pub(crate) fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    privacy::start();
    let settings = arguments.config.load()?;
    let mut runners = settings.runners;
    if arguments.listen.ip().is_loopback() {
        runners.outbound.allow.extend(LOOPBACK.map(str::to_owned));
    }
    let clock: Arc<dyn Clock> = Arc::new(System::start(Timestamp::default()));
    let secrets = Arc::new(Secrets::from_options(&settings.secrets, &clock)?);
    let workloads = Arc::new(Standard::new(&runners, secrets, Arc::clone(&clock))?);
    let name = arguments.name.clone().unwrap_or_else(|| arguments.listen.to_string());
    let options = Options {
        security: security(arguments)?,
        ..Options::new(name, clock, workloads)
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let exit = runtime.block_on(serve(options, arguments, output));
    // A leaked task must not keep the process.
    runtime.shutdown_background();
    exit
}

async fn serve(options: Options, arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen()?;
    let name = arguments.name.clone();
    let agent = Agent::bind(options, arguments.listen).await.map_err(unusable)?;
    let address = agent.address();
    let registration = Registration::of(&arguments.remote, name, arguments.advertise.clone(), address)?;
    match output {
        Output::Text => output::line(&format!("agent listens on {address}"))?,
        Output::Json => output::line(&serde_json::json!({"address": address.to_string()}).to_string())?,
    };
    let (tell, told) = oneshot::channel();
    let stop = async move {
        let signal = signals.next().await;
        tracing::info!(signal, "stop requested, aborting the run in hand");
        // The receiver outlives the server.
        let _ = tell.send(signal);
    };
    let running = agent.run(stop);
    match registration {
        Some(registration) => tokio::select! {
            ended = running => ended.map_err(unusable)?,
            refused = registration.keep() => return Err(refused.into()),
        },
        None => running.await.map_err(unusable)?,
    }
    Ok(if told.await == Ok("SIGTERM") {
        Exit::Terminated
    } else {
        Exit::Done
    })
}

fn unusable(error: Error) -> anyhow::Error {
    match error {
        Error::Security(refused) => Failure::invalid(refused.to_string()).code("agent-insecure").into(),
        other => other.into(),
    }
}

fn security(arguments: &Arguments) -> Result<Security, Failure> {
    let tls = match (&arguments.tls_cert, &arguments.tls_key) {
        (Some(certificate), Some(key)) => Some(Tls {
            certificate: input::text(certificate)?.into_bytes(),
            key: input::text(key)?.into_bytes(),
            client_authority: arguments
                .client_ca
                .as_deref()
                .map(input::text)
                .transpose()?
                .map(String::into_bytes),
        }),
        _ => None,
    };
    Ok(Security {
        tls,
        token: arguments.token_file.as_deref().map(token).transpose()?,
        is_insecure_allowed: arguments.insecure,
    })
}

/// The token in a file.
pub(super) fn token(path: &Path) -> Result<String, Failure> {
    let text = input::text(path)?;
    let token = text.trim();
    if token.len() < TOKEN_BYTES_MIN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let detail = format!(
            "`{}` holds no token: at least {TOKEN_BYTES_MIN} visible ASCII characters",
            path.display()
        );
        return Err(Failure::invalid(detail).note("make one with `openssl rand -hex 32`"));
    }
    Ok(token.to_owned())
}

/// A shorter token can be guessed.
const TOKEN_BYTES_MIN: usize = 16;
