//! Redis with every write flushed, and `BullMQ` on it.

use std::net::TcpStream;
use std::process::Command;

use rustix::process::Signal;

use super::node::Session;
use crate::process::{Running, free_address};

/// Starts both.
pub(super) fn bullmq() -> anyhow::Result<Session> {
    let folder = tempfile::tempdir()?;
    let address = free_address()?;
    let port = address.port().to_string();
    let mut command = Command::new("redis-server");
    command
        .args([
            "--bind",
            "127.0.0.1",
            "--port",
            &port,
            "--appendonly",
            "yes",
            "--appendfsync",
            "always",
        ])
        // Snapshots beside the log would only cost time.
        .args(["--save", "", "--dir"])
        .arg(folder.path());
    let mut redis = Running::start(&mut command, &folder.path().join("log"), Signal::TERM)?;
    redis.until(|| TcpStream::connect(address).is_ok())?;
    Ok(Session::start("bullmq.mjs", &[("PEER_REDIS", port)])?
        .with(redis)
        .keeping(folder))
}
