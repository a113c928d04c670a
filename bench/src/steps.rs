//! W6: the pure function alone.

use std::hint::black_box;
use std::sync::Arc;

use sprag_core::clock::{Clock, System};
use sprag_core::ids::{ExecutionId, Slot};
use sprag_core::machine::{Cause, Execution, Facts, Input, Limits, LoadOptions, Machine, Message, load_text, step};
use sprag_core::source::Format;
use sprag_core::time::Timestamp;

const STEPS: u32 = 2_000_000;

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

pub(crate) fn steps_per_second() -> f64 {
    let Some(machine) = load_text(MACHINE, Format::Yaml, &LoadOptions::default()).machine else {
        return 0.0;
    };
    let clock = System::start(Timestamp::from_millis(0));
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
    let before = clock.now();
    for _ in 0..STEPS {
        if let Ok(taken) = step(&machine, black_box(&execution), &input) {
            execution = taken.execution;
        }
    }
    f64::from(STEPS) * 1_000.0 / u32::try_from(clock.now().since(before)).map_or(f64::MAX, f64::from)
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
