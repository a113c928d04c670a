//! The tree of states: what each is, where it leads when it is entered, and what it does.
//!
//! The tree is read twice: first its shape, so that every state has its index and its path, then what names states.

use super::keys::STATE;
use super::loader::Loader;
use super::notes::Site;
use crate::document::Fields;
use crate::document::source::{Spot, shown};
use crate::machine::model::{Depth, Kind, State, StateIndex};
use serde_json::Value;

/// Where a state stands among the others.
struct Seat<'a> {
    name: &'a str,
    path: String,
    parent: Option<StateIndex>,
}

impl<'n> Loader<'n> {
    /// Reads the shape of the tree, in document order.
    pub(super) fn read_states(&mut self, root: &Fields<'n>) {
        let name = self.machine.id.clone();
        self.read_state(
            root,
            &Seat {
                name: &name,
                path: String::new(),
                parent: None,
            },
        );
    }

    fn read_state(&mut self, fields: &Fields<'n>, seat: &Seat<'_>) -> Option<StateIndex> {
        let index = self.next_index()?;
        let is_root = seat.parent.is_none();
        let id = if is_root {
            Some(self.machine.id.clone())
        } else {
            fields.string("id")
        };
        let at = fields.at.key_place();
        let announced = id.as_deref().unwrap_or(&seat.path);
        let done_event = format!("done.state.{announced}");
        self.machine.states.push(State {
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
            at: at.at,
        });
        if !is_root {
            self.machine.paths.insert(seat.path.clone(), index);
        }
        self.notes.states.push(at);
        self.states.push(fields.clone());
        self.read_children(fields, index, &seat.path);
        Some(index)
    }

    fn read_children(&mut self, fields: &Fields<'n>, parent: StateIndex, above: &str) {
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
            match self.read_state(&Fields::new(member, &STATE), &seat) {
                Some(child) => self.machine.states[parent.position()].children.push(child),
                None => break,
            }
        }
        if let Some(end) = StateIndex::from_position(self.machine.states.len()) {
            self.machine.states[parent.position()].end = end;
        }
    }

    /// The index of the next state; none, and a finding, when there are too many.
    fn next_index(&mut self) -> Option<StateIndex> {
        let states = self.machine.states.len();
        if states <= self.states_max {
            return StateIndex::from_position(states);
        }
        if !self.has_too_many_states {
            self.has_too_many_states = true;
            let detail = format!("the machine has more than `{}` states", self.states_max);
            self.findings.error(
                &self.root.place(),
                "too-many-states",
                detail,
                "split it into several machines",
            );
        }
        None
    }

    /// Reads what names states and actions, for every state.
    pub(super) fn read_behaviour(&mut self) {
        let states: Vec<_> = self.machine.indexes().zip(self.states.clone()).collect();
        for (index, fields) in &states {
            self.read_initial(*index, fields);
            self.read_operations_of(*index, fields);
            self.read_transitions_of(*index, fields);
        }
        // A history state without a target of its own leads where its parent does, so all of those must be known.
        for (index, fields) in &states {
            if self.machine.is_history(*index) {
                self.read_history(*index, fields);
            }
        }
    }

    fn read_initial(&mut self, index: StateIndex, fields: &Fields<'n>) {
        if self.machine.state(index).kind != Kind::Compound {
            return;
        }
        let Some(spot) = fields.get("initial") else {
            // What has no states at all is named elsewhere.
            if let Some(first) = self.machine.child_states(index).next() {
                let path = self.machine.display_path(index);
                let detail = format!("`{path}` does not say which of its states is entered first");
                let remedy = format!("add `initial`, such as `{}`", self.machine.state(first).name);
                self.findings
                    .error(&fields.at.key_place(), "no-initial", detail, remedy);
            }
            return;
        };
        let mut targets = self.initial_targets(index, &spot);
        // A target outside is dropped: later checks enter states, and following it might never end.
        targets.retain(|&target| {
            let is_inside = self.machine.is_descendant(target, index);
            if !is_inside {
                let path = self.machine.display_path(target);
                let detail = format!("`{}` does not lie inside `{}`", path, self.machine.display_path(index));
                self.findings
                    .error(&spot.place(), "bad-initial", detail, "name a state inside");
            }
            is_inside
        });
        self.machine.states[index.position()].initial = targets;
    }

    fn read_operations_of(&mut self, index: StateIndex, fields: &Fields<'n>) {
        let entry = fields
            .get("entry")
            .map(|spot| self.operations(&spot, Site::Entry(index)))
            .unwrap_or_default();
        let exit = fields
            .get("exit")
            .map(|spot| self.operations(&spot, Site::Exit(index)))
            .unwrap_or_default();
        let output = fields
            .get("output")
            .and_then(|spot| self.template(&spot, Site::Output(index)));
        let state = &mut self.machine.states[index.position()];
        (state.entry, state.exit, state.output) = (entry, exit, output);
    }

    /// Where a history state leads when it remembers nothing: always to states that remember nothing themselves, so
    /// that following it ends.
    fn read_history(&mut self, index: StateIndex, fields: &Fields<'n>) {
        let Some(parent) = self.machine.state(index).parent else {
            return;
        };
        let own = fields.get("target");
        let mut targets = match &own {
            Some(spot) => self.targets(index, spot),
            None if self.machine.state(parent).kind == Kind::Parallel => self.machine.child_states(parent).collect(),
            None => self.machine.state(parent).initial.clone(),
        };
        let place = own.as_ref().map_or_else(|| fields.at.key_place(), Spot::place);
        targets.retain(|&target| {
            let path = shown(self.machine.display_path(target));
            if self.machine.is_history(target) {
                let detail = format!("`{path}` is a history state, and so cannot be where one leads");
                self.findings.error(
                    &place,
                    "bad-history",
                    detail,
                    "add a `target` that is not a history state",
                );
            } else if !self.machine.is_descendant(target, parent) {
                let detail = format!("`{path}` does not lie inside `{}`", self.machine.display_path(parent));
                self.findings.error(
                    &place,
                    "bad-history",
                    detail,
                    "name a state beside the history state, or inside one",
                );
            } else {
                return true;
            }
            false
        });
        self.machine.states[index.position()].history_default = targets;
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
