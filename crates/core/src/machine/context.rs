//! What guards, conditions and templates can see while a step runs.
//!
//! Nothing is copied until an expression names it: variables and payloads are lent, the rest is made on demand.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::event::Event;
use super::execution::Execution;
use super::model::{Machine, StateIndex};
use super::state_set::StateSet;
use crate::expression::scope::{Path, Scope, walk};
use crate::time::Timestamp;

/// The evaluation context of one guard, operation or action.
pub(super) struct Context<'a> {
    pub(super) machine: &'a Machine,
    pub(super) execution: &'a Execution,
    /// The active states when the macrostep began.
    pub(super) before: &'a StateSet,
    pub(super) event: Option<&'a Event<'a>>,
    /// The state that owns the expression.
    pub(super) owner: StateIndex,
    pub(super) now: Timestamp,
}

/// The names an expression may begin with, besides `secrets` and `attempt` in an action's config.
pub const ROOTS: [&str; 8] = [
    "execution",
    "variables",
    "event",
    "message",
    "results",
    "currentState",
    "previousState",
    "now",
];

impl Scope for Context<'_> {
    fn lookup(&self, path: &Path) -> Option<Cow<'_, Value>> {
        let Some((root, rest)) = path.segments().split_first() else {
            return Some(Cow::Owned(self.whole()));
        };
        match root.as_ref() {
            "variables" => within(&self.execution.variables, rest),
            // What plans call the results of steps. No machine that people apply can name it.
            "results" | "steps" => within(&self.execution.results, rest),
            "execution" => self.execution(rest),
            "event" => self.event?.lookup(rest),
            "message" => self.message(rest),
            "currentState" => leaf(rest, || Value::from(self.machine.display_path(self.owner))),
            "previousState" => leaf(rest, || self.state_value(self.before)),
            "now" => leaf(rest, || Value::from(self.now.to_string())),
            _ => None,
        }
    }

    fn in_state(&self, target: &str) -> bool {
        self.machine
            .find(target)
            .is_some_and(|state| self.execution.active.contains(state))
    }
}

impl Context<'_> {
    fn execution(&self, rest: &[Box<str>]) -> Option<Cow<'_, Value>> {
        let facts = &self.execution.facts;
        let Some((name, below)) = rest.split_first() else {
            return Some(Cow::Owned(self.execution_value()));
        };
        match name.as_ref() {
            "variables" => within(&self.execution.variables, below),
            "id" => leaf(below, || Value::from(facts.id.to_string())),
            "key" => leaf(below, || Value::from(facts.key.clone())),
            "machine" => leaf(below, || Value::from(self.machine.id.as_str())),
            "version" => leaf(below, || Value::from(facts.version)),
            "state" => leaf(below, || self.state_value(&self.execution.active)),
            "createdAt" => leaf(below, || Value::from(facts.created_at.to_string())),
            _ => None,
        }
    }

    fn execution_value(&self) -> Value {
        let facts = &self.execution.facts;
        json!({
            "id": facts.id,
            "key": facts.key,
            "machine": self.machine.id,
            "version": facts.version,
            "state": self.state_value(&self.execution.active),
            "variables": *self.execution.variables,
            "createdAt": facts.created_at,
        })
    }

    fn message(&self, rest: &[Box<str>]) -> Option<Cow<'_, Value>> {
        let message = self.execution.message.as_deref()?;
        match rest.split_first() {
            None => Some(Cow::Owned(json!(message))),
            Some((name, below)) => match name.as_ref() {
                "payload" => walk(&message.payload, below).map(Cow::Borrowed),
                "id" => leaf(below, || Value::from(message.id.as_str())),
                "type" => leaf(below, || Value::from(message.kind.as_str())),
                _ => None,
            },
        }
    }

    /// A string while one atomic state is active, else a sorted list.
    fn state_value(&self, active: &StateSet) -> Value {
        let mut paths = self.machine.configuration(active);
        match paths.len() {
            1 => Value::from(paths.remove(0)),
            _ => Value::from(paths),
        }
    }

    fn whole(&self) -> Value {
        let members = ROOTS.iter().filter_map(|&root| {
            let value = self.lookup(&Path::parse(root))?.into_owned();
            Some((root.to_owned(), value))
        });
        Value::Object(members.collect())
    }
}

fn within<'a>(members: &'a Map<String, Value>, rest: &[Box<str>]) -> Option<Cow<'a, Value>> {
    match rest.split_first() {
        None => Some(Cow::Owned(Value::Object(members.clone()))),
        Some((name, below)) => walk(members.get(name.as_ref())?, below).map(Cow::Borrowed),
    }
}

/// A value with nothing inside it.
pub(super) fn leaf<'a>(rest: &[Box<str>], make: impl FnOnce() -> Value) -> Option<Cow<'a, Value>> {
    rest.is_empty().then(|| Cow::Owned(make()))
}
