//! Effects: everything that reaches the world, and only once its commit is durable.
//!
//! Attempts start, callers get their answers, other nodes get demands, listeners get changes. The lane hands a
//! [`Durable`](crate::commit) batch over; nothing else may lead to an effect.

pub mod action_test;
pub(crate) mod board;
pub(crate) mod closings;
pub(crate) mod dead_letters;
pub(crate) mod grants;
pub mod metrics;
pub mod runner;
pub(crate) mod secret_hosts;
pub(crate) mod secret_rules;
pub(crate) mod tasks;
pub mod traces;

use std::sync::Arc;

use sprag_core::ids::{AttemptId, ExecutionId};

pub(crate) use self::board::Board;
pub(crate) use self::closings::Closings;
use self::metrics::Metrics;
use self::runner::EffectRunner;
use self::traces::Traces;
use crate::decide::{AttemptJob, Batch, Change, log_durable};
use crate::jobs::dead_letters::LettersToRetry;
use crate::leases::Grant;
use crate::limits::LimitDemand;
use crate::read::view::ExecutionView;
use crate::requests::{AttemptRef, Command};

/// Called with the changes of a batch once they are durable.
pub type Publish = Box<dyn FnMut(&[Change]) + Send>;

/// What a lane acts with.
pub(crate) struct Effects {
    pub(crate) runner: Box<dyn EffectRunner>,
    pub(crate) publish: Publish,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) traces: Traces,
    /// Callers that wait for an execution to close.
    pub(crate) closings: Closings,
    /// What readers see of switches and the clock.
    pub(crate) board: Board,
}

/// What a durable batch has other nodes, runners and listeners do.
pub(crate) struct Consequences {
    pub(crate) grants: Vec<Grant>,
    pub(crate) demands: Vec<LimitDemand>,
    pub(crate) cancels: Vec<AttemptRef>,
    pub(crate) abandons: Vec<AttemptRef>,
}

impl Effects {
    /// Counts, logs and traces what a batch did.
    pub(crate) fn count(&self, batch: &mut Batch) {
        self.metrics.count(batch);
        log_durable(batch);
        self.traces.tell(std::mem::take(&mut batch.traced));
    }

    /// Keeps the callers that wait until the execution they asked about is closed.
    pub(crate) fn keep_waiting(&self, commands: &mut [Command]) {
        for command in commands {
            if let Some((id, closed)) = command.call_mut().take_closed() {
                self.closings.add(id, closed);
            }
        }
    }

    pub(crate) fn start(&mut self, job: AttemptJob) {
        self.runner.start(job);
    }

    pub(crate) fn abandon(&mut self, attempt: AttemptId) {
        self.runner.abandon(attempt);
    }

    pub(crate) fn retry_elsewhere(&mut self, letters: LettersToRetry) {
        self.runner.retry_elsewhere(letters);
    }

    /// Grants, demands, cancellations, and the changes for listeners, in this order.
    pub(crate) fn run(&mut self, consequences: Consequences, changes: &[Change]) {
        let Consequences {
            grants,
            demands,
            cancels,
            abandons,
        } = consequences;
        for grant in grants {
            self.runner.grant(grant);
        }
        for demand in demands {
            self.runner.send_demand(demand);
        }
        for attempt in cancels {
            self.runner.cancel(attempt);
        }
        for attempt in abandons {
            self.runner.abandon(attempt.attempt);
        }
        if !changes.is_empty() {
            (self.publish)(changes);
        }
    }

    /// Whether no caller waits for an execution to close, nor will with these commands.
    pub(crate) fn awaits_no_close(&self, commands: &[Command]) -> bool {
        self.closings.is_empty() && !commands.iter().any(|command| command.call().awaits_close())
    }

    /// Hands each execution that a batch closed to its waiting callers. A caller that began to wait after the decision
    /// learns that nothing comes, and reads it.
    pub(crate) fn tell_closed(&self, changes: &[Change], closed: Vec<ExecutionView>) {
        if self.closings.is_empty() {
            return;
        }
        for view in closed {
            for wait in self.closings.take(view.id) {
                let _ = wait.send(view.clone());
            }
        }
        for id in changes.iter().filter_map(Change::closed) {
            drop::<Vec<_>>(self.closings.take(id));
        }
    }

    /// Callers that wait for executions of another node now learn that, and read them.
    pub(crate) fn drop_closings(&self, goes: impl Fn(ExecutionId) -> bool) {
        self.closings.drop_where(goes);
    }
}
