//! A real SMTP server as a child process, and the mail it took.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// A running server; its mail is kept in a folder.
pub struct Mailbox {
    child: Child,
    port: u16,
    folder: PathBuf,
}

/// A mail that the server took.
#[derive(Clone, Debug)]
pub struct Delivered {
    /// `{from, to, tls, user}`.
    pub envelope: Value,
    /// Headers and body, as they arrived.
    pub message: String,
}

impl Mailbox {
    /// Starts `tests/servers/smtp/server.py` with these arguments. None, with a word about it, where its packages are
    /// not installed.
    pub fn start(folder: &Path, arguments: &[&str]) -> Option<Self> {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let python = root.join("target/tools/aiosmtpd/bin/python");
        if !python.exists() {
            println!("skipped: {} is missing; `make tools` installs it", python.display());
            return None;
        }
        let mut command = Command::new(python);
        command.arg(root.join("tests/servers/smtp/server.py"));
        command.arg("--dir").arg(folder).args(arguments);
        let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().ok()?;
        let mut lines = BufReader::new(child.stdout.take()?).lines().map_while(Result::ok);
        let port = lines.find_map(|line| line.strip_prefix("listening ")?.parse().ok())?;
        Some(Self {
            child,
            port,
            folder: folder.to_owned(),
        })
    }

    /// Where it listens, on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The certificate to trust.
    pub fn ca(&self) -> PathBuf {
        self.folder.join("ca.pem")
    }

    /// The mail it took so far, in order. An envelope is written last, so what has one is whole.
    pub fn mail(&self) -> Vec<Delivered> {
        let read = |number: usize| {
            let stem = self.folder.join(format!("{number:04}"));
            let envelope = std::fs::read_to_string(stem.with_extension("json")).ok()?;
            Some(Delivered {
                envelope: serde_json::from_str(&envelope).ok()?,
                message: std::fs::read_to_string(stem.with_extension("eml")).ok()?,
            })
        };
        (1..).map_while(read).collect()
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
