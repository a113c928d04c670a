//! TLS to the server: the certificate is always verified, against the system's authorities or a file's.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

/// A connector that trusts the authorities in a file, or those of the system.
pub(super) fn connector(authorities: Option<&Path>) -> Result<MakeRustlsConnect, String> {
    let mut roots = RootCertStore::empty();
    match authorities {
        Some(path) => {
            let unreadable = |problem: &dyn std::fmt::Display| format!("`{}`: {problem}", path.display());
            let found = CertificateDer::pem_file_iter(path).map_err(|problem| unreadable(&problem))?;
            for certificate in found {
                let certificate = certificate.map_err(|problem| unreadable(&problem))?;
                roots.add(certificate).map_err(|problem| unreadable(&problem))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|problem| problem.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
