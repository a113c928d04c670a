//! An attempt as the engine would hand it to a runner.

use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Map, Value};
use sprag_core::action::error::ActionError;
use sprag_core::action::outcome::{Outcome, Probe};
use sprag_core::action::runner::{Attempt, BoxFuture, Control, Runner, Superseded};
use sprag_core::ids::{ActionId, AttemptId, Slot};
use tokio::sync::Notify;

use super::{NOW, bounded};

/// One attempt, adjustable before it is run.
pub(crate) struct Case {
    pub(crate) id: AttemptId,
    pub(crate) kind: &'static str,
    pub(crate) config: Value,
    pub(crate) number: u32,
    pub(crate) timeout: Duration,
    pub(crate) checkpoint: Option<Value>,
    pub(crate) templates: Map<String, Value>,
    pub(crate) control: Recorder,
}

impl Case {
    pub(crate) fn new(kind: &'static str, config: Value) -> Self {
        static DRAWN: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let drawn = DRAWN.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        // The process id keeps attempts of tests in other processes apart.
        let entropy = (u64::from(std::process::id()) << 32) | drawn;
        Self {
            id: AttemptId::compose(NOW, Slot(1), entropy),
            kind,
            config,
            number: 1,
            timeout: Duration::from_secs(30),
            checkpoint: None,
            templates: Map::new(),
            control: Recorder::default(),
        }
    }

    pub(crate) fn timeout(mut self, millis: u64) -> Self {
        self.timeout = Duration::from_millis(millis);
        self
    }

    pub(crate) fn attempt(&self) -> Attempt<'_> {
        Attempt {
            id: self.id,
            action: ActionId::compose(NOW, Slot(1), 1),
            action_id: "notify_crm",
            kind: self.kind,
            number: self.number,
            config: &self.config,
            idempotency_key: "act_0000000000000000000000000.1",
            timeout: self.timeout,
            checkpoint: self.checkpoint.as_ref(),
            templates: &self.templates,
            control: &self.control,
        }
    }

    pub(crate) async fn run(&self, runner: &dyn Runner) -> Outcome {
        bounded(runner.run(self.attempt())).await
    }

    pub(crate) async fn probe(&self, runner: &dyn Runner) -> Option<Probe> {
        match runner.probe(self.attempt()) {
            Some(probe) => Some(bounded(probe).await),
            None => None,
        }
    }
}

/// The engine's side of an attempt.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) checkpoints: Mutex<Vec<Value>>,
    /// The checkpoint, counted from one, that finds the attempt superseded.
    pub(crate) superseded_at: Option<usize>,
    pub(crate) traceparent: Option<&'static str>,
    cancel: Notify,
}

impl Recorder {
    pub(crate) fn cancel(&self) {
        self.cancel.notify_one();
    }

    pub(crate) fn count(&self) -> usize {
        self.checkpoints.lock().unwrap().len()
    }
}

impl Control for Recorder {
    fn checkpoint(&self, value: Value) -> BoxFuture<'_, Result<(), Superseded>> {
        self.checkpoints.lock().unwrap().push(value);
        let superseded = self.superseded_at == Some(self.count());
        Box::pin(async move { if superseded { Err(Superseded) } else { Ok(()) } })
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.cancel.notified())
    }

    fn traceparent(&self) -> Option<String> {
        self.traceparent.map(str::to_owned)
    }
}

/// The result of an attempt that succeeded.
pub(crate) fn result(outcome: &Outcome) -> &Value {
    match outcome {
        Outcome::Done(done) => &done.result,
        other => panic!("not done: {other:?}"),
    }
}

/// The error of an attempt that did not.
pub(crate) fn error(outcome: &Outcome) -> &ActionError {
    match outcome {
        Outcome::NotDone(failure) | Outcome::Unknown(failure) => &failure.error,
        Outcome::Done(done) => panic!("done: {done:?}"),
    }
}
