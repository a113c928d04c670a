//! A well-behaved client that works beside a hostile one: hostile input must never cost it an execution.
//!
//! The neighbour starts one execution after the other, each with a durable action, and waits for each to complete. One
//! refusal, one hang or one execution that does not complete is a failure of the product.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Client;
use crate::{Product, wait};

/// A hang guard, not a measure.
const GUARD: Duration = Duration::from_secs(30);

/// Executions that must complete after the hostile input has arrived, so that lasting damage shows too.
const AFTERWARDS: usize = 3;

/// A client whose executions must all complete.
pub struct Neighbour {
    is_leaving: Arc<AtomicBool>,
    completed: Arc<AtomicUsize>,
    thread: JoinHandle<Result<(), String>>,
}

/// Runs `hostile` beside a neighbour; panics if the neighbour lost anything. Returns what `hostile` returned.
pub fn beside<T>(product: &Product, hostile: impl FnOnce() -> T) -> T {
    let neighbour = Neighbour::of(product);
    let value = hostile();
    neighbour.unharmed();
    value
}

impl Neighbour {
    /// Applies the neighbour's machine and begins to work. Panics if the server refuses the machine.
    pub fn of(product: &Product) -> Self {
        let machine = json!({
            "id": "neighbour",
            "initial": "working",
            "states": { "working": { "on": { "done.work": "finished" } }, "finished": { "type": "final" } },
            "actions": [{ "actionId": "work", "type": "noop", "triggerState": "working" }],
        });
        let applied = product.client().post("/v1/machines", &machine);
        let is_applied = applied.as_ref().is_ok_and(|answer| matches!(answer.status, 200 | 201));
        assert!(is_applied, "the neighbour's machine was refused: {applied:?}");
        let is_leaving = Arc::new(AtomicBool::new(false));
        let completed = Arc::new(AtomicUsize::new(0));
        let (address, leaving, count) = (product.address(), Arc::clone(&is_leaving), Arc::clone(&completed));
        let thread = std::thread::spawn(move || work(address, &leaving, &count));
        Self {
            is_leaving,
            completed,
            thread,
        }
    }

    /// Waits for some more executions to complete, stops, and returns how many completed in all. Panics if one did not.
    pub fn unharmed(self) -> usize {
        let enough = self.completed.load(Ordering::Acquire) + AFTERWARDS;
        wait::until(
            "the neighbour to complete more executions, or to fail",
            GUARD * 2,
            || {
                let is_done = self.completed.load(Ordering::Acquire) >= enough || self.thread.is_finished();
                is_done.then_some(())
            },
        );
        self.is_leaving.store(true, Ordering::Release);
        let worked = self.thread.join();
        match worked {
            Ok(Ok(())) => self.completed.load(Ordering::Acquire),
            Ok(Err(harm)) => panic!("the neighbour was harmed: {harm}"),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn work(address: SocketAddr, is_leaving: &AtomicBool, completed: &AtomicUsize) -> Result<(), String> {
    let mut client = Client::within(address, GUARD);
    while !is_leaving.load(Ordering::Acquire) {
        let answer = client
            .post("/v1/executions?wait=20s", &json!({ "machine": "neighbour" }))
            .map_err(|error| format!("a start was not answered: {error}"))?;
        let status = answer.body.get("status").and_then(Value::as_str);
        if answer.status != 201 || status != Some("completed") {
            return Err(format!("a start was answered {}: {}", answer.status, answer.body));
        }
        completed.fetch_add(1, Ordering::AcqRel);
        // Others use the processor too.
        std::thread::park_timeout(Duration::from_millis(5));
    }
    Ok(())
}
