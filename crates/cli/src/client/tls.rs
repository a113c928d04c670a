//! TLS for servers that are addressed by `https`: whom a command trusts, and who it is.

use std::path::PathBuf;
use std::sync::Arc;

use reqwest::Url;
use rustls::{ClientConfig, RootCertStore};
use sprag_server::{Pair, Trust, client_config};

use super::variable;
use crate::failure::Failure;

/// The options of every command that talks to a server.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Certificates {
    #[arg(
        long,
        value_name = "FILE",
        display_order = 802,
        help = "Authorities of an https server, PEM\n[default: SPRAG_CA or those of the system]"
    )]
    ca: Option<PathBuf>,
    #[arg(
        long,
        value_name = "FILE",
        display_order = 803,
        help = "Certificate to show it\n[default: SPRAG_CLIENT_CERT]"
    )]
    client_cert: Option<PathBuf>,
    #[arg(
        long,
        value_name = "FILE",
        display_order = 804,
        help = "Key of this certificate\n[default: SPRAG_CLIENT_KEY]"
    )]
    client_key: Option<PathBuf>,
}

impl Certificates {
    /// What the options say, or else the environment.
    pub(super) fn trust(&self) -> Result<Trust, Failure> {
        let file = |given: &Option<PathBuf>, name| given.clone().or_else(|| variable(name).map(PathBuf::from));
        let certificate = file(&self.client_cert, "SPRAG_CLIENT_CERT");
        let key = file(&self.client_key, "SPRAG_CLIENT_KEY");
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Some(Pair { certificate, key }),
            (None, None) => None,
            _ => {
                let detail = "a certificate of a client needs its key, and a key its certificate";
                return Err(Failure::invalid(detail).note("give both --client-cert and --client-key"));
            }
        };
        Ok(Trust {
            ca: file(&self.ca, "SPRAG_CA"),
            identity,
        })
    }
}

/// The configuration for connections to `base`. Plain HTTP reads no certificates.
pub(crate) fn config(base: &Url, trust: &Trust) -> Result<ClientConfig, Failure> {
    if base.scheme() == "https" {
        return client_config(trust).map_err(|error| Failure::invalid(error.to_string()));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| Failure::new(format!("TLS could not be set up: {error}")))?;
    Ok(builder
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth())
}
