//! Starts the operations of a phase when the plan says so, and counts how they end.
//!
//! In the open model an operation is meant to start at its place in the schedule, however slow the others are. So latency counts
//! from there: a stalled target cannot hide behind operations that wait to start.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::{User, Workload};
use crate::plan::{Model, Phase, Share};
use crate::stats::{Operation, OperationEnd, Recorder, Stage};
use crate::time::{Micros, whole_micros};

/// One phase of a run, as one thread of an agent performs it.
#[derive(Clone)]
pub struct Load {
    /// The phase.
    pub phase: Phase,
    /// This thread's part of it.
    pub share: Share,
    /// Operations at once in the open model.
    pub in_flight: u32,
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
    /// Users of the open model without an operation. The last one to come is the first to go, so few connections are open.
    idle: Mutex<VecDeque<Box<dyn User>>>,
}

impl Generator {
    /// Performs the whole phase. Ends after its last operation.
    pub async fn perform(load: Load) -> Result<(), String> {
        let begin = load.clock.unix();
        Self::perform_from(load, begin).await
    }

    /// Performs the whole phase, which began at that microsecond of the agent's clock.
    pub async fn perform_from(load: Load, begin: u64) -> Result<(), String> {
        let end = begin.saturating_add(whole_micros(load.phase.duration));
        let model = load.phase.model;
        let idle = Mutex::default();
        let generator = Arc::new(Self { load, begin, end, idle });
        match model {
            Model::Closed { users } => generator.closed(users).await,
            Model::Open { rate, .. } => generator.open(rate).await,
        }
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
        let mut user = Arc::clone(&self.load.workload).user();
        let mut cancelled = pin!(cancelled(self.load.cancelled.clone()));
        let mut now = self.load.clock.unix();
        while now < self.end && !*self.load.cancelled.borrow() {
            now = self.operate(user.as_mut(), now, cancelled.as_mut()).await;
            // Operations that fail at once must not keep the others from running.
            tokio::task::consume_budget().await;
        }
    }

    async fn open(self: Arc<Self>, rate: u32) -> Result<(), String> {
        let permits = Arc::new(Semaphore::new(self.load.in_flight as usize));
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
                generator.arrived(intended).await;
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

    /// Performs one arrival, as a user without an operation.
    async fn arrived(&self, intended: u64) {
        let idle = self.idle().pop_back();
        let mut user = idle.unwrap_or_else(|| Arc::clone(&self.load.workload).user());
        let cancelled = pin!(cancelled(self.load.cancelled.clone()));
        self.operate(user.as_mut(), intended, cancelled).await;
        self.idle().push_back(user);
    }

    /// A task that panicked while it held the lock left whole entries behind.
    fn idle(&self) -> MutexGuard<'_, VecDeque<Box<dyn User>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Performs one operation and counts it. Returns when it ended.
    async fn operate(&self, user: &mut dyn User, intended: u64, cancelled: Pin<&mut impl Future<Output = ()>>) -> u64 {
        let started = self.load.clock.unix();
        let end = tokio::select! {
            biased;
            performed = tokio::time::timeout(self.load.phase.op_timeout, user.perform()) => match performed {
                Ok(Ok(())) => OperationEnd::Done,
                Ok(Err(reason)) => {
                    self.load.recorder.fail(&reason);
                    OperationEnd::Failed
                }
                Err(_) => self.timed_out(),
            },
            () = cancelled => OperationEnd::Cut,
        };
        let ended = self.load.clock.unix();
        self.load.recorder.record(&Operation {
            stage: self.stage(intended),
            intended,
            started,
            ended,
            end,
        });
        ended
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
