//! The sets of the W3C SCXML algorithm: which states a transition leaves and which it enters.
//!
//! Names follow the algorithm's procedures (`findLCCA`, `computeExitSet`, `addDescendantStatesToEnter`, …). One thing
//! is `XState`'s: a transition whose targets are its source or lie within it is internal unless it says `reenter`.

use std::collections::BTreeMap;

use super::model::{Depth, Kind, Machine, StateIndex, Transition};
use super::state_set::StateSet;

/// What history states remember.
pub(super) type History = BTreeMap<StateIndex, Vec<StateIndex>>;

/// The state inside of which a transition moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Domain {
    /// The transition goes nowhere.
    None,
    /// Everything strictly inside this state may change.
    Within(StateIndex),
    /// The root itself is left and entered again.
    Everything,
}

/// How far a transition reaches in a machine without history states: nothing that happens changes it, so it is found
/// once, when the machine is loaded.
#[derive(Clone, Copy, Debug)]
pub(super) struct TransitionReach {
    domain: Domain,
    entered: StateSet,
}

impl TransitionReach {
    /// How far each transition reaches, in their order; nothing for a machine with history states.
    pub(super) fn of_all(machine: &Machine) -> Vec<Self> {
        if machine.indexes().any(|state| machine.is_history(state)) {
            return Vec::new();
        }
        let history = History::new();
        let sets = Sets {
            machine,
            history: &history,
        };
        let reach = |transition| {
            let domain = sets.domain(transition);
            let mut entered = StateSet::default();
            sets.add_entry_set(transition, domain, &mut entered);
            Self { domain, entered }
        };
        machine.transitions.iter().map(reach).collect()
    }
}

/// The sets for one machine and what its history states remember.
#[derive(Clone, Copy)]
pub(super) struct Sets<'a> {
    pub(super) machine: &'a Machine,
    pub(super) history: &'a History,
}

impl Sets<'_> {
    /// `getTransitionDomain`.
    pub(super) fn domain(&self, transition: &Transition) -> Domain {
        if let Some(reach) = &transition.reach {
            return reach.domain;
        }
        if transition.targets.is_empty() {
            return Domain::None;
        }
        let targets = self.effective_targets(&transition.targets);
        let source = transition.source;
        let inside = |target: StateIndex| target == source || self.machine.is_descendant(target, source);
        if !transition.reenter && targets.iter().all(inside) {
            return Domain::Within(source);
        }
        self.least_common_compound_ancestor(source, &targets)
            .map_or(Domain::Everything, Domain::Within)
    }

    /// `findLCCA`: the root counts as compound, whatever it is.
    fn least_common_compound_ancestor(&self, source: StateIndex, targets: &StateSet) -> Option<StateIndex> {
        self.machine.ancestors(source).find(|&ancestor| {
            let compound = ancestor == StateIndex::ROOT || self.machine.state(ancestor).kind == Kind::Compound;
            compound
                && targets
                    .iter()
                    .all(|target| self.machine.is_descendant(target, ancestor))
        })
    }

    /// `getEffectiveTargetStates`: history states stand for what they remember, or for their default.
    pub(super) fn effective_targets(&self, targets: &[StateIndex]) -> StateSet {
        let mut effective = StateSet::default();
        for &target in targets {
            if self.machine.is_history(target) {
                effective.extend(&self.effective_targets(self.remembered(target)));
            } else {
                effective.insert(target);
            }
        }
        effective
    }

    fn remembered(&self, history: StateIndex) -> &[StateIndex] {
        self.history
            .get(&history)
            .map_or(self.machine.state(history).history_default.as_slice(), Vec::as_slice)
    }

    /// `computeExitSet` for one transition, by its domain.
    pub(super) fn exit_set(&self, domain: Domain, active: &StateSet) -> StateSet {
        match domain {
            Domain::None => StateSet::default(),
            Domain::Everything => *active,
            Domain::Within(domain) => active.within(domain, self.machine.state(domain).end),
        }
    }

    /// `computeEntrySet` for one transition, added to what others enter. The domain is the one it was left by: leaving
    /// a state may change what history means, but not how far the transition reaches.
    pub(super) fn add_entry_set(&self, transition: &Transition, domain: Domain, entered: &mut StateSet) {
        if let Some(reach) = &transition.reach {
            entered.extend(&reach.entered);
            return;
        }
        let top = match domain {
            Domain::None => return,
            Domain::Within(domain) => Some(domain),
            Domain::Everything => None,
        };
        let mut targeted = StateSet::default();
        for &target in &transition.targets {
            self.add_descendants(target, &mut targeted);
        }
        for target in self.effective_targets(&transition.targets).iter() {
            self.add_ancestors(target, top, &mut targeted);
        }
        let Some(domain) = top else {
            entered.extend(&targeted);
            return;
        };
        // The algorithm's domains are compound; an internal transition of a parallel state, or a parallel root, is not.
        if self.machine.state(domain).kind == Kind::Parallel {
            self.add_missing_regions(domain, &mut targeted);
        }
        // The target of an internal transition may be its own source, and a history state may remember something
        // deeper than the domain. What is around it stays active: it is not entered again.
        entered.extend(&targeted.within(domain, self.machine.state(domain).end));
    }

    /// The states entered by entering the machine.
    pub(super) fn initial_set(&self) -> StateSet {
        let mut entered = StateSet::default();
        self.add_descendants(StateIndex::ROOT, &mut entered);
        entered
    }

    /// `addDescendantStatesToEnter`.
    fn add_descendants(&self, state: StateIndex, entered: &mut StateSet) {
        if self.machine.is_history(state) {
            let targets = self.remembered(state);
            self.add_all(targets, self.machine.state(state).parent, entered);
        } else {
            entered.insert(state);
            self.add_inside(state, entered);
        }
    }

    /// What entering `state` enters below it.
    fn add_inside(&self, state: StateIndex, entered: &mut StateSet) {
        match self.machine.state(state).kind {
            Kind::Compound => self.add_all(&self.machine.state(state).initial, Some(state), entered),
            Kind::Parallel => self.add_missing_regions(state, entered),
            Kind::Atomic | Kind::Final | Kind::History(_) => {}
        }
    }

    fn add_all(&self, targets: &[StateIndex], top: Option<StateIndex>, entered: &mut StateSet) {
        for &target in targets {
            self.add_descendants(target, entered);
        }
        for &target in targets {
            self.add_ancestors(target, top, entered);
        }
    }

    /// `addAncestorStatesToEnter`: the states between `state` and `top`, and the other regions of parallel ones.
    fn add_ancestors(&self, state: StateIndex, top: Option<StateIndex>, entered: &mut StateSet) {
        if top == Some(state) {
            return;
        }
        for ancestor in self
            .machine
            .ancestors(state)
            .take_while(|&ancestor| Some(ancestor) != top)
        {
            entered.insert(ancestor);
            if self.machine.state(ancestor).kind == Kind::Parallel {
                self.add_missing_regions(ancestor, entered);
            }
        }
    }

    fn add_missing_regions(&self, parallel: StateIndex, entered: &mut StateSet) {
        for region in self.machine.child_states(parallel) {
            if !self.has_inside(region, entered) {
                self.add_descendants(region, entered);
            }
        }
    }

    fn has_inside(&self, state: StateIndex, entered: &StateSet) -> bool {
        !entered.within(state, self.machine.state(state).end).is_empty()
    }

    /// What the history states inside `left` remember of `active` when it is left.
    pub(super) fn record(&self, left: StateIndex, active: &StateSet) -> Vec<(StateIndex, Vec<StateIndex>)> {
        let machine = self.machine;
        let remember = |history: StateIndex, depth: Depth| {
            let inside = active.within(left, machine.state(left).end);
            let kept = inside.iter().filter(|&state| match depth {
                Depth::Deep => machine.is_leaf(state),
                Depth::Shallow => machine.state(state).parent == Some(left),
            });
            (history, kept.collect())
        };
        let children = machine.state(left).children.iter();
        children
            .filter_map(|&child| match machine.state(child).kind {
                Kind::History(depth) => Some(remember(child, depth)),
                _ => None,
            })
            .collect()
    }
}
