//! What is different between two machines, in the words of a machine file.
//!
//! Two machines are the same exactly when no change is found and their digests agree; where only the order of states
//! or actions differs, that is a change too, because it decides what goes first.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::model::{Depth, Kind, Machine, StateIndex};
use super::outline::{Edge, edges, rule, written};

/// Values in lines are cut after this many characters.
const SHOWN_CHARACTERS_MAX: usize = 120;
/// What a state's definition holds besides what it is itself.
const NOT_OF_THE_STATE: [&str; 6] = ["states", "on", "onDone", "always", "after", "type"];
/// What only the root holds, and what is compared on its own or means nothing.
const NOT_OF_THE_ROOT: [&str; 9] = [
    "id",
    "version",
    "$schema",
    "variables",
    "context",
    "input",
    "actions",
    "hooks",
    "templates",
];

/// All differences.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// The changes: the machine itself, its data, states, transitions, actions.
    pub changes: Vec<Change>,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// The kind of change.
    pub change: ChangeKind,
    /// The kind of the changed part.
    pub what: ChangedPart,
    /// The name of the changed part.
    pub name: String,
    /// Its changed fields; none if it was added or removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<ChangedField>,
}

/// A changed field.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ChangedField")]
pub struct ChangedField {
    /// Its name.
    pub field: String,
    /// The old value; null if there was none.
    pub before: Value,
    /// The new value; null if there is none.
    pub after: Value,
}

/// What happened to something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ChangeKind {
    /// Added.
    Added,
    /// Removed.
    Removed,
    /// Changed.
    Changed,
}

/// What a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ChangedPart {
    /// The machine as a whole.
    Machine,
    /// The default of a variable.
    Variable,
    /// A state.
    State,
    /// A transition.
    Transition,
    /// An action.
    Action,
    /// An inbound webhook.
    Hook,
    /// A mail template.
    Template,
}

impl ChangedPart {
    fn word(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Variable => "variable",
            Self::State => "state",
            Self::Transition => "transition",
            Self::Action => "action",
            Self::Hook => "hook",
            Self::Template => "template",
        }
    }
}

impl Difference {
    /// Whether nothing is different.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// One line a change, and one more for each of its fields.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for Change {
            change,
            what,
            name,
            fields,
        } in &self.changes
        {
            let sign = match change {
                ChangeKind::Added => '+',
                ChangeKind::Removed => '-',
                ChangeKind::Changed => '~',
            };
            lines.push(format!("{sign} {} {name}", what.word()));
            for ChangedField { field, before, after } in fields {
                lines.push(format!("    {field}: {} -> {}", shown(before), shown(after)));
            }
        }
        lines
    }

    fn add(&mut self, change: ChangeKind, what: ChangedPart, name: impl Into<String>) {
        self.changes.push(Change {
            change,
            what,
            name: name.into(),
            fields: Vec::new(),
        });
    }

    fn compare(&mut self, what: ChangedPart, name: &str, before: &Map<String, Value>, after: &Map<String, Value>) {
        let names = before
            .keys()
            .chain(after.keys().filter(|name| !before.contains_key(*name)));
        let value = |of: &Map<String, Value>, name: &str| of.get(name).cloned().unwrap_or(Value::Null);
        let fields: Vec<ChangedField> = names
            .filter(|name| before.get(*name) != after.get(*name))
            .map(|name| ChangedField {
                field: name.clone(),
                before: value(before, name),
                after: value(after, name),
            })
            .collect();
        if !fields.is_empty() {
            self.changes.push(Change {
                change: ChangeKind::Changed,
                what,
                name: name.to_owned(),
                fields,
            });
        }
    }

    /// Compares things by their names: those of `before` in their order, then new ones.
    fn compare_named(&mut self, what: ChangedPart, before: &Named, after: &Named) {
        let by_name = |named: &'_ Named| -> BTreeMap<String, usize> {
            named
                .iter()
                .enumerate()
                .map(|(position, (name, _))| (name.clone(), position))
                .collect()
        };
        let (old, new) = (by_name(before), by_name(after));
        for (name, was) in before {
            match new.get(name).and_then(|&position| after.get(position)) {
                Some((_, is)) => self.compare(what, name, was, is),
                None => self.add(ChangeKind::Removed, what, name),
            }
        }
        for (name, _) in after.iter().filter(|(name, _)| !old.contains_key(name)) {
            self.add(ChangeKind::Added, what, name);
        }
        let kept = |named: &Named, other: &BTreeMap<String, usize>| -> Vec<String> {
            named
                .iter()
                .map(|(name, _)| name.clone())
                .filter(|name| other.contains_key(name))
                .collect()
        };
        if matches!(what, ChangedPart::State | ChangedPart::Action) {
            self.compare_order(what, &kept(before, &new), &kept(after, &old));
        }
    }

    /// States and actions go in the order of the file, so another order is another machine.
    fn compare_order(&mut self, what: ChangedPart, before: &[String], after: &[String]) {
        if before != after {
            let field = ChangedField {
                field: "order".to_owned(),
                before: json!(before),
                after: json!(after),
            };
            let name = format!("order of {}s", what.word());
            self.changes.push(Change {
                change: ChangeKind::Changed,
                what: ChangedPart::Machine,
                name,
                fields: vec![field],
            });
        }
    }
}

/// Things with names and fields, in order.
type Named = Vec<(String, Map<String, Value>)>;

/// What changes from one machine to another.
pub fn diff(before: &Machine, after: &Machine) -> Difference {
    let mut difference = Difference::default();
    difference.compare(ChangedPart::Machine, &before.id, &whole(before), &whole(after));
    difference.compare_named(ChangedPart::Variable, &variables(before), &variables(after));
    difference.compare_named(ChangedPart::State, &states(before), &states(after));
    transitions(before, after, &mut difference);
    for (what, key) in [(ChangedPart::Hook, "hooks"), (ChangedPart::Template, "templates")] {
        difference.compare_named(what, &members(before, key), &members(after, key));
    }
    difference.compare_named(ChangedPart::Action, &actions(before), &actions(after));
    difference
}

/// What is said about the machine as a whole.
fn whole(machine: &Machine) -> Map<String, Value> {
    let mut whole = Map::new();
    whole.insert("id".to_owned(), json!(machine.id));
    if let Some(input) = &machine.input {
        whole.insert("input".to_owned(), input.clone());
    }
    whole
}

fn variables(machine: &Machine) -> Named {
    let variables = machine.variables.iter();
    variables
        .map(|(name, value)| (name.clone(), Map::from_iter([("default".to_owned(), value.clone())])))
        .collect()
}

fn members(machine: &Machine, key: &str) -> Named {
    let members = machine.definition.get(key).and_then(Value::as_object);
    members
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), fields(value)))
        .collect()
}

fn fields(value: &Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields.clone(),
        other => Map::from_iter([("value".to_owned(), other.clone())]),
    }
}

fn actions(machine: &Machine) -> Named {
    let actions = machine.definition.get("actions").and_then(Value::as_array);
    let named = actions.into_iter().flatten().map(|action| {
        let mut fields = fields(action);
        let name = fields.shift_remove("actionId");
        (
            name.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned(),
            fields,
        )
    });
    named.collect()
}

fn states(machine: &Machine) -> Named {
    machine
        .indexes()
        .map(|index| (state_name(machine, index), state(machine, index)))
        .collect()
}

/// The root is called by a word that no state can have, so that machines of different names compare.
fn state_name(machine: &Machine, index: StateIndex) -> String {
    if index == StateIndex::ROOT {
        "(root)".to_owned()
    } else {
        machine.display_path(index).to_owned()
    }
}

fn state(machine: &Machine, index: StateIndex) -> Map<String, Value> {
    let state = machine.state(index);
    let mut fields = fields(written(machine, index));
    fields.retain(|name, value| {
        let is_another = index == StateIndex::ROOT && NOT_OF_THE_ROOT.contains(&name.as_str());
        !is_another && !NOT_OF_THE_STATE.contains(&name.as_str()) && !value.is_null()
    });
    fields.insert("type".to_owned(), json!(kind(state.kind)));
    if !state.initial.is_empty() {
        fields.insert("initial".to_owned(), paths(machine, &state.initial));
    }
    fields
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Atomic => "atomic",
        Kind::Compound => "compound",
        Kind::Parallel => "parallel",
        Kind::Final => "final",
        Kind::History(Depth::Shallow) => "shallow history",
        Kind::History(Depth::Deep) => "deep history",
    }
}

fn paths(machine: &Machine, states: &[StateIndex]) -> Value {
    states.iter().map(|&state| state_name(machine, state)).collect()
}

/// The transitions of one state and event, in the order they are tried.
type Tried = BTreeMap<(String, String), Vec<Map<String, Value>>>;

fn tried(machine: &Machine) -> Tried {
    let mut tried = Tried::new();
    for edge in edges(machine) {
        let key = (state_name(machine, edge.source()), edge.event.clone());
        tried.entry(key).or_default().push(transition(machine, &edge));
    }
    tried
}

/// A transition's fields, its targets by their paths.
fn transition(machine: &Machine, edge: &Edge<'_>) -> Map<String, Value> {
    let mut fields = match edge.written {
        Value::Object(fields) => fields.clone(),
        _ => Map::new(),
    };
    fields.retain(|name, value| !(name == "reenter" && *value == Value::Bool(false)));
    let targets = &edge.transition.targets;
    if targets.is_empty() {
        fields.shift_remove("target");
    } else {
        fields.insert("target".to_owned(), paths(machine, targets));
    }
    fields
}

/// Of two lists that are tried in order, what begins and ends both is the same; the rest is compared in pairs.
fn transitions(before: &Machine, after: &Machine, difference: &mut Difference) {
    let (old, new) = (tried(before), tried(after));
    let keys: std::collections::BTreeSet<_> = old.keys().chain(new.keys()).collect();
    for key in keys {
        let list = |of: &'_ Tried| of.get(key).cloned().unwrap_or_default();
        let (was, is) = (list(&old), list(&new));
        let begin = was.iter().zip(&is).take_while(|(was, is)| was == is).count();
        let (was, is) = (
            was.get(begin..).unwrap_or_default(),
            is.get(begin..).unwrap_or_default(),
        );
        let end = was
            .iter()
            .rev()
            .zip(is.iter().rev())
            .take_while(|(was, is)| was == is)
            .count();
        let rest = |list: &[Map<String, Value>]| list.get(..list.len() - end).unwrap_or_default().to_vec();
        let (was, is) = (rest(was), rest(is));
        for position in 0..was.len().max(is.len()) {
            match (was.get(position), is.get(position)) {
                (Some(was), Some(is)) => difference.compare(ChangedPart::Transition, &called(key, was), was, is),
                (Some(was), None) => difference.add(ChangeKind::Removed, ChangedPart::Transition, called(key, was)),
                (None, Some(is)) => difference.add(ChangeKind::Added, ChangedPart::Transition, called(key, is)),
                (None, None) => {}
            }
        }
    }
}

/// `source --EVENT [guard]--> target`.
fn called((source, event): &(String, String), fields: &Map<String, Value>) -> String {
    let guard = fields
        .get("guard")
        .map(|guard| format!(" [{}]", rule(guard)))
        .unwrap_or_default();
    let targets = fields.get("target").and_then(Value::as_array);
    let targets: Vec<&str> = targets.into_iter().flatten().filter_map(Value::as_str).collect();
    let targets = if targets.is_empty() {
        "(none)".to_owned()
    } else {
        targets.join(", ")
    };
    format!("{source} --{event}{guard}--> {targets}")
}

fn shown(value: &Value) -> String {
    if value.is_null() {
        return "(none)".to_owned();
    }
    let text = value.to_string();
    let mut characters = text.chars();
    let mut shown: String = characters.by_ref().take(SHOWN_CHARACTERS_MAX).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests;
