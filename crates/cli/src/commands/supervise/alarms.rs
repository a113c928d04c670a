//! Troubles of services become alerts: durable actions of the engine, one when a trouble begins and one when it is over.
//!
//! The ledger of what is known is kept beside the rest of the supervisor's state before anything is sent. What is sent is
//! told under a name of its own, so a process that dies in between tells it once all the same.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sprag_engine::requests::Refusal;
use sprag_engine::requests::idempotency::Key;
use sprag_engine::{Asker, Handle};
use sprag_server::Workers;
use sprag_supervisor::store::Store;
use sprag_supervisor::{Known, Ledger};
use sprag_wire::Execution;
use tokio::time::sleep;

use crate::config::CompiledAlert;

/// Between two looks at what is wrong.
const EVERY: Duration = Duration::from_secs(1);
/// Whose ledger it is: the tree's own.
const ROOT: &str = "";
/// Under which name it is kept.
const LEDGER: &str = "alerts";
/// Who asks the engine.
const PRINCIPAL: &str = "supervisor";

/// The alerts that troubles of services raise, and who delivers them.
#[derive(Clone)]
pub(crate) struct Alarms {
    alerts: Vec<CompiledAlert>,
    engine: Handle,
}

/// Why something was not told yet.
enum Untold {
    /// The engine does not take it.
    Refused(Refusal),
    /// It is still being told that it began.
    Underway,
}

impl Alarms {
    /// Those of the alerts that are about services.
    pub(crate) fn new(alerts: Vec<CompiledAlert>, engine: Handle) -> Self {
        let alerts = alerts
            .into_iter()
            .filter(|compiled| !compiled.supervision.is_empty())
            .collect();
        Self { alerts, engine }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.alerts.is_empty()
    }

    /// Tells what begins and what ends, for as long as it is polled.
    pub(super) async fn tell(self, workers: Workers) {
        let mut ledger = remembered(&workers.store);
        loop {
            sleep(EVERY).await;
            let Ok(troubles) = workers.handle.troubles().await else {
                return;
            };
            let is_new = ledger.compare(&troubles, workers.clock.now());
            // Stored before it is sent, or a receiver would get it twice.
            if is_new && !keep(&workers, &ledger).await {
                continue;
            }
            if self.tell_all(&mut ledger).await {
                keep(&workers, &ledger).await;
            }
        }
    }

    /// Whether anything was sent.
    async fn tell_all(&self, ledger: &mut Ledger) -> bool {
        let mut is_changed = false;
        for known in ledger.untold() {
            if self.raise(&known).await {
                ledger.told(&known.id);
                is_changed = true;
            }
        }
        for known in ledger.over() {
            if self.resolve(&known).await {
                ledger.settled(&known.id);
                is_changed = true;
            }
        }
        is_changed
    }

    fn about<'a>(&'a self, known: &'a Known) -> impl Iterator<Item = &'a CompiledAlert> {
        self.alerts
            .iter()
            .filter(|compiled| compiled.supervision.contains(&known.kind))
    }

    /// Has every alert that means it told that it began. Whether all of them were taken.
    async fn raise(&self, known: &Known) -> bool {
        for compiled in self.about(known) {
            if let Err(untold) = self.start(compiled, known, Part::Raised).await {
                return said(known, &untold);
            }
        }
        true
    }

    /// The same when it is over, each after its first message has been delivered.
    async fn resolve(&self, known: &Known) -> bool {
        for compiled in self.about(known) {
            if let Err(untold) = self.start_resolved(compiled, known).await {
                return said(known, &untold);
            }
        }
        true
    }

    async fn start_resolved(&self, compiled: &CompiledAlert, known: &Known) -> Result<(), Untold> {
        let raised = self.start(compiled, known, Part::Raised).await?;
        if raised.is_open() {
            return Err(Untold::Underway);
        }
        self.start(compiled, known, Part::Resolved).await.map(drop)
    }

    /// Has it told, unless it was. How the telling stands.
    async fn start(&self, compiled: &CompiledAlert, known: &Known, part: Part) -> Result<Execution, Untold> {
        let key = Key::new(PRINCIPAL, &format!("{}-{}", known.id, part.word())).ok();
        let about = [known.kind.name(), part.word()];
        let start = compiled.alert.raise(payload(known, part), &about);
        let asked = self.engine.ask_once(start, &Asker::from(key)).await;
        let started = asked.answer.map_err(Untold::Refused)?;
        self.engine.read().execution(started.id).await.map_err(Untold::Refused)
    }
}

/// Which of the two messages.
#[derive(Clone, Copy)]
enum Part {
    Raised,
    Resolved,
}

impl Part {
    const fn word(self) -> &'static str {
        match self {
            Self::Raised => "raised",
            Self::Resolved => "resolved",
        }
    }
}

/// What the receiver gets.
fn payload(known: &Known, part: Part) -> Value {
    let over = known.over.filter(|_| matches!(part, Part::Resolved));
    json!({
        "type": "supervision",
        "status": part.word(),
        "severity": if known.kind.is_final() { "high" } else { "warning" },
        "details": {
            "id": known.id,
            "trouble": known.kind,
            "worker": known.worker,
            "rule": known.rule,
            "cause": known.cause,
            "since": known.since,
            "over": over,
        },
    })
}

/// It is tried again; only a refusal is worth a word.
fn said(known: &Known, untold: &Untold) -> bool {
    if let Untold::Refused(refusal) = untold {
        tracing::error!(trouble = known.id, worker = known.worker, %refusal, "alert refused, retrying");
    }
    false
}

fn remembered(store: &Store) -> Ledger {
    let kept = store.memory(ROOT, LEDGER);
    kept.and_then(|kept| serde_json::from_value(kept).ok())
        .unwrap_or_default()
}

/// Whether it is on disk.
async fn keep(workers: &Workers, ledger: &Ledger) -> bool {
    let Ok(document) = serde_json::to_value(ledger) else {
        return false;
    };
    match workers
        .store
        .put_memory(&Arc::from(ROOT), LEDGER, &document, workers.clock.now())
    {
        Ok(durable) => durable.wait().await.is_ok(),
        Err(problem) => {
            tracing::error!(%problem, "alert ledger not stored");
            false
        }
    }
}
