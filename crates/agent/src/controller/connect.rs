//! Connections to agents.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity, Uri};
use tonic::{Request, Status};

use crate::text::causes;
use crate::wire::MESSAGE_BYTES_MAX;
use crate::wire::proto::workload_agent_client::WorkloadAgentClient;

/// How long a connection may take to open.
const OPEN: Duration = Duration::from_secs(5);

/// How agents are reached.
#[derive(Clone)]
pub struct Connect {
    /// TLS, unless agents speak plainly.
    pub tls: Option<ClientTls>,
    /// The token of the agents.
    pub token: Option<String>,
    /// How often an idle connection is probed, and how long the answer may take.
    pub keepalive: Duration,
    /// Where the agents of some addresses are, if that was looked up and checked before. Their names are not looked up again.
    pub checked: BTreeMap<String, Vec<SocketAddr>>,
}

/// Certificates, PEM.
#[derive(Clone)]
pub struct ClientTls {
    /// The authority that signs agents' certificates.
    pub authority: Vec<u8>,
    /// The controller's certificate chain and key.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl Default for Connect {
    fn default() -> Self {
        Self {
            tls: None,
            token: None,
            keepalive: Duration::from_secs(5),
            checked: BTreeMap::new(),
        }
    }
}

/// A client of one agent.
pub(super) type Client = WorkloadAgentClient<InterceptedService<Channel, Bearer>>;

/// Adds the token to each call.
#[derive(Clone)]
pub(super) struct Bearer(Option<MetadataValue<Ascii>>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request.metadata_mut().insert("authorization", token.clone());
        }
        Ok(request)
    }
}

impl Connect {
    /// Opens a connection to an agent, or says why there is none.
    pub(super) async fn open(&self, address: &str) -> Result<Client, String> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let named: Uri = format!("{scheme}://{address}")
            .parse()
            .map_err(|_| format!("`{address}` is not an address; write `host:port`"))?;
        let channel = self.channel(address, &named).await?;
        let bearer = self
            .token
            .as_ref()
            .map(|token| format!("Bearer {token}").parse())
            .transpose();
        let bearer = bearer.map_err(|_| "the token has characters that a header cannot carry".to_owned())?;
        let client = WorkloadAgentClient::with_interceptor(channel, Bearer(bearer));
        Ok(client.max_decoding_message_size(MESSAGE_BYTES_MAX))
    }

    /// Connects to where the agent was found, or to what its name leads to.
    async fn channel(&self, address: &str, named: &Uri) -> Result<Channel, String> {
        let Some(checked) = self.checked.get(address) else {
            return self.connect(Endpoint::from(named.clone()), named).await;
        };
        let scheme = named.scheme_str().unwrap_or("http");
        let mut failed = format!("`{address}` has no address");
        for found in checked {
            let endpoint = Endpoint::from_shared(format!("{scheme}://{found}")).map_err(|error| causes(&error))?;
            match self.connect(endpoint.origin(named.clone()), named).await {
                Ok(channel) => return Ok(channel),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    async fn connect(&self, endpoint: Endpoint, named: &Uri) -> Result<Channel, String> {
        let mut endpoint = endpoint
            .connect_timeout(OPEN)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(self.keepalive)
            .keep_alive_timeout(self.keepalive)
            .keep_alive_while_idle(true);
        if let Some(tls) = &self.tls {
            let host = named.host().unwrap_or_default();
            let host = host.trim_start_matches('[').trim_end_matches(']');
            endpoint = endpoint
                .tls_config(tls.config().domain_name(host))
                .map_err(|error| format!("TLS cannot be used: {}", causes(&error)))?;
        }
        endpoint.connect().await.map_err(|error| causes(&error))
    }
}

impl ClientTls {
    fn config(&self) -> ClientTlsConfig {
        let Self { authority, identity } = self;
        let config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authority));
        match identity {
            Some((certificate, key)) => config.identity(Identity::from_pem(certificate, key)),
            None => config,
        }
    }
}
