//! What a microstep answers to: the macrostep's cause, or an event raised inside it.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::context::leaf;
use super::execution::{Cause, End, Execution};
use super::model::{Descriptor, Machine, StateIndex};
use crate::action::ActionError;
use crate::expression::scope::walk;
use crate::time::Timestamp;

/// Message types that begin so come from inside only.
pub const RESERVED_PREFIXES: [&str; 6] = ["done.", "failed.", "skipped.", "after.", "error.", "sprag."];

/// Whether a message of this type is refused from outside.
pub fn is_reserved(kind: &str) -> bool {
    RESERVED_PREFIXES.iter().any(|prefix| kind.starts_with(prefix))
}

/// One event.
#[derive(Clone, Debug)]
pub(super) struct Event<'a> {
    pub(super) name: Cow<'a, str>,
    /// The runner's own name for the end of an action.
    alias: Option<&'a str>,
    class: Class,
    payload: Cow<'a, Value>,
    result: Option<&'a Value>,
    error: Option<&'a ActionError>,
    at: Timestamp,
}

/// Where an event comes from decides what `*` means for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// A message, a raised event or `done.state.*`.
    Open,
    /// The end of an action.
    Ended,
    /// Only the `after` of this state at this position answers.
    Timer(StateIndex, u16),
    /// Nothing answers: the start, an occurrence of a schedule, a timer of a visit that is over.
    Silent,
}

/// Which transitions of a state may answer an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answers {
    /// Those by event.
    On,
    /// The delayed ones at this position.
    After(usize),
    /// None of them.
    None,
}

impl<'a> Event<'a> {
    /// The event of a macrostep's cause.
    pub(super) fn of(cause: &'a Cause, machine: &'a Machine, execution: &Execution, at: Timestamp) -> Self {
        match cause {
            Cause::Start => Self::silent("sprag.start".into(), at),
            Cause::Message(message) => Self {
                name: Cow::Borrowed(&message.kind),
                class: Class::Open,
                payload: Cow::Borrowed(&message.payload),
                ..Self::silent(Cow::Borrowed(""), at)
            },
            Cause::Timer(key) => execution
                .visit(key.visit)
                .and_then(|visit| {
                    Some((
                        visit.state,
                        machine.state(visit.state).after.get(usize::from(key.index))?,
                    ))
                })
                .map_or_else(
                    || Self::silent("after".into(), at),
                    |(state, after)| Self {
                        class: Class::Timer(state, key.index),
                        ..Self::silent(Cow::Borrowed(after.event.as_str()), at)
                    },
                ),
            Cause::Ended(end) => Self::of_end(end, at),
            Cause::Occurrence { action, .. } => Self::silent(Cow::Owned(format!("sprag.schedule.{action}")), at),
        }
    }

    fn of_end(end: &'a End, at: Timestamp) -> Self {
        let payload = end
            .event
            .as_ref()
            .map_or(Cow::Owned(Value::Null), |event| Cow::Borrowed(&event.payload));
        Self {
            name: Cow::Owned(format!("{}.{}", end.how.word(), end.action_id)),
            alias: end.event.as_ref().map(|event| event.kind.as_str()),
            class: Class::Ended,
            payload,
            result: Some(&end.result),
            error: end.error.as_ref(),
            at,
        }
    }

    /// An event raised inside the macrostep.
    pub(super) fn raised(name: &'a str, payload: Value, at: Timestamp) -> Self {
        Self {
            class: Class::Open,
            payload: Cow::Owned(payload),
            ..Self::silent(Cow::Borrowed(name), at)
        }
    }

    fn silent(name: Cow<'a, str>, at: Timestamp) -> Self {
        Self {
            name,
            alias: None,
            class: Class::Silent,
            payload: Cow::Owned(Value::Null),
            result: None,
            error: None,
            at,
        }
    }

    /// Which transitions of `state` may answer.
    pub(super) fn answers(&self, state: StateIndex) -> Answers {
        match self.class {
            Class::Timer(owner, index) if owner == state => Answers::After(usize::from(index)),
            Class::Timer(..) | Class::Silent => Answers::None,
            Class::Open | Class::Ended => Answers::On,
        }
    }

    /// Whether a transition with this descriptor answers.
    pub(super) fn matches(&self, descriptor: &Descriptor) -> bool {
        match descriptor {
            Descriptor::Any => self.class == Class::Open,
            _ => descriptor.names(&self.name) || self.alias.is_some_and(|alias| descriptor.names(alias)),
        }
    }

    /// `event.…` in an expression.
    pub(super) fn lookup(&self, rest: &[Box<str>]) -> Option<Cow<'_, Value>> {
        let Some((name, below)) = rest.split_first() else {
            return Some(Cow::Owned(self.value()));
        };
        match name.as_ref() {
            "type" => leaf(below, || Value::from(self.name.as_ref())),
            "payload" => walk(&self.payload, below).map(Cow::Borrowed),
            "result" => walk(self.result?, below).map(Cow::Borrowed),
            "error" => {
                let error = json!(self.error?);
                walk(&error, below).cloned().map(Cow::Owned)
            }
            "source" => leaf(below, || Value::from(self.source())),
            "timestamp" => leaf(below, || Value::from(self.at.to_string())),
            _ => None,
        }
    }

    fn source(&self) -> &'static str {
        match self.class {
            Class::Ended => "action_runner",
            Class::Timer(..) => "timer",
            Class::Open | Class::Silent => "execution",
        }
    }

    fn value(&self) -> Value {
        json!({
            "type": self.name,
            "payload": self.payload,
            "result": self.result,
            "error": self.error,
            "source": self.source(),
            "timestamp": self.at,
        })
    }
}
