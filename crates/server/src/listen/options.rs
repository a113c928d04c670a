//! What can be set about a server, and what is wrong with it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use sprag_agent::durable::Loads;

use crate::access::auth::Auth;
use crate::listen::{Tls, TlsError};
use crate::nodes::NodeClient;
use crate::streams::STREAMS_MAX;

/// The default limit on the bytes of a request body.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;
/// The default port.
const PORT: u16 = 7400;

/// How a server listens.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where. Off loopback only with authentication.
    pub listen: SocketAddr,
    /// Names under which the server may be addressed, besides `localhost` and loopback addresses.
    pub hosts: Vec<String>,
    /// The largest request body.
    pub body_bytes: usize,
    /// What keeps the records, for `GET /v1/system`.
    pub store: String,
    /// Live streams at a time.
    pub streams: usize,
    /// How callers are authenticated.
    pub auth: Auth,
    /// Whether it runs the demo, for `GET /v1/me`.
    pub is_demo: bool,
    /// How it encrypts, if it does.
    pub tls: Option<Tls>,
    /// The way to other nodes; none if there are no others.
    pub nodes: Option<NodeClient>,
    /// What the runner of load tests shows of them.
    pub loads: Loads,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)),
            hosts: Vec::new(),
            body_bytes: BODY_BYTES_MAX,
            store: "unknown".to_owned(),
            streams: STREAMS_MAX,
            auth: Auth::default(),
            is_demo: false,
            tls: None,
            nodes: None,
            loads: Loads::default(),
        }
    }
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Everybody who reaches another address could do everything.
    #[error(
        "`{address}` is not a loopback address, and everybody who reaches it could do everything; \
         turn on authentication with `--auth token`, or listen on `127.0.0.1:{}`", address.port()
    )]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// Everybody on the way could read the tokens.
    #[error(
        "`{address}` is not a loopback address, and others could read the tokens of callers on their way; name a certificate in \
         `[listen.tls]`, listen on `127.0.0.1:{}` behind a proxy that encrypts, or trust the network with \
         `plainText = \"accept\"` in `[auth]`",
        address.port()
    )]
    PlainText {
        /// The address.
        address: SocketAddr,
    },
    /// A name that no `Host` header could bear.
    #[error("`{name}` is not a host name: give it without scheme, port and path, as in `sprag.example.com`")]
    HostName {
        /// The name.
        name: String,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on `{address}`")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// Certificates cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The socket takes no connections any more.
    #[error("the server cannot accept connections any more")]
    Accept(#[source] io::Error),
}
