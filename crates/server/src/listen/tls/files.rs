//! Certificates and keys in PEM files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sprag_store::private;

/// Why TLS cannot be used as it is configured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file is not there, or is something else.
    #[error("`{}` cannot be read as {what}: {reason}; name a PEM file that this user can read", file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// What it should hold.
        what: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A certificate and a key do not go together.
    #[error(
        "the certificate in `{}` cannot be used with the key in `{}`: {reason}; name the key that the certificate was made for",
        pair.certificate.display(), pair.key.display()
    )]
    Pair {
        /// Where both are.
        pair: Pair,
        /// What is wrong.
        reason: String,
    },
    /// TLS as a whole.
    #[error("TLS cannot be set up: {0}")]
    Setup(String),
}

/// A certificate with its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The file of the certificate, with those between it and its authority.
    pub certificate: PathBuf,
    /// The file of its private key.
    pub key: PathBuf,
}

/// A certificate chain with its key, as they were read.
pub(super) type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

impl Pair {
    /// Both, read. Warns if others can read the key.
    pub(super) fn read(&self) -> Result<Identity, Error> {
        let chain = certificates(&self.certificate)?;
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|error| Error::File {
            file: self.key.clone(),
            what: "a private key",
            reason: reason(&error),
        })?;
        let exposure = private::exposure(&self.key);
        if exposure.readable || exposure.writable {
            tracing::warn!(
                code = "key-exposed",
                file = %self.key.display(),
                "other users may read or replace this private key; run `chmod go-rwx` on it"
            );
        }
        Ok((chain, key))
    }

    /// What is wrong with the two together.
    pub(super) fn unfit(&self, error: &rustls::Error) -> Error {
        Error::Pair {
            pair: self.clone(),
            reason: error.to_string(),
        }
    }
}

/// The authorities in a file.
pub(super) fn authorities(file: &Path) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        roots.add(certificate).map_err(|error| Error::File {
            file: file.to_owned(),
            what: "certificates of authorities",
            reason: error.to_string(),
        })?;
    }
    Ok(roots)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let unreadable = |reason| Error::File {
        file: file.to_owned(),
        what: "certificates",
        reason,
    };
    let found = CertificateDer::pem_file_iter(file).map_err(|error| unreadable(reason(&error)))?;
    let found: Result<Vec<_>, _> = found.collect();
    match found {
        Ok(found) if found.is_empty() => Err(unreadable("it holds none".to_owned())),
        found => found.map_err(|error| unreadable(reason(&error))),
    }
}

fn reason(error: &rustls::pki_types::pem::Error) -> String {
    match error {
        rustls::pki_types::pem::Error::Io(error) => error.to_string(),
        rustls::pki_types::pem::Error::NoItemsFound => "it holds none".to_owned(),
        other => other.to_string(),
    }
}

/// What all connections are made with.
pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
