//! Starts the operations of a phase when the plan says so, and counts how they end.
//!
//! In the open model an operation is meant to start at its place in the schedule, however slow the others are. So latency counts
//! from there: a stalled target cannot hide behind operations that wait to start.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::Workload;
use crate::plan::{Model, Phase, Share};
use crate::stats::{Operation, OperationEnd, Recorder, Stage};
use crate::time::{Micros, whole_micros};

/// One phase of a run, as one agent performs it.
#[derive(Clone)]
pub struct Load {
    /// The phase.
    pub phase: Phase,
    /// This agent's part of it.
    pub share: Share,
    /// Whether it is the prepare phase.
    pub is_prepare: bool,
    /// What to perform.
    pub workload: Arc<dyn Workload>,
    /// Where operations are counted.
    pub recorder: Arc<Recorder>,
    /// The agent's clock.
    pub clock: Micros,
    /// True once the run is cancelled.
    pub cancelled: watch::Receiver<bool>,
}

/// A phase under way.
pub struct Generator {
    load: Load,
    begin: u64,
    end: u64,
}

impl Generator {
    /// Performs the whole phase. Ends after its last operation.
    pub async fn perform(load: Load) -> Result<(), String> {
        let begin = load.clock.unix();
        let end = begin.saturating_add(whole_micros(load.phase.duration));
        let model = load.phase.model;
        let generator = Arc::new(Self { load, begin, end });
        let result = match model {
            Model::Closed { users } => Arc::clone(&generator).closed(users).await,
            Model::Open { rate, in_flight } => Arc::clone(&generator).open(rate, in_flight as usize).await,
        };
        generator.load.workload.close().await;
        result
    }

    async fn closed(self: Arc<Self>, users: u32) -> Result<(), String> {
        let mut set = JoinSet::new();
        for start in self.load.share.user_starts(users, self.load.phase.ramp_up) {
            let generator = Arc::clone(&self);
            set.spawn(async move { generator.user(start).await });
        }
        while let Some(ended) = set.join_next().await {
            not_panicked(ended)?;
        }
        Ok(())
    }

    async fn user(&self, start: Duration) {
        if !self.wait_until(self.begin.saturating_add(whole_micros(start))).await {
            return;
        }
        while self.is_open() {
            self.operate(self.load.clock.unix()).await;
            // Operations that fail at once must not keep the others from running.
            tokio::task::yield_now().await;
        }
    }

    async fn open(self: Arc<Self>, rate: u32, in_flight: usize) -> Result<(), String> {
        let permits = Arc::new(Semaphore::new(in_flight));
        let mut set = JoinSet::new();
        let mut number = 0;
        while let Some(intended) = self.arrival(number, rate) {
            if !self.wait_until(intended).await {
                break;
            }
            let Some(permit) = self.permit(&permits).await else {
                break;
            };
            let generator = Arc::clone(&self);
            set.spawn(async move {
                generator.operate(intended).await;
                drop(permit);
            });
            while let Some(ended) = set.try_join_next() {
                not_panicked(ended)?;
            }
            number += 1;
        }
        if !*self.load.cancelled.borrow() {
            self.load.recorder.miss(self.arrivals(rate).saturating_sub(number));
        }
        while let Some(ended) = set.join_next().await {
            not_panicked(ended)?;
        }
        Ok(())
    }

    /// When the arrival is meant to start, if that is before the end of the phase.
    fn arrival(&self, number: u64, rate: u32) -> Option<u64> {
        let due = self.load.share.arrival(number, rate, &self.load.phase);
        (due < self.load.phase.duration).then(|| self.begin.saturating_add(whole_micros(due)))
    }

    /// How many arrivals there are. Found by bisection, because a plan may have thousands of millions.
    fn arrivals(&self, rate: u32) -> u64 {
        let (mut some, mut none) = (
            0,
            u64::from(rate).saturating_mul(self.load.phase.duration.as_secs() + 1) + 1,
        );
        while some < none {
            let middle = some.midpoint(none);
            if self.arrival(middle, rate).is_some() {
                some = middle + 1;
            } else {
                none = middle;
            }
        }
        some
    }

    /// A permit to operate; none once the phase is over.
    async fn permit(&self, permits: &Arc<Semaphore>) -> Option<tokio::sync::OwnedSemaphorePermit> {
        let left = self.end.saturating_sub(self.load.clock.unix());
        tokio::select! {
            biased;
            () = cancelled(self.load.cancelled.clone()) => None,
            permit = Arc::clone(permits).acquire_owned() => permit.ok(),
            () = tokio::time::sleep(Duration::from_micros(left)) => None,
        }
    }

    fn is_open(&self) -> bool {
        !*self.load.cancelled.borrow() && self.load.clock.unix() < self.end
    }

    /// Waits. False if the run is cancelled before.
    async fn wait_until(&self, instant: u64) -> bool {
        let left = instant.saturating_sub(self.load.clock.unix());
        if left == 0 {
            return !*self.load.cancelled.borrow();
        }
        tokio::select! {
            biased;
            () = cancelled(self.load.cancelled.clone()) => false,
            () = tokio::time::sleep(Duration::from_micros(left)) => true,
        }
    }

    /// Performs one operation and counts it.
    async fn operate(&self, intended: u64) {
        let started = self.load.clock.unix();
        let end = tokio::select! {
            biased;
            () = cancelled(self.load.cancelled.clone()) => OperationEnd::Cut,
            performed = tokio::time::timeout(self.load.phase.op_timeout, self.load.workload.perform()) => match performed {
                Ok(Ok(())) => OperationEnd::Done,
                Ok(Err(reason)) => {
                    self.load.recorder.fail(&reason);
                    OperationEnd::Failed
                }
                Err(_) => self.timed_out(),
            },
        };
        self.load.recorder.record(&Operation {
            stage: self.stage(intended),
            intended,
            started,
            ended: self.load.clock.unix(),
            end,
        });
    }

    fn timed_out(&self) -> OperationEnd {
        let millis = self.load.phase.op_timeout.as_millis();
        self.load.recorder.fail(&format!("no end within {millis} ms"));
        let is_after_end = self.load.clock.unix() >= self.end;
        if is_after_end {
            OperationEnd::Cut
        } else {
            OperationEnd::Failed
        }
    }

    fn stage(&self, intended: u64) -> Stage {
        if self.load.is_prepare {
            Stage::Prepare
        } else if intended.saturating_sub(self.begin) < whole_micros(self.load.phase.ramp_up) {
            Stage::Ramp
        } else {
            Stage::Steady
        }
    }
}

/// Returns once the run is cancelled.
async fn cancelled(mut flag: watch::Receiver<bool>) {
    if flag.wait_for(|cancelled| *cancelled).await.is_err() {
        // The run's owner is gone without cancelling: the task of a leaked run ends by itself.
        std::future::pending::<()>().await;
    }
}

fn not_panicked(ended: Result<(), tokio::task::JoinError>) -> Result<(), String> {
    ended.map_err(|error| format!("an operation did not end: {error}"))
}
