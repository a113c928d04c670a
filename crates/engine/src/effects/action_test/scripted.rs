//! A runner whose outcomes may be scripted: where the script says nothing about a whole attempt, the real one runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use sprag_core::action::error::kind;
use sprag_core::action::{Attempt, BoxFuture, ConfigProblem, Outcome, Probe, Runner};
use sprag_core::machine::testing::{Ending, Reach, Script, Taken};

/// Stands before a runner.
pub struct Scripted<'a> {
    runner: Option<&'a dyn Runner>,
    reach: Reach,
    script: Arc<Mutex<Script>>,
}

impl<'a> Scripted<'a> {
    /// Stands before `runner`, whose attempts reach the world so. A runner that reaches it in a way that no script can
    /// stand in for is never run.
    pub fn new(runner: Option<&'a dyn Runner>, reach: Reach, script: Arc<Mutex<Script>>) -> Self {
        Self { runner, reach, script }
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn harmless(&self) -> Option<&'a dyn Runner> {
        self.runner.filter(|_| self.reach != Reach::Other)
    }
}

impl Runner for Scripted<'_> {
    fn types(&self) -> &[&str] {
        self.runner.map_or(&[], |runner| runner.types())
    }

    fn validate(&self, kind: &str, config: &Value) -> Vec<ConfigProblem> {
        self.runner
            .map_or_else(Vec::new, |runner| runner.validate(kind, config))
    }

    fn takes_secret(&self, kind: &str, pointer: &str) -> bool {
        self.runner.is_none_or(|runner| runner.takes_secret(kind, pointer))
    }

    fn run<'r>(&'r self, attempt: Attempt<'r>) -> BoxFuture<'r, Outcome> {
        let ending = self.script().ending();
        match (ending, self.harmless()) {
            (Some(ending), _) => Box::pin(end(ending, attempt.timeout)),
            (None, Some(runner)) => runner.run(attempt),
            (None, None) => {
                let message = format!("no outcome is scripted for an attempt of type `{}`", attempt.kind);
                Box::pin(std::future::ready(Outcome::not_done(
                    kind::INVALID_CONFIGURATION,
                    message,
                )))
            }
        }
    }

    /// The real runner asks, if there is an answer.
    fn probe<'r>(&'r self, attempt: Attempt<'r>) -> Option<BoxFuture<'r, Probe>> {
        if self.reach != Reach::Http || !self.script().has_replies() {
            return None;
        }
        self.runner?.probe(attempt)
    }
}

async fn end(ending: Taken<Ending>, timeout: Duration) -> Outcome {
    let waited = tokio::time::sleep(Duration::from_millis(ending.delay));
    if tokio::time::timeout(timeout, waited).await.is_ok() {
        return ending.what.outcome();
    }
    let message = format!("no outcome within {} ms", timeout.as_millis());
    Outcome::unknown(kind::TIMEOUT, message)
}
