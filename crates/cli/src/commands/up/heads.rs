//! `[audit.heads]`: the heads of the audit leave the machine by themselves, whenever there is a new entry.
//!
//! They are appended to a file, sent by a durable action, or both. A line is on disk before the next one is written; an action
//! is stored before the next heads are read, and its retries are those of any other action. What fails is logged and tried
//! again: the server works all the same.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sprag_core::document::json::{digest, hex};
use sprag_core::ids::ExecutionId;
use sprag_core::integrity::audit::Head;
use sprag_core::machine::ConfigCheck;
use sprag_engine::alerts::{Alert, RAISED};
use sprag_engine::requests::idempotency::Key;
use sprag_engine::requests::{Code, Refusal};
use sprag_engine::{Asker, Handle};
use sprag_wire::{AuditHead, AuditHeads};
use tokio::time::sleep;

use crate::config::{HeadsEntry, Invalid};

/// Who asks the engine.
const PRINCIPAL: &str = "audit";
/// The most heads of one action: all of them would not fit into the variables of an execution.
const HEADS_MAX: usize = 500;
/// A failed export is tried again after this time, or earlier if heads are exported more often.
const AGAIN: Duration = Duration::from_secs(10);

/// Where heads go, and which have gone there.
#[derive(Debug)]
pub(super) struct Export {
    every: Duration,
    file: Option<(PathBuf, Vec<Head>)>,
    action: Option<Sender>,
}

/// An action that sends heads.
#[derive(Debug)]
struct Sender {
    alert: Alert,
    sent: Vec<Head>,
    /// The executions that send them. The next heads wait for these, so an unreachable receiver does not build up a queue.
    underway: Vec<ExecutionId>,
}

impl Export {
    /// The export as it is configured, or everything wrong with its action.
    pub(super) fn compile(configured: &HeadsEntry, runners: &dyn ConfigCheck) -> Result<Self, Invalid> {
        let alert = configured.compile(runners)?;
        Ok(Self {
            every: configured.every,
            file: configured.file.clone().map(|file| (file, Vec::new())),
            action: alert.map(|alert| Sender {
                alert,
                sent: Vec::new(),
                underway: Vec::new(),
            }),
        })
    }

    /// The machine that sends them, for the engine to store.
    pub(super) fn sender(&self) -> Option<&Alert> {
        self.action.as_ref().map(|sender| &sender.alert)
    }

    /// Exports for as long as the server runs.
    pub(super) async fn run(mut self, engine: Handle) {
        loop {
            let pause = match self.turn(&engine).await {
                Ok(()) => self.every,
                Err(error) => {
                    tracing::error!(error = format!("{error:#}"), "audit heads not exported, trying again");
                    self.every.min(AGAIN)
                }
            };
            sleep(pause).await;
        }
    }

    /// Exports what is new.
    async fn turn(&mut self, engine: &Handle) -> anyhow::Result<()> {
        let heads = engine.read().audit_heads().await?;
        let export = AuditHeads {
            at: engine.now(),
            heads: heads.iter().copied().map(AuditHead::from).collect(),
        };
        let written = match &mut self.file {
            Some((file, written)) if *written != heads => {
                append(file, &export).await.map(|()| written.clone_from(&heads))
            }
            _ => Ok(()),
        };
        // A file that cannot be written does not keep the action from sending.
        if let Some(sender) = &mut self.action {
            sender.send(engine, &export, &heads).await?;
        }
        Ok(written?)
    }
}

impl Sender {
    async fn send(&mut self, engine: &Handle, export: &AuditHeads, heads: &[Head]) -> Result<(), Refusal> {
        if self.sent == heads || self.is_underway(engine).await? {
            return Ok(());
        }
        for part in export.heads.chunks(HEADS_MAX) {
            let part = AuditHeads {
                at: export.at,
                heads: part.to_vec(),
            };
            self.underway.extend(self.start(engine, &part).await?);
        }
        self.sent = heads.to_vec();
        Ok(())
    }

    /// Starts the action. Nodes that read the same heads start it once.
    async fn start(&self, engine: &Handle, part: &AuditHeads) -> Result<Option<ExecutionId>, Refusal> {
        let text = serde_json::to_string(&part.heads).unwrap_or_default();
        let key = Key::new(PRINCIPAL, &hex(&digest(text.as_bytes()))).ok();
        let start = self.alert.raise(serde_json::to_value(part).unwrap_or_default(), &[]);
        match engine.ask_once(start, &Asker::from(key)).await.answer {
            Ok(started) => Ok(Some(started.id)),
            // Another node, or this one before it started again, has sent them at another time.
            Err(refusal) if refusal.code == Code::IdempotencyKeyReused => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    /// Whether earlier heads are still being sent. Those whose action died wait for a person, and keep nothing else waiting.
    async fn is_underway(&mut self, engine: &Handle) -> Result<bool, Refusal> {
        while let Some(&id) = self.underway.last() {
            match engine.read().execution(id).await {
                Ok(execution) if execution.is_open() && execution.configuration.iter().any(|state| state == RAISED) => {
                    return Ok(true);
                }
                // One that retention has deleted has ended.
                Ok(_) => {}
                Err(refusal) if refusal.code == Code::ExecutionUnknown => {}
                Err(refusal) => return Err(refusal),
            }
            self.underway.pop();
        }
        Ok(false)
    }
}

/// Appends a line, and has it on disk.
async fn append(file: &Path, heads: &AuditHeads) -> io::Result<()> {
    let mut line = serde_json::to_vec(heads)?;
    line.push(b'\n');
    let file = file.to_owned();
    let written = tokio::task::spawn_blocking(move || {
        let mut file = OpenOptions::new().append(true).create(true).open(file)?;
        file.write_all(&line)?;
        file.sync_all()
    });
    written.await.unwrap_or_else(|error| Err(io::Error::other(error)))
}
