//! `[audit.heads]`: appends the heads of the audit to a file, whenever there is a new entry.
//!
//! A line is on disk before the next one is written. A file that cannot be written is logged, and tried again: the server
//! works all the same.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sprag_core::integrity::audit::Head;
use sprag_engine::Handle;
use sprag_wire::{AuditHead, AuditHeads};
use tokio::time::{MissedTickBehavior, interval};

/// Where heads go, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Export {
    /// How often to look for new entries.
    pub(crate) every: Duration,
    /// The file to append to.
    pub(crate) file: PathBuf,
}

/// Exports for as long as the server runs, if that is configured.
pub(super) fn begin(configured: Option<Export>, engine: Handle) {
    if let Some(configured) = configured {
        tokio::spawn(export(engine, configured));
    }
}

async fn export(engine: Handle, export: Export) {
    let Export { every, file } = export;
    let mut turns = interval(every);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut written: Vec<Head> = Vec::new();
    loop {
        turns.tick().await;
        let heads = match engine.read().audit_heads().await {
            Ok(heads) if heads == written => continue,
            Ok(heads) => heads,
            Err(error) => {
                tracing::warn!(%error, "audit heads not read, trying again");
                continue;
            }
        };
        let line = AuditHeads {
            at: engine.now(),
            heads: heads.iter().copied().map(AuditHead::from).collect(),
        };
        let file = file.clone();
        let appended = tokio::task::spawn_blocking(move || append(&file, &line)).await;
        match appended.unwrap_or_else(|error| Err(io::Error::other(error))) {
            Ok(()) => written = heads,
            Err(error) => tracing::error!(%error, "audit heads not exported, trying again"),
        }
    }
}

/// Appends a line, and has it on disk.
fn append(file: &Path, heads: &AuditHeads) -> io::Result<()> {
    let mut line = serde_json::to_vec(heads)?;
    line.push(b'\n');
    let mut file = OpenOptions::new().append(true).create(true).open(file)?;
    file.write_all(&line)?;
    file.sync_all()
}
