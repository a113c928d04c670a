//! W1 embedded: the whole engine as a library, no HTTP.

use std::sync::Arc;

use sprag_core::action::BoxFuture;
use sprag_core::clock::{Clock, System};
use sprag_core::ids::scatter;
use sprag_core::machine::{LoadOptions, load_text};
use sprag_core::source::Format;
use sprag_core::time::Timestamp;
use sprag_engine::command::Start;
use sprag_engine::{Engine, Requirements, SecretSource};
use sprag_runners::tools::Noop;
use sprag_store::records::ExecutionStatus;
use sprag_store::sqlite;
use sprag_store::traits::{ExecutionQuery, Readers};

const EXECUTIONS: usize = 60_000;
const IN_FLIGHT: usize = 100;
const MACHINE: &str = "{id: one, initial: a, states: {a: {on: {done.work: b}}, b: {type: final}}, actions: [{actionId: work, type: noop, triggerState: a, config: {}}]}";

struct NoSecrets;

impl SecretSource for NoSecrets {
    fn get<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<String>, String>> {
        Box::pin(async { Ok(None) })
    }
}

pub(crate) async fn executions_per_second() -> f64 {
    let Ok(folder) = tempfile::tempdir() else { return 0.0 };
    let opened = sqlite::open(&sqlite::Options {
        path: folder.path().join("bench.db"),
    });
    let Ok(sqlite::Store { writer, readers }) = opened else {
        return 0.0;
    };
    let readers: Arc<dyn Readers> = Arc::new(readers);
    let clock = Arc::new(System::start(Timestamp::from_millis(0)));
    let mut drawn = 1;
    let requirements = Requirements {
        store: Box::new(writer),
        readers: Arc::clone(&readers),
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
        entropy: Box::new(move || {
            drawn = scatter(drawn);
            drawn
        }),
        secrets: Arc::new(NoSecrets),
    };
    let Ok(engine) = Engine::builder(requirements).runner(Arc::new(Noop)).start() else {
        return 0.0;
    };
    let handle = engine.handle();
    let Some(machine) = load_text(MACHINE, Format::Yaml, &LoadOptions::default()).machine else {
        return 0.0;
    };
    if handle.apply(machine).await.is_err() {
        return 0.0;
    }
    let before = clock.now();
    let starters = (0..IN_FLIGHT).map(|_| {
        let handle = handle.clone();
        tokio::spawn(async move {
            for _ in 0..EXECUTIONS / IN_FLIGHT {
                let start = Start {
                    machine: "one".into(),
                    ..Start::default()
                };
                if handle.start(start).await.is_err() {
                    return;
                }
            }
        })
    });
    for starter in starters.collect::<Vec<_>>() {
        let _ = starter.await;
    }
    let completed = wait_completed(&readers).await;
    let elapsed = clock.now().since(before);
    engine.shutdown(std::time::Duration::from_secs(5)).await;
    #[expect(clippy::cast_precision_loss, reason = "both are far below 2^52")]
    let rate = completed as f64 * 1_000.0 / elapsed as f64;
    rate
}

/// Waits until nothing is running any more, and counts what completed.
async fn wait_completed(readers: &Arc<dyn Readers>) -> usize {
    loop {
        let running = count(readers, ExecutionStatus::Running, 1);
        if running == 0 {
            return count(readers, ExecutionStatus::Completed, EXECUTIONS);
        }
        tokio::task::yield_now().await;
    }
}

fn count(readers: &Arc<dyn Readers>, status: ExecutionStatus, limit: usize) -> usize {
    let query = ExecutionQuery {
        status: Some(status),
        limit,
        ..ExecutionQuery::default()
    };
    readers
        .reader()
        .and_then(|reader| reader.executions(&query))
        .map_or(0, |found| found.len())
}
