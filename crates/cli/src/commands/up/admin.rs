//! The first token of a server that asks callers who they are: created once, shown once.
//!
//! The node that owns the control shard creates it, so several nodes that start together create one.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sprag_engine::Handle;
use sprag_engine::requests::Code;
use sprag_server::{Mode, first_token};

use crate::output;

/// How long to wait until the next try while no node decides.
const TRY_EVERY: Duration = Duration::from_millis(500);

/// Creates the first token of a server that asks its callers, unless there is a valid one that can create others.
pub(super) async fn begin(mode: Mode, engine: Handle, file: Option<PathBuf>) {
    if mode == Mode::Off {
        return;
    }
    loop {
        match first_token(&engine).await {
            Ok(None) => return,
            Ok(Some(token)) => return show(&token, file.as_deref()),
            // Another node may create it, or this one a moment later.
            Err(refusal) if refusal.code == Code::ShardMoved => {}
            Err(refusal) if refusal.code == Code::ShuttingDown => return,
            Err(refusal) => tracing::warn!(error = %refusal, "admin token not created, trying again"),
        }
        tokio::time::sleep(TRY_EVERY).await;
    }
}

fn show(token: &str, file: Option<&Path>) {
    let Some(file) = file else {
        return print(token);
    };
    match write(file, token) {
        Ok(()) => tracing::info!(file = %file.display(), "admin token created and written"),
        Err(error) => {
            tracing::error!(file = %file.display(), %error, "admin token not written, printing it");
            print(token);
        }
    }
}

fn print(token: &str) {
    output::note(&format!("admin token, shown only now: {token}"));
    output::note("set it as SPRAG_TOKEN, create tokens for others with `sprag token create`, and revoke it");
}

/// Writes a file that only its owner can read. One that is there already may be readable for others, so it goes.
fn write(file: &Path, token: &str) -> io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut opened = options.write(true).create_new(true).mode(0o600).open(file)?;
    writeln!(opened, "{token}")?;
    opened.sync_all()
}
