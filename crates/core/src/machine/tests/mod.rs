//! The interpreter, by example: machines are loaded from their files and stepped.

mod actions;
mod configurations;
mod data;
mod order;
mod timers;
mod total;

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    Cause, Effect, End, Execution, Facts, How, Input, Limits, LoadOptions, Machine, Message, Step, StepError, TimerKey,
    Trigger, load_text, step,
};
use crate::action::{ActionError, ResultEvent};
use crate::document::source::Format;
use crate::ids::{ExecutionId, Slot};
use crate::time::Timestamp;

/// A machine, an execution of it, and everything that came out so far.
struct Bench {
    machine: Machine,
    execution: Execution,
    now: Timestamp,
    limits: Limits,
    log: Vec<String>,
    triggers: Vec<Trigger>,
    timers: Vec<(Timestamp, TimerKey)>,
    completed: Option<Value>,
}

impl Bench {
    /// Loads the machine and starts an execution.
    fn start(text: &str) -> Self {
        Self::start_with(text, &Value::Null).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    /// The same with variables of the start call.
    fn start_with(text: &str, given: &Value) -> Result<Self, StepError> {
        let loaded = load_text(text, Format::Yaml, &LoadOptions::default());
        let machine = loaded
            .machine
            .unwrap_or_else(|| panic!("{text}\n{:#?}", loaded.findings));
        let now = Timestamp::from_millis(1_700_000_000_000);
        let facts = Facts {
            id: ExecutionId::compose(now, Slot(7), 1),
            key: Some("k".into()),
            version: 3,
            created_at: now,
        };
        let mut variables: Map<String, Value> = machine.variables.clone();
        variables.extend(given.as_object().cloned().unwrap_or_default());
        let mut bench = Self {
            machine,
            execution: Execution::new(facts, variables),
            now,
            limits: Limits::default(),
            log: Vec::new(),
            triggers: Vec::new(),
            timers: Vec::new(),
            completed: None,
        };
        bench.take(Cause::Start)?;
        Ok(bench)
    }

    /// Takes one macrostep.
    fn take(&mut self, cause: Cause) -> Result<Step, StepError> {
        let taken = step(
            &self.machine,
            &self.execution,
            &Input {
                now: self.now,
                cause,
                limits: self.limits,
            },
        )?;
        self.execution = taken.execution.clone();
        self.completed = taken.completed.clone().or(self.completed.take());
        for effect in &taken.effects {
            match effect {
                Effect::Log(line) => self.log.push(line.clone()),
                Effect::Trigger(trigger) => self.triggers.push(Trigger::clone(trigger)),
                Effect::StartTimer { key, due_at } => self.timers.push((*due_at, *key)),
                Effect::EndVisit(visit) => self.timers.retain(|(_, key)| key.visit != *visit),
                Effect::StartSchedule { .. } | Effect::CancelAction { .. } => {}
            }
        }
        Ok(taken)
    }

    fn send(&mut self, kind: &str) -> Result<Step, StepError> {
        self.send_with(kind, Value::Null)
    }

    fn send_with(&mut self, kind: &str, payload: Value) -> Result<Step, StepError> {
        self.take(Cause::Message(Arc::new(Message {
            id: "1".into(),
            kind: kind.into(),
            payload,
        })))
    }

    /// The end of the latest trigger of an action.
    fn end(&mut self, action: &str, how: How, result: Value) -> Result<Step, StepError> {
        self.take(Cause::Ended(End {
            action_id: action.into(),
            ordinal: self.execution.triggered.get(action).copied().unwrap_or(1),
            how,
            event: (how == How::Done).then(|| ResultEvent {
                kind: "mail_sent".into(),
                payload: result.clone(),
            }),
            result,
            error: (how == How::Failed).then(|| ActionError::new("timeout", "too slow")),
        }))
    }

    /// Moves the clock and fires what is due, in due order.
    fn advance(&mut self, millis: u64) {
        let until = self.now.plus(millis);
        while let Some(position) = self.next_timer(until) {
            let (due_at, key) = self.timers.remove(position);
            self.now = due_at;
            self.take(Cause::Timer(key)).unwrap();
        }
        self.now = until;
    }

    fn next_timer(&self, until: Timestamp) -> Option<usize> {
        let due = self
            .timers
            .iter()
            .enumerate()
            .filter(|(_, (due_at, _))| *due_at <= until);
        due.min_by_key(|(_, timer)| **timer).map(|(position, _)| position)
    }

    /// The active atomic and final states.
    fn states(&self) -> String {
        self.machine.configuration(&self.execution.active).join(" ")
    }

    fn log(&mut self) -> String {
        std::mem::take(&mut self.log).join(" ")
    }

    fn variable(&self, name: &str) -> Value {
        self.execution.variables.get(name).cloned().unwrap_or(Value::Null)
    }
}

/// Checks where a machine is after each event: `script` is the initial states, then lines of an event and the states
/// after it. An event is a message's type, `done.x` or `failed.x` for the end of action `x`, or `+30s` for the clock.
fn check(text: &str, script: &str) {
    let mut bench = Bench::start(text);
    let mut lines = script.trim().lines().map(str::trim);
    assert_eq!(
        bench.states(),
        lines.next().unwrap_or_default(),
        "initial states of\n{text}"
    );
    for line in lines {
        let (event, expected) = line.split_once(": ").unwrap_or_else(|| panic!("`{line}` has no colon"));
        match (
            event.strip_prefix('+'),
            event.strip_prefix("done."),
            event.strip_prefix("failed."),
        ) {
            (Some(time), ..) => bench.advance(crate::time::duration::Millis::parse(time).unwrap().get()),
            (_, Some(action), _) => drop(bench.end(action, How::Done, Value::Null).unwrap()),
            (_, _, Some(action)) => drop(bench.end(action, How::Failed, Value::Null).unwrap()),
            _ => drop(bench.send(event).unwrap()),
        }
        assert_eq!(bench.states(), expected, "after `{event}` of\n{script}\n{text}");
    }
}
