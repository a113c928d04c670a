//! Many workers in one process, each looked at once a second, on real threads: memory and processor time as the kernel
//! accounts for them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::json;
use sprag_core::clock::System;
use sprag_core::time::Timestamp;
use sprag_supervisor::testing::{beside, steady};
use sprag_supervisor::{Setup, ShutdownOutcome, Supervisor};

use super::{number, own};
use crate::figures::{Figure, Figures};
use crate::process::{cpu_seconds, resident_mib};

/// How long they are watched.
const WATCHED: Duration = Duration::from_secs(20);
/// How long they settle before that.
const SETTLED: Duration = Duration::from_secs(5);
/// Between two looks at whether everybody is up.
const LOOK_EVERY: Duration = Duration::from_millis(100);
const MEBI: f64 = 1_048_576.0;

/// Both figures.
pub(crate) fn figures(workers: u64) -> anyhow::Result<Figures> {
    let measured = own(&["crowd".to_owned(), workers.to_string()])?;
    Ok(Figures::from([
        (Figure::CoreShare, number(&measured, "cpuMillisPerSecond")?),
        (Figure::WorkerBytes, number(&measured, "bytesPerWorker")?),
    ]))
}

/// The measurement itself, in a process of its own.
pub(crate) fn measure(workers: u64) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(watch(usize::try_from(workers)?))
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
async fn watch(workers: usize) -> anyhow::Result<()> {
    let own = std::process::id();
    let memory = || resident_mib(own).context("no memory was read");
    let before = memory()?;
    let clock = Arc::new(System::start(Timestamp::from_millis(0)));
    let (supervisor, handle) = Supervisor::new(Setup::new(steady(), clock), beside(workers, "steady"))?;
    let ticks = tokio::spawn(supervisor.run());
    while handle.counts().await?.healthy < workers {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    tokio::time::sleep(SETTLED).await;
    let (cpu, passes) = (cpu_seconds(&[own]), handle.metrics().passes());
    tokio::time::sleep(WATCHED).await;
    let (cpu, passes) = (cpu_seconds(&[own]) - cpu, handle.metrics().passes() - passes);
    let bytes = (memory()? - before) * MEBI / workers as f64;
    let looks = passes as f64 / WATCHED.as_secs_f64();
    ensure!(looks > workers as f64 * 0.95, "only {looks} looks a second");
    println!(
        "{}",
        json!({
            "cpuMillisPerSecond": cpu * 1_000.0 / WATCHED.as_secs_f64(),
            "bytesPerWorker": bytes,
            "looksPerSecond": looks,
        })
    );
    handle.shut_down().await;
    ensure!(ticks.await? == ShutdownOutcome::Clean, "the shutdown was not clean");
    Ok(())
}
