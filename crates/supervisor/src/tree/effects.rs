//! The executor and the collector, as the tree uses them.
//!
//! Nothing here waits. Their reports come back as [`News`] with the next scan.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use sprag_core::time::Timestamp;

use super::act::{Count, Report};
use super::nodes::WorkerKey;
use crate::report::metrics::Metrics;
use crate::report::seldom::Seldom;
use crate::runtime::collector::{Collector, CollectorEvent, Source};
use crate::runtime::executor::class::{ABANDONED, CANCELLED};
use crate::runtime::executor::{Attempted, CancelReason, Event, Executor};
use crate::runtime::pool::lock;
use crate::worker::CollectError;
use crate::worker::action::{ActionCall, ActionError, ActionStatus};
use crate::worker::erased::{Collected, Observer, Opaque};

/// What happened to one worker.
pub(super) enum News {
    /// It was observed, by a pass that began then.
    Observed { collected: Collected, at: Timestamp },
    /// Its last observation is too old now.
    Stale { path: Arc<str> },
    /// A pass failed.
    Failed { path: Arc<str>, error: Arc<str> },
    /// It was observed for the last time.
    ObservedLast {
        path: Arc<str>,
        last: Option<(Timestamp, Collected)>,
    },
    /// Its action continues, or ended.
    Action {
        path: Arc<str>,
        status: Arc<ActionStatus>,
        ended: bool,
    },
}

/// Makes passes of one worker, always for what is desired at the time.
struct ObservedWorker {
    key: WorkerKey,
    observer: Arc<dyn Observer>,
    desired: Mutex<Opaque>,
}

impl Source<Collected> for ObservedWorker {
    fn pass(&self) -> Option<BoxFuture<'static, Result<Collected, CollectError>>> {
        let desired = Arc::clone(&lock(&self.desired));
        Some(Arc::clone(&self.observer).observe(self.key, desired))
    }
}

/// The executor, the collector, and what is counted and logged.
pub(crate) struct Effects {
    executor: Executor,
    collector: Collector<Collected>,
    /// Only looked up, never walked.
    observed: HashMap<Arc<str>, Arc<ObservedWorker>>,
    metrics: Arc<Metrics>,
    seldom: Seldom,
    is_idle: bool,
}

impl Effects {
    pub(crate) fn new(executor: Executor, collector: Collector<Collected>, metrics: Arc<Metrics>) -> Self {
        Self {
            executor,
            collector,
            observed: HashMap::new(),
            metrics,
            seldom: Seldom::default(),
            is_idle: false,
        }
    }

    /// Observes a worker from now on, or observes it for something else than before.
    pub(super) fn observe(
        &mut self,
        key: WorkerKey,
        path: &Arc<str>,
        (observer, desired): (Arc<dyn Observer>, Opaque),
        now: Timestamp,
    ) {
        if let Some(source) = self.observed.get(path) {
            *lock(&source.desired) = desired;
            return self.collector.trigger(path, now);
        }
        let source = Arc::new(ObservedWorker {
            key,
            observer,
            desired: Mutex::new(desired),
        });
        self.observed.insert(Arc::clone(path), Arc::clone(&source));
        if let Err(error) = self.collector.start(path, source, now) {
            tracing::error!(worker = %path, %error, "worker not observed");
        }
    }

    /// Observes a worker for the last time; the result is news.
    pub(super) fn observe_last(&mut self, path: &str, now: Timestamp) {
        self.collector.finish(path, now);
    }

    /// Stops observing a worker. Its next desired state begins that anew.
    pub(super) fn stop_observing(&mut self, path: &str) {
        self.observed.remove(path);
        self.collector.stop(path);
    }

    /// Starts an action, or says why not.
    pub(super) fn start(&mut self, call: ActionCall, now: Timestamp) -> Result<Arc<ActionStatus>, String> {
        let path = Arc::clone(&call.worker);
        let started = self.executor.start(call, now);
        started.map_err(|refused| {
            let refused = refused.to_string();
            if self.seldom.says(&path, &refused, now) {
                tracing::debug!(worker = %path, %refused, "action refused");
            }
            refused
        })
    }

    /// Ends the action of a worker. Whether there was one.
    pub(super) fn cancel(&mut self, path: &str, reason: CancelReason, now: Timestamp) -> bool {
        self.executor.cancel(path, reason, now)
    }

    /// The last action of a worker, as an earlier process left it.
    pub(super) fn restore_action(&mut self, path: &Arc<str>, status: Option<ActionStatus>) -> Arc<ActionStatus> {
        match status {
            Some(status) => self.executor.restore(path, status),
            None => self.executor.status(path),
        }
    }

    /// Ignores everything the worker's current instance still does or sees.
    pub(super) fn fence_off(&mut self, path: &str) {
        self.stop_observing(path);
        self.executor.forget(path);
    }

    /// The worker is gone.
    pub(super) fn forget(&mut self, path: &str) {
        self.fence_off(path);
        self.seldom.forget(path);
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub(super) fn count(&self, count: &Count) {
        let metrics = &self.metrics;
        match count {
            Count::Transition => metrics.moved(),
            Count::Replaced(path) => metrics.forced(path, "replaced"),
            Count::Restarted(path, cause) => metrics.restarted(path, *cause),
            Count::Circuit(supervisor, moved) => metrics.circuit(supervisor, &moved.0, &moved.1),
            Count::Abandoned(supervisor, rule) => metrics.abandoned(supervisor, rule),
        }
    }

    /// Logs the error of a worker, at most once a minute while it repeats.
    pub(super) fn report(&mut self, path: &Arc<str>, report: &Report, now: Timestamp) {
        match report {
            Report::Spec { error } => {
                if self.seldom.says(path, error, now) {
                    tracing::warn!(worker = %path, %error, "spec not usable, previous one stays in force");
                }
            }
            Report::Panic { place, panic } => {
                self.metrics.panicked();
                if self.seldom.says(path, panic, now) {
                    tracing::error!(worker = %path, place, %panic, "worker panicked");
                }
            }
        }
    }

    /// Logs once that there are no workers, unless the shutdown has ended.
    pub(super) fn report_idle(&mut self, is_idle: bool, has_ended: bool) {
        if is_idle && !self.is_idle && !has_ended {
            tracing::info!("no workers declared");
        }
        self.is_idle = is_idle;
    }

    /// What happened since the last scan.
    pub(super) fn scan(&mut self, now: Timestamp) -> Vec<News> {
        let mut news = Vec::new();
        for event in self.executor.scan(now) {
            self.acted(event, now, &mut news);
        }
        for event in self.collector.scan(now) {
            self.collected(event, &mut news);
        }
        self.metrics.hands(self.executor.counts(), self.collector.counts());
        news
    }

    fn acted(&mut self, event: Event, now: Timestamp, news: &mut Vec<News>) {
        match event {
            Event::Started {
                worker,
                action,
                attempt,
            } => tracing::info!(worker = %worker, %action, attempt, "action started"),
            Event::TimedOut {
                worker,
                action,
                attempt,
                timeout_millis,
            } => {
                tracing::warn!(worker = %worker, %action, attempt, timeout_ms = timeout_millis, "attempt timed out");
            }
            Event::Attempted(attempted) => self.attempted(&attempted),
            Event::Retrying { worker, status, due } => {
                let (action, attempt, retry_in_ms) = (&status.name, status.attempt + 1, due.since(now));
                tracing::info!(worker = %worker, %action, attempt, retry_in_ms, "retrying");
                self.metrics.retrying(&status.name);
                news.push(News::Action {
                    path: worker,
                    status,
                    ended: false,
                });
            }
            Event::Stuck { worker, status } => {
                let (action, attempt) = (&status.name, status.attempt);
                tracing::warn!(worker = %worker, %action, attempt, "attempt ignores its cancellation");
            }
            Event::Ended { worker, status } => {
                self.collector.trigger(&worker, now);
                news.push(News::Action {
                    path: worker,
                    status,
                    ended: true,
                });
            }
        }
    }

    /// One line for each attempt that failed, unless its timeout was logged already or its end was wanted.
    fn attempted(&self, attempted: &Attempted) {
        let Attempted {
            worker,
            action,
            attempt,
            error,
            is_timed_out,
            millis,
        } = attempted;
        let class = error.as_ref().map(|error| error.kind.as_str());
        self.metrics.attempted(action, class, *millis);
        let Some(ActionError { kind, message, .. }) = error else {
            return;
        };
        match kind.as_str() {
            CANCELLED => {
                tracing::info!(worker = %worker, %action, attempt, reason = %message, "action cancelled");
            }
            ABANDONED => {
                tracing::error!(worker = %worker, %action, attempt, error = %message, "action abandoned");
            }
            _ if *is_timed_out => {}
            _ => tracing::warn!(worker = %worker, %action, attempt, class = kind, error = %message, "attempt failed"),
        }
    }

    fn collected(&mut self, event: CollectorEvent<Collected>, news: &mut Vec<News>) {
        match event {
            CollectorEvent::Observed { at, value, .. } => news.push(News::Observed { collected: value, at }),
            CollectorEvent::Failed { worker, error } => news.push(News::Failed { path: worker, error }),
            CollectorEvent::Stale { worker } => {
                self.metrics.stale();
                tracing::warn!(worker = %worker, "observation stale");
                news.push(News::Stale { path: worker });
            }
            CollectorEvent::Restarted { worker, restarts } => {
                tracing::warn!(worker = %worker, restarts, "collection restarted");
            }
            CollectorEvent::Exhausted { worker, error } => {
                tracing::error!(worker = %worker, ?error, "collection still failing after restart");
            }
            CollectorEvent::Recovered { worker, restarts } => {
                tracing::info!(worker = %worker, restarts, "collection recovered");
            }
            CollectorEvent::Finished { worker, last } => news.push(News::ObservedLast { path: worker, last }),
        }
    }
}
