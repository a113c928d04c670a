//! The tree of states: its shape, so that every state has its index and its path before anything names a state.

use std::collections::BTreeMap;

use serde_json::Value;

use super::keys::STATE;
use crate::document::Fields;
use crate::document::source::Spot;
use crate::machine::model::{Depth, Kind, State, StateIndex};

/// The states of a file, in document order.
pub(super) struct Tree<'n> {
    /// By index; what names other states is still to be read.
    pub(super) states: Vec<State>,
    /// The fields of every state, by index.
    pub(super) fields: Vec<Fields<'n>>,
    /// The states below the root, by path.
    pub(super) paths: BTreeMap<String, StateIndex>,
    states_max: usize,
}

/// There are more states below the root than allowed.
pub(super) struct TooManyStates;

/// Where a state stands among the others.
struct Seat<'a> {
    name: &'a str,
    path: String,
    parent: Option<StateIndex>,
}

impl<'n> Tree<'n> {
    /// Reads the shape of the tree of the machine `id`.
    pub(super) fn read(root: &Fields<'n>, id: &str, states_max: usize) -> Result<Self, TooManyStates> {
        let mut tree = Self {
            states: Vec::new(),
            fields: Vec::new(),
            paths: BTreeMap::new(),
            states_max,
        };
        let seat = Seat {
            name: id,
            path: String::new(),
            parent: None,
        };
        tree.read_state(root, &seat)?;
        Ok(tree)
    }

    fn read_state(&mut self, fields: &Fields<'n>, seat: &Seat<'_>) -> Result<StateIndex, TooManyStates> {
        let index = self.next_index()?;
        let is_root = seat.parent.is_none();
        let id = if is_root {
            Some(seat.name.to_owned())
        } else {
            fields.string("id")
        };

        let announced = id.as_deref().unwrap_or(&seat.path);
        let done_event = format!("done.state.{announced}");
        self.states.push(State {
            name: seat.name.to_owned(),
            path: seat.path.clone(),
            kind: kind(fields, is_root),
            parent: seat.parent,
            children: Vec::new(),
            end: index,
            initial: Vec::new(),
            history_default: Vec::new(),
            entry: Vec::new(),
            exit: Vec::new(),
            always: Vec::new(),
            on: Vec::new(),
            after: Vec::new(),
            triggers: Vec::new(),
            output: None,
            done_event,
            id,
            description: fields.string("description"),
            tags: fields.texts("tags").unwrap_or_default(),
            meta: fields.value("meta"),
            at: fields.at.key_place().at,
        });
        if !is_root {
            self.paths.insert(seat.path.clone(), index);
        }
        self.fields.push(fields.clone());
        self.read_children(fields, index, &seat.path)?;
        Ok(index)
    }

    fn read_children(&mut self, fields: &Fields<'n>, parent: StateIndex, above: &str) -> Result<(), TooManyStates> {
        for (name, member) in fields.get("states").iter().flat_map(Spot::members) {
            let path = if above.is_empty() {
                name.to_owned()
            } else {
                format!("{above}.{name}")
            };
            let seat = Seat {
                name,
                path,
                parent: Some(parent),
            };
            let child = self.read_state(&Fields::new(member, &STATE), &seat)?;
            self.states[parent.position()].children.push(child);
        }
        if let Some(end) = StateIndex::from_position(self.states.len()) {
            self.states[parent.position()].end = end;
        }
        Ok(())
    }

    fn next_index(&self) -> Result<StateIndex, TooManyStates> {
        let states = self.states.len();
        let index = StateIndex::from_position(states).filter(|_| states <= self.states_max);
        index.ok_or(TooManyStates)
    }
}

/// What a state is made of: by its `type`, else by its keys. The machine itself is compound or parallel.
fn kind(fields: &Fields<'_>, is_root: bool) -> Kind {
    match fields.text("type") {
        Some("parallel") => return Kind::Parallel,
        Some("compound") => return Kind::Compound,
        _ => {}
    }
    if !is_root {
        match fields.text("type") {
            Some("atomic") => return Kind::Atomic,
            Some("final") => return Kind::Final,
            Some("history") => return Kind::History(depth(fields).unwrap_or(Depth::Shallow)),
            _ => {}
        }
        if let Some(depth) = depth(fields) {
            return Kind::History(depth);
        }
    }
    let has_states = fields.get("states").is_some_and(|states| !states.is_empty());
    if has_states { Kind::Compound } else { Kind::Atomic }
}

/// How much a history state remembers, where the state says that it is one.
fn depth(fields: &Fields<'_>) -> Option<Depth> {
    let history = fields.get("history")?;
    match (history.value, history.text()) {
        (_, Some("deep")) => Some(Depth::Deep),
        (_, Some("shallow")) | (Value::Bool(true), _) => Some(Depth::Shallow),
        _ => None,
    }
}
