//! W6: the pure function alone.

use std::hint::black_box;
use std::sync::Arc;

use anyhow::Context;
use sprag_core::document::source::Format;
use sprag_core::ids::{ExecutionId, Slot};
use sprag_core::machine::{Cause, Execution, Facts, Input, Limits, LoadOptions, Machine, Message, load_text, step};
use sprag_core::time::Timestamp;

use crate::stopwatch::Stopwatch;

const MACHINE: &str = r"
id: two-levels
variables: { open: true }
initial: a
states:
  a:
    initial: x
    states:
      x: { on: { GO: { target: y, guard: { '==': [ { var: variables.open }, true ] } } } }
      y: { on: { GO: { target: x, guard: { '==': [ { var: variables.open }, true ] } } } }
";

/// Steps per second; one that fails fails the run.
pub(crate) fn steps_per_second(steps: u64) -> anyhow::Result<f64> {
    let loaded = load_text(MACHINE, Format::Yaml, &LoadOptions::default());
    let machine = loaded.machine.context("the machine does not load")?;
    let mut execution = begin(&machine);
    let message = Message {
        id: "m".into(),
        kind: "GO".into(),
        payload: serde_json::Value::Null,
    };
    let input = Input {
        now: Timestamp::from_millis(1),
        cause: Cause::Message(Arc::new(message)),
        limits: Limits::default(),
    };
    let watch = Stopwatch::start();
    for _ in 0..steps {
        execution = step(&machine, black_box(&execution), &input)?.execution;
    }
    Ok(watch.rate(steps))
}

fn begin(machine: &Machine) -> Execution {
    let now = Timestamp::from_millis(1);
    let id = ExecutionId::compose(now, Slot(0), 1);
    let facts = Facts {
        id,
        key: None,
        version: 1,
        created_at: now,
    };
    let fresh = Execution::new(facts, machine.variables.clone());
    let input = Input {
        now,
        cause: Cause::Start,
        limits: Limits::default(),
    };
    step(machine, &fresh, &input).map_or(fresh, |taken| taken.execution)
}
