//! A machine, compiled: every name resolved to a position, every expression parsed, nothing left to find at run time.
//!
//! States stand in document order, so "document order" is the order of their indexes, a subtree is a range of indexes,
//! and "is a descendant of" is two comparisons.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::hook::Hook;
use super::sets::TransitionReach;
use super::state_set::StateSet;
use crate::action::Definition;
use crate::document::source::Position;
use crate::expression::logic::Logic;
use crate::expression::template::Template;

/// A state's place in document order. The root is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct StateIndex(u16);

impl StateIndex {
    /// The root of every machine.
    pub const ROOT: Self = Self(0);

    /// The index at `position`, if a machine can have so many states.
    pub fn from_position(position: usize) -> Option<Self> {
        u16::try_from(position).ok().map(Self)
    }

    /// The position in [`Machine::states`].
    pub fn position(self) -> usize {
        usize::from(self.0)
    }
}

/// A transition's place in [`Machine::transitions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TransitionIndex(pub(super) usize);

impl TransitionIndex {
    /// The position in [`Machine::transitions`].
    pub fn position(self) -> usize {
        self.0
    }
}

/// A versioned statechart definition with the actions it triggers, ready to step.
#[derive(Debug)]
pub struct Machine {
    /// The machine's name.
    pub id: String,
    /// What it is for.
    pub description: Option<String>,
    /// SHA-256 of the canonical definition and the order of its states.
    pub digest: [u8; 32],
    /// The definition as it was given, to store and to show.
    pub definition: Value,
    /// Default variables. The start of an execution overrides them.
    pub variables: Map<String, Value>,
    /// The JSON Schema that start variables must meet.
    pub input: Option<Value>,
    /// All states in document order; the root first.
    pub states: Vec<State>,
    /// All transitions, grouped by source state.
    pub transitions: Vec<Transition>,
    /// The actions, in the order of the file.
    pub actions: Vec<Definition>,
    /// The states that have automatic transitions.
    pub(super) automatic: StateSet,
    /// The ids of actions whose results some expression names.
    pub results_named: Vec<String>,
    /// The ids of actions whose `skipped.` event some transition names.
    pub skips_named: Vec<String>,
    /// The inbound webhooks, in the order of the file.
    pub hooks: Vec<Hook>,
    /// Mail templates by name.
    pub templates: Arc<Map<String, Value>>,
    /// Every dotted path, for look-up by name.
    pub(super) paths: BTreeMap<String, StateIndex>,
}

/// What a state is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No children.
    Atomic,
    /// One child is active at a time.
    Compound,
    /// All children are active.
    Parallel,
    /// The end of its parent.
    Final,
    /// Where its parent last was.
    History(Depth),
}

/// How much a history state remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The children of its parent.
    Shallow,
    /// The atomic descendants of its parent.
    Deep,
}

/// One state.
#[derive(Debug)]
pub struct State {
    /// The key in its parent's `states`; the machine's id for the root.
    pub name: String,
    /// Names from below the root, joined with dots; empty for the root.
    pub path: String,
    /// The `id` it was given.
    pub id: Option<String>,
    /// What it is made of.
    pub kind: Kind,
    /// The state around it; only the root has none.
    pub parent: Option<StateIndex>,
    /// The states right inside, history states included.
    pub children: Vec<StateIndex>,
    /// The first index after its subtree.
    pub end: StateIndex,
    /// Where entering a compound leads.
    pub initial: Vec<StateIndex>,
    /// Where a history state leads when it remembers nothing.
    pub history_default: Vec<StateIndex>,
    /// What happens on entry, before the actions it triggers.
    pub entry: Vec<Instruction>,
    /// What happens on exit.
    pub exit: Vec<Instruction>,
    /// Automatic transitions, in document order.
    pub always: Vec<TransitionIndex>,
    /// Transitions by event, most specific descriptor first.
    pub on: Vec<(Descriptor, Vec<TransitionIndex>)>,
    /// Delayed transitions, shortest delay first.
    pub after: Vec<After>,
    /// The actions entering it triggers, as positions in [`Machine::actions`].
    pub triggers: Vec<usize>,
    /// What a final state gives.
    pub output: Option<Template>,
    /// `done.state.<id>`: raised when it is done.
    pub done_event: String,
    /// For people.
    pub description: Option<String>,
    /// For people and filters.
    pub tags: Vec<String>,
    /// For tools.
    pub meta: Option<Value>,
    /// Where it stands in the file.
    pub at: Position,
}

/// Delayed transitions of one duration.
#[derive(Debug)]
pub struct After {
    /// How long after entry, in milliseconds.
    pub millis: u64,
    /// The name of its event, for history.
    pub event: String,
    /// Tried in order when it is due.
    pub transitions: Vec<TransitionIndex>,
}

/// Which events a transition answers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Descriptor {
    /// This event.
    Exact(String),
    /// `payment.*`: `payment` and everything below it.
    Prefix(String),
    /// `*`.
    Any,
}

/// One transition.
#[derive(Debug)]
pub struct Transition {
    /// The state it leaves from.
    pub source: StateIndex,
    /// Where it leads; nowhere for a transition that only acts.
    pub targets: Vec<StateIndex>,
    /// Whether it may be taken.
    pub guard: Option<Logic>,
    /// What it does.
    pub operations: Vec<Instruction>,
    /// Leave and enter the source again even when the target lies within it.
    pub reenter: bool,
    /// How far it reaches, where that is always the same.
    pub(super) reach: Option<TransitionReach>,
    /// For people.
    pub description: Option<String>,
    /// Where it stands in the file.
    pub at: Position,
}

/// Something a state or transition does by itself, without an effect on the world.
#[derive(Debug)]
pub enum Instruction {
    /// Sets variables; all right sides see the values before it.
    Assign(Vec<(String, Template)>),
    /// Puts an event on the internal queue.
    Raise {
        /// The event's type.
        event: String,
        /// What it carries.
        payload: Option<Template>,
    },
    /// Writes a line to the log.
    Log(Template),
    /// Triggers an action, as a position in [`Machine::actions`].
    Run(usize),
    /// Cancels the open actions of this id.
    Cancel(usize),
}

impl Descriptor {
    /// Reads `payment`, `payment.*` or `*`.
    pub fn parse(text: &str) -> Self {
        match text.strip_suffix(".*") {
            _ if text == "*" => Self::Any,
            Some(prefix) => Self::Prefix(prefix.to_owned()),
            None => Self::Exact(text.to_owned()),
        }
    }

    /// Whether an event of this name is meant. `*` is for the caller to judge: it does not mean every kind of event.
    pub fn names(&self, event: &str) -> bool {
        match self {
            Self::Exact(name) => name == event,
            Self::Prefix(prefix) => event
                .strip_prefix(prefix.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.')),
            Self::Any => false,
        }
    }

    /// Longer prefixes are more specific: they come first among prefixes.
    pub(super) fn rank(&self) -> (u8, std::cmp::Reverse<usize>) {
        match self {
            Self::Exact(_) => (0, std::cmp::Reverse(0)),
            Self::Prefix(prefix) => (1, std::cmp::Reverse(prefix.len())),
            Self::Any => (2, std::cmp::Reverse(0)),
        }
    }
}

impl Machine {
    /// The state at `index`. Indexes come from this machine, so there always is one.
    pub fn state(&self, index: StateIndex) -> &State {
        &self.states[index.position()]
    }

    /// The transition at `index`.
    pub fn transition(&self, index: TransitionIndex) -> &Transition {
        &self.transitions[index.0]
    }

    /// The action definition of that name, with its position.
    pub fn action(&self, action_id: &str) -> Option<(usize, &Definition)> {
        self.actions
            .iter()
            .enumerate()
            .find(|(_, definition)| definition.action_id == action_id)
    }

    /// The state at a dotted path.
    pub fn by_path(&self, path: &str) -> Option<StateIndex> {
        self.paths.get(path).copied()
    }

    /// All indexes, in document order.
    pub fn indexes(&self) -> impl DoubleEndedIterator<Item = StateIndex> {
        (0..self.states.len()).filter_map(StateIndex::from_position)
    }

    /// Whether `state` lies strictly inside `ancestor`.
    pub fn is_descendant(&self, state: StateIndex, ancestor: StateIndex) -> bool {
        ancestor < state && state < self.state(ancestor).end
    }

    /// The states around `state`, innermost first, the root last.
    pub fn ancestors(&self, state: StateIndex) -> impl Iterator<Item = StateIndex> + '_ {
        std::iter::successors(self.state(state).parent, |&at| self.state(at).parent)
    }

    /// The children that can be active: all but history states.
    pub fn child_states(&self, state: StateIndex) -> impl Iterator<Item = StateIndex> + '_ {
        self.state(state)
            .children
            .iter()
            .copied()
            .filter(|&child| !self.is_history(child))
    }

    /// Whether the state only remembers others.
    pub fn is_history(&self, state: StateIndex) -> bool {
        matches!(self.state(state).kind, Kind::History(_))
    }

    /// Whether the state has no states inside: atomic or final.
    pub fn is_leaf(&self, state: StateIndex) -> bool {
        matches!(self.state(state).kind, Kind::Atomic | Kind::Final)
    }

    /// The active atomic and final states as dotted paths, sorted: what the API calls `configuration`.
    pub fn configuration(&self, active: &StateSet) -> Vec<String> {
        let mut paths: Vec<String> = active
            .iter()
            .filter(|&state| self.is_leaf(state))
            .map(|state| self.display_path(state).to_owned())
            .collect();
        paths.sort();
        paths
    }

    /// The dotted path, or the machine's id for the root.
    pub fn display_path(&self, state: StateIndex) -> &str {
        let state = self.state(state);
        if state.path.is_empty() {
            &state.name
        } else {
            &state.path
        }
    }
}
