//! The naive interpreter's selection: which transitions are enabled, and which of them win.

use super::chart::Id;
use super::interpreter::{Discarded, Interpreter};
use crate::expression::logic::Fuel;
use crate::machine::{Descriptor, Transition, TransitionIndex};

impl<'m> Interpreter<'m> {
    /// `selectTransitions` for the current event, or `selectEventlessTransitions`.
    pub(super) fn select(&self, by_event: bool) -> Result<Vec<&'m Transition>, Discarded> {
        let mut enabled: Vec<&'m Transition> = Vec::new();
        for leaf in self.chart.in_document_order(&self.present.configuration) {
            if !self.chart.is_atomic(leaf) {
                continue;
            }
            if let Some(found) = self.first_enabled(leaf, by_event)?
                && !enabled.iter().any(|known| std::ptr::eq(*known, found))
            {
                enabled.push(found);
            }
        }
        Ok(self.remove_conflicting(&enabled))
    }

    /// The first enabled transition of the state, or of the states around it.
    fn first_enabled(&self, state: Id, by_event: bool) -> Result<Option<&'m Transition>, Discarded> {
        for candidate in self.candidates(state, by_event) {
            let transition = self.chart.machine.transition(candidate);
            if self.condition_match(transition)? {
                return Ok(Some(transition));
            }
        }
        match self.chart.parent(state) {
            Some(parent) => self.first_enabled(parent, by_event),
            None => Ok(None),
        }
    }

    /// The transitions of one state that answer, the most specific descriptors first.
    fn candidates(&self, state: Id, by_event: bool) -> Vec<TransitionIndex> {
        let state = self.chart.state(state);
        if !by_event {
            return state.always.clone();
        }
        let mut matching: Vec<(usize, &[TransitionIndex])> = Vec::new();
        for (descriptor, transitions) in &state.on {
            if let Some(generality) = generality(descriptor, &self.event.name) {
                matching.push((generality, transitions));
            }
        }
        matching.sort_by_key(|(generality, _)| *generality);
        matching
            .iter()
            .flat_map(|(_, transitions)| transitions.iter().copied())
            .collect()
    }

    fn condition_match(&self, transition: &Transition) -> Result<bool, Discarded> {
        match &transition.guard {
            None => Ok(true),
            Some(guard) => guard.test(&self.scope(), &mut Fuel::default()).map_err(|_| Discarded),
        }
    }

    /// `removeConflictingTransitions`.
    fn remove_conflicting(&self, enabled: &[&'m Transition]) -> Vec<&'m Transition> {
        let mut filtered: Vec<&'m Transition> = Vec::new();
        for &candidate in enabled {
            let mut rivals = filtered.clone();
            rivals.retain(|rival| self.would_clash(candidate, rival));
            let source = candidate.source.position();
            if rivals
                .iter()
                .all(|rival| self.chart.is_descendant(source, rival.source.position()))
            {
                filtered.retain(|kept| !rivals.iter().any(|rival| std::ptr::eq(*rival, *kept)));
                filtered.push(candidate);
            }
        }
        filtered
    }

    /// Whether both would leave the same state.
    fn would_clash(&self, one: &'m Transition, other: &'m Transition) -> bool {
        let left = self.exit_set(&[other]);
        self.exit_set(&[one]).iter().any(|state| left.contains(state))
    }
}

/// How little a descriptor says about an event it matches: exact names say all, longer prefixes more than shorter ones.
fn generality(descriptor: &Descriptor, event: &str) -> Option<usize> {
    match descriptor {
        Descriptor::Exact(name) => (name == event).then_some(0),
        Descriptor::Prefix(prefix) => {
            let is_matched = event == prefix || event.starts_with(&format!("{prefix}."));
            is_matched.then(|| usize::MAX - 1 - prefix.len())
        }
        Descriptor::Any => Some(usize::MAX),
    }
}
