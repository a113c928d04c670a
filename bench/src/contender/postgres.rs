//! A throw-away `PostgreSQL` with its ordinary, durable settings, and a peer on it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use rustix::process::{Signal, getuid};

use super::node::Session;
use crate::process::{Running, free_address};

/// Debian's `nobody`: `PostgreSQL` refuses to run as root.
const NOBODY: u32 = 65_534;

/// Starts a cluster and the program on it.
pub(super) fn on_postgres(program: &str) -> anyhow::Result<Session> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("data");
    std::fs::create_dir(&data)?;
    if getuid().is_root() {
        // The parent must be passable for whoever owns the cluster.
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
        std::os::unix::fs::chown(&data, Some(NOBODY), Some(NOBODY))?;
    }
    let made = of("initdb")?
        .args(["--username=bench", "--auth=trust", "--no-sync", "-D"])
        .arg(&data)
        .output()?;
    ensure!(
        made.status.success(),
        "initdb: {}",
        String::from_utf8_lossy(&made.stderr)
    );
    let address = free_address()?;
    let port = address.port().to_string();
    let mut command = of("postgres")?;
    command
        .args([
            "-p",
            &port,
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "unix_socket_directories=",
        ])
        .args(["-c", "max_connections=200", "-D"])
        .arg(&data);
    let mut cluster = Running::start(&mut command, &folder.path().join("log"), Signal::INT)?;
    cluster.until(|| {
        let asked = Command::new("pg_isready")
            .args(["-q", "-h", "127.0.0.1", "-p", &port])
            .status();
        asked.is_ok_and(|status| status.success())
    })?;
    let url = format!("postgres://bench@127.0.0.1:{port}/postgres");
    Ok(Session::start(program, &[("PEER_POSTGRES", url)])?
        .with(cluster)
        .keeping(folder))
}

/// A program of the newest server, to be run by a user that is not root.
fn of(name: &str) -> anyhow::Result<Command> {
    let mut command = Command::new(folder()?.join(name));
    if getuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.current_dir("/");
    Ok(command)
}

/// Where Debian puts the servers, by version.
fn folder() -> anyhow::Result<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").context("PostgreSQL is not installed")?;
    let folders = versions.flatten().map(|entry| entry.path().join("bin"));
    folders
        .filter(|folder| folder.join("postgres").exists())
        .max_by_key(|folder| version(folder))
        .context("PostgreSQL is not installed")
}

fn version(folder: &Path) -> u32 {
    let name = folder.parent().and_then(Path::file_name);
    name.and_then(|name| name.to_str()?.parse().ok()).unwrap_or(0)
}
