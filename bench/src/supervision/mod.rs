//! Supervision: what a tick costs however many workers there are, what a crowd of them costs, and real processes beside
//! a supervisor of other people's.
//!
//! Each measurement runs in a process of its own, this program started again: memory and instructions of one do not
//! show in another.

pub(crate) mod crowd;
pub(crate) mod processes;
pub(crate) mod ticks;

use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

/// This program again, for one measurement: what it printed as JSON.
fn own(arguments: &[String]) -> anyhow::Result<Value> {
    let output = Command::new(std::env::current_exe()?).args(arguments).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{arguments:?} ended with {}: {said}",
        output.status
    );
    serde_json::from_slice(&output.stdout).context("no JSON came back")
}

/// A number of what was printed.
fn number(value: &Value, name: &str) -> anyhow::Result<f64> {
    value[name]
        .as_f64()
        .with_context(|| format!("`{name}` is missing in {value}"))
}
