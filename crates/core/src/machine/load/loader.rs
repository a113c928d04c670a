//! One load under way: the machine so far, what was found, and the order in which things are read.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::keys::MACHINE;
use super::notes::Notes;
use super::tree::Tree;
use crate::document::Fields;
use crate::document::Findings;
use crate::document::source::Spot;
use crate::machine::digest::digest;
use crate::machine::model::Machine;
use crate::machine::sets::TransitionReach;
use crate::machine::state_set::StateSet;

/// A load under way.
pub(super) struct Loader<'n> {
    /// The machine so far.
    pub(super) machine: Machine,
    /// What the machine does not keep.
    pub(super) notes: Notes<'n>,
    /// What was found.
    pub(super) findings: Findings,
}

impl<'n> Loader<'n> {
    /// Reads everything: states before what names them, actions before what runs them. Fails only if there are more than
    /// `states_max` states below the root; then nothing else is read.
    pub(super) fn compile(root: Spot<'n>, mut findings: Findings, states_max: usize) -> Result<Self, Findings> {
        let root = Fields::new(root, &MACHINE);
        let object = |name| root.object(name).unwrap_or_default();
        let id = root.string("id").unwrap_or_default();
        let Ok(tree) = Tree::read(&root, &id, states_max) else {
            let detail = format!("the machine has more than `{states_max}` states");
            let remedy = "split it into several machines";
            findings.error(&root.at.place(), "too-many-states", detail, remedy);
            return Err(findings);
        };
        let Tree {
            states, fields, paths, ..
        } = tree;
        let machine = Machine {
            id,
            description: root.string("description"),
            digest: [0; 32],
            definition: root.at.value.clone(),
            variables: object("variables"),
            input: root.value("input"),
            states,
            transitions: Vec::new(),
            actions: Vec::new(),
            automatic: StateSet::default(),
            results_named: Vec::new(),
            skips_named: Vec::new(),
            hooks: Vec::new(),
            templates: Arc::new(object("templates")),
            paths,
        };
        let mut loader = Self {
            machine,
            notes: Notes::new(root.clone(), fields),
            findings,
        };
        loader.read_actions(&root);
        loader.read_behaviour();
        loader.read_hooks(&root);
        loader.complete();
        Ok(loader)
    }

    /// Works out what follows from everything that was read.
    fn complete(&mut self) {
        self.machine.automatic = automatic(&self.machine);
        let reaches = TransitionReach::of_all(&self.machine);
        for (transition, reach) in self.machine.transitions.iter_mut().zip(reaches) {
            transition.reach = Some(reach);
        }
        self.name_results();
        self.name_skips();
        self.machine.digest = digest(&self.machine);
    }

    /// The actions whose results some expression may read; all of them, where that is decided only at run time.
    fn name_results(&mut self) {
        let mut reads_all = self.notes.computes_paths;
        let mut read: BTreeSet<&str> = BTreeSet::new();
        for found in &self.notes.uses {
            match found.path.segments() {
                [] => reads_all = true,
                [root] => reads_all |= is_results(root),
                [root, id, ..] if is_results(root) => drop(read.insert(id)),
                _ => {}
            }
        }
        let ids = self.machine.actions.iter().map(|action| action.action_id.as_str());
        self.machine.results_named = ids
            .filter(|id| reads_all || read.contains(id))
            .map(str::to_owned)
            .collect();
    }

    fn name_skips(&mut self) {
        let ids = self.machine.actions.iter().map(|action| action.action_id.as_str());
        let skips = ids.filter(|id| self.machine.handles(&format!("skipped.{id}")));
        self.machine.skips_named = skips.map(str::to_owned).collect();
    }
}

impl Machine {
    /// Whether some transition names this event; `*` names none.
    pub(in crate::machine) fn handles(&self, event: &str) -> bool {
        let descriptors = self.states.iter().flat_map(|state| &state.on);
        descriptors.into_iter().any(|(descriptor, _)| descriptor.names(event))
    }
}

/// Whether paths that begin so lead to results of actions.
fn is_results(root: &str) -> bool {
    matches!(root, "results" | "steps")
}

fn automatic(machine: &Machine) -> StateSet {
    StateSet::of(
        machine
            .indexes()
            .filter(|&state| !machine.state(state).always.is_empty()),
    )
}
