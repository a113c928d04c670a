//! The task of a run: the workload on threads of its own, so an operation that blocks its thread delays no call to the agent.
//!
//! Each thread performs its part of the agent's share with a runtime and counts of its own, so threads share nothing while
//! operations run. A runtime ends only after the last thread has performed its part: a connection that several threads use is
//! driven by the one that opened it.

use std::num::NonZero;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use futures_util::FutureExt as _;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use super::prepare::Prepared;
use crate::lifecycle::TaskEnd;
use crate::plan::{Model, Phase, Plan, Share};
use crate::stats::{Counts, Recorder};
use crate::time::Micros;
use crate::workload::{Generator, Load, Workload};

/// More threads than this make no agent faster.
const THREADS_MAX: usize = 64;

/// How many threads a workload may have here.
pub(super) fn most() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX)
}

/// What the threads counted.
pub(super) fn counts(recorders: &[Arc<Recorder>]) -> Counts {
    let mut counts = Counts::default();
    for recorder in recorders {
        counts.add(&recorder.snapshot());
    }
    counts
}

/// The workload of a run.
pub(super) struct Task {
    pub(super) prepared: Prepared,
    /// One for each thread.
    pub(super) recorders: Vec<Arc<Recorder>>,
    pub(super) clock: Micros,
    pub(super) in_prepare: Arc<AtomicBool>,
    /// True once the run is cancelled.
    pub(super) cancelled: watch::Receiver<bool>,
    /// True once operations shall end at their next await point.
    pub(super) killed: watch::Receiver<bool>,
}

impl Task {
    /// Performs it. Returns once every operation has ended, one that blocks its thread too.
    pub(super) fn perform(self) -> TaskEnd {
        match std::panic::catch_unwind(AssertUnwindSafe(|| self.phases())) {
            Ok(_) if *self.killed.borrow() => TaskEnd::Cancelled,
            Ok(Ok(())) => TaskEnd::Completed,
            Ok(Err(message)) => TaskEnd::Failed(message),
            Err(_) => TaskEnd::Failed("the workload panicked".to_owned()),
        }
    }

    fn phases(&self) -> Result<(), String> {
        let Prepared {
            plan: Plan { main, prepare, .. },
            main: workload,
            prepare: preparing,
            ..
        } = &self.prepared;
        if let (Some(phase), Some(workload)) = (prepare, preparing) {
            self.in_prepare.store(true, Ordering::Relaxed);
            let prepared = self.phase(phase, workload, true);
            self.in_prepare.store(false, Ordering::Relaxed);
            prepared.map_err(|error| format!("the prepare phase failed: {error}"))?;
        }
        if *self.cancelled.borrow() {
            return Ok(());
        }
        self.phase(main, workload, false)
    }

    fn phase(&self, phase: &Phase, workload: &Arc<dyn Workload>, is_prepare: bool) -> Result<(), String> {
        let begin = self.clock.unix();
        let threads = threads_for(phase, self.prepared.share, self.recorders.len());
        let (over, _) = watch::channel(0_usize);
        let parts = (0_u32..).zip(&self.recorders).take(threads).map(|(index, recorder)| {
            let of = u32::try_from(threads).unwrap_or(u32::MAX);
            let load = Load {
                phase: phase.clone(),
                share: self.prepared.share.part(index, of),
                in_flight: in_flight(phase, Share { index, of }),
                is_prepare,
                workload: Arc::clone(workload),
                recorder: Arc::clone(recorder),
                clock: self.clock.clone(),
                cancelled: self.cancelled.clone(),
            };
            (
                load,
                Part {
                    over: over.clone(),
                    killed: self.killed.clone(),
                    of: threads,
                },
            )
        });
        let parts: Vec<_> = parts.collect();
        let performed = thread::scope(|scope| {
            let running: Vec<_> = parts
                .into_iter()
                .map(|(load, part)| {
                    let run = move || part.perform(load, begin);
                    thread::Builder::new()
                        .name("workload".to_owned())
                        .spawn_scoped(scope, run)
                })
                .collect();
            let ended = running
                .into_iter()
                .map(|thread| match thread.map(thread::ScopedJoinHandle::join) {
                    Ok(Ok(end)) => end,
                    Ok(Err(_)) => Err("a thread of the workload panicked".to_owned()),
                    Err(error) => Err(format!("no thread for the workload: {error}")),
                });
            ended.fold(Ok(()), Result::and)
        });
        self.close(workload)?;
        performed
    }

    /// Frees what operations left behind.
    fn close(&self, workload: &Arc<dyn Workload>) -> Result<(), String> {
        let killed = killed(self.killed.clone());
        runtime()?.block_on(async {
            tokio::select! {
                biased;
                () = workload.close() => {}
                () = killed => {}
            }
        });
        Ok(())
    }
}

/// What one thread knows of the others.
struct Part {
    /// How many threads have performed their part, or more than there are once one has failed.
    over: watch::Sender<usize>,
    killed: watch::Receiver<bool>,
    of: usize,
}

impl Part {
    fn perform(self, load: Load, begin: u64) -> Result<(), String> {
        let Self { over, killed, of } = self;
        let runtime = runtime().inspect_err(|_| over.send_modify(|over| *over = usize::MAX))?;
        let ended = runtime.block_on(async {
            let mut others = over.subscribe();
            let work = AssertUnwindSafe(Generator::perform_from(load, begin)).catch_unwind();
            let ended = tokio::select! {
                biased;
                ended = work => ended.unwrap_or_else(|_| Err("the workload panicked".to_owned())),
                () = self::killed(killed.clone()) => Ok(()),
                // Another thread failed, and with it the run.
                _ = others.wait_for(|over| *over == usize::MAX) => Ok(()),
            };
            over.send_modify(|over| {
                *over = if ended.is_err() {
                    usize::MAX
                } else {
                    over.saturating_add(1)
                };
            });
            tokio::select! {
                biased;
                // The sender lives as long as this thread.
                _ = others.wait_for(|over| *over >= of) => {}
                () = self::killed(killed) => {}
            }
            ended
        });
        // Ends what is left at its next await point, and waits for it.
        drop(runtime);
        ended
    }
}

fn runtime() -> Result<Runtime, String> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .thread_name("workload")
        .build();
    runtime.map_err(|error| format!("no runtime for the workload: {error}"))
}

/// A thread needs a user, or an operation in flight.
fn threads_for(phase: &Phase, share: Share, most: usize) -> usize {
    let most = u32::try_from(most).unwrap_or(u32::MAX);
    let useful = match phase.model {
        Model::Closed { users } => share.count(users),
        Model::Open { in_flight, .. } => in_flight,
    };
    useful.min(most).max(1) as usize
}

/// A thread's part of the operations at once.
fn in_flight(phase: &Phase, thread: Share) -> u32 {
    match phase.model {
        Model::Closed { .. } => 0,
        Model::Open { in_flight, .. } => thread.count(in_flight),
    }
}

async fn killed(mut kill: watch::Receiver<bool>) {
    // Without a sender the agent is gone, and takes the process with it.
    let _ = kill.wait_for(|kill| *kill).await;
}
