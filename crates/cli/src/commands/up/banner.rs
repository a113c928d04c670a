//! What a server says when it is ready.

use std::path::Path;

use serde_json::json;

use super::demo::{Demo, NIGHTLY, NIGHTLY_KEY};
use crate::config::StoreAddress;
use crate::output::{self, Output};

/// The address that commands try by themselves.
const DEFAULT: &str = "http://127.0.0.1:7400";
/// What a newcomer may apply, in a checkout of the repository.
const EXAMPLE: &str = "examples/order-payment/machine.yaml";

/// Says where the server is and what to try next: to people on a terminal, as log lines otherwise, and as data to
/// callers that asked for JSON.
pub(super) fn show(url: &str, store: &StoreAddress, demo: Option<&Demo>, output: Output) -> anyhow::Result<()> {
    let store = store.to_string();
    if output == Output::Json {
        output::data(&json!({"address": url, "store": store}).to_string())?;
    }
    let server = if url == DEFAULT {
        String::new()
    } else {
        format!(" --server {url}")
    };
    let next = demo.map_or_else(|| vec![apply(&server)], |demo| watch(demo, &server));
    if output::errors_to_terminal() {
        output::note(&format!("sprag is listening on {url}, with its data in {store}"));
        if let Some(demo) = demo {
            output::note(&about(demo));
        }
        for line in next {
            output::note(&format!("next: {line}"));
        }
        output::note("stop: Ctrl-C");
    } else {
        tracing::info!(address = url, store, next = next.join("; "), "listening on {url}");
        if let Some(demo) = demo {
            tracing::info!("{}", about(demo));
        }
    }
    Ok(())
}

/// What to type where nothing is there yet.
fn apply(server: &str) -> String {
    let file = if Path::new(EXAMPLE).is_file() { EXAMPLE } else { "FILE" };
    format!("sprag machine apply{server} {file}")
}

/// What to type to see a demo at work.
fn watch(demo: &Demo, server: &str) -> Vec<String> {
    vec![
        format!("sprag exec list{server}"),
        format!("sprag action list{server} --status retrying"),
        format!("sprag dlq list{server}"),
        format!("sprag explain{server} {}", demo.nightly),
        format!("sprag exec send{server} --machine {NIGHTLY} --key {NIGHTLY_KEY} HOLD"),
    ]
}

fn about(demo: &Demo) -> String {
    format!(
        "demo: four machines run, one of them every minute instead of every night; they call simulated services on {}",
        demo.world
    )
}
