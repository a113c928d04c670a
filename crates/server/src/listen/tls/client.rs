//! What this side checks of servers that it calls, and what it shows them.

use std::net::IpAddr;
use std::path::PathBuf;

use axum::http::Uri;
use rustls::{ClientConfig, RootCertStore};

use super::files::{self, Error, Pair};

/// Whom a client trusts, and who it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// The file of the authorities that sign servers' certificates; none for those that the machine trusts.
    pub ca: Option<PathBuf>,
    /// What it shows servers that ask for a certificate.
    pub identity: Option<Pair>,
}

impl Trust {
    /// The files that it consists of.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let pair = self.identity.iter().flat_map(|pair| [&pair.certificate, &pair.key]);
        self.ca.iter().chain(pair).cloned().collect()
    }
}

/// The configuration of a client's connections over HTTP/1.1. The server's certificate is always checked.
pub fn client_config(trust: &Trust) -> Result<ClientConfig, Error> {
    let roots = match &trust.ca {
        Some(file) => files::authorities(file)?,
        None => of_this_machine(),
    };
    let builder = ClientConfig::builder_with_provider(files::provider());
    let builder = builder
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Setup(error.to_string()))?
        .with_root_certificates(roots);
    let mut config = match &trust.identity {
        None => builder.with_no_client_auth(),
        Some(pair) => {
            let (chain, key) = pair.read()?;
            let made = builder.with_client_auth_cert(chain, key);
            made.map_err(|error| pair.unfit(&error))?
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Whether others than this machine could read, and change, what goes to this URL.
pub fn is_readable(url: &str) -> bool {
    let Ok(url) = url.parse::<Uri>() else { return true };
    let host = url.host().unwrap_or_default();
    let inner = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = inner == "localhost" || inner.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    url.scheme_str() != Some("https") && !is_loopback
}

fn of_this_machine() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}
