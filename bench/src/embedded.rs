//! The engine as a library, on a fresh file and without HTTP: W1 embedded, and a source of real records.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use sprag_core::action::{BoxFuture, Status};
use sprag_core::clock::{Clock, System};
use sprag_core::document::source::Format;
use sprag_core::ids::scatter;
use sprag_core::machine::{LoadOptions, load_text};
use sprag_core::time::Timestamp;
use sprag_engine::requests::Start;
use sprag_engine::{Engine, Handle, Requirements, SecretSource};
use sprag_runners::tools::{Fail, Noop};
use sprag_store::Page;
use sprag_store::records::ExecutionStatus;
use sprag_store::sqlite;
use sprag_store::traits::{ActionQuery, ExecutionQuery, Readers};

use crate::stopwatch::Stopwatch;
use crate::work::IN_FLIGHT;

/// One noop action, and done.
pub(crate) const ONE: &str = "{id: one, initial: a, states: {a: {on: {done.work: b}}, b: {type: final}}, \
    actions: [{actionId: work, type: noop, triggerState: a, config: {}}]}";

struct NoSecrets;

impl SecretSource for NoSecrets {
    fn get<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<String>, String>> {
        Box::pin(async { Ok(None) })
    }
}

/// A running engine and those who read beside it.
pub(crate) struct Embedded {
    engine: Engine,
    pub(crate) readers: Arc<dyn Readers>,
}

impl Embedded {
    /// Starts an engine on the file with one machine. Must be called inside a tokio runtime.
    pub(crate) async fn start(file: &Path, machine: &str) -> anyhow::Result<Self> {
        let sqlite::Store { writer, readers } = sqlite::open(&sqlite::Options { path: file.to_owned() })?;
        let readers: Arc<dyn Readers> = Arc::new(readers);
        let mut drawn = 1;
        let requirements = Requirements {
            store: Box::new(writer),
            readers: Arc::clone(&readers),
            clock: Arc::new(System::start(Timestamp::from_millis(0))) as Arc<dyn Clock>,
            entropy: Box::new(move || {
                drawn = scatter(drawn);
                drawn
            }),
            secrets: Arc::new(NoSecrets),
        };
        let started = Engine::builder(requirements)
            .runner(Arc::new(Noop))
            .runner(Arc::new(Fail))
            .start();
        let engine = started.map_err(|fatal| anyhow!("{fatal:?}"))?;
        let loaded = load_text(machine, Format::Yaml, &LoadOptions::default());
        let machine = loaded.machine.with_context(|| format!("{:?}", loaded.findings))?;
        let applied = engine.handle().apply(machine).await;
        applied.map_err(|refusal| anyhow!("{refusal:?}"))?;
        Ok(Self { engine, readers })
    }

    pub(crate) fn handle(&self) -> Handle {
        self.engine.handle()
    }

    /// Waits until nothing is running any more.
    pub(crate) async fn settled(&self) -> anyhow::Result<()> {
        while self.count(ExecutionStatus::Running, 1)? > 0 {
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// Waits until the newest action has ended.
    pub(crate) async fn action_ended(&self) -> anyhow::Result<()> {
        let newest = ActionQuery {
            page: Page::first(1),
            ..ActionQuery::default()
        };
        while self
            .readers
            .reader(sprag_store::ReadKind::Scan)?
            .actions(&newest)?
            .rows
            .iter()
            .any(|action| action.status <= Status::Retrying as u8)
        {
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    fn count(&self, status: ExecutionStatus, limit: u64) -> anyhow::Result<u64> {
        let limit = usize::try_from(limit)?;
        let reader = self.readers.reader(sprag_store::ReadKind::Scan)?;
        let (mut count, mut after) = (0, None);
        while count < limit {
            let page = reader.executions(&ExecutionQuery {
                status: Some(status),
                page: Page::new(after, limit - count),
                ..ExecutionQuery::default()
            })?;
            count += page.rows.len();
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        Ok(count.try_into()?)
    }

    pub(crate) async fn stop(self) {
        self.engine.shutdown(Duration::from_secs(5)).await;
    }
}

/// Starts an execution of `machine`, and no more than that.
pub(crate) async fn start_one(handle: &Handle, machine: &str) -> anyhow::Result<()> {
    let start = Start {
        machine: machine.to_owned(),
        ..Start::default()
    };
    let started = handle.start(start).await;
    started.map(drop).map_err(|refusal| anyhow!("{refusal:?}"))
}

/// W1 embedded: executions per second, counted in the store.
pub(crate) fn executions_per_second(count: u64) -> anyhow::Result<f64> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let folder = tempfile::tempdir()?;
        let embedded = Embedded::start(&folder.path().join("bench.db"), ONE).await?;
        let watch = Stopwatch::start();
        let share = count / u64::try_from(IN_FLIGHT)?;
        let starters: Vec<_> = (0..IN_FLIGHT)
            .map(|_| {
                let handle = embedded.handle();
                tokio::spawn(async move {
                    for _ in 0..share {
                        start_one(&handle, "one").await?;
                    }
                    anyhow::Ok(())
                })
            })
            .collect();
        for starter in starters {
            starter.await??;
        }
        embedded.settled().await?;
        let started = share * u64::try_from(IN_FLIGHT)?;
        let rate = watch.rate(started);
        let completed = embedded.count(ExecutionStatus::Completed, started + 1)?;
        ensure!(completed == started, "{completed} completed of {started}");
        embedded.stop().await;
        Ok(rate)
    })
}
