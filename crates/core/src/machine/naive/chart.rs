//! The document as the naive interpreter sees it: parent and child links, followed anew for every question.

use crate::machine::{Kind, Machine, State, StateIndex};

/// A state, by its position in the model.
pub(super) type Id = usize;

/// The root stands where the W3C algorithm has the `scxml` element.
pub(super) const ROOT: Id = 0;

/// A machine, asked through its links only: nothing here relies on how the model numbers its states.
pub(super) struct Chart<'m> {
    pub(super) machine: &'m Machine,
    document: Vec<Id>,
}

impl<'m> Chart<'m> {
    pub(super) fn new(machine: &'m Machine) -> Self {
        let mut document = Vec::new();
        walk(machine, ROOT, &mut document);
        Self { machine, document }
    }

    pub(super) fn state(&self, id: Id) -> &'m State {
        &self.machine.states[id]
    }

    pub(super) fn kind(&self, id: Id) -> Kind {
        self.state(id).kind
    }

    pub(super) fn parent(&self, id: Id) -> Option<Id> {
        self.state(id).parent.map(StateIndex::position)
    }

    /// The children that can be active.
    pub(super) fn child_states(&self, id: Id) -> Vec<Id> {
        ids(&self.state(id).children)
            .into_iter()
            .filter(|&child| !self.is_history(child))
            .collect()
    }

    /// The history states right inside.
    pub(super) fn histories(&self, id: Id) -> Vec<Id> {
        ids(&self.state(id).children)
            .into_iter()
            .filter(|&child| self.is_history(child))
            .collect()
    }

    pub(super) fn is_history(&self, id: Id) -> bool {
        matches!(self.kind(id), Kind::History(_))
    }

    pub(super) fn is_parallel(&self, id: Id) -> bool {
        self.kind(id) == Kind::Parallel
    }

    /// Whether nothing inside it can be active.
    pub(super) fn is_atomic(&self, id: Id) -> bool {
        matches!(self.kind(id), Kind::Atomic | Kind::Final)
    }

    /// `getProperAncestors`: innermost first, up to but without `until`; none if that is the state itself.
    pub(super) fn proper_ancestors(&self, id: Id, until: Option<Id>) -> Vec<Id> {
        let mut found = Vec::new();
        let mut at = id;
        while let Some(parent) = self.parent(at) {
            if until == Some(parent) || until == Some(id) {
                break;
            }
            found.push(parent);
            at = parent;
        }
        found
    }

    pub(super) fn is_descendant(&self, id: Id, ancestor: Id) -> bool {
        match self.parent(id) {
            None => false,
            Some(parent) => parent == ancestor || self.is_descendant(parent, ancestor),
        }
    }

    /// The same states in document order, each once.
    pub(super) fn in_document_order(&self, states: &[Id]) -> Vec<Id> {
        self.document.iter().copied().filter(|id| states.contains(id)).collect()
    }
}

/// Positions of indexes.
pub(super) fn ids(indexes: &[StateIndex]) -> Vec<Id> {
    indexes.iter().map(|index| index.position()).collect()
}

fn walk(machine: &Machine, id: Id, document: &mut Vec<Id>) {
    document.push(id);
    for child in ids(&machine.states[id].children) {
        walk(machine, child, document);
    }
}
