//! TLS: rustls with ring, and the certificates that the machine trusts.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};

/// The configuration for every connection.
///
/// A machine without certificates still starts: plain HTTP works there, and each TLS handshake fails.
pub fn config() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = builder.with_root_certificates(roots()).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn roots() -> RootCertStore {
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "trusted certificate not readable");
    }
    let mut roots = RootCertStore::empty();
    let (_, ignored) = roots.add_parsable_certificates(found.certs);
    if ignored > 0 {
        tracing::warn!(ignored, "trusted certificates not parsed");
    }
    if roots.is_empty() {
        tracing::warn!("no trusted certificates, every HTTPS call fails; install ca-certificates");
    }
    roots
}
