//! The workload `exec`: one process for each operation, through the runner of `exec` actions. So it needs the program in
//! `[exec] allow`, and no process outlives its operation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Map, Value, json};
use sprag_core::action::outcome::Outcome;
use sprag_core::action::runner::{Attempt, BoxFuture, Control, Runner, Superseded};
use sprag_core::clock::Clock;
use sprag_core::ids::{ActionId, AttemptId, Slot};

use super::{Stateless, User, Workload};

const KIND: &str = "exec";

/// A program that is run again and again.
pub(super) struct Program {
    runner: Arc<dyn Runner>,
    clock: Arc<dyn Clock>,
    config: Value,
    templates: Map<String, Value>,
    timeout: Duration,
    /// Each process is marked with the id of its attempt, so ids must differ between agents of a host too.
    entropy: AtomicU64,
}

/// The load generator cuts an operation by dropping it.
struct Uncontrolled;

impl Control for Uncontrolled {
    fn checkpoint(&self, _: Value) -> BoxFuture<'_, Result<(), Superseded>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

impl Program {
    /// Checks that this host may run the program.
    pub(super) fn new(
        command: &[String],
        runner: Arc<dyn Runner>,
        clock: Arc<dyn Clock>,
        timeout: Duration,
    ) -> Result<Self, String> {
        let config = json!({ "command": command });
        if let Some(problem) = runner.validate(KIND, &config).first() {
            return Err(format!(
                "`exec{}`: {}; {}",
                problem.pointer.replace('/', "."),
                problem.detail,
                problem.remedy
            ));
        }
        let entropy = getrandom::u64().map_err(|error| format!("no random numbers: {error}"))?;
        Ok(Self {
            runner,
            clock,
            config,
            templates: Map::new(),
            timeout,
            entropy: AtomicU64::new(entropy),
        })
    }

    async fn run(&self) -> Result<(), String> {
        let entropy = self.entropy.fetch_add(1, Ordering::Relaxed);
        let (now, slot) = (self.clock.now(), Slot(0));
        let outcome = self.runner.run(Attempt {
            id: AttemptId::compose(now, slot, entropy),
            action: ActionId::compose(now, slot, entropy),
            action_id: "load",
            kind: KIND,
            number: 1,
            config: &self.config,
            idempotency_key: "load",
            timeout: self.timeout,
            checkpoint: None,
            templates: &self.templates,
            control: &Uncontrolled,
        });
        match outcome.await {
            Outcome::Done(_) => Ok(()),
            Outcome::NotDone(failure) | Outcome::Unknown(failure) => Err(failure.error.message),
        }
    }
}

impl Workload for Program {
    fn user(self: Arc<Self>) -> Box<dyn User> {
        Box::new(self)
    }
}

impl Stateless for Program {
    fn perform_one(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(self.run())
    }
}
