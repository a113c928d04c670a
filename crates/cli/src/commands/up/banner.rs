//! What a server says when it is ready.

use std::io::{self, IsTerminal as _};
use std::net::SocketAddr;
use std::path::Path;

use serde_json::json;

use crate::config::StoreAddress;
use crate::output::{self, Output};

/// The address that commands try by themselves.
const DEFAULT: &str = "http://127.0.0.1:7400";
/// What a newcomer may apply, in a checkout of the repository.
const EXAMPLE: &str = "examples/order-payment/machine.yaml";

/// Says where the server is and what to try next: to people on a terminal, as a log line otherwise, and as data to
/// whoever asked for JSON.
pub(super) fn show(address: SocketAddr, store: &StoreAddress, output: Output) -> anyhow::Result<()> {
    let url = format!("http://{address}");
    let store = store.to_string();
    if output == Output::Json {
        output::data(&json!({"address": url, "store": store}).to_string())?;
    }
    if io::stderr().is_terminal() {
        let server = if url == DEFAULT {
            String::new()
        } else {
            format!(" --server {url}")
        };
        output::note(&format!("sprag is listening on {url}, remembering in {store}"));
        let file = if Path::new(EXAMPLE).is_file() { EXAMPLE } else { "FILE" };
        output::note(&format!("next: sprag machine apply{server} {file}"));
        output::note("stop: Ctrl-C");
    } else {
        tracing::info!(
            address = url,
            store,
            next = "sprag machine apply FILE",
            "listening on {url}"
        );
    }
    Ok(())
}
