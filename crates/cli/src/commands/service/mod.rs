//! `sprag service`: supervised services, as a running supervisor knows them.

mod act;
mod explain;
mod list;
mod logs;
mod reload;
mod sentences;

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use crate::client::{Certificates, Client, Remote};
use crate::failure::{Exit, Failure};
use crate::output::Output;

/// The default address of `sprag supervise`.
const SUPERVISOR: u16 = 7401;
/// Where a server does.
const SERVER: u16 = 7400;
/// How long to wait for a listener on this machine.
const CONNECT: Duration = Duration::from_millis(300);

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List services with their states
    #[command(after_help = "Examples:\n  sprag service list\n  sprag service list --output json")]
    List(list::Arguments),
    /// Start a service; clear escalations and failures below it
    #[command(after_help = "Examples:\n  sprag service start shop/broker\n  sprag service start /")]
    Start(act::Arguments),
    /// Stop a service and keep it stopped
    #[command(after_help = "Examples:\n  sprag service stop shop/broker")]
    Stop(act::Arguments),
    /// Restart a service and clear its failures
    #[command(after_help = "Examples:\n  sprag service restart shop/broker")]
    Restart(act::Arguments),
    /// Cancel the action in progress of a service
    #[command(after_help = "Examples:\n  sprag service cancel shop/broker")]
    Cancel(act::Arguments),
    /// Reload the services file: start new services, stop removed ones
    #[command(after_help = "Examples:\n  sprag service reload")]
    Reload(reload::Arguments),
    /// Show the log of a service
    #[command(after_help = "Examples:\n  sprag service logs shop/broker -n 20 -f")]
    Logs(logs::Arguments),
    /// Explain the state of a service, the next step and what to do
    #[command(after_help = "Examples:\n  sprag service explain shop/broker\n  sprag service explain /")]
    Explain(explain::Arguments),
}

impl Command {
    pub(crate) async fn run(self, output: Output) -> anyhow::Result<Exit> {
        match self {
            Self::List(arguments) => list::run(&arguments, output).await,
            Self::Start(arguments) => act::run(&arguments, act::Verb::Start, output).await,
            Self::Stop(arguments) => act::run(&arguments, act::Verb::Stop, output).await,
            Self::Restart(arguments) => act::run(&arguments, act::Verb::Restart, output).await,
            Self::Cancel(arguments) => act::run(&arguments, act::Verb::Cancel, output).await,
            Self::Reload(arguments) => reload::run(&arguments, output).await,
            Self::Logs(arguments) => logs::run(&arguments, output).await,
            Self::Explain(arguments) => explain::run(&arguments, output).await,
        }
    }
}

/// Which supervisor a command speaks to.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Supervisor {
    /// The server.
    #[arg(
        help = "Server\n[default: SPRAG_SERVER, else port 7401 or 7400]",
        long,
        env = "SPRAG_SERVER",
        hide_env = true,
        value_name = "URL",
        display_order = 800
    )]
    server: Option<String>,
    /// The token to show it
    #[arg(long, env = "SPRAG_TOKEN", hide_env_values = true, hide = true)]
    token: Option<String>,
    #[command(flatten)]
    certificates: Certificates,
}

impl Supervisor {
    fn client(&self) -> Result<Client, Failure> {
        let server = self.server.clone().unwrap_or_else(found);
        let remote = Remote::at(server, self.token.clone(), self.certificates.clone());
        Ok(remote
            .client()?
            .started_with("`sprag supervise FILE` or `sprag up --services FILE`"))
    }
}

/// Where a supervisor may answer: where it is said to, or at the usual addresses.
pub(crate) fn supervisors(named: Option<String>) -> Vec<String> {
    let named = named.or_else(|| std::env::var("SPRAG_SERVER").ok().filter(|text| !text.is_empty()));
    let usual = || {
        [SUPERVISOR, SERVER]
            .map(|port| format!("http://127.0.0.1:{port}"))
            .to_vec()
    };
    named.map_or_else(usual, |server| vec![server])
}

/// A supervisor on this machine, or the server that may supervise too.
fn found() -> String {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, SUPERVISOR));
    let port = match TcpStream::connect_timeout(&address, CONNECT) {
        Ok(_) => SUPERVISOR,
        Err(_) => SERVER,
    };
    format!("http://127.0.0.1:{port}")
}
