//! TLS for servers that are addressed by `https`: ring, and the certificates that this machine trusts.

use std::sync::Arc;

use reqwest::Url;
use rustls::{ClientConfig, RootCertStore};

use crate::failure::Failure;

/// The configuration for connections to `base`. Plain HTTP reads no certificates.
pub(crate) fn config(base: &Url) -> Result<ClientConfig, Failure> {
    let mut roots = RootCertStore::empty();
    if base.scheme() == "https" {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| Failure::new(format!("TLS could not be set up: {error}")))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
