//! Certificates for tests, made with the program `openssl` as docs/access.md shows it.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

/// An authority in a folder, and what it signs.
pub struct Authority {
    folder: PathBuf,
    name: String,
}

/// A certificate with its key, as files.
#[derive(Clone, Debug)]
pub struct Certified {
    /// The certificate.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// Until when a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Valid {
    /// For a month.
    Now,
    /// It was, until yesterday.
    Before,
}

fn openssl(folder: &Path, arguments: &[&str]) {
    let output = Command::new("openssl")
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output();
    let output = output.unwrap_or_else(|error| panic!("`openssl` is missing: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "openssl {arguments:?}: {said}");
}

/// How a key is made.
const KEY: [&str; 5] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

impl Authority {
    /// A new authority whose files are in this folder.
    pub fn new(folder: &Path, name: &str) -> Self {
        let (key, certificate, subject) = (format!("{name}.key"), format!("{name}.pem"), format!("/CN={name}"));
        let mut arguments = vec!["req", "-x509", "-days", "30", "-subj", &subject];
        arguments.extend(KEY);
        arguments.extend(["-keyout", &key, "-out", &certificate]);
        openssl(folder, &arguments);
        Self {
            folder: folder.to_owned(),
            name: name.to_owned(),
        }
    }

    /// The file of its own certificate.
    pub fn file(&self) -> PathBuf {
        self.folder.join(format!("{}.pem", self.name))
    }

    /// A certificate for `127.0.0.1` and `localhost`, as server and as client.
    pub fn issue(&self, name: &str, valid: Valid) -> Certified {
        let file = |ending: &str| format!("{}-{name}.{ending}", self.name);
        let (key, request, certificate) = (file("key"), file("csr"), file("pem"));
        let (ca, ca_key) = (format!("{}.pem", self.name), format!("{}.key", self.name));
        let subject = format!("/CN={name}");
        let mut arguments = vec!["req", "-subj", &subject];
        arguments.extend(["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]);
        arguments.extend(KEY);
        arguments.extend(["-keyout", &key, "-out", &request]);
        openssl(&self.folder, &arguments);
        let days = match valid {
            Valid::Now => "30",
            Valid::Before => "-1",
        };
        let mut arguments = vec![
            "x509",
            "-req",
            "-copy_extensions",
            "copy",
            "-CAcreateserial",
            "-days",
            days,
        ];
        arguments.extend(["-CA", &ca, "-CAkey", &ca_key, "-in", &request, "-out", &certificate]);
        openssl(&self.folder, &arguments);
        Certified {
            certificate: self.folder.join(certificate),
            key: self.folder.join(key),
        }
    }

    /// The TLS of a client that trusts this authority, and shows a certificate if it has one.
    pub fn client(&self, shows: Option<&Certified>) -> Arc<ClientConfig> {
        client_trusting(&self.file(), shows)
    }
}

/// Writes the certificates of these authorities into one file, in the place of what it had.
pub fn write_authorities(file: &Path, authorities: &[&Authority]) {
    let read = |authority: &&Authority| std::fs::read(authority.file()).unwrap_or_else(|error| panic!("{error}"));
    let all: Vec<u8> = authorities.iter().flat_map(read).collect();
    let new = file.with_extension("new");
    let done = std::fs::write(&new, all).and_then(|()| std::fs::rename(&new, file));
    done.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}

/// The TLS of a client that trusts the authorities in a file, and shows a certificate if it has one.
pub fn client_trusting(ca: &Path, shows: Option<&Certified>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in chain(ca) {
        roots.add(certificate).unwrap_or_else(|error| panic!("{error}"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map(|builder| builder.with_root_certificates(roots));
    let config = builder.and_then(|builder| match shows {
        None => Ok(builder.with_no_client_auth()),
        Some(certified) => {
            let key = PrivateKeyDer::from_pem_file(&certified.key);
            builder.with_client_auth_cert(
                chain(&certified.certificate),
                key.unwrap_or_else(|error| panic!("{error}")),
            )
        }
    });
    Arc::new(config.unwrap_or_else(|error| panic!("{error}")))
}

fn chain(file: &Path) -> Vec<CertificateDer<'static>> {
    let found = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    found.unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The certificate that a server shows to a new connection.
pub fn certificate_at(address: SocketAddr, tls: &Arc<ClientConfig>) -> Vec<u8> {
    let shown = || -> Result<Vec<u8>, Box<dyn std::error::Error>> {
        let mut stream = TcpStream::connect(address)?;
        let mut connection = ClientConnection::new(Arc::clone(tls), ServerName::from(address.ip()))?;
        while connection.is_handshaking() {
            connection.complete_io(&mut stream)?;
        }
        let shown = connection.peer_certificates().and_then(<[_]>::first);
        Ok(shown.map(|leaf| leaf.to_vec()).unwrap_or_default())
    };
    shown().unwrap_or_else(|error| panic!("{address}: {error}"))
}

impl Certified {
    /// The certificate itself.
    pub fn leaf(&self) -> Vec<u8> {
        chain(&self.certificate)
            .first()
            .map(|leaf| leaf.to_vec())
            .unwrap_or_default()
    }

    /// Replaces this certificate and its key by another pair, one file after the other, as programs that renew do.
    pub fn replace_by(&self, other: &Self) {
        for (to, from) in [(&self.certificate, &other.certificate), (&self.key, &other.key)] {
            let new = to.with_extension("new");
            let done = std::fs::copy(from, &new).and_then(|_| std::fs::rename(&new, to));
            done.unwrap_or_else(|error| panic!("{}: {error}", to.display()));
        }
    }

    /// Both as texts, for environments and options.
    pub fn texts(&self) -> (String, String) {
        let text = |path: &Path| path.display().to_string();
        (text(&self.certificate), text(&self.key))
    }
}
