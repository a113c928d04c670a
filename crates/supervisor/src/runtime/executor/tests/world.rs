//! An executor without threads, and scripted actions.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use sprag_core::action::retry::Policy;
use sprag_core::time::Timestamp;

use crate::runtime::executor::{Event, Executor, ExecutorOptions, NoMarks, Refused};
use crate::runtime::pool::{Pool, Threads};
use crate::worker::action::{ActionCall, ActionContext, ActionError, ActionOptions, ActionStatus, Outcome, Perform};

pub(super) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

pub(super) fn worker() -> Arc<str> {
    "plant/pump".into()
}

/// One attempt within a second.
pub(super) fn once() -> ActionOptions {
    ActionOptions {
        timeout_millis: Some(1_000),
        retry: Policy {
            max_attempts: 1,
            ..Policy::default()
        },
    }
}

/// Four attempts without jitter.
pub(super) fn patient() -> ActionOptions {
    ActionOptions {
        timeout_millis: Some(1_000),
        retry: Policy {
            jitter: false,
            ..Policy::default()
        },
    }
}

pub(super) fn perform<F>(future: impl Fn(ActionContext) -> F + Send + Sync + 'static) -> Perform
where
    F: Future<Output = Result<(), ActionError>> + Send + 'static,
{
    Arc::new(move |context| -> BoxFuture<'static, _> { Box::pin(future(context)) })
}

pub(super) fn request(name: &str, options: ActionOptions, perform: Perform) -> ActionCall {
    ActionCall {
        worker: worker(),
        name: name.into(),
        options,
        perform,
    }
}

/// The same of another worker.
pub(super) fn of(worker: &str, call: ActionCall) -> ActionCall {
    let worker = worker.into();
    ActionCall { worker, ..call }
}

/// Succeeds.
pub(super) fn fine(name: &str) -> ActionCall {
    request(name, once(), perform(|_| async { Ok(()) }))
}

/// Never ends and never listens.
pub(super) fn deaf(name: &str) -> ActionCall {
    request(name, once(), perform(|_| std::future::pending()))
}

/// Ends as soon as it is told to.
pub(super) fn obedient(name: &str) -> ActionCall {
    let perform = perform(|context: ActionContext| async move {
        context.cancelled().await;
        Err(ActionError::temporary("told to end"))
    });
    request(name, once(), perform)
}

/// Fails each time with an error of that kind.
pub(super) fn failing(name: &str, kind: &'static str) -> ActionCall {
    request(
        name,
        patient(),
        perform(move |_| async move { Err(ActionError::new(kind, "not today")) }),
    )
}

pub(super) struct ExecutorWorld {
    pub(super) threads: Arc<Threads>,
    pub(super) pool: Pool,
    pub(super) executor: Executor,
}

impl ExecutorWorld {
    pub(super) fn new() -> Self {
        Self::bounded(16)
    }

    pub(super) fn bounded(bound: usize) -> Self {
        let threads = Arc::new(Threads::none());
        let pool = Pool::new(Arc::clone(&threads), bound);
        let executor = Executor::new(ExecutorOptions::default(), pool.clone(), Arc::new(NoMarks));
        Self {
            threads,
            pool,
            executor,
        }
    }

    pub(super) fn start(&self, call: ActionCall, now: i64) -> Result<Arc<ActionStatus>, Refused> {
        self.executor.start(call, at(now))
    }

    /// What a tick sees once everything that can happen at `now` has happened.
    pub(super) fn tick(&self, now: i64) -> Vec<Event> {
        let mut events = self.executor.scan(at(now));
        loop {
            self.threads.drive();
            let more = self.executor.scan(at(now));
            if more.is_empty() {
                self.threads.drive();
                return events;
            }
            events.extend(more);
        }
    }

    pub(super) fn status(&self) -> Arc<ActionStatus> {
        self.executor.status(&worker())
    }

    pub(super) fn class(&self) -> String {
        match &self.status().outcome {
            Outcome::Failed { class } => class.clone(),
            other => panic!("not failed: {other:?}"),
        }
    }
}

pub(super) fn ends(events: &[Event]) -> usize {
    events
        .iter()
        .filter(|event| matches!(event, Event::Ended { .. }))
        .count()
}

pub(super) fn warnings(events: &[Event]) -> usize {
    events
        .iter()
        .filter(|event| matches!(event, Event::Stuck { .. }))
        .count()
}
