//! Transitions: by event, by time, and automatic ones.

use super::keys::TRANSITION;
use super::loader::Loader;
use super::notes::Site;
use crate::document::Fields;
use crate::document::source::Spot;
use crate::machine::model::{After, Descriptor, Instruction, StateIndex, Transition, TransitionIndex};
use crate::time::duration::Millis;

impl<'n> Loader<'n> {
    /// Reads all transitions of a state.
    pub(super) fn read_transitions_of(&mut self, source: StateIndex, fields: &Fields<'n>) {
        let on = self.read_on(source, fields);
        let always = fields
            .get("always")
            .map(|spot| self.transitions(source, &spot))
            .unwrap_or_default();
        let after = self.read_after(source, fields);
        let state = &mut self.machine.states[source.position()];
        (state.on, state.always, state.after) = (on, always, after);
    }

    /// By event, the most specific descriptor first. Among equals the text decides, so that the order of keys, which a
    /// digest cannot see, never does.
    fn read_on(&mut self, source: StateIndex, fields: &Fields<'n>) -> Vec<(Descriptor, Vec<TransitionIndex>)> {
        let mut on = Vec::new();
        for (name, spot) in fields.get("on").iter().flat_map(Spot::members) {
            on.push((
                name.to_owned(),
                Descriptor::parse(name),
                self.transitions(source, &spot),
            ));
        }
        if source != StateIndex::ROOT
            && let Some(spot) = fields.get("onDone")
        {
            let done = self.machine.state(source).done_event.clone();
            on.push((done.clone(), Descriptor::Exact(done), self.transitions(source, &spot)));
        }
        on.sort_by(|(name, descriptor, _), (other_name, other, _)| {
            (descriptor.rank(), name).cmp(&(other.rank(), other_name))
        });
        on.into_iter()
            .map(|(_, descriptor, transitions)| (descriptor, transitions))
            .collect()
    }

    fn read_after(&mut self, source: StateIndex, fields: &Fields<'n>) -> Vec<After> {
        let path = self.machine.display_path(source).to_owned();
        let mut after = Vec::new();
        for (key, spot) in fields.get("after").iter().flat_map(Spot::members) {
            let transitions = self.transitions(source, &spot);
            if let Ok(delay) = Millis::parse(key) {
                after.push((
                    key,
                    After {
                        millis: delay.get(),
                        event: format!("after.{key}.{path}"),
                        transitions,
                    },
                ));
            }
        }
        after.sort_by(|(key, after), (other_key, other)| (after.millis, key).cmp(&(other.millis, other_key)));
        after.into_iter().map(|(_, after)| after).collect()
    }

    fn transitions(&mut self, source: StateIndex, spot: &Spot<'n>) -> Vec<TransitionIndex> {
        spot.each().iter().map(|item| self.transition(source, item)).collect()
    }

    fn transition(&mut self, source: StateIndex, spot: &Spot<'n>) -> TransitionIndex {
        let index = TransitionIndex(self.machine.transitions.len());
        let fields = Fields::new(spot.clone(), &TRANSITION);
        let target = if spot.text().is_some() {
            Some(spot.clone())
        } else {
            fields.get("target")
        };
        let targets = target.map(|target| self.targets(source, &target)).unwrap_or_default();
        let guard = fields
            .get("guard")
            .and_then(|guard| self.guard(&guard, Site::Guard(index)));
        let mut operations = Vec::new();
        if let Some(assign) = fields.get("assign") {
            operations.push(Instruction::Assign(self.assignments(&assign, Site::Taken(index))));
        }
        if let Some(actions) = fields.get("actions") {
            operations.extend(self.operations(&actions, Site::Taken(index)));
        }
        let place = spot.place();
        self.machine.transitions.push(Transition {
            source,
            targets,
            guard,
            operations,
            reenter: fields.flag("reenter").unwrap_or(false),
            reach: None,
            description: fields.string("description"),
            at: place.at,
        });
        self.notes.transitions.push(place);
        index
    }
}
