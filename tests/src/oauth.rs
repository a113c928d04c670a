//! A real OAuth2 server as a child process, with an API that accepts its tokens: `tests/servers/oauth`.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::client::Client;

/// The client that the server knows.
pub const CLIENT_ID: &str = "records-client";
/// Its secret.
pub const CLIENT_SECRET: &str = "canary-client-secret-0123456789abcdef";

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Where `make tools` puts the server's packages.
fn packages() -> Option<PathBuf> {
    let folder = root().join("target/tools/oauth");
    folder.join("node_modules/oidc-provider").is_dir().then_some(folder)
}

/// A running server.
pub struct OAuth {
    child: Child,
    address: SocketAddr,
}

impl OAuth {
    /// Starts a server where the system likes. None, with a word about it, where it is not installed.
    pub fn start() -> Option<Self> {
        Self::start_at(0)
    }

    /// Starts a server at this port of loopback.
    pub fn start_at(port: u16) -> Option<Self> {
        let Some(packages) = packages() else {
            println!("skipped: there is no OAuth2 server; `make tools` installs one");
            return None;
        };
        let mut child = Command::new("node")
            .arg(root().join("tests/servers/oauth/server.mjs"))
            .arg(packages)
            .arg(port.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut lines = BufReader::new(child.stdout.take()?).lines().map_while(Result::ok);
        let address = lines.find_map(|line| line.strip_prefix("listening on ")?.trim().parse().ok());
        let address = address.unwrap_or_else(|| panic!("the OAuth2 server did not start"));
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self { child, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path of it.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Asks the rig's own routes: `/rig/log`, `/rig/revoke`, `/rig/fail?n=1&status=503`.
    pub fn ask(&self, path: &str) -> Value {
        let answer = Client::new(self.address).get(path);
        answer.unwrap_or_else(|error| panic!("{path}: {error}")).body
    }

    /// A signed token for a person that the server knows, an audience and an algorithm.
    pub fn signed_in(&self, person: &str, audience: &str, algorithm: &str) -> String {
        let body = format!(
            "grant_type=client_credentials&client_id={person}&client_secret=secret+of+{person}&resource=https%3A%2F%2F{audience}%2F{algorithm}"
        );
        let answer = Client::new(self.address).post_text("/oauth/token", "application/x-www-form-urlencoded", &body);
        let answer = answer.unwrap_or_else(|error| panic!("{error}"));
        let token = answer.body["access_token"].as_str();
        token.unwrap_or_else(|| panic!("{answer:?}")).to_owned()
    }

    /// A token with any header and claims, signed by the server's own key as the header says.
    pub fn sign(&self, header: &Value, claims: &Value) -> String {
        let body = serde_json::json!({"header": header, "claims": claims});
        let answer = Client::new(self.address).post("/rig/sign", &body);
        let answer = answer.unwrap_or_else(|error| panic!("{error}"));
        answer.body["token"].as_str().unwrap_or_default().to_owned()
    }

    /// How many tokens it issued.
    pub fn tokens(&self) -> u64 {
        self.ask("/rig/log")["tokens"].as_u64().unwrap_or_default()
    }

    /// The calls of its API so far.
    pub fn calls(&self) -> Vec<Value> {
        self.ask("/rig/log")["calls"].as_array().cloned().unwrap_or_default()
    }
}

impl Drop for OAuth {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
