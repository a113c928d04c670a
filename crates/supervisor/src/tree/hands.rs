//! What acts and looks for the tree: the executor and the collector, as the tree speaks to them.
//!
//! Nothing here waits. What they have to tell comes back as [`News`] with the next scan.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use sprag_core::time::Timestamp;

use super::arena::Index;
use crate::action::{ActionError, ActionStatus};
use crate::collector::{Collector, CollectorEvent, Source};
use crate::erased::{Collected, Opaque, Order, Outer};
use crate::executor::class::{ABANDONED, CANCELLED};
use crate::executor::{Attempted, CancelReason, Event, Executor, Request};
use crate::metrics::Metrics;
use crate::pool::lock;
use crate::worker::CollectError;

/// What happened to one worker.
pub(crate) enum News {
    /// It was seen, by a pass that began then.
    Seen { collected: Collected, at: Timestamp },
    /// What was seen of it is too old now.
    Stale { path: Arc<str> },
    /// A look at it failed.
    NotSeen { path: Arc<str>, error: Arc<str> },
    /// It was looked at for the last time.
    LastSeen {
        path: Arc<str>,
        last: Option<(Timestamp, Collected)>,
    },
    /// Its action moved on, or ended.
    Action {
        path: Arc<str>,
        status: Arc<ActionStatus>,
        ended: bool,
    },
}

/// Makes passes of one worker, always for what is desired at the time.
struct Look {
    of: Index,
    outer: Arc<dyn Outer>,
    desired: Mutex<Opaque>,
}

impl Source<Collected> for Look {
    fn pass(&self) -> Option<BoxFuture<'static, Result<Collected, CollectError>>> {
        let desired = Arc::clone(&lock(&self.desired));
        Some(Arc::clone(&self.outer).look(self.of, desired))
    }
}

/// The executor and the collector.
pub(crate) struct Hands {
    executor: Executor,
    collector: Collector<Collected>,
    /// Only looked up, never walked.
    looks: HashMap<Arc<str>, Arc<Look>>,
    metrics: Arc<Metrics>,
}

impl Hands {
    pub(crate) fn new(executor: Executor, collector: Collector<Collected>, metrics: Arc<Metrics>) -> Self {
        Self {
            executor,
            collector,
            looks: HashMap::new(),
            metrics,
        }
    }

    /// Looks at a worker from now on, or looks for something else than before.
    pub(crate) fn collect(&mut self, of: Index, path: &Arc<str>, seen: (Arc<dyn Outer>, Opaque), now: Timestamp) {
        let (outer, desired) = seen;
        if let Some(look) = self.looks.get(path) {
            *lock(&look.desired) = desired;
            return self.collector.trigger(path, now);
        }
        let desired = Mutex::new(desired);
        let look = Arc::new(Look { of, outer, desired });
        self.looks.insert(Arc::clone(path), Arc::clone(&look));
        let source: Arc<dyn Source<Collected>> = look;
        if let Err(error) = self.collector.start(path, source, now) {
            tracing::error!(worker = %path, %error, "a worker is not looked at");
        }
    }

    /// Looks at a worker for the last time; what that brings is news.
    pub(crate) fn finish(&mut self, path: &str, now: Timestamp) {
        self.collector.finish(path, now);
    }

    /// No longer looks at a worker. Its next desire begins that anew.
    pub(crate) fn blind(&mut self, path: &str) {
        self.looks.remove(path);
        self.collector.stop(path);
    }

    /// Has the action performed, or says why not.
    pub(crate) fn start(
        &mut self,
        path: &Arc<str>,
        outer: Arc<dyn Outer>,
        order: Order,
        now: Timestamp,
    ) -> Result<Arc<ActionStatus>, String> {
        let Order { name, options, action } = order;
        let request = Request {
            name: Arc::from(name),
            options,
            perform: Arc::new(move |cx| Arc::clone(&outer).act(Arc::clone(&action), cx)),
        };
        self.executor
            .start(path, request, now)
            .map_err(|refused| refused.to_string())
    }

    /// Has the action of a worker that leaves end.
    pub(crate) fn cancel_leaving(&mut self, path: &str, now: Timestamp) {
        self.executor.cancel(path, CancelReason::Removal, now);
    }

    /// A person has the action end. Whether there was one.
    pub(crate) fn cancel(&mut self, path: &str, now: Timestamp) -> bool {
        self.executor.cancel(path, CancelReason::Operator, now)
    }

    /// The worker itself has the action end.
    pub(crate) fn interrupt(&mut self, path: &str, now: Timestamp) {
        self.executor.cancel(path, CancelReason::Interrupt, now);
    }

    /// The last action of a worker, as an earlier process left it.
    pub(crate) fn remembered(&mut self, path: &Arc<str>, status: Option<ActionStatus>) -> Arc<ActionStatus> {
        match status {
            Some(status) => self.executor.restore(path, status),
            None => self.executor.status(path),
        }
    }

    /// Whatever the worker still does or sees has no effect any more.
    pub(crate) fn forget(&mut self, path: &Arc<str>) {
        self.blind(path);
        self.executor.forget(path);
    }

    /// What happened since the last scan.
    pub(crate) fn scan(&mut self, now: Timestamp) -> Vec<News> {
        let mut news = Vec::new();
        for event in self.executor.scan(now) {
            self.acted(event, now, &mut news);
        }
        for event in self.collector.scan(now) {
            self.looked(event, &mut news);
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

    /// One line for each attempt that failed, unless its timeout was told already or somebody wanted its end.
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

    fn looked(&mut self, event: CollectorEvent<Collected>, news: &mut Vec<News>) {
        match event {
            CollectorEvent::Observed { at, value, .. } => news.push(News::Seen { collected: value, at }),
            CollectorEvent::Failed { worker, error } => news.push(News::NotSeen { path: worker, error }),
            CollectorEvent::Stale { worker } => {
                self.metrics.stale();
                tracing::warn!(worker = %worker, "observation stale");
                news.push(News::Stale { path: worker });
            }
            CollectorEvent::Restarted { worker, restarts } => {
                tracing::warn!(worker = %worker, restarts, "collection restarted");
            }
            CollectorEvent::Exhausted { worker, error } => {
                tracing::error!(worker = %worker, ?error, "collection restarted in vain");
            }
            CollectorEvent::Recovered { worker, restarts } => {
                tracing::info!(worker = %worker, restarts, "collection recovered");
            }
            CollectorEvent::Finished { worker, last } => news.push(News::LastSeen { path: worker, last }),
        }
    }
}
