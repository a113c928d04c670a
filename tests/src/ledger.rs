//! The effect ledger as a child process, and what it wrote down.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// A running effect ledger.
pub struct Ledger {
    child: Child,
    address: SocketAddr,
    path: PathBuf,
}

/// One effect that arrived.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The path it was sent to.
    pub path: String,
    /// Its idempotency key.
    pub key: Option<String>,
    /// What it carried.
    pub body: String,
}

impl Ledger {
    /// Starts a ledger that writes to `path`.
    pub fn start(path: PathBuf) -> std::io::Result<Self> {
        let program = super::binary("effect-ledger");
        let mut child = Command::new(program).arg(&path).stdout(Stdio::piped()).spawn()?;
        let stdout = child.stdout.take().ok_or_else(|| std::io::Error::other("no stdout"))?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line.trim().parse().map_err(std::io::Error::other)?;
        Ok(Self { child, address, path })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How much was written down so far, in bytes: it grows with every arrival.
    pub fn size(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |file| file.len())
    }

    /// Everything that arrived, in order.
    pub fn arrivals(&self) -> std::io::Result<Vec<Arrival>> {
        let text = std::fs::read_to_string(&self.path)?;
        let arrival = |line: &str| {
            let value: Value = serde_json::from_str(line)?;
            let text = |name: &str| value[name].as_str().map(str::to_owned);
            let (path, body) = (text("path").unwrap_or_default(), text("body").unwrap_or_default());
            Ok(Arrival {
                path,
                key: text("key"),
                body,
            })
        };
        text.lines().map(arrival).collect()
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
