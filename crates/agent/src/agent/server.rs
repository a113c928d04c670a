//! Binding an agent to an address, and ending it.

use std::future::Future;
use std::io;
use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use super::actor::{Actor, random};
use super::mailbox::{COMMANDS_MAX, Command, Mailbox};
use super::options::Options;
use super::security::SecurityError;
use super::service::Service;
use crate::time::Micros;
use crate::wire::MESSAGE_BYTES_MAX;
use crate::wire::proto::workload_agent_server::WorkloadAgentServer;

/// Calls at once on one connection.
const STREAMS_MAX: u32 = 256;

/// Why an agent does not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It would run workloads for anyone.
    #[error(transparent)]
    Security(#[from] SecurityError),
    /// Its address cannot be used.
    #[error("`{address}` cannot be listened on")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// gRPC could not be served: most often a certificate or a key that is not PEM.
    #[error("the agent cannot serve")]
    Serve(#[from] tonic::transport::Error),
}

/// An agent that listens.
pub struct Agent {
    address: SocketAddr,
    listener: TcpListener,
    options: Options,
}

impl Agent {
    /// Binds an agent, unless its security does not suit the address.
    pub async fn bind(options: Options, listen: SocketAddr) -> Result<Self, Error> {
        options.security.check(listen)?;
        let failed = |source| Error::Listen {
            address: listen,
            source,
        };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        Ok(Self {
            address: listener.local_addr().map_err(failed)?,
            listener,
            options,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop`. Then the run in hand is aborted, and its terminal message is sent.
    pub async fn run(self, stop: impl Future<Output = ()> + Send) -> Result<(), Error> {
        let Self { listener, options, .. } = self;
        let clock = Micros::start(options.clock.clone());
        let instance = format!("{:016x}", random());
        let (sender, commands) = mpsc::channel(COMMANDS_MAX);
        let mailbox = Mailbox(sender);
        let service = Service {
            mailbox: mailbox.clone(),
            clock: clock.clone(),
            instance: instance.clone(),
        };
        let mut server = Server::builder()
            .http2_keepalive_interval(Some(options.keepalive))
            .http2_keepalive_timeout(Some(options.keepalive))
            .max_concurrent_streams(STREAMS_MAX);
        if let Some(tls) = options.security.tls_config() {
            server = server.tls_config(tls)?;
        }
        let service = WorkloadAgentServer::new(service).max_decoding_message_size(MESSAGE_BYTES_MAX);
        let router = server.add_service(InterceptedService::new(service, options.security.tokens()));
        let actor = tokio::spawn(Actor::new(options, clock, instance, mailbox.clone(), commands).run());
        let ending = async move {
            stop.await;
            // The streams end with their terminal messages once the actor has ended.
            if mailbox.send(Command::ShutDown).await.is_some() {
                let _ = actor.await;
            }
        };
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        router.serve_with_incoming_shutdown(incoming, ending).await?;
        Ok(())
    }
}
