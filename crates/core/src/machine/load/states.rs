//! What states do: where each leads when it is entered, its operations and its transitions.

use super::loader::Loader;
use super::notes::Site;
use crate::document::Fields;
use crate::document::source::{Spot, shown};
use crate::machine::model::{Kind, StateIndex};

impl<'n> Loader<'n> {
    /// Reads what names states and actions, for every state.
    pub(super) fn read_behaviour(&mut self) {
        let states: Vec<_> = self.machine.indexes().zip(self.notes.states.clone()).collect();
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
