//! A supervisor with one worker of one's own. `cargo run -p sprag-worker -- 2` has the device refuse twice.

mod bridge;

use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use serde_json::json;
use sprag_core::clock::{Clock, System};
use sprag_core::time::Timestamp;
use sprag_supervisor::{BuildError, ChildSpec, Declaration, Handle, Identity, Registry, Setup, Supervisor};

use crate::bridge::BridgeWorker;

/// Attempts of the action in all.
const ATTEMPTS: u32 = 4;
/// Between two looks.
const EVERY: Duration = Duration::from_millis(50);
/// Longer than everything here takes.
const LOOKS_MAX: usize = 1_200;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let refusals: u32 = match std::env::args().nth(1) {
        Some(text) => text.parse()?,
        None => 2,
    };
    let folder = tempfile::tempdir()?;
    let clock: Arc<dyn Clock> = Arc::new(System::start(Timestamp::default()));
    let registry = Registry::default().with("bridge", |_: &Identity| Ok::<_, BuildError>(BridgeWorker::default()));
    let spec = json!({"device": folder.path().join("device"), "refusals": refusals, "attempts": ATTEMPTS});
    let declaration = Declaration {
        children: vec![ChildSpec::new("bridge", "bridge", spec)],
        ..Declaration::default()
    };
    let (supervisor, handle) = Supervisor::new(Setup::new(registry, clock), declaration)?;
    let ticking = tokio::spawn(supervisor.run());
    let end = watch(&handle).await;
    handle.shut_down().await;
    println!("shutdown: {:?}", ticking.await?);
    end
}

/// Prints every state with its reason, until the bridge runs or has failed.
async fn watch(handle: &Handle) -> anyhow::Result<()> {
    let mut shown = String::new();
    for _ in 0..LOOKS_MAX {
        for status in handle.list().await? {
            let line = format!("{}: {} ({})", status.path, status.state, status.reason);
            if line != shown {
                println!("{line}");
                shown = line;
            }
            match status.state {
                "running" => return Ok(()),
                "failed" => bail!("the bridge has failed"),
                _ => {}
            }
        }
        tokio::time::sleep(EVERY).await;
    }
    bail!("nothing came of it")
}
