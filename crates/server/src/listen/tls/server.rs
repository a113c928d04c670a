//! What the server shows its callers, what it asks of them, and the handshake.
//!
//! A handshake has a deadline, and only so many are in progress: beyond that, the one that has been in progress longest
//! ends ([`crate::listen::seats`]). So slow handshakes take nothing from anybody.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::files::{self, Error, Pair};
use super::loaded::Loaded;
use crate::listen::deadline::Deadline;

/// How long a handshake may take.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// Handshakes in progress.
pub(crate) const HANDSHAKES_MAX: usize = 512;
/// The first byte of a handshake (RFC 8446, 5.1).
const HANDSHAKE: u8 = 22;
/// What is read of a caller that does not encrypt, in bytes.
const PLAIN_BYTES_MAX: usize = 4_096;
/// The answer to it.
const PLAIN: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: 49\r\n\r\n\
    this server speaks TLS: write https:// before it\n";

/// How a server encrypts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// What it shows.
    pub identity: Pair,
    /// The file of the authorities that sign the certificates of clients; none if no client shows one.
    pub client_ca: Option<PathBuf>,
    /// Whether each client must show one.
    pub clients: Clients,
}

/// Whether clients must show a certificate, where there is an authority for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clients {
    /// Nobody is let in without.
    #[default]
    Required,
    /// Nodes must; others may.
    Optional,
}

impl Tls {
    /// The configuration for connections, read again when a file changes.
    pub(crate) fn load(&self) -> Result<Loaded<ServerConfig>, Error> {
        let Pair { certificate, key } = &self.identity;
        let files = [certificate, key].into_iter().chain(&self.client_ca);
        let tls = self.clone();
        Loaded::new("certificates of the server", files.cloned().collect(), move || {
            tls.config()
        })
    }

    fn config(&self) -> Result<ServerConfig, Error> {
        let (chain, key) = self.identity.read()?;
        let setup = |error: &dyn std::fmt::Display| Error::Setup(error.to_string());
        let builder = ServerConfig::builder_with_provider(files::provider());
        let builder = builder
            .with_safe_default_protocol_versions()
            .map_err(|error| setup(&error))?;
        let builder = match &self.client_ca {
            None => builder.with_no_client_auth(),
            Some(file) => {
                let roots = Arc::new(files::authorities(file)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, files::provider());
                let verifier = match self.clients {
                    Clients::Required => verifier,
                    Clients::Optional => verifier.allow_unauthenticated(),
                };
                builder.with_client_cert_verifier(verifier.build().map_err(|error| setup(&error))?)
            }
        };
        let made = builder.with_single_cert(chain, key);
        let mut config = made.map_err(|error| self.identity.unfit(&error))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// A caller's handshake. One that speaks plain HTTP is told so.
pub(crate) async fn accept(config: Arc<ServerConfig>, mut stream: Deadline) -> io::Result<TlsStream<Deadline>> {
    let accepting = async {
        if stream.first_byte().await?.is_none_or(|first| first == HANDSHAKE) {
            return TlsAcceptor::from(config).accept(stream).await;
        }
        // Taken before it is answered: a connection that is closed with something unread may lose its answer.
        let _ = stream.read(&mut [0; PLAIN_BYTES_MAX]).await?;
        stream.write_all(PLAIN).await?;
        stream.shutdown().await?;
        Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the peer does not speak TLS",
        ))
    };
    let late = |_| io::Error::new(io::ErrorKind::TimedOut, "the handshake took too long");
    timeout(HANDSHAKE_MAX, accepting).await.map_err(late)?
}
